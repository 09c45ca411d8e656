/** Lines of equal density: a smooth count of rows on a grid, and marching squares through it. */

import type { Layer } from "./types";

/** Each line holds so many of the rows, so that lines mean the same on every map. */
const SHARES = [0.25, 0.5, 0.75, 0.95];
const GRID = 160;
/** The grid reaches so far beyond the square that holds the rows: lines close outside of them. */
const REACH = 1.15;

/** Pieces of lines, x0 y0 x1 y1 each, in the renderer's square. */
export type Segments = Float32Array;

/** The lines that hold a quarter, a half, three quarters and 95 % of the visible rows; none of fewer than ten rows. */
export function contours(layer: Layer, visible: Uint8Array | null): Segments[] {
  const { counts, cells, rows } = countRows(layer, visible, GRID);
  if (rows < 10) return [];
  const field = blur(counts, GRID, bandwidth(rows, GRID));
  const seen = Float64Array.from(cells, (cell) => field[cell]).sort();
  return SHARES.map((share) => contourLines(field, GRID, seen[Math.floor((1 - share) * (seen.length - 1))]));
}

/** Width of the smoothing in cells: Scott's n^(-1/6), on a scale on which groups of a map stay apart. */
export function bandwidth(rows: number, grid: number): number {
  return Math.max(1, 0.07 * grid * rows ** (-1 / 6));
}

/** Rows in each cell, from the top line down, and the cell of each row. */
export function countRows(layer: Pick<Layer, "x" | "y">, visible: Uint8Array | null, grid: number): { counts: Float64Array; cells: Uint32Array; rows: number } {
  const counts = new Float64Array(grid * grid);
  const cells = new Uint32Array(layer.x.length);
  let rows = 0;
  for (let row = 0; row < layer.x.length; row++) {
    if (visible && !visible[row]) continue;
    const column = Math.floor(((layer.x[row] / REACH + 1) / 2) * grid);
    const line = Math.floor(((1 - layer.y[row] / REACH) / 2) * grid);
    if (column < 0 || line < 0 || column >= grid || line >= grid) continue;
    const cell = line * grid + column;
    counts[cell]++;
    cells[rows++] = cell;
  }
  return { counts, cells: cells.subarray(0, rows), rows };
}

/** A Gaussian of width `sigma` cells over the grid, along lines and then along columns. */
export function blur(values: Float64Array, grid: number, sigma: number): Float64Array {
  const reach = Math.ceil(3 * sigma);
  const kernel = Float64Array.from({ length: 2 * reach + 1 }, (_, i) => Math.exp(-((i - reach) ** 2) / (2 * sigma * sigma)));
  const total = kernel.reduce((sum, weight) => sum + weight, 0);
  const pass = (from: Float64Array, step: number, across: number) => {
    const to = new Float64Array(from.length);
    for (let line = 0; line < grid; line++) {
      for (let place = 0; place < grid; place++) {
        const value = from[line * across + place * step];
        if (value === 0) continue;
        for (let k = Math.max(0, place - reach); k <= Math.min(grid - 1, place + reach); k++) {
          to[line * across + k * step] += (value * kernel[k - place + reach]) / total;
        }
      }
    }
    return to;
  };
  return pass(pass(values, 1, grid), grid, 1);
}

/** Where the field, linear between the centres of its cells, crosses a level: marching squares. */
export function contourLines(field: Float64Array, grid: number, level: number): Segments {
  const out: number[] = [];
  const put = (column: number, line: number) => out.push(REACH * ((2 * (column + 0.5)) / grid - 1), REACH * (1 - (2 * (line + 0.5)) / grid));
  for (let line = 0; line < grid - 1; line++) {
    for (let column = 0; column < grid - 1; column++) {
      const at = line * grid + column;
      const [a, b, c, d] = [field[at], field[at + 1], field[at + grid + 1], field[at + grid]];
      const code = (a > level ? 8 : 0) | (b > level ? 4 : 0) | (c > level ? 2 : 0) | (d > level ? 1 : 0);
      if (code === 0 || code === 15) continue;
      const between = (p: number, q: number) => (level - p) / (q - p);
      const sides = [
        () => put(column + between(a, b), line),
        () => put(column + 1, line + between(b, c)),
        () => put(column + between(d, c), line + 1),
        () => put(column, line + between(a, d)),
      ];
      for (const [from, to] of EDGES[code]) {
        sides[from]();
        sides[to]();
      }
    }
  }
  return Float32Array.from(out);
}

/** Sides (top, right, bottom, left) that a line joins, by the corners above the level. */
const EDGES: Record<number, [number, number][]> = {
  1: [[3, 2]], 2: [[2, 1]], 3: [[3, 1]], 4: [[0, 1]], 5: [[0, 3], [2, 1]], 6: [[0, 2]], 7: [[3, 0]],
  8: [[3, 0]], 9: [[0, 2]], 10: [[0, 1], [3, 2]], 11: [[0, 1]], 12: [[3, 1]], 13: [[2, 1]], 14: [[3, 2]],
};
