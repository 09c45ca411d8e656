/** How large and how opaque points are, by how many of them are in view. */

import type { Layer } from "./types";
import type { Screen } from "./geometry";

/** Number of points, size in pixels, opacity. */
const STEPS: [number, number, number][] = [
  [300, 8, 0.85], [1_500, 7, 0.8], [8_000, 5, 0.8], [20_000, 4, 0.65], [50_000, 3.2, 0.5], [200_000, 2.5, 0.35], [1_000_000, 2, 0.12],
];

/** Between the steps in proportion to the logarithm of the number. */
export function styleFor(count: number): { size: number; opacity: number } {
  const after = STEPS.findIndex(([n]) => count <= n);
  if (after === 0) return { size: STEPS[0][1], opacity: STEPS[0][2] };
  if (after < 0) return { size: STEPS[STEPS.length - 1][1], opacity: STEPS[STEPS.length - 1][2] };
  const [[n0, s0, o0], [n1, s1, o1]] = [STEPS[after - 1], STEPS[after]];
  const share = Math.log(count / n0) / Math.log(n1 / n0);
  return { size: s0 + share * (s1 - s0), opacity: o0 + share * (o1 - o0) };
}

/** How many visible rows are on the screen; `list` gets the first of them. */
export function rowsInView(
  layer: Layer,
  visible: Uint8Array | null,
  { ax, bx, ay, by }: Screen,
  width: number,
  height: number,
  list: { rows: number[]; most: number } | null = null,
): number {
  const [x0, x1] = [-bx / ax, (width - bx) / ax];
  const [y0, y1] = [(height - by) / ay, -by / ay];
  let count = 0;
  for (let row = 0; row < layer.x.length; row++) {
    const x = layer.x[row];
    const y = layer.y[row];
    if (x >= x0 && x <= x1 && y >= y0 && y <= y1 && (visible === null || visible[row])) {
      if (list && count < list.most) list.rows.push(row);
      count++;
    }
  }
  return count;
}
