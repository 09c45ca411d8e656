/** The points: regl-scatterplot behind a small face that speaks in rows of the page. */

import createScatterplot from "regl-scatterplot";
import type { Colouring } from "./colouring";
import { h } from "./dom";
import { insidePolygon, screenOf, type Screen } from "./geometry";
import type { Camera } from "./share";
import { DRAWN_AT_MOST } from "./state";
import type { Layer } from "./types";

const TRANSITION_MS = 650;

export type Mode = "pan" | "lasso" | "box";

export interface PlotEvents {
  hover: (row: number | null) => void;
  click: (row: number | null, add: boolean) => void;
  area: (rows: number[], how: "replace" | "add" | "remove") => void;
  view: () => void;
}

type Scatterplot = ReturnType<typeof createScatterplot>;

export class Plot {
  readonly canvas = h("canvas", { class: "pm-canvas" });
  private readonly scatter: Scatterplot;
  private layer: Layer | null = null;
  private colour: Colouring | null = null;
  private visible: Uint8Array | null = null;
  private selection: readonly number[] = [];
  /** Rows drawn, in drawing order, when not all are; and the place of each row in it. */
  private drawn: Uint32Array | null = null;
  private place: Int32Array | null = null;
  private thinned = false;
  private pressed: [number, number] = [0, 0];
  private released: [number, number] = [0, 0];
  private mode: Mode = "pan";
  private keys = { add: false, remove: false };
  private busy: Promise<void> = Promise.resolve();
  private reviewing = 0;
  /** How far away the camera is to see the whole map, at the size that is drawn. */
  private homeWas = 1;
  private readonly sizes = new ResizeObserver(() => this.resize());
  private readonly gone = new AbortController();

  constructor(
    private readonly parent: HTMLElement,
    private readonly events: PlotEvents,
  ) {
    parent.append(this.canvas);
    const { width, height } = this.size();
    this.homeWas = this.homeDistance();
    this.scatter = createScatterplot({
      canvas: this.canvas,
      width,
      height,
      pointOutlineWidth: 0,
      pointSizeSelected: 1,
      pointScaleMode: "constant",
      lassoColor: "#2f6fed",
      lassoMinDelay: 8,
      deselectOnDblClick: false,
      deselectOnEscape: false,
      opacityInactiveMax: 0.14,
      opacityInactiveScale: 0.6,
      cameraDistance: this.homeDistance(),
      spatialIndexUseWorker: false,
      actionKeyMap: { lasso: "shift", merge: "ctrl", remove: "alt" },
    } as Parameters<typeof createScatterplot>[0]);
    this.listen();
    this.sizes.observe(parent);
  }

  /** Set positions and colours; with `animate`, rows glide from where they are. */
  draw(layer: Layer, colour: Colouring, animate: boolean): Promise<void> {
    const moved = this.layer !== layer;
    this.layer = layer;
    this.colour = colour;
    if (moved || this.drawn === null) this.chooseRows(null);
    return this.enqueue(() => this.paint(animate && moved));
  }

  setFilter(visible: Uint8Array | null): Promise<void> {
    this.visible = visible;
    return this.enqueue(() => this.applyFilter());
  }

  setSelection(rows: readonly number[]): Promise<void> {
    this.selection = rows;
    return this.enqueue(async () => this.applySelection());
  }

  setStyle(size: number, opacity: number): Promise<void> {
    return this.enqueue(() => this.scatter.set({ pointSize: size, opacity }));
  }

  setTheme(background: string, accent: string): Promise<void> {
    return this.enqueue(() => this.scatter.set({ backgroundColor: background, lassoColor: accent, pointColorHover: accent }));
  }

  /** A picture that fills the renderer's square, or none. */
  setBackground(picture: HTMLCanvasElement | null): Promise<void> {
    return this.enqueue(async () => {
      const texture = picture ? this.scatter.get("regl").texture({ data: picture, flipY: false, mag: "linear", min: "linear" }) : null;
      await this.scatter.set({ backgroundImage: texture });
    });
  }

  setMode(mode: Mode): void {
    this.mode = mode;
    const lassoType = mode === "box" ? "rectangle" : "freeform";
    void this.set({ mouseMode: mode === "pan" ? "panZoom" : "lasso", lassoType });
    this.canvas.style.cursor = mode === "pan" ? "grab" : "crosshair";
  }

  hover(row: number | null): void {
    const place = row === null ? -1 : this.placeOf(row);
    this.scatter.hover(place, { preventEvent: true });
  }

  zoom(factor: number): void {
    const [x, y, distance] = this.camera;
    this.camera = [x, y, distance / factor];
  }

  pan(dx: number, dy: number): void {
    const [x, y, distance] = this.camera;
    this.camera = [x + dx * distance, y + dy * distance, distance];
  }

  home(): void {
    this.camera = [0, 0, this.homeDistance()];
  }

  /** Bring rows into view, never closer than is useful for one row. */
  focus(rows: ArrayLike<number>): void {
    if (!this.layer || rows.length === 0) return;
    let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let i = 0; i < rows.length; i++) {
      const x = this.layer.x[rows[i]];
      const y = this.layer.y[rows[i]];
      [x0, x1, y0, y1] = [Math.min(x0, x), Math.max(x1, x), Math.min(y0, y), Math.max(y1, y)];
    }
    const { width, height } = this.size();
    const reach = Math.max((y1 - y0) / 2, ((x1 - x0) / 2) * (height / width));
    this.camera = [(x0 + x1) / 2, (y0 + y1) / 2, Math.max(0.18, reach * 1.25)];
  }

  get camera(): Camera {
    const [x, y] = this.scatter.get("cameraTarget");
    return [x, y, this.scatter.get("cameraDistance")];
  }

  set camera([x, y, distance]: Camera) {
    this.scatter.get("camera").lookAt([x, y], distance);
    this.scatter.redraw();
  }

  get atHome(): boolean {
    const [x, y, distance] = this.camera;
    return Math.abs(x) + Math.abs(y) < 1e-6 && Math.abs(distance - this.homeWas) < 1e-6;
  }

  get screen(): Screen {
    // What is still under way when a notebook cell is left draws nowhere.
    if (this.gone.signal.aborted) return { ax: 0, bx: 0, ay: 0, by: 0 };
    const { width, height } = this.size();
    return screenOf(this.scatter.get("camera").view as Float32Array, width, height);
  }

  /** True when only part of the visible rows is on the screen as points. */
  get sampled(): boolean {
    return this.thinned;
  }

  get drawnCount(): number {
    return this.drawn?.length ?? this.layer?.x.length ?? 0;
  }

  /** Resolves when everything asked for so far is on the screen. */
  get settled(): Promise<void> {
    return this.busy;
  }

  destroy(): void {
    this.gone.abort();
    this.sizes.disconnect();
    window.clearTimeout(this.reviewing);
    this.scatter.destroy();
  }

  /** The renderer takes more than its types admit: one active colour a category, and the kind of lasso. */
  private set(properties: Record<string, unknown>): Promise<void> {
    return this.scatter.set(properties as Parameters<Scatterplot["set"]>[0]);
  }

  private size(): { width: number; height: number } {
    return { width: Math.max(50, this.parent.clientWidth), height: Math.max(50, this.parent.clientHeight) };
  }

  private homeDistance(): number {
    const { width, height } = this.size();
    return Math.max(1, height / width);
  }

  private resize(): void {
    void this.enqueue(async () => {
      await this.scatter.set(this.size());
      // Asked only now: the hand may have zoomed meanwhile.
      const home = this.layer !== null && this.atHome;
      this.homeWas = this.homeDistance();
      if (home) this.home();
      this.events.view();
    });
  }

  /** One change after the other: the renderer loses calls that overlap a transition. The map is busy until the last. */
  private enqueue(work: () => Promise<unknown>): Promise<void> {
    this.parent.setAttribute("aria-busy", "true");
    const done = this.busy
      .then(() => (this.gone.signal.aborted ? undefined : work()))
      .catch((error: unknown) => console.error("prismap: drawing failed", error))
      .then(() => {
        if (this.busy === done) this.parent.setAttribute("aria-busy", "false");
      });
    this.busy = done;
    return done;
  }

  private async paint(animate: boolean): Promise<void> {
    const { layer, colour } = this;
    if (!layer || !colour) return;
    const rows = this.drawn;
    const x = rows ? Float32Array.from(rows, (row) => layer.x[row]) : layer.x;
    const y = rows ? Float32Array.from(rows, (row) => layer.y[row]) : layer.y;
    const z = rows ? Uint16Array.from(rows, (row) => colour.codes[row]) : colour.codes;
    await this.set({ colorBy: "valueA", pointColor: colour.colours, pointColorActive: colour.colours });
    const transition = animate && x.length <= DRAWN_AT_MOST && !matchMedia("(prefers-reduced-motion: reduce)").matches;
    await this.scatter.draw(
      { x, y, valueA: z },
      { transition, transitionDuration: TRANSITION_MS, zDataType: "categorical", preventFilterReset: false },
    );
    await this.applyFilter();
    this.applySelection();
    this.events.view();
  }

  private async applyFilter(): Promise<void> {
    const { visible } = this;
    if (visible === null) {
      if (this.scatter.get("isPointsFiltered")) await this.scatter.unfilter({ preventEvent: true });
      return;
    }
    const kept: number[] = [];
    const count = this.drawnCount;
    for (let i = 0; i < count; i++) if (visible[this.rowOf(i)]) kept.push(i);
    await this.scatter.filter(kept, { preventEvent: true });
  }

  private applySelection(): void {
    const places = this.drawn ? this.selection.map((row) => this.placeOf(row)).filter((i) => i >= 0) : [...this.selection];
    if (places.length === 0) this.scatter.deselect({ preventEvent: true });
    else this.scatter.select(places, { preventEvent: true });
  }

  private listen(): void {
    this.scatter.subscribe("pointOver", (place) => this.events.hover(this.rowOf(place)));
    this.scatter.subscribe("pointOut", () => this.events.hover(null));
    this.scatter.subscribe("view", () => this.viewChanged());
    this.scatter.subscribe("lassoEnd", ({ coordinates }) => {
      const drawn = (coordinates as unknown as ArrayLike<number>[]).flatMap((p) => [p[0], p[1]]);
      const polygon = this.mode === "box" && drawn.length > 0 ? this.boxDrawn() : drawn;
      if (polygon.length >= 6) this.events.area(this.rowsInside(polygon), this.keys.remove ? "remove" : this.keys.add ? "add" : "replace");
    });
    this.canvas.addEventListener("mousedown", (event) => (this.pressed = [event.clientX, event.clientY]));
    // Read here, before the renderer's own handler on window ends the lasso.
    const remember = (event: MouseEvent) => {
      this.released = [event.clientX, event.clientY];
      this.keys = { add: event.ctrlKey || event.metaKey, remove: event.altKey };
    };
    window.addEventListener("mouseup", remember, { capture: true, signal: this.gone.signal });
    this.canvas.addEventListener("click", (event) => {
      if (Math.hypot(event.clientX - this.pressed[0], event.clientY - this.pressed[1]) >= 4) return;
      const place = this.scatter.get("hoveredPoint");
      this.events.click(place >= 0 ? this.rowOf(place) : null, event.ctrlKey || event.metaKey);
    });
  }

  /** From corner to corner as the hand drew it; the renderer may miss the last quick move. */
  private boxDrawn(): number[] {
    const { left, top } = this.canvas.getBoundingClientRect();
    const { ax, bx, ay, by } = this.screen;
    const [x0, x1] = [this.pressed[0], this.released[0]].map((x) => (x - left - bx) / ax);
    const [y0, y1] = [this.pressed[1], this.released[1]].map((y) => (y - top - by) / ay);
    return [x0, y0, x1, y0, x1, y1, x0, y1];
  }

  private rowsInside(polygon: number[]): number[] {
    const { layer, visible } = this;
    if (!layer) return [];
    const rows: number[] = [];
    let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let i = 0; i < polygon.length; i += 2) {
      [x0, x1] = [Math.min(x0, polygon[i]), Math.max(x1, polygon[i])];
      [y0, y1] = [Math.min(y0, polygon[i + 1]), Math.max(y1, polygon[i + 1])];
    }
    for (let row = 0; row < layer.x.length; row++) {
      const x = layer.x[row];
      const y = layer.y[row];
      if (x < x0 || x > x1 || y < y0 || y > y1 || (visible && !visible[row])) continue;
      if (insidePolygon(x, y, polygon)) rows.push(row);
    }
    return rows;
  }

  private viewChanged(): void {
    this.events.view();
    if ((this.layer?.x.length ?? 0) <= DRAWN_AT_MOST) return;
    window.clearTimeout(this.reviewing);
    this.reviewing = window.setTimeout(() => {
      this.chooseRows(this.screen);
      void this.enqueue(() => this.paint(false));
    }, 350);
  }

  /** All rows when they are few; else all rows in view when those are few; else an even sample of them. */
  private chooseRows(screen: Screen | null): void {
    const { layer } = this;
    if (!layer || layer.x.length <= DRAWN_AT_MOST) {
      this.drawn = null;
      this.place = null;
      this.thinned = false;
      return;
    }
    const inView: number[] = [];
    const { width, height } = this.size();
    for (let row = 0; row < layer.x.length; row++) {
      if (screen) {
        const px = screen.ax * layer.x[row] + screen.bx;
        const py = screen.ay * layer.y[row] + screen.by;
        if (px < -20 || py < -20 || px > width + 20 || py > height + 20) continue;
      }
      inView.push(row);
    }
    const step = inView.length / DRAWN_AT_MOST;
    this.thinned = step > 1;
    this.drawn =
      step <= 1 ? Uint32Array.from(inView) : Uint32Array.from({ length: DRAWN_AT_MOST }, (_, i) => inView[Math.floor(i * step)]);
    this.place = new Int32Array(layer.x.length).fill(-1);
    this.drawn.forEach((row, i) => (this.place![row] = i));
  }

  private rowOf(place: number): number {
    return this.drawn ? this.drawn[place] : place;
  }

  private placeOf(row: number): number {
    return this.place ? this.place[row] : row;
  }
}
