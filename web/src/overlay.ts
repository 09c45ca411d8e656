/** What lies over the points: rings, class names, new rows and the keyboard's cursor, on a plain canvas. */

import type { Segments } from "./contours";
import type { Neighbourhood } from "./distortion";
import { h } from "./dom";
import type { Screen } from "./geometry";
import type { PlacedLabel } from "./labelling";
import type { Layer } from "./types";

/** Lines from a row to its nearest ones; dashed to those that the map does not keep near. */
export interface Lines {
  from: number;
  to: readonly number[];
  kept: ReadonlySet<number>;
}

export interface OverlayContent {
  layer: Layer;
  visible: Uint8Array | null;
  far: Uint8Array | null;
  misshown: Uint8Array | null;
  labels: readonly PlacedLabel[];
  /** Rows that were placed on the map by the user. */
  newRows: readonly number[];
  /** Which rows are far from the data, whether they have rings or not. */
  isFar: Uint8Array | null;
  lines: Lines | null;
  /** The neighbourhood of the row pointed at. */
  hood: Neighbourhood | null;
  /** Pairs of rows that the map tore apart, one after the other. */
  torn: readonly number[];
  /** Lines between groups, x0 y0 x1 y1, wrongly near or nearer in the data. */
  groups: readonly { line: readonly [number, number, number, number]; near: boolean }[];
  /** Rows that only an earlier map has, and how strongly they are drawn. */
  gone: { x: Float32Array; y: Float32Array; share: number } | null;
  contours: readonly Segments[];
  /** Pictures in place of points: rows, how to get them, and their longer side in pixels. */
  sprites: { rows: readonly number[]; picture: (row: number) => HTMLCanvasElement; colour: (row: number) => string; side: number } | null;
  cursor: number | null;
}

export const LABEL_FONT = "650 14px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
/** So many rings can be told apart; more would only be a smear. */
const RINGS_AT_MOST = 4000;

export class Overlay {
  readonly canvas = h("canvas", { class: "pm-overlay", "aria-hidden": "true" });

  constructor(private readonly parent: HTMLElement) {
    parent.append(this.canvas);
  }

  draw(content: OverlayContent, screen: Screen, theme: { text: string; halo: string; warn: string; accent: string }): void {
    const ratio = window.devicePixelRatio || 1;
    const width = this.parent.clientWidth;
    const height = this.parent.clientHeight;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    // By the processor: under software GL, Chromium now and then loses what is painted on an accelerated canvas.
    const pen = this.canvas.getContext("2d", { willReadFrequently: true });
    if (!pen) return;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const at = (x: number, y: number): [number, number] => [screen.ax * x + screen.bx, screen.ay * y + screen.by];
    outlines(pen, content.contours, at, theme.text);
    if (content.sprites) pictures(pen, content.layer, content.sprites, at);
    if (content.far) rings(pen, content, content.far, at, theme.text, 4.5, [2, 2]);
    if (content.misshown) rings(pen, content, content.misshown, at, theme.warn, 6, []);
    if (content.gone) hollow(pen, content.gone, at, theme.text);
    tears(pen, content, at, theme.warn);
    if (content.lines && content.lines.from !== content.hood?.row) spokes(pen, content.layer, content.lines, at, theme);
    for (const row of content.newRows.slice(0, RINGS_AT_MOST)) {
      if (content.layer.x[row] < -8 || (content.visible && !content.visible[row])) continue;
      diamond(pen, at(content.layer.x[row], content.layer.y[row]), content.isFar?.[row] ? theme.warn : theme.accent, theme.halo);
    }
    bridges(pen, content.groups, at, theme);
    drawLabels(pen, content.labels, theme);
    if (content.hood) around(pen, content.layer, content.hood, at, theme);
    if (content.cursor !== null) {
      const [x, y] = at(content.layer.x[content.cursor], content.layer.y[content.cursor]);
      pen.strokeStyle = theme.accent;
      pen.lineWidth = 2.5;
      pen.setLineDash([]);
      pen.beginPath();
      pen.arc(x, y, 9, 0, 2 * Math.PI);
      pen.stroke();
    }
  }
}

function rings(
  pen: CanvasRenderingContext2D,
  { layer, visible }: OverlayContent,
  flags: Uint8Array,
  at: (x: number, y: number) => [number, number],
  colour: string,
  radius: number,
  dash: number[],
): void {
  pen.strokeStyle = colour;
  pen.lineWidth = 1.1;
  pen.setLineDash(dash);
  pen.beginPath();
  let drawn = 0;
  for (let row = 0; row < flags.length && drawn < RINGS_AT_MOST; row++) {
    if (!flags[row] || (visible && !visible[row])) continue;
    const [x, y] = at(layer.x[row], layer.y[row]);
    pen.moveTo(x + radius, y);
    pen.arc(x, y, radius, 0, 2 * Math.PI);
    drawn++;
  }
  pen.stroke();
  pen.setLineDash([]);
}

/** Pictures framed in the colours of their rows. */
function pictures(
  pen: CanvasRenderingContext2D,
  layer: Layer,
  { rows, picture, colour, side }: NonNullable<OverlayContent["sprites"]>,
  at: (x: number, y: number) => [number, number],
): void {
  pen.imageSmoothingEnabled = false;
  for (const row of rows) {
    const image = picture(row);
    const scale = side / Math.max(image.width, image.height);
    const [width, height] = [image.width * scale, image.height * scale];
    const [x, y] = at(layer.x[row], layer.y[row]);
    pen.fillStyle = colour(row);
    pen.fillRect(x - width / 2 - 2, y - height / 2 - 2, width + 4, height + 4);
    pen.drawImage(image, x - width / 2, y - height / 2, width, height);
  }
}

/** Lines of equal density, the inner ones stronger. */
function outlines(pen: CanvasRenderingContext2D, lines: readonly Segments[], at: (x: number, y: number) => [number, number], colour: string): void {
  pen.strokeStyle = colour;
  lines.forEach((segments, i) => {
    pen.globalAlpha = 0.75 - 0.13 * i;
    pen.lineWidth = 1.5 - 0.2 * i;
    pen.beginPath();
    for (let k = 0; k < segments.length; k += 4) {
      pen.moveTo(...at(segments[k], segments[k + 1]));
      pen.lineTo(...at(segments[k + 2], segments[k + 3]));
    }
    pen.stroke();
  });
  pen.globalAlpha = 1;
}

function spokes(
  pen: CanvasRenderingContext2D,
  { x, y }: Layer,
  { from, to, kept }: Lines,
  at: (x: number, y: number) => [number, number],
  theme: { accent: string; warn: string },
): void {
  const start = at(x[from], y[from]);
  for (const row of to) {
    if (x[row] < -8) continue;
    const end = at(x[row], y[row]);
    pen.strokeStyle = kept.has(row) ? theme.accent : theme.warn;
    pen.lineWidth = 1.6;
    pen.setLineDash(kept.has(row) ? [] : [5, 4]);
    pen.beginPath();
    pen.moveTo(...start);
    pen.lineTo(...end);
    pen.stroke();
    pen.setLineDash([]);
    pen.beginPath();
    pen.arc(...end, 5, 0, 2 * Math.PI);
    pen.stroke();
  }
}

/** Lines to the nearest rows, dashed to those torn away, and squares around those pushed in. */
function around(
  pen: CanvasRenderingContext2D,
  layer: Layer,
  { row, near, pushed }: Neighbourhood,
  at: (x: number, y: number) => [number, number],
  theme: { accent: string; warn: string; text: string },
): void {
  spokes(pen, layer, { from: row, to: near.map((one) => one.row), kept: new Set(near.filter((one) => one.kept).map((one) => one.row)) }, at, theme);
  pen.strokeStyle = theme.text;
  pen.lineWidth = 1.4;
  for (const other of pushed) {
    const [x, y] = at(layer.x[other], layer.y[other]);
    pen.strokeRect(x - 4.5, y - 4.5, 9, 9);
  }
}

function hollow(pen: CanvasRenderingContext2D, { x, y, share }: NonNullable<OverlayContent["gone"]>, at: (x: number, y: number) => [number, number], colour: string): void {
  pen.strokeStyle = colour;
  pen.lineWidth = 1.1;
  pen.globalAlpha = 0.4 * share;
  pen.beginPath();
  for (let i = 0; i < x.length; i++) {
    const [px, py] = at(x[i], y[i]);
    pen.moveTo(px + 2.6, py);
    pen.arc(px, py, 2.6, 0, 2 * Math.PI);
  }
  pen.stroke();
  pen.globalAlpha = 1;
}

/** Thin lines between rows that are nearest to each other and lie far apart. */
function tears(pen: CanvasRenderingContext2D, { layer, torn, visible }: OverlayContent, at: (x: number, y: number) => [number, number], colour: string): void {
  if (torn.length === 0) return;
  pen.strokeStyle = colour;
  pen.lineWidth = 1.3;
  pen.globalAlpha = Math.min(0.7, Math.max(0.12, 60 / torn.length));
  pen.beginPath();
  for (let i = 0; i < torn.length; i += 2) {
    const [a, b] = [torn[i], torn[i + 1]];
    if (visible && !(visible[a] && visible[b])) continue;
    pen.moveTo(...at(layer.x[a], layer.y[a]));
    pen.lineTo(...at(layer.x[b], layer.y[b]));
  }
  pen.stroke();
  pen.globalAlpha = 1;
}

/** Lines between the centres of groups: dashed where these are wrongly near. */
function bridges(
  pen: CanvasRenderingContext2D,
  groups: OverlayContent["groups"],
  at: (x: number, y: number) => [number, number],
  theme: { accent: string; warn: string; halo: string },
): void {
  for (const { line, near } of groups) {
    const [from, to] = [at(line[0], line[1]), at(line[2], line[3])];
    for (const [width, colour] of [[5, theme.halo], [2.5, near ? theme.warn : theme.accent]] as const) {
      pen.lineWidth = width;
      pen.strokeStyle = colour;
      pen.setLineDash(near && width < 5 ? [7, 5] : []);
      pen.beginPath();
      pen.moveTo(...from);
      pen.lineTo(...to);
      pen.stroke();
    }
    pen.setLineDash([]);
    for (const [x, y] of [from, to]) {
      pen.fillStyle = near ? theme.warn : theme.accent;
      pen.beginPath();
      pen.arc(x, y, 4, 0, 2 * Math.PI);
      pen.fill();
    }
  }
}

function diamond(pen: CanvasRenderingContext2D, [x, y]: [number, number], colour: string, halo: string): void {
  const r = 8;
  pen.beginPath();
  pen.moveTo(x, y - r);
  pen.lineTo(x + r, y);
  pen.lineTo(x, y + r);
  pen.lineTo(x - r, y);
  pen.closePath();
  pen.lineWidth = 3.5;
  pen.strokeStyle = halo;
  pen.stroke();
  pen.lineWidth = 1.8;
  pen.strokeStyle = colour;
  pen.stroke();
}

/** Names, and lines from them to their points. */
export function drawLabels(pen: CanvasRenderingContext2D, labels: readonly PlacedLabel[], theme: { text: string; halo: string }): void {
  pen.lineJoin = "round";
  pen.setLineDash([]);
  for (const [width, colour] of [[3.5, theme.halo], [1.1, theme.text]] as const) {
    pen.lineWidth = width;
    pen.strokeStyle = colour;
    pen.beginPath();
    for (const { line } of labels) {
      if (!line) continue;
      pen.moveTo(line[0], line[1]);
      pen.lineTo(line[2], line[3]);
    }
    pen.stroke();
  }
  pen.font = LABEL_FONT;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.lineWidth = 4;
  pen.strokeStyle = theme.halo;
  pen.fillStyle = theme.text;
  for (const { label, box } of labels) {
    const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
    pen.strokeText(label.text, x, y);
    pen.fillText(label.text, x, y);
  }
}

/** How many rows are doubtful, and the switch of the rings around them; nothing when there are none. */
export function ringKey({ far, misshown }: { far: Uint8Array | null; misshown: Uint8Array | null }, shown: boolean, toggle: (shown: boolean) => void): HTMLElement[] {
  const entry = (flags: Uint8Array | null, className: string, text: string) => {
    const count = flags ? flags.reduce((sum, flag) => sum + flag, 0) : 0;
    return count > 0 ? [h("li", {}, h("i", { class: className }), `${count.toLocaleString("en")} ${text}`)] : [];
  };
  const entries = [...entry(far, "pm-ring-far", "far from the data"), ...entry(misshown, "pm-ring-wrong", "on the wrong side")];
  if (entries.length === 0) return [];
  const input = h("input", { type: "checkbox", change: () => toggle(input.checked) });
  input.checked = shown;
  return [h("ul", { class: "pm-ringkey" }, ...entries), h("label", { class: "pm-check" }, input, h("span", {}, "Ring them on the map"))];
}
