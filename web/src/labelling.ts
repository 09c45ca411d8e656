/**
 * Where names go on the screen: beside what they name, over no point, within the frame, and apart from each other. The
 * first ones choose first. A thin line leads from a name to its points where there is a gap between them.
 */

import type { CategoryColouring } from "./colouring";
import type { Screen } from "./geometry";
import type { Label } from "./labels";
import type { Layer } from "./types";

export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** A name with its box on the screen; `line` leads from the box to the points, null where they touch. */
export interface PlacedLabel {
  label: Label;
  box: Box;
  line: [x0: number, y0: number, x1: number, y1: number] | null;
}

/** Size of a cell in which points are looked for, in pixels. */
const CELL = 4;
const LINE_HEIGHT = 17;
/** Free room around a name: to other names and to the frame. */
const GAP = 3;
/** Steps outwards, and directions: sideways first, where names read best. */
const STEP = 7;
const ANGLES = [0, 180, 90, 270, 30, 150, 210, 330, 60, 120, 240, 300, 15, 165, 195, 345, 45, 135, 225, 315, 75, 105, 255, 285].map((a) => (a * Math.PI) / 180);
/** A gap that is wider than this is bridged by a line. */
const BRIDGED = 14;
/** Names stay within this part of the frame's longer side from their points; of more than a dozen, lines would cross. */
const [REACH, REACH_OF_MANY, MANY] = [0.45, 0.12, 12];

/** Which cells of the screen hold points, and of which category. */
interface Cover {
  columns: number;
  lines: number;
  owner: Uint16Array;
  /** Sums of covered cells above and left of each corner. */
  sums: Int32Array;
}

/**
 * Places for as many of the labels as have one. `keepOut` are boxes over the map, such as its tools; `wide` measures a
 * text; `radius` is that of a point in pixels.
 */
export function layoutLabels(
  labels: readonly Label[],
  map: { layer: Layer; colour: Pick<CategoryColouring, "codes">; visible: Uint8Array | null },
  screen: Screen,
  frame: { width: number; height: number; radius: number },
  wide: (text: string) => number,
  keepOut: readonly Box[] = [],
): PlacedLabel[] {
  if (labels.length === 0) return [];
  const cover = coverOf(map, screen, frame);
  const taken = [...keepOut];
  const reach = (labels.length > MANY ? REACH_OF_MANY : REACH) * Math.max(frame.width, frame.height);
  const placed: PlacedLabel[] = [];
  for (const label of labels) {
    const [x, y] = [screen.ax * label.x + screen.bx, screen.ay * label.y + screen.by];
    if (x < 0 || y < 0 || x > frame.width || y > frame.height) continue;
    const box = freeBox(x, y, wide(label.text), cover, taken, frame, reach);
    if (!box) continue;
    taken.push(box);
    placed.push({ label, box, line: leader(box, x, y, label.code + 1, cover) });
  }
  return placed;
}

function coverOf({ layer, colour, visible }: Parameters<typeof layoutLabels>[1], screen: Screen, frame: { width: number; height: number; radius: number }): Cover {
  const [columns, lines] = [Math.ceil(frame.width / CELL), Math.ceil(frame.height / CELL)];
  const owner = new Uint16Array(columns * lines);
  const reach = Math.max(0, Math.ceil((frame.radius - CELL / 2) / CELL));
  for (let row = 0; row < layer.x.length; row++) {
    if (visible && !visible[row]) continue;
    const column = Math.floor((screen.ax * layer.x[row] + screen.bx) / CELL);
    const line = Math.floor((screen.ay * layer.y[row] + screen.by) / CELL);
    if (column < -reach || line < -reach || column >= columns + reach || line >= lines + reach) continue;
    for (let l = Math.max(0, line - reach); l <= Math.min(lines - 1, line + reach); l++) {
      for (let c = Math.max(0, column - reach); c <= Math.min(columns - 1, column + reach); c++) owner[l * columns + c] = colour.codes[row] + 1;
    }
  }
  const wide = columns + 1;
  const sums = new Int32Array(wide * (lines + 1));
  for (let line = 0; line < lines; line++) {
    for (let column = 0; column < columns; column++) {
      const before = sums[line * wide + column + 1] + sums[(line + 1) * wide + column] - sums[line * wide + column];
      sums[(line + 1) * wide + column + 1] = before + (owner[line * columns + column] > 0 ? 1 : 0);
    }
  }
  return { columns, lines, owner, sums };
}

/** Whether no point lies under a box. */
function isFree({ left, top, right, bottom }: Box, { columns, lines, sums }: Cover): boolean {
  const c0 = Math.max(0, Math.floor(left / CELL));
  const c1 = Math.min(columns, Math.ceil(right / CELL));
  const l0 = Math.max(0, Math.floor(top / CELL));
  const l1 = Math.min(lines, Math.ceil(bottom / CELL));
  const wide = columns + 1;
  return sums[l1 * wide + c1] - sums[l0 * wide + c1] - sums[l1 * wide + c0] + sums[l0 * wide + c0] === 0;
}

/** The nearest free box of a text around a place; its near edge moves outwards, so that long names are no worse off. */
function freeBox(x: number, y: number, width: number, cover: Cover, taken: readonly Box[], frame: { width: number; height: number }, most: number): Box | null {
  const [half, tall] = [width / 2, LINE_HEIGHT / 2];
  for (let far = 0; far <= most; far += STEP) {
    for (const angle of ANGLES) {
      const [dx, dy] = [Math.cos(angle), Math.sin(angle)];
      const box = around(x + far * dx + half * dx, y + far * dy + tall * dy, half, tall);
      const inside = box.left >= GAP && box.top >= GAP && box.right <= frame.width - GAP && box.bottom <= frame.height - GAP;
      if (inside && isFree(box, cover) && taken.every((other) => !overlap(box, other))) return box;
    }
  }
  return null;
}

function around(x: number, y: number, half: number, tall: number): Box {
  return { left: x - half, top: y - tall, right: x + half, bottom: y + tall };
}

function overlap(a: Box, b: Box): boolean {
  return a.left < b.right + GAP && a.right > b.left - GAP && a.top < b.bottom + GAP && a.bottom > b.top - GAP;
}

/** From the near edge of a box towards a place, up to the first of its own points; null where that is close by. */
function leader(box: Box, x: number, y: number, owner: number, { columns, lines, owner: owners }: Cover): PlacedLabel["line"] {
  const [x0, y0] = [Math.min(box.right, Math.max(box.left, x)), Math.min(box.bottom, Math.max(box.top, y))];
  const length = Math.hypot(x - x0, y - y0);
  for (let done = 0; done < length; done += CELL / 2) {
    const [px, py] = [x0 + ((x - x0) * done) / length, y0 + ((y - y0) * done) / length];
    const [column, line] = [Math.floor(px / CELL), Math.floor(py / CELL)];
    if (column < 0 || line < 0 || column >= columns || line >= lines || owners[line * columns + column] !== owner) continue;
    return done > BRIDGED ? [x0, y0, px, py] : null;
  }
  return length > BRIDGED ? [x0, y0, x, y] : null;
}
