/** Names on the map: which classes have one, and where each is densest. `labelling` finds the room for them. */

import type { CategoryColouring } from "./colouring";
import type { Layer } from "./types";

export interface Label {
  text: string;
  colour: string;
  code: number;
  x: number;
  y: number;
}

/** Cells along each side, and how far around a cell its neighbourhood reaches: finer where many classes share the map. */
function gridFor(count: number): Grid {
  return count <= 20 ? { side: 28, reach: 2 } : { side: Math.min(90, Math.round(28 + 3 * Math.sqrt(count))), reach: 1 };
}

interface Grid {
  side: number;
  reach: number;
}

/** More classes than this are names of rows, not classes. */
const NAMED_AT_MOST = 1000;
const LONGEST = 28;

/**
 * A name for each category where it is densest, found on a coarse grid, the largest category first; one that is nowhere
 * in the majority gets none.
 */
export function placeLabels(layer: Layer, colour: CategoryColouring, hidden: ReadonlySet<number>): Label[] {
  const count = colour.categories.length;
  if (count < 2 || count > NAMED_AT_MOST) return [];
  const grid = gridFor(count);
  const size = grid.side ** 2;
  const cells = new Uint32Array(count * size);
  const everyone = new Uint32Array(size);
  for (let row = 0; row < layer.x.length; row++) {
    const cell = cellOf(layer.x[row], layer.y[row], grid);
    const code = colour.codes[row];
    if (cell < 0 || hidden.has(code)) continue;
    everyone[cell]++;
    if (code < count) cells[code * size + cell]++;
  }
  const home = new Int32Array(count).fill(-1);
  for (let code = 0; code < count; code++) {
    if (hidden.has(code) || colour.categories[code].count === 0) continue;
    const own = cells.subarray(code * size, (code + 1) * size);
    const cell = densest(own, grid);
    // Rows of it may be nowhere on this map.
    if (own[cell] > 0 && windowSum(own, cell, grid) >= 0.5 * windowSum(everyone, cell, grid)) home[code] = cell;
  }
  const places = meansAround(layer, colour.codes, home, grid);
  return Array.from(home.keys())
    .filter((code) => home[code] >= 0)
    .sort((a, b) => colour.categories[b].count - colour.categories[a].count || a - b)
    .map((code) => {
      const text = colour.categories[code].label;
      return { text: text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text, colour: colour.colours[code], code, ...places[code] };
    });
}

function cellOf(x: number, y: number, { side }: Grid): number {
  const column = Math.floor(((x + 1) / 2) * side);
  const line = Math.floor(((y + 1) / 2) * side);
  return column < 0 || line < 0 || column >= side || line >= side ? -1 : line * side + column;
}

/** Rows in the cells around one. */
function windowSum(cells: Uint32Array, cell: number, { side, reach }: Grid): number {
  const [column, line] = [cell % side, Math.floor(cell / side)];
  let sum = 0;
  for (let l = Math.max(0, line - reach); l <= Math.min(side - 1, line + reach); l++) {
    for (let c = Math.max(0, column - reach); c <= Math.min(side - 1, column + reach); c++) sum += cells[l * side + c];
  }
  return sum;
}

function densest(cells: Uint32Array, grid: Grid): number {
  let [best, most] = [0, -1];
  for (let cell = 0; cell < cells.length; cell++) {
    if (cells[cell] === 0) continue;
    const sum = windowSum(cells, cell, grid) + cells[cell];
    if (sum > most) [best, most] = [cell, sum];
  }
  return best;
}

/** The mean position of each category within the window around its cell. */
function meansAround(layer: Layer, codes: Uint16Array, home: Int32Array, grid: Grid): { x: number; y: number }[] {
  const { side, reach } = grid;
  const sums = Array.from(home, () => ({ x: 0, y: 0, n: 0 }));
  for (let row = 0; row < codes.length; row++) {
    const code = codes[row];
    if (code >= home.length || home[code] < 0) continue;
    const cell = cellOf(layer.x[row], layer.y[row], grid);
    const away = Math.max(Math.abs((cell % side) - (home[code] % side)), Math.abs(Math.floor(cell / side) - Math.floor(home[code] / side)));
    if (cell < 0 || away > reach) continue;
    const sum = sums[code];
    sum.x += layer.x[row];
    sum.y += layer.y[row];
    sum.n++;
  }
  return sums.map(({ x, y, n }) => ({ x: x / Math.max(1, n), y: y / Math.max(1, n) }));
}
