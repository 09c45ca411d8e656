/** The current view as a figure that can be posted: title, verdict, error beside its baseline, map or maps, legend. */

import type { Colouring } from "./colouring";
import type { Screen } from "./geometry";
import type { Box, PlacedLabel } from "./labelling";
import { CanvasPen, type Pen, SvgPen } from "./pens";
import { format } from "./stats";
import type { Layer } from "./types";

export const SVG_POINTS_AT_MOST = 50_000;

/** A map as it is on the screen. */
export interface MapPanel {
  title: string;
  layer: Layer;
  colour: Colouring;
  visible: Uint8Array | null;
  hidden: ReadonlySet<number>;
  selection: readonly number[];
  labels: PlacedLabel[];
  screen: Screen;
  width: number;
  height: number;
  size: number;
  opacity: number;
  backdrop: HTMLCanvasElement | null;
}

export interface Theme {
  background: string;
  text: string;
  muted: string;
}

export interface FigureContent extends Theme {
  title: string;
  /** What the report says first, and the error beside its baseline. */
  lines: string[];
  maps: MapPanel[];
}

interface Dot {
  x: number;
  y: number;
  colour: string;
  faded: boolean;
}

const MARGIN = 20;
const GAP = 26;
const HEADING = 26;
const LINE = 20;
const NARROWEST = 460;
/** Free room around the points: a density fades out there. */
const [ROOM, DENSITY_ROOM] = [14, 44];
const [SMALLEST_PANEL, NARROWEST_LEGEND, WIDEST_LEGEND] = [220, 90, 230];
const LEGEND_HEAD = 24;

function dots({ layer, colour, visible, screen, width, height, selection }: MapPanel): Dot[] {
  const chosen = new Set(selection);
  const list: Dot[] = [];
  for (let row = 0; row < layer.x.length; row++) {
    if (visible && !visible[row]) continue;
    const x = screen.ax * layer.x[row] + screen.bx;
    const y = screen.ay * layer.y[row] + screen.by;
    if (x < 0 || y < 0 || x > width || y > height) continue;
    list.push({ x, y, colour: colour.colours[colour.codes[row]], faded: chosen.size > 0 && !chosen.has(row) });
  }
  return list;
}

/** The part of a map that shows anything: a figure has no empty half. */
export function shownPart(panel: MapPanel, points: readonly Dot[]): Box {
  const room = panel.backdrop ? DENSITY_ROOM : ROOM;
  const boxes: Box[] = panel.labels.map(({ box }) => ({ left: box.left - 6, right: box.right + 6, top: box.top - 4, bottom: box.bottom + 4 }));
  if (points.length > 0) {
    const [x, y] = [points.map((dot) => dot.x), points.map((dot) => dot.y)];
    const least = (values: number[]) => values.reduce((a, b) => Math.min(a, b));
    const most = (values: number[]) => values.reduce((a, b) => Math.max(a, b));
    boxes.push({ left: least(x) - room, right: most(x) + room, top: least(y) - room, bottom: most(y) + room });
  }
  if (boxes.length === 0) return { left: 0, top: 0, right: panel.width, bottom: panel.height };
  const part = {
    left: Math.max(0, Math.min(...boxes.map((box) => box.left))),
    top: Math.max(0, Math.min(...boxes.map((box) => box.top))),
    right: Math.min(panel.width, Math.max(...boxes.map((box) => box.right))),
    bottom: Math.min(panel.height, Math.max(...boxes.map((box) => box.bottom))),
  };
  const widen = (low: number, high: number, end: number) => {
    const missing = Math.max(0, Math.min(SMALLEST_PANEL, end) - (high - low));
    const start = Math.max(0, Math.min(low - missing / 2, end - (high - low) - missing));
    return [start, start + (high - low) + missing];
  };
  const [left, right] = widen(part.left, part.right, panel.width);
  const [top, bottom] = widen(part.top, part.bottom, panel.height);
  return { left, right, top, bottom };
}

interface Entry {
  colour: string;
  text: string;
}

function legendEntries({ colour, hidden }: MapPanel, height: number): Entry[] {
  if (colour.kind === "ramp") {
    return [0, 0.25, 0.5, 0.75, 1].map((t) => ({
      colour: colour.colours[Math.round(t * (colour.colours.length - 2))],
      text: format(colour.min + t * (colour.max - colour.min), colour.unit),
    }));
  }
  const entries = colour.categories.map((category, code) => ({ colour: category.colour, text: category.label, code })).filter((entry) => !hidden.has(entry.code));
  if (colour.missing > 0) entries.push({ colour: colour.colours.at(-1)!, text: "unlabelled", code: -1 });
  const room = Math.max(3, Math.floor((height - LEGEND_HEAD) / LINE));
  if (entries.length <= room) return entries;
  return [...entries.slice(0, room - 1), { colour: "none", text: `and ${entries.length - room + 1} more`, code: -1 }];
}

/** About how wide words are; the same for both kinds of files. */
function wide(words: string, size: number): number {
  return 0.56 * size * words.length;
}

/** Words in lines that are no wider than a figure. */
export function wrapped(words: string, size: number, width: number): string[] {
  const lines: string[] = [];
  for (const word of words.split(/ +/)) {
    const longer = lines.length > 0 ? `${lines[lines.length - 1]} ${word}` : word;
    if (lines.length > 0 && wide(longer, size) <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

interface Placed {
  panel: MapPanel;
  points: Dot[];
  part: Box;
  x: number;
  legend: { x: number; entries: Entry[]; width: number } | null;
}

/** Where everything goes: maps side by side, a legend after each, or after the last if it is the same. */
function arrange({ maps }: FigureContent): { placed: Placed[]; width: number; height: number } {
  const parts = maps.map((panel) => {
    const points = dots(panel);
    return { panel, points, part: shownPart(panel, points) };
  });
  const height = Math.max(...parts.map(({ part }) => part.bottom - part.top));
  const same = maps.every((panel) => panel.colour.title === maps[0].colour.title && panel.colour.kind === maps[0].colour.kind);
  let x = MARGIN;
  const placed = parts.map((one, i): Placed => {
    const start = x;
    x += one.part.right - one.part.left;
    if (same && i < parts.length - 1) {
      x += GAP;
      return { ...one, x: start, legend: null };
    }
    const entries = legendEntries(one.panel, height);
    const longest = Math.max(wide(one.panel.colour.title, 12), ...entries.map(({ text }) => 20 + wide(text, 12)));
    const legend = { x: x + 12, entries, width: Math.min(WIDEST_LEGEND, Math.max(NARROWEST_LEGEND, longest + 8)) };
    x = legend.x + legend.width + (i < parts.length - 1 ? GAP : 0);
    return { ...one, x: start, legend };
  });
  return { placed, width: Math.ceil(Math.max(NARROWEST, x + MARGIN)), height: Math.ceil(height) };
}

/** Draw a figure; `begin` makes the pen once the size is known. */
function drawFigure<P extends Pen>(content: FigureContent, begin: (width: number, height: number) => P): { pen: P; width: number; height: number; points: number } {
  const { placed, width, height } = arrange(content);
  const room = width - 2 * MARGIN;
  const head = [
    ...wrapped(content.title, 18, room).map((words) => ({ words, size: 18, weight: 650, colour: content.text })),
    ...content.lines.flatMap((line, i) => wrapped(line, 13, room).map((words) => ({ words, size: 13, weight: i === 0 ? 550 : 400, colour: i === 0 ? content.text : content.muted }))),
  ];
  const top = MARGIN + head.reduce((sum, { size }) => sum + 1.5 * size, 0) + 6;
  const total = Math.ceil(top + HEADING + height + MARGIN);
  const pen = begin(width, total);
  pen.rect(0, 0, width, total, content.background);
  let y = MARGIN;
  for (const { words, size, weight, colour } of head) {
    pen.text(words, MARGIN, y + 0.6 * size, { size, weight, colour });
    y += 1.5 * size;
  }
  for (const one of placed) drawPlaced(pen, one, top, content);
  return { pen, width, height: total, points: Math.max(...placed.map(({ points }) => points.length)) };
}

function drawPlaced(pen: Pen, { panel, points, part, x, legend }: Placed, top: number, theme: Theme): void {
  const y = top + HEADING;
  pen.text(panel.title, x, top + 10, { size: 13, weight: 600, colour: theme.muted });
  pen.within({ x, y, width: part.right - part.left, height: part.bottom - part.top }, x - part.left, y - part.top, () => drawMap(pen, panel, theme, points));
  if (!legend) return;
  pen.text(panel.colour.title, legend.x, y + 10, { size: 12, weight: 600, colour: theme.text });
  legend.entries.forEach(({ colour, text }, i) => {
    const line = y + LEGEND_HEAD + 10 + LINE * i;
    if (colour !== "none") pen.disc(legend.x + 6, line, 5, colour, 1);
    const most = Math.floor((legend.width - 20) / (0.56 * 12));
    pen.text(text.length > most ? `${text.slice(0, most - 1)}…` : text, legend.x + 20, line, { size: 12, colour: theme.text });
  });
}

/** The points of a map and their names: for files, and on screen where WebGL is missing. */
export function drawMap(pen: Pen, panel: MapPanel, theme: Theme, points = dots(panel)): void {
  const { screen, backdrop } = panel;
  if (backdrop) pen.image(backdrop, screen.bx - screen.ax, screen.by + screen.ay, 2 * screen.ax, -2 * screen.ay);
  for (const { x, y, colour, faded } of points) pen.disc(x, y, panel.size / 2, colour, faded ? 0.12 : panel.opacity);
  for (const [width, colour] of [[3.5, theme.background], [1.1, theme.text]] as const) {
    for (const { line } of panel.labels) if (line) pen.line([line[0], line[1]], [line[2], line[3]], width, colour);
  }
  for (const { label, box } of panel.labels) {
    pen.text(label.text, (box.left + box.right) / 2, (box.top + box.bottom) / 2, { size: 14, weight: 650, colour: theme.text, anchor: "middle", halo: theme.background });
  }
}

/** SVG, or null when a map has more points than a vector file should hold. */
export function svgFigure(content: FigureContent): string | null {
  const { pen, width, height, points } = drawFigure(content, () => new SvgPen());
  return points > SVG_POINTS_AT_MOST ? null : pen.document(width, height);
}

export async function pngFigure(content: FigureContent, scale = 2): Promise<Blob> {
  const canvas = document.createElement("canvas");
  drawFigure(content, (width, height) => {
    [canvas.width, canvas.height] = [width * scale, height * scale];
    const pen = canvas.getContext("2d")!;
    pen.scale(scale, scale);
    return new CanvasPen(pen);
  });
  return await new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the browser made no picture"))), "image/png"),
  );
}
