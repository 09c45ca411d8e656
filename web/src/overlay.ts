/** What lies over the points: rings, class names, new rows and the keyboard's cursor, on a plain canvas. */

import type { CategoryColouring } from "./colouring";
import { h } from "./dom";
import type { Screen } from "./geometry";
import type { Layer } from "./types";

export interface NewRow {
  name: string;
  x: number;
  y: number;
  far: boolean;
}

export interface Label {
  text: string;
  colour: string;
  code: number;
  x: number;
  y: number;
}

export interface OverlayContent {
  layer: Layer;
  visible: Uint8Array | null;
  far: Uint8Array | null;
  misshown: Uint8Array | null;
  labels: Label[];
  newRows: NewRow[];
  cursor: number | null;
}

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
    const pen = this.canvas.getContext("2d");
    if (!pen) return;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const at = (x: number, y: number): [number, number] => [screen.ax * x + screen.bx, screen.ay * y + screen.by];
    if (content.far) rings(pen, content, content.far, at, theme.text, 4.5, [2, 2]);
    if (content.misshown) rings(pen, content, content.misshown, at, theme.warn, 6, []);
    for (const row of content.newRows) diamond(pen, at(row.x, row.y), row.far ? theme.warn : theme.accent, theme.halo, row.far);
    for (const label of content.labels) word(pen, label, at(label.x, label.y), theme);
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

function diamond(pen: CanvasRenderingContext2D, [x, y]: [number, number], colour: string, halo: string, far: boolean): void {
  const r = 6;
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
  if (!far) {
    pen.fillStyle = colour;
    pen.fill();
  }
}

function word(
  pen: CanvasRenderingContext2D,
  label: Label,
  [x, y]: [number, number],
  theme: { text: string; halo: string },
): void {
  pen.font = "650 14px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.lineJoin = "round";
  pen.lineWidth = 5;
  pen.strokeStyle = theme.halo;
  pen.strokeText(label.text, x, y);
  pen.fillStyle = theme.text;
  pen.fillText(label.text, x, y);
}

/** A name for each category where it is densest, found on a coarse grid; one that is nowhere in the majority gets none. */
export function placeLabels(layer: Layer, colour: CategoryColouring, hidden: ReadonlySet<number>): Label[] {
  const grid = 28;
  const count = colour.categories.length;
  if (count < 2 || count > 40) return [];
  const cells = new Uint32Array(count * grid * grid);
  const everyone = new Uint32Array(grid * grid);
  const cellOf = (row: number) => {
    const column = Math.floor(((layer.x[row] + 1) / 2) * grid);
    const line = Math.floor(((layer.y[row] + 1) / 2) * grid);
    return column < 0 || line < 0 || column >= grid || line >= grid ? -1 : line * grid + column;
  };
  for (let row = 0; row < layer.x.length; row++) {
    const cell = cellOf(row);
    if (cell < 0) continue;
    everyone[cell]++;
    if (colour.codes[row] < count) cells[colour.codes[row] * grid * grid + cell]++;
  }
  const labels: Label[] = [];
  for (let code = 0; code < count; code++) {
    if (hidden.has(code) || colour.categories[code].count === 0) continue;
    const own = cells.subarray(code * grid * grid, (code + 1) * grid * grid);
    const [column, line] = densest(own, grid);
    if (windowSum(own, column, line, grid) < 0.5 * windowSum(everyone, column, line, grid)) continue;
    const [x, y] = meanAround(layer, colour.codes, code, column, line, grid);
    const text = colour.categories[code].label;
    labels.push({ text: text.length > 22 ? `${text.slice(0, 21)}…` : text, colour: colour.colours[code], code, x, y });
  }
  return labels;
}

/** Rows in the five by five cells around one. */
function windowSum(cells: Uint32Array, column: number, line: number, grid: number): number {
  let sum = 0;
  for (let l = Math.max(0, line - 2); l <= Math.min(grid - 1, line + 2); l++) {
    for (let c = Math.max(0, column - 2); c <= Math.min(grid - 1, column + 2); c++) sum += cells[l * grid + c];
  }
  return sum;
}

function densest(cells: Uint32Array, grid: number): [number, number] {
  let best: [number, number] = [0, 0];
  let most = -1;
  for (let line = 0; line < grid; line++) {
    for (let column = 0; column < grid; column++) {
      const sum = windowSum(cells, column, line, grid) + cells[line * grid + column];
      if (sum > most) {
        most = sum;
        best = [column, line];
      }
    }
  }
  return best;
}

function meanAround(layer: Layer, codes: Uint16Array, code: number, column: number, line: number, grid: number): [number, number] {
  const x0 = ((column - 2) / grid) * 2 - 1;
  const x1 = ((column + 3) / grid) * 2 - 1;
  const y0 = ((line - 2) / grid) * 2 - 1;
  const y1 = ((line + 3) / grid) * 2 - 1;
  let [sx, sy, n] = [0, 0, 0];
  for (let row = 0; row < codes.length; row++) {
    if (codes[row] !== code) continue;
    const x = layer.x[row];
    const y = layer.y[row];
    if (x < x0 || x > x1 || y < y0 || y > y1) continue;
    [sx, sy, n] = [sx + x, sy + y, n + 1];
  }
  return n > 0 ? [sx / n, sy / n] : [(x0 + x1) / 2, (y0 + y1) / 2];
}

/** What the rings mean, for the legend; nothing when there are none. */
export function ringKey({ far, misshown }: { far: Uint8Array | null; misshown: Uint8Array | null }): HTMLElement[] {
  const entry = (flags: Uint8Array | null, className: string, text: string) => {
    const count = flags ? flags.reduce((sum, flag) => sum + flag, 0) : 0;
    return count > 0 ? [h("li", {}, h("i", { class: className }), `${count.toLocaleString("en")} ${text}`)] : [];
  };
  return [...entry(far, "pm-ring-far", "far from the data"), ...entry(misshown, "pm-ring-wrong", "on the wrong side")];
}
