/** The picture behind the points: a model's decisions, and the density of the rows. */

import type { Colouring } from "./colouring";
import { bandwidth, blur } from "./contours";
import { fromHex } from "./palette";
import { DRAWN_AT_MOST } from "./state";
import type { Layer, RasterImage } from "./types";

const SIDE = 1024;

/** One opaque square over the renderer's [-1, 1] x [-1, 1]; null when there is nothing to show. */
export function backdrop(
  layer: Layer,
  background: string,
  raster: RasterImage | null,
  density: { colour: Colouring; visible: Uint8Array | null } | null,
): HTMLCanvasElement | null {
  if (!raster && !density) return null;
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = SIDE;
  const pen = canvas.getContext("2d");
  if (!pen) return null;
  pen.fillStyle = background;
  pen.fillRect(0, 0, SIDE, SIDE);
  if (raster) paintRaster(pen, layer, raster);
  if (density) paintDensity(pen, layer, density.colour, density.visible);
  return canvas;
}

function paintRaster(pen: CanvasRenderingContext2D, layer: Layer, raster: RasterImage): void {
  const source = document.createElement("canvas");
  source.width = raster.width;
  source.height = raster.height;
  const image = new ImageData(new Uint8ClampedArray(raster.rgba), raster.width, raster.height);
  source.getContext("2d")?.putImageData(image, 0, 0);
  const { cx, cy, radius } = layer.frame;
  const [x0, x1, y0, y1] = raster.extent;
  const px = (x: number) => (((x - cx) / radius + 1) / 2) * SIDE;
  const py = (y: number) => ((1 - (y - cy) / radius) / 2) * SIDE;
  pen.imageSmoothingEnabled = true;
  pen.drawImage(source, px(x0), py(y1), px(x1) - px(x0), py(y0) - py(y1));
}

function paintDensity(pen: CanvasRenderingContext2D, layer: Layer, colour: Colouring, visible: Uint8Array | null): void {
  const grid = SIDE / 4;
  const sums = densityGrid(layer, colour, visible, grid);
  const smooth = layer.x.length > DRAWN_AT_MOST ? sums : smoothed(sums, grid, bandwidth(layer.x.length, grid));
  const pixels = new Uint8ClampedArray(grid * grid * 4);
  let most = 0;
  for (let cell = 0; cell < grid * grid; cell++) most = Math.max(most, smooth[4 * cell + 3]);
  // Raw counts of many rows are seen by their order of magnitude, smooth ones fade out at the rim.
  const scale = (count: number) => (smooth === sums ? Math.log1p(count) / Math.log1p(most) : Math.sqrt(count / most));
  for (let cell = 0; cell < grid * grid; cell++) {
    const count = smooth[4 * cell + 3];
    if (count <= 1e-4 * most) continue;
    for (let c = 0; c < 3; c++) pixels[4 * cell + c] = smooth[4 * cell + c] / count;
    pixels[4 * cell + 3] = smooth === sums ? 40 + 190 * scale(count) : 130 * scale(count) * inside(cell, grid);
  }
  const source = document.createElement("canvas");
  source.width = source.height = grid;
  source.getContext("2d")?.putImageData(new ImageData(pixels, grid, grid), 0, 0);
  pen.drawImage(source, 0, 0, SIDE, SIDE);
}

/** From 0 at the border of the square to 1 within it: the picture ends there, and its end is not to be seen. */
function inside(cell: number, grid: number): number {
  const [column, line] = [cell % grid, Math.floor(cell / grid)];
  return Math.min(1, Math.min(column, line, grid - 1 - column, grid - 1 - line) / (0.05 * grid));
}

/** Each of the four channels smoothed. */
function smoothed(sums: Float64Array, grid: number, sigma: number): Float64Array {
  const out = new Float64Array(sums.length);
  for (let c = 0; c < 4; c++) {
    const channel = blur(Float64Array.from({ length: grid * grid }, (_, cell) => sums[4 * cell + c]), grid, sigma);
    channel.forEach((value, cell) => (out[4 * cell + c] = value));
  }
  return out;
}

/** Sum of the colours and the count of rows in each cell, from the top line down. */
export function densityGrid(layer: Layer, colour: Colouring, visible: Uint8Array | null, grid: number): Float64Array {
  const palette = colour.colours.map(fromHex);
  const sums = new Float64Array(grid * grid * 4);
  for (let row = 0; row < layer.x.length; row++) {
    if (visible && !visible[row]) continue;
    const column = Math.floor(((layer.x[row] + 1) / 2) * grid);
    const line = Math.floor(((1 - layer.y[row]) / 2) * grid);
    if (column < 0 || line < 0 || column >= grid || line >= grid) continue;
    const cell = 4 * (line * grid + column);
    const rgb = palette[colour.codes[row]];
    for (let c = 0; c < 3; c++) sums[cell + c] += rgb[c];
    sums[cell + 3]++;
  }
  return sums;
}
