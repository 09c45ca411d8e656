/** The picture behind the points: a model's decisions, and the density of very large maps. */

import type { Colouring } from "./colouring";
import { fromHex } from "./palette";
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
  const pixels = new Uint8ClampedArray(grid * grid * 4);
  let most = 1;
  for (let cell = 0; cell < grid * grid; cell++) most = Math.max(most, sums[4 * cell + 3]);
  for (let cell = 0; cell < grid * grid; cell++) {
    const count = sums[4 * cell + 3];
    if (count === 0) continue;
    for (let c = 0; c < 3; c++) pixels[4 * cell + c] = sums[4 * cell + c] / count;
    pixels[4 * cell + 3] = 40 + 190 * (Math.log1p(count) / Math.log1p(most));
  }
  const source = document.createElement("canvas");
  source.width = source.height = grid;
  source.getContext("2d")?.putImageData(new ImageData(pixels, grid, grid), 0, 0);
  pen.drawImage(source, 0, 0, SIDE, SIDE);
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
