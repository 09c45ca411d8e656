/** Positions to the renderer's square and to the screen, and back. */

import type { Frame } from "./types";

/** The circle-free frame that holds every finite position, with a small margin, one scale for both axes. */
export function fitFrame(...parts: readonly Float32Array[]): Frame {
  let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const positions of parts) {
    for (let i = 0; i < positions.length; i += 2) {
      const x = positions[i];
      const y = positions[i + 1];
      if (!Number.isFinite(x) || !Number.isFinite(y)) continue;
      if (x < x0) x0 = x;
      if (x > x1) x1 = x;
      if (y < y0) y0 = y;
      if (y > y1) y1 = y;
    }
  }
  if (x0 > x1) return { cx: 0, cy: 0, radius: 1 };
  const radius = Math.max(x1 - x0, y1 - y0) / 2;
  return { cx: (x0 + x1) / 2, cy: (y0 + y1) / 2, radius: radius > 0 ? radius * 1.06 : 1 };
}

/** Columns x and y in [-1, 1]; a row without a finite position goes to the middle of nowhere, outside the frame. */
export function scaleInto(positions: Float32Array, frame: Frame): { x: Float32Array; y: Float32Array } {
  const n = positions.length / 2;
  const x = new Float32Array(n);
  const y = new Float32Array(n);
  for (let i = 0; i < n; i++) {
    const px = (positions[2 * i] - frame.cx) / frame.radius;
    const py = (positions[2 * i + 1] - frame.cy) / frame.radius;
    const finite = Number.isFinite(px) && Number.isFinite(py);
    x[i] = finite ? px : -9;
    y[i] = finite ? py : -9;
  }
  return { x, y };
}

/** Affine map from the renderer's square to canvas pixels, read off the camera's 4 x 4 view matrix. */
export interface Screen {
  ax: number;
  bx: number;
  ay: number;
  by: number;
}

export function screenOf(view: ArrayLike<number>, width: number, height: number): Screen {
  const aspect = width / height;
  return {
    ax: (width / 2) * (view[0] / aspect),
    bx: (width / 2) * (1 + view[12] / aspect),
    ay: -(height / 2) * view[5],
    by: (height / 2) * (1 - view[13]),
  };
}

/** Even-odd test of a point against a closed polygon given as x0 y0 x1 y1 ... */
export function insidePolygon(x: number, y: number, polygon: ArrayLike<number>): boolean {
  let inside = false;
  const n = polygon.length / 2;
  for (let i = 0, j = n - 1; i < n; j = i++) {
    const xi = polygon[2 * i];
    const yi = polygon[2 * i + 1];
    const xj = polygon[2 * j];
    const yj = polygon[2 * j + 1];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) inside = !inside;
  }
  return inside;
}

/** The nearest row in a direction (dx, dy): near and well aligned beats far or sideways. For the arrow keys. */
export function nextInDirection(
  x: Float32Array,
  y: Float32Array,
  from: number,
  dx: number,
  dy: number,
  visible: (row: number) => boolean,
): number {
  let best = from;
  let bestCost = Infinity;
  for (let i = 0; i < x.length; i++) {
    const ux = x[i] - x[from];
    const uy = y[i] - y[from];
    const along = ux * dx + uy * dy;
    if (along <= 0 || !visible(i)) continue;
    const across = Math.abs(ux * dy - uy * dx);
    const cost = along + 2.5 * across;
    if (cost < bestCost) {
      bestCost = cost;
      best = i;
    }
  }
  return best;
}
