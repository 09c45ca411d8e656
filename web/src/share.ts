/** The view as a link: state to the part of the address after '#', which no server ever sees, and back. */

import { packBrushes, unpackBrushes } from "./brush";
import { BINS } from "./colouring";
import { TABS, type Tab, type ViewState } from "./state";

/** Longer selections are left out of the link; browsers and mail programs cut long addresses. */
const MAX_SELECTION = 4000;
const FLAGS = ["raster", "rings", "density", "contours", "sprites", "auto", "labels", "own", "local", "torn", "wrong"] as const;

export type Camera = [x: number, y: number, distance: number];

export interface Shared {
  state: Partial<ViewState>;
  camera: Camera | null;
}

export interface Known {
  layers: string[];
  colours: string[];
  columns: number;
  n: number;
  /** How many maps there are before this one. */
  versions: number;
}

export function encodeView(state: ViewState, defaults: ViewState, camera: Camera | null): { hash: string; complete: boolean } {
  const out = new URLSearchParams();
  if (state.layer !== defaults.layer) out.set("layer", state.layer);
  if (state.colour !== defaults.colour) out.set("colour", state.colour);
  if (state.hidden.size > 0) out.set("hide", [...state.hidden].sort((a, b) => a - b).join("."));
  if (state.window) out.set("window", state.window.join("."));
  if (state.charts.length > 0) out.set("charts", state.charts.join("."));
  if (state.brushes.size > 0) out.set("brush", packBrushes(state.brushes));
  if (state.beside) out.set("beside", `${state.beside.layer}~${state.beside.colour}`);
  if (state.size !== defaults.size) out.set("size", String(state.size));
  if (state.opacity !== defaults.opacity) out.set("opacity", String(state.opacity));
  for (const key of FLAGS) if (state[key] !== defaults[key]) out.set(key, state[key] ? "1" : "0");
  if (state.time !== defaults.time) out.set("time", state.time.toFixed(2));
  if (state.tab !== defaults.tab) out.set("tab", state.tab);
  if (camera) out.set("view", camera.map((v) => v.toPrecision(5)).join("_"));
  let complete = true;
  if (state.selection.length > 0) {
    const packed = packRows(state.selection);
    complete = packed.length <= MAX_SELECTION;
    if (complete) out.set("rows", packed);
  }
  return { hash: out.toString(), complete };
}

/** Whatever in a link does not fit this page is dropped, never trusted. */
export function decodeView(hash: string, known: Known): Shared {
  const params = new URLSearchParams(hash.replace(/^#/, ""));
  const state: Partial<ViewState> = {};
  const layer = params.get("layer");
  if (layer !== null && known.layers.includes(layer)) state.layer = layer;
  const colour = params.get("colour");
  if (colour !== null && known.colours.includes(colour)) state.colour = colour;
  const hidden = integers(params.get("hide"));
  if (hidden) state.hidden = new Set(hidden.filter((code) => code < 65536));
  const bins = integers(params.get("window"));
  if (bins && bins.length === 2 && bins[0] <= bins[1] && bins[1] < BINS) state.window = [bins[0], bins[1]];
  const charts = integers(params.get("charts"))?.filter((index) => index < known.columns);
  if (charts) state.charts = charts;
  const brush = params.get("brush");
  if (brush !== null) state.brushes = unpackBrushes(brush, known.columns);
  const [besideLayer, besideColour] = (params.get("beside") ?? "").split("~");
  if (known.layers.includes(besideLayer) && known.colours.includes(besideColour)) state.beside = { layer: besideLayer, colour: besideColour };
  const size = bounded(params.get("size"), 1, 20);
  if (size !== null) state.size = size;
  const opacity = bounded(params.get("opacity"), 0.02, 1);
  if (opacity !== null) state.opacity = opacity;
  for (const key of FLAGS) {
    const flag = params.get(key);
    if (flag === "0" || flag === "1") state[key] = flag === "1";
  }
  const time = bounded(params.get("time"), 0, known.versions);
  if (time !== null) state.time = time;
  const tab = params.get("tab");
  if (tab !== null && (TABS as readonly string[]).includes(tab)) state.tab = tab as Tab;
  const rows = params.get("rows");
  if (rows !== null) state.selection = unpackRows(rows).filter((row) => row < known.n);
  return { state, camera: readCamera(params.get("view")) };
}

function readCamera(text: string | null): Camera | null {
  if (text === null) return null;
  const numbers = text.split("_").map(Number);
  const fine = numbers.length === 3 && numbers.every((v) => Number.isFinite(v) && Math.abs(v) < 1e3) && numbers[2] > 1e-4;
  return fine ? (numbers as Camera) : null;
}

function integers(text: string | null): number[] | null {
  if (text === null || !/^\d+(\.\d+)*$/.test(text)) return null;
  return text.split(".").map(Number);
}

function bounded(text: string | null, low: number, high: number): number | null {
  const value = Number(text);
  return text !== null && text !== "" && value >= low && value <= high ? value : null;
}

/** Ascending row numbers as gaps in base 36, runs of neighbours as gap*length: "3.1*4" is 3, 4, 5, 6, 7. */
export function packRows(rows: readonly number[]): string {
  const parts: string[] = [];
  let previous = -1;
  for (let i = 0; i < rows.length; ) {
    const gap = rows[i] - previous;
    let run = 1;
    while (i + run < rows.length && rows[i + run] - rows[i + run - 1] === gap) run++;
    parts.push(run > 1 ? `${gap.toString(36)}*${run.toString(36)}` : gap.toString(36));
    previous = rows[i + run - 1];
    i += run;
  }
  return parts.join(".");
}

export function unpackRows(text: string): number[] {
  const rows: number[] = [];
  let previous = -1;
  for (const part of text.split(".")) {
    const match = /^([0-9a-z]{1,6})(?:\*([0-9a-z]{1,5}))?$/.exec(part);
    if (!match) return [];
    const gap = parseInt(match[1], 36);
    const run = match[2] ? parseInt(match[2], 36) : 1;
    if (gap < 1 || rows.length + run > 5_000_000) return [];
    for (let i = 0; i < run; i++) rows.push((previous += gap));
  }
  return rows;
}
