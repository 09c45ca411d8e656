/** The map without WebGL: a plain picture that zooms by buttons and keys, so that nobody sees an empty page. */

import type { Colouring } from "./colouring";
import { h } from "./dom";
import { drawMap } from "./figure";
import { CanvasPen } from "./pens";
import { type Screen, screenOf } from "./geometry";
import type { Plot } from "./plot";
import type { Camera } from "./share";
import type { Layer } from "./types";

/** What the app asks of the points, whoever draws them. */
export type PointView = Pick<
  Plot,
  | "canvas" | "draw" | "setFilter" | "setSelection" | "setStyle" | "setTheme" | "setBackground" | "setMode" | "hover"
  | "zoom" | "pan" | "home" | "focus" | "camera" | "atHome" | "screen" | "sampled" | "drawnCount" | "settled" | "destroy"
>;

export function hasWebgl(): boolean {
  const canvas = document.createElement("canvas");
  return canvas.getContext("webgl") !== null;
}

export class FlatPlot implements PointView {
  readonly canvas = h("canvas", { class: "pm-canvas" });
  readonly sampled = false;
  readonly settled = Promise.resolve();
  private layer: Layer | null = null;
  private colour: Colouring | null = null;
  private visible: Uint8Array | null = null;
  private selection: readonly number[] = [];
  private style = { size: 5, opacity: 0.8, background: "#ffffff" };
  private backdrop: HTMLCanvasElement | null = null;
  private target: Camera = [0, 0, 1];

  constructor(
    private readonly parent: HTMLElement,
    private readonly viewed: () => void,
  ) {
    parent.append(this.canvas);
    new ResizeObserver(() => void this.paint()).observe(parent);
  }

  draw(layer: Layer, colour: Colouring): Promise<void> {
    [this.layer, this.colour] = [layer, colour];
    return this.paint();
  }

  setFilter(visible: Uint8Array | null): Promise<void> {
    this.visible = visible;
    return this.paint();
  }

  setSelection(rows: readonly number[]): Promise<void> {
    this.selection = rows;
    return this.paint();
  }

  setStyle(size: number, opacity: number): Promise<void> {
    this.style = { ...this.style, size, opacity };
    return this.paint();
  }

  setTheme(background: string): Promise<void> {
    this.style.background = background;
    return this.paint();
  }

  setBackground(picture: HTMLCanvasElement | null): Promise<void> {
    this.backdrop = picture;
    return this.paint();
  }

  setMode(): void {}

  hover(): void {}

  zoom(factor: number): void {
    this.camera = [this.target[0], this.target[1], this.target[2] / factor];
  }

  pan(dx: number, dy: number): void {
    const [x, y, distance] = this.target;
    this.camera = [x + dx * distance, y + dy * distance, distance];
  }

  home(): void {
    this.camera = [0, 0, 1];
  }

  focus(rows: ArrayLike<number>): void {
    if (!this.layer || rows.length === 0) return;
    let [x, y] = [0, 0];
    for (let i = 0; i < rows.length; i++) [x, y] = [x + this.layer.x[rows[i]], y + this.layer.y[rows[i]]];
    this.camera = [x / rows.length, y / rows.length, 0.5];
  }

  get camera(): Camera {
    return this.target;
  }

  set camera(camera: Camera) {
    this.target = camera;
    void this.paint();
  }

  get atHome(): boolean {
    return this.target[0] === 0 && this.target[1] === 0 && this.target[2] === 1;
  }

  get screen(): Screen {
    const [x, y, distance] = this.target;
    const view = new Float32Array(16);
    [view[0], view[5], view[12], view[13]] = [1 / distance, 1 / distance, -x / distance, -y / distance];
    return screenOf(view, this.parent.clientWidth, this.parent.clientHeight);
  }

  get drawnCount(): number {
    return this.layer?.x.length ?? 0;
  }

  destroy(): void {
    this.canvas.remove();
  }

  private paint(): Promise<void> {
    const pen = this.canvas.getContext("2d");
    if (pen && this.layer && this.colour) {
      const ratio = window.devicePixelRatio || 1;
      const [width, height] = [this.parent.clientWidth, this.parent.clientHeight];
      [this.canvas.width, this.canvas.height] = [width * ratio, height * ratio];
      pen.scale(ratio, ratio);
      pen.fillStyle = this.style.background;
      pen.fillRect(0, 0, width, height);
      const { layer, colour, visible, selection, backdrop, screen } = this;
      const panel = { ...this.style, title: "", layer, colour, visible, hidden: new Set<number>(), selection, labels: [], screen, width, height, backdrop };
      drawMap(new CanvasPen(pen), panel, { background: this.style.background, text: "", muted: "" });
      this.viewed();
    }
    return Promise.resolve();
  }
}
