/** Pictures of rows, grey or in colour: one, the mean of some, and how that differs from the others. */

import { h } from "./dom";
import type { Images } from "./types";

type Rgba = Uint8ClampedArray<ArrayBuffer>;

/** The pixels of one row's picture. */
export function pixelsOf({ data, height, width, channels }: Images, row: number): Rgba {
  const size = height * width;
  const start = row * size * channels;
  const out = new Uint8ClampedArray(4 * size);
  for (let i = 0; i < size; i++) {
    for (let c = 0; c < 3; c++) out[4 * i + c] = data[start + i * channels + (channels === 3 ? c : 0)];
    out[4 * i + 3] = 255;
  }
  return out;
}

/** The mean of some rows, a value for each pixel and channel. */
export function meanOf({ data, height, width, channels }: Images, rows: ArrayLike<number>): Float64Array {
  const size = height * width * channels;
  const sum = new Float64Array(size);
  for (let i = 0; i < rows.length; i++) {
    const start = rows[i] * size;
    for (let p = 0; p < size; p++) sum[p] += data[start + p];
  }
  return sum.map((value) => value / Math.max(1, rows.length));
}

/** Mean of some rows, and the mean of all others; null for the latter if there are none. */
export function meanAndRest(images: Images, all: Float64Array, rows: ArrayLike<number>, n: number): { mean: Float64Array; rest: Float64Array | null } {
  const mean = meanOf(images, rows);
  const others = n - rows.length;
  return { mean, rest: others > 0 ? mean.map((value, p) => (n * all[p] - rows.length * value) / others) : null };
}

/** Grey values as grey, colours as they are. */
export function paintMean({ height, width, channels }: Images, mean: Float64Array): Rgba {
  const out = new Uint8ClampedArray(4 * height * width);
  for (let i = 0; i < height * width; i++) {
    for (let c = 0; c < 3; c++) out[4 * i + c] = mean[i * channels + (channels === 3 ? c : 0)];
    out[4 * i + 3] = 255;
  }
  return out;
}

/** Brighter than the rest in orange, darker in blue; colours by their mean over the channels. */
export function paintDifference({ height, width, channels }: Images, mean: Float64Array, rest: Float64Array): Rgba {
  const size = height * width;
  const bright = (values: Float64Array, i: number) => {
    let sum = 0;
    for (let c = 0; c < channels; c++) sum += values[i * channels + c];
    return sum / channels;
  };
  const difference = Float64Array.from({ length: size }, (_, i) => bright(mean, i) - bright(rest, i));
  const most = Math.max(1, ...difference.map(Math.abs));
  const out = new Uint8ClampedArray(4 * size);
  difference.forEach((value, i) => {
    const share = Math.abs(value) / most;
    const [r, g, b] = value >= 0 ? [213, 94, 0] : [0, 114, 178];
    [out[4 * i], out[4 * i + 1], out[4 * i + 2], out[4 * i + 3]] = [255 + share * (r - 255), 255 + share * (g - 255), 255 + share * (b - 255), 255];
  });
  return out;
}

export function canvasOf({ height, width }: Images, pixels: Rgba, label: string, className = "pm-thumb-image"): HTMLCanvasElement {
  const canvas = h("canvas", { width, height, class: className, role: "img", "aria-label": label });
  canvas.getContext("2d")?.putImageData(new ImageData(pixels, width, height), 0, 0);
  return canvas;
}

/** So many pictures are drawn on the map at once, and none before so few rows are in view. */
export const SPRITES_AT_MOST = 250;

/** Pictures to be drawn on the map: where rows are close, the first of them. `at` gives the place on the screen. */
export function spritesApart(rows: readonly number[], at: (row: number) => [number, number], side: number): number[] {
  const taken: [number, number][] = [];
  return rows.filter((row) => {
    const [x, y] = at(row);
    if (taken.some(([u, v]) => Math.max(Math.abs(x - u), Math.abs(y - v)) < side)) return false;
    taken.push([x, y]);
    return true;
  });
}
