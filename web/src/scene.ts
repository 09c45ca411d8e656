/** The map on the screen: points, what lies under and over them, and the card of the row pointed at. */

import { backdrop } from "./backdrop";
import { both } from "./brush";
import { type CategoryColouring, type Colouring, colouring, columnOf, visibleRows } from "./colouring";
import { type Segments, contours } from "./contours";
import { type Neighbourhood, classCentres, neighbourhood, tornPairs, wrongGroups } from "./distortion";
import { goneRows } from "./film";
import type { Screen } from "./geometry";
import { h } from "./dom";
import type { MapPanel } from "./figure";
import { FlatPlot, type PointView, hasWebgl } from "./flatplot";
import { HoverCard, newRows } from "./hover";
import { SPRITES_AT_MOST, canvasOf, pixelsOf, spritesApart } from "./images";
import { type Box, type PlacedLabel, layoutLabels } from "./labelling";
import { type Label, placeLabels } from "./labels";
import { LABEL_FONT, type Lines, Overlay, type OverlayContent } from "./overlay";
import { Plot, type PlotEvents } from "./plot";
import { rowsInView, styleFor } from "./pointstyle";
import { DRAWN_AT_MOST, type Store } from "./state";
import type { ThemeSwitch } from "./theme";
import type { Layer, OwnTarget, Page } from "./types";

export interface SceneEvents extends Pick<PlotEvents, "click" | "area"> {
  /** The camera moved, or what is drawn changed. */
  view: () => void;
  say: (message: string) => void;
  /** The row under the pointer, for maps that are linked with this one. */
  hover?: (row: number | null) => void;
}

export class Scene {
  readonly element = h("div", { class: "pm-map", tabindex: 0, role: "application" });
  readonly plot: PointView;
  colour: Colouring;
  visible: Uint8Array | null = null;
  /** Rows that other filters than the legend leave; null means all. */
  mask: Uint8Array | null = null;
  shownRows: number;
  private readonly overlay: Overlay;
  private readonly card: HoverCard;
  private labels: Label[] = [];
  /** Names where there is room for them, and the view that this was found for. */
  private placed: PlacedLabel[] = [];
  private placedFor: Screen | null = null;
  private readonly newRows: readonly number[];
  private lines: Lines | null = null;
  private hood: Neighbourhood | null = null;
  private readonly torn = new WeakMap<Layer, readonly number[]>();
  private row: number | null = null;
  private hovered: number | null = null;
  private behind: HTMLCanvasElement | null = null;
  private outlines: Segments[] = [];
  private readonly pictures = new Map<number, HTMLCanvasElement>();
  private styling = 0;
  private styled = { size: 0, opacity: 0 };
  private turn = 0;

  /** The element must be in the document: the renderer asks for its size. */
  constructor(
    parent: HTMLElement,
    private readonly page: Page,
    private readonly store: Store,
    private readonly theme: ThemeSwitch,
    private readonly events: SceneEvents,
    /** The first layer at a time, where there are maps before it. */
    private readonly atTime: ((time: number) => Layer) | null = null,
  ) {
    parent.append(this.element);
    const { target } = page;
    const about = target.kind === "none" ? "" : `, coloured by ${target.name}`;
    this.element.setAttribute("aria-label", `Map of ${page.n} rows${about}. Arrow keys go from point to point, Enter selects.`);
    this.shownRows = page.n;
    this.colour = colouring(page, "", theme.dark);
    this.card = new HoverCard(page);
    this.newRows = newRows(page);
    this.plot = this.makePlot();
    this.overlay = new Overlay(this.element);
    this.element.append(this.card.element);
    this.element.addEventListener("blur", () => this.leaveRow());
  }

  get layer(): Layer {
    const { layer: id, time } = this.store.state;
    const layer = this.page.layers.find((one) => one.id === id) ?? this.page.layers[0];
    return layer === this.page.layers[0] && this.atTime ? this.atTime(time) : layer;
  }

  /** The target that the layer was made with and is coloured by; null where that is the page's. */
  get own(): OwnTarget | null {
    const { colour, own } = this.store.state;
    return own && colour === "target" ? this.layer.own : null;
  }

  /** The row under the keyboard's cursor. */
  get cursor(): number | null {
    return this.row;
  }

  /** Positions and colours anew; with `animate`, rows glide to their places. */
  async recolour(animate: boolean): Promise<void> {
    const turn = ++this.turn;
    const handle = columnOf(this.page, this.store.state.colour);
    if (handle && !handle.loaded) {
      try {
        await handle.load();
      } catch {
        this.events.say(`The values of “${handle.name}” could not be loaded.`);
        return;
      }
      // Another choice was made while the values were on their way.
      if (turn !== this.turn) return;
    }
    this.colour = colouring(this.page, this.store.state.colour, this.theme.dark, this.own);
    this.labels = [];
    this.placed = [];
    // A card stands beside its point, and the point is about to move.
    if (animate) this.leaveRow();
    this.paintOverlay();
    void this.plot.draw(this.layer, this.colour, animate);
    await this.refilter();
  }

  async refilter(): Promise<void> {
    const { hidden, window: shown } = this.store.state;
    this.visible = both(visibleRows(this.colour, hidden, shown), this.mask);
    this.shownRows = this.visible?.reduce((sum, flag) => sum + flag, 0) ?? this.page.n;
    this.repaintBehind();
    await this.plot.setFilter(this.visible);
    this.restyle();
    this.relabel();
  }

  relabel(): void {
    const { labels, hidden } = this.store.state;
    const named = labels ? this.named() : null;
    this.labels = named ? placeLabels(this.layer, named, named === this.colour ? hidden : new Set()) : [];
    this.layoutLabels();
    this.paintOverlay();
  }

  /** The groups that have names: classes, or else clusters of texts on the map they were found on. */
  private named(): CategoryColouring | null {
    if (this.colour.kind === "categories" && this.colour.categories.length > 1) return this.colour;
    const { keywords, layers } = this.page;
    return keywords && this.layer === layers[0] ? (colouring(this.page, "keywords", this.theme.dark) as CategoryColouring) : null;
  }

  /** Find room for the names as the map is seen now. */
  private layoutLabels(): void {
    const { clientWidth: width, clientHeight: height } = this.element;
    const map = { layer: this.layer, colour: this.named() ?? this.colour, visible: this.visible };
    this.placedFor = this.plot.screen;
    this.placed = layoutLabels(this.labels, map, this.placedFor, { width, height, radius: this.styled.size / 2 }, textWidth, this.covered());
  }

  /** Names as they were placed, moved with the points while the hand moves the map. */
  private movedLabels(): PlacedLabel[] {
    const [now, then] = [this.plot.screen, this.placedFor];
    if (!then || (now.ax === then.ax && now.bx === then.bx && now.by === then.by)) return this.placed;
    return this.placed.map(({ label, box, line }) => {
      const dx = (now.ax - then.ax) * label.x + now.bx - then.bx;
      const dy = (now.ay - then.ay) * label.y + now.by - then.by;
      const moved = { left: box.left + dx, right: box.right + dx, top: box.top + dy, bottom: box.bottom + dy };
      return { label, box: moved, line: line && [line[0] + dx, line[1] + dy, line[2] + dx, line[3] + dy] };
    });
  }

  /** Boxes of what lies over the map: its tools and its status line. */
  private covered(): Box[] {
    const frame = this.element.getBoundingClientRect();
    const over = this.element.closest(".pm-view")?.querySelectorAll(".pm-tools > div, .pm-views, .pm-status") ?? [];
    return Array.from(over, (one) => one.getBoundingClientRect())
      .filter((box) => box.width > 0)
      .map((box) => ({ left: box.left - frame.left, right: box.right - frame.left, top: box.top - frame.top, bottom: box.bottom - frame.top }));
  }

  repaintBehind(): void {
    const { raster, density } = this.store.state;
    const picture = raster && this.page.raster?.layer === this.layer.id ? this.page.raster : null;
    const cloud = density ? { colour: this.colour, visible: this.visible } : null;
    const had = this.behind !== null;
    this.behind = backdrop(this.layer, this.theme.colours.background, picture, cloud);
    if (this.behind || had) void this.plot.setBackground(this.behind);
    this.outlines = this.store.state.contours ? contours(this.layer, this.visible) : [];
    this.paintOverlay();
  }

  /** Size and opacity as they were set, or by the number of points in view. */
  restyle(): void {
    const { auto, size, opacity } = this.store.state;
    const { clientWidth, clientHeight } = this.element;
    const seen = () => Math.min(DRAWN_AT_MOST, rowsInView(this.layer, this.visible, this.plot.screen, clientWidth, clientHeight));
    // A sample over its density stays pale.
    const wanted = !auto ? { size, opacity } : this.plot.sampled ? styleFor(this.page.n) : styleFor(seen());
    const close = (a: number, b: number) => Math.abs(a - b) < 0.04 * b;
    if (close(wanted.size, this.styled.size) && close(wanted.opacity, this.styled.opacity)) return;
    this.styled = wanted;
    void this.plot.setStyle(wanted.size, wanted.opacity);
  }

  async retheme(): Promise<void> {
    const { background, accent } = this.theme.colours;
    void this.plot.setTheme(background, accent);
    await this.recolour(false);
  }

  /** Doubtful rows. Far ones belong to the map itself, those on the wrong side to the layer of the model's picture. */
  get doubtful(): { far: Uint8Array | null; misshown: Uint8Array | null } {
    const first = this.layer === this.page.layers[0];
    const pictured = (this.page.raster?.layer ?? this.page.layers[0].id) === this.layer.id;
    return { far: first ? this.page.far : null, misshown: pictured ? this.page.misshown : null };
  }

  paintOverlay(): void {
    // The renderer reports its first view before there is anything to lay over it.
    if (!this.overlay) return;
    const { background, text, warn, accent } = this.theme.colours;
    const rings = this.store.state.rings ? this.doubtful : { far: null, misshown: null };
    this.overlay.draw(
      { layer: this.layer, visible: this.visible, ...rings, labels: this.movedLabels(), newRows: this.newRows, isFar: this.page.far, lines: this.lines, hood: this.hood, gone: this.layer.id === "version" ? goneRows(this.page, this.store.state.time) : null, ...this.distortions(), contours: this.outlines, sprites: this.sprites(), cursor: this.row },
      this.plot.screen,
      { text, halo: background, warn, accent },
    );
  }

  /** What is drawn on demand of pairs of rows and groups. */
  private distortions(): Pick<OverlayContent, "torn" | "groups"> {
    const { layer, page } = this;
    const { torn, wrong } = this.store.state;
    if (torn && !this.torn.has(layer)) this.torn.set(layer, tornPairs(page, layer).pairs);
    const { codes, classes } = page.target;
    const lie = wrong && codes && layer === page.layers[0] ? wrongGroups(page) : [];
    const at = lie.length > 0 ? classCentres(layer, codes!, classes.length) : new Float64Array();
    const line = (a: number, b: number) => [at[2 * a], at[2 * a + 1], at[2 * b], at[2 * b + 1]] as const;
    return {
      torn: torn ? this.torn.get(layer)! : [],
      groups: lie.flatMap(({ of, near, nearer }) => [{ line: line(of, near), near: true }, ...(nearer === null ? [] : [{ line: line(of, nearer), near: false }])]),
    };
  }

  /** The rows' pictures, once the map is zoomed in so far that few rows are in view. */
  private sprites(): Parameters<Overlay["draw"]>[0]["sprites"] {
    const { images } = this.page;
    const { screen } = this.plot;
    if (!images || !this.store.state.sprites || this.plot.atHome) return null;
    const { clientWidth, clientHeight } = this.element;
    const rows: number[] = [];
    const most = SPRITES_AT_MOST + 1;
    const count = rowsInView(this.layer, this.visible, screen, clientWidth, clientHeight, { rows, most });
    if (count === 0 || count > SPRITES_AT_MOST) return null;
    const side = Math.min(56, Math.max(18, 0.45 * Math.sqrt((clientWidth * clientHeight) / count)));
    const picture = (row: number) => {
      if (this.pictures.size > 2000) this.pictures.clear();
      const known = this.pictures.get(row) ?? canvasOf(images, pixelsOf(images, row), "");
      this.pictures.set(row, known);
      return known;
    };
    const at = (row: number) => this.placeOf(this.layer.x[row], this.layer.y[row]);
    return { rows: spritesApart(rows, at, side + 6), picture, colour: (row) => this.colour.colours[this.colour.codes[row]], side };
  }

  /** Lines from a row to others, or none. */
  showLines(lines: Lines | null): void {
    if (this.lines === lines) return;
    this.lines = lines;
    this.paintOverlay();
  }

  /** Point at a row from outside the map, or at none. */
  peek(row: number | null): void {
    this.plot.hover(row);
    this.row = row;
    this.paintOverlay();
  }

  /** Show the values that have come since the card was drawn. */
  refreshCard(): void {
    const row = this.hovered ?? this.row;
    if (row !== null && !this.card.element.hidden) this.showCard(row);
  }

  moveCursor(row: number): void {
    this.row = row;
    const [x, y] = this.placeOf(this.layer.x[row], this.layer.y[row]);
    if (x < 0 || y < 0 || x > this.element.clientWidth || y > this.element.clientHeight) this.plot.focus([row]);
    this.showCard(row);
  }

  leaveCursor(): void {
    this.row = null;
    this.leaveRow();
  }

  /** Whether all of some rows are on the screen, and not as a speck. */
  seenWell(rows: readonly number[]): boolean {
    const { clientWidth, clientHeight } = this.element;
    let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const row of rows) {
      const [x, y] = this.placeOf(this.layer.x[row], this.layer.y[row]);
      [x0, x1, y0, y1] = [Math.min(x0, x), Math.max(x1, x), Math.min(y0, y), Math.max(y1, y)];
    }
    const inside = x0 >= 0 && y0 >= 0 && x1 <= clientWidth && y1 <= clientHeight;
    return inside && Math.max((x1 - x0) / clientWidth, (y1 - y0) / clientHeight) > 0.12;
  }

  /** What is on the screen, for pictures of it. */
  figure(): MapPanel {
    const { clientWidth: width, clientHeight: height } = this.element;
    const { screen } = this.plot;
    const map = { layer: this.layer, colour: this.named() ?? this.colour, visible: this.visible };
    return {
      ...this.styled,
      title: this.layer.label,
      layer: this.layer,
      colour: this.colour,
      visible: this.visible,
      hidden: this.store.state.hidden,
      selection: this.store.state.selection,
      labels: layoutLabels(this.labels, map, screen, { width, height, radius: this.styled.size / 2 }, textWidth),
      screen,
      width,
      height,
      backdrop: this.behind,
    };
  }

  destroy(): void {
    window.clearTimeout(this.styling);
    this.plot.destroy();
  }

  private makePlot(): PointView {
    if (!hasWebgl()) {
      this.events.say("This browser has no WebGL: the map is a plain picture here, without hover and lasso.");
      return new FlatPlot(this.element, () => this.viewed());
    }
    return new Plot(this.element, {
      hover: (row) => this.hover(row),
      click: this.events.click,
      area: this.events.area,
      view: () => this.viewed(),
    });
  }

  private viewed(): void {
    this.paintOverlay();
    window.clearTimeout(this.styling);
    // Once the hand rests: a change of style draws all points anew.
    if (this.overlay) this.styling = window.setTimeout(() => this.settle(), 120);
    if (this.hovered === null && this.row === null) this.card?.hide();
    this.events.view();
  }

  private settle(): void {
    if (this.store.state.auto) this.restyle();
    this.layoutLabels();
    this.paintOverlay();
  }

  private hover(row: number | null): void {
    this.hovered = row;
    this.events.hover?.(row);
    if (row === null) this.leaveRow();
    else this.showCard(row);
  }

  /** No row is pointed at any more. */
  private leaveRow(): void {
    this.card.hide();
    if (this.hood === null) return;
    this.hood = null;
    this.paintOverlay();
  }

  private showCard(row: number): void {
    const [x, y] = this.placeOf(this.layer.x[row], this.layer.y[row]);
    const { clientWidth, clientHeight } = this.element;
    this.hood = this.store.state.local ? neighbourhood(this.page, this.layer, row) : null;
    this.card.show(row, this.layer, x, y, clientWidth, clientHeight, this.colour.colours[this.colour.codes[row]], this.hood);
    this.paintOverlay();
  }

  private placeOf(x: number, y: number): [number, number] {
    const { ax, bx, ay, by } = this.plot.screen;
    return [ax * x + bx, ay * y + by];
  }
}

let ruler: CanvasRenderingContext2D | null = null;

/** How wide a name is drawn. */
function textWidth(text: string): number {
  ruler ??= document.createElement("canvas").getContext("2d");
  if (!ruler) return 8 * text.length;
  ruler.font = LABEL_FONT;
  return ruler.measureText(text).width;
}
