/** Puts the parts together: state in the middle, everything else follows it. */

import { backdrop } from "./backdrop";
import { type Colouring, choices, colouring, columnOf, visibleRows } from "./colouring";
import { Appearance, ColourMenu, LayerSwitch, Tabs, Tools, helpDialog, layerNote } from "./controls";
import { makeLayer } from "./decode";
import { download, h, icon, iconButton, replace } from "./dom";
import { FeaturePanel } from "./features";
import { type FigureContent, pngFigure, svgFigure } from "./figure";
import { FlatPlot, type PointView, hasWebgl } from "./flatplot";
import { HoverCard, rowName, targetText } from "./hover";
import { listenToKeys } from "./keyboard";
import { Legend } from "./legend";
import type { LiveClient } from "./live";
import { LIVE_LAYER, type NewRowData, PlaceControl, SupervisionControl } from "./livecontrols";
import { type Label, type NewRow, Overlay, placeLabels, ringKey } from "./overlay";
import { DRAWN_AT_MOST, Plot } from "./plot";
import { SearchBox } from "./searchbox";
import { SelectionPanel, rowsCsv, saveCsv } from "./selection";
import { type Camera, decodeView, encodeView } from "./share";
import { Store, type ViewState } from "./state";
import css from "./style.css?inline";
import { ThemeSwitch } from "./theme";
import type { Column, Layer, Page } from "./types";
import { VerdictPanel } from "./verdict";

/** Columns fetched for hover cards at once, and for the comparison of a selection. */
const PRELOADED_BYTES = 16_000_000;
const COMPARED_BYTES = 96_000_000;

/** What differs between a file, the live explorer and a notebook. */
export interface Host {
  live: LiveClient | null;
  /** The part of the address after '#', or what the host remembers. */
  initialView: string;
  viewChanged: (hash: string) => void;
  selectionChanged?: (rows: readonly number[]) => void;
  /** A link to this view, or null where links make no sense. */
  link: ((hash: string) => string) | null;
}

export class App {
  readonly root = h("div", { class: "pm-app" });
  readonly store: Store;
  readonly side = h("aside", { class: "pm-left", "aria-label": "Colour and legend" });
  readonly selectionPanel: SelectionPanel;
  readonly stage = h("main", { class: "pm-stage" });
  private readonly defaults: ViewState;
  private readonly map = h("div", { class: "pm-map", tabindex: 0, role: "application" });
  private readonly about = h("p", { class: "pm-about" });
  private readonly ringKey = h("ul", { class: "pm-ringkey" });
  private readonly status = h("div", { class: "pm-status", role: "status" });
  private readonly toast = h("div", { class: "pm-toast", role: "alert", hidden: true });
  private readonly theme: ThemeSwitch;
  private readonly plot: PointView;
  private readonly overlay: Overlay;
  private readonly card: HoverCard;
  private readonly legend: Legend;
  private readonly layerSwitch: LayerSwitch;
  private readonly colourMenu: ColourMenu;
  private readonly appearance: Appearance;
  private readonly tabs: Tabs;
  private readonly verdict: VerdictPanel;
  private readonly features: FeaturePanel;
  private readonly search: SearchBox;
  private readonly tools: Tools;
  private readonly undoButton = iconButton("undo", "Undo (Ctrl+Z)", () => this.store.undo());
  private readonly redoButton = iconButton("redo", "Redo (Ctrl+Y)", () => this.store.redo());
  private readonly help = helpDialog();
  private colour: Colouring;
  private visible: Uint8Array | null = null;
  private shownRows = 0;
  private labels: Label[] = [];
  private newRows: NewRow[] = [];
  private cursor: number | null = null;
  private hovered: number | null = null;
  private behind: HTMLCanvasElement | null = null;
  private saving = 0;
  private hiding = 0;
  private turn = 0;

  constructor(
    parent: HTMLElement,
    readonly page: Page,
    private readonly host: Host,
  ) {
    const colours = choices(page);
    this.defaults = defaultState(page, colours[0].id);
    const known = { layers: page.layers.map((layer) => layer.id), colours: colours.map((c) => c.id), n: page.n };
    const shared = decodeView(host.initialView, known);
    this.store = new Store({ ...this.defaults, ...shared.state });
    this.theme = new ThemeSwitch(this.root, () => void this.rethemed());
    this.legend = new Legend(this.store);
    this.layerSwitch = new LayerSwitch(this.store);
    this.colourMenu = new ColourMenu(colours, this.store);
    this.appearance = new Appearance(this.store, {
      raster: page.raster ? page.raster.legend : null,
      rings: page.far !== null || page.misshown !== null,
      density: page.n > DRAWN_AT_MOST,
    });
    this.verdict = new VerdictPanel(page);
    this.features = new FeaturePanel(page, (colour) => this.store.set({ colour }));
    this.selectionPanel = new SelectionPanel(page, this.store, {
      zoom: (rows) => this.plot.focus(rows),
      peek: (row) => this.peek(row),
      colour: (colour) => this.store.set({ colour }),
      export: (rows) => this.exportRows(rows),
      relevance: host.live && page.live?.relevance ? (rows) => this.askRelevance(rows) : null,
    });
    this.tabs = new Tabs(this.store, {
      verdict: this.verdict.element,
      selection: this.selectionPanel.element,
      features: this.features.element,
    });
    this.search = new SearchBox(page, (rows) => this.found(rows));
    this.colour = colouring(page, columnOf(page, this.store.state.colour)?.loaded === null ? "" : this.store.state.colour, this.theme.dark);
    this.card = new HoverCard(page);
    this.build(parent);
    this.plot = this.makePlot();
    this.overlay = new Overlay(this.map);
    this.map.append(this.card.element);
    this.tools = new Tools((mode) => this.plot.setMode(mode), { zoom: (f) => this.plot.zoom(f), home: () => this.plot.home() });
    this.map.append(this.tools.element, this.status, this.toast);
    this.store.subscribe((state, before) => void this.follow(state, before));
    this.keys();
    const supervision = this.addLiveControls();
    void this.start(shared.camera).then(() => {
      this.resumeSupervision(supervision);
      void this.preload(PRELOADED_BYTES);
    });
  }

  get layer(): Layer {
    return this.page.layers.find((layer) => layer.id === this.store.state.layer) ?? this.page.layers[0];
  }

  /** Resolves when the screen shows the state. */
  get settled(): Promise<void> {
    return this.plot.settled;
  }

  destroy(): void {
    window.clearTimeout(this.saving);
    window.clearTimeout(this.hiding);
    this.plot.destroy();
    this.root.remove();
  }

  say(message: string): void {
    this.toast.textContent = message;
    this.toast.hidden = false;
    window.clearTimeout(this.hiding);
    this.hiding = window.setTimeout(() => (this.toast.hidden = true), 6000);
  }

  private build(parent: HTMLElement): void {
    const { page } = this;
    const size = `${page.n.toLocaleString("en")} rows${page.columns.length > 0 ? ` · ${page.columns.length} columns` : ""}`;
    const header = h(
      "header",
      { class: "pm-top" },
      h("div", { class: "pm-brand" }, h("span", { class: "pm-mark", "aria-hidden": "true" }), h("h1", { title: page.title }, page.title), h("span", { class: "pm-sub" }, size)),
      this.search.element,
      h(
        "div",
        { class: "pm-actions", role: "toolbar", "aria-label": "Page" },
        this.undoButton,
        this.redoButton,
        this.host.link && iconButton("link", "Copy a link to this view", () => void this.copyLink()),
        this.downloads(),
        iconButton("moon", "Light or dark", () => this.theme.toggle()),
        iconButton("help", "Keys and hints (?)", () => this.help.showModal()),
      ),
    );
    this.side.append(this.colourMenu.element, this.legend.element, this.ringKey, this.appearance.element);
    this.stage.append(h("div", { class: "pm-strip", hidden: page.layers.length < 2 }, this.layerSwitch.element, this.about), this.map);
    const right = h("aside", { class: "pm-right", "aria-label": "About this map" }, this.tabs.element);
    this.root.append(h("style", {}, css), header, this.side, this.stage, right, this.help);
    replace(parent, this.root);
    const { target } = page;
    const about = target.kind === "none" ? "" : `, coloured by ${target.name}`;
    this.map.setAttribute("aria-label", `Map of ${page.n} rows${about}. Arrow keys go from point to point, Enter selects.`);
  }

  /** Fetch columns that did not come along, as long as they are not too large together. */
  private async preload(bytes: number): Promise<void> {
    const fitting = this.page.columns.slice(0, Math.floor(bytes / (4 * this.page.n)));
    if (fitting.every((column) => column.loaded)) return;
    try {
      for (const column of fitting) await column.load();
      this.renderPanels();
    } catch {
      // Shown as missing values; asking for one by name says what is wrong.
    }
  }

  private addLiveControls(): SupervisionControl | null {
    const { live } = this.host;
    const offers = this.page.live;
    const actions = {
      say: (message: string) => this.say(message),
      showLayer: (id: string, label: string, positions: Float32Array, final: boolean) => this.showLayer(id, label, positions, final),
      serverLayer: () => (LIVE_LAYER.test(this.layer.id) ? null : this.layer.id),
      placed: (rows: NewRowData[]) => this.showPlaced(rows),
      zoomTo: (rows: NewRowData[]) => this.zoomToPlaced(rows),
    };
    const supervision = live && offers?.reembed ? new SupervisionControl(live, actions, offers.supervision) : null;
    this.watchPlaced();
    const place = new PlaceControl(this.root, live && offers?.transform ? live : null, actions);
    this.appearance.element.before(...(supervision ? [supervision.element] : []), place.element);
    return supervision;
  }

  /** A link may ask for a supervision that has to be computed first. */
  private resumeSupervision(control: SupervisionControl | null): void {
    const asked = LIVE_LAYER.exec(new URLSearchParams(this.host.initialView.replace(/^#/, "")).get("layer") ?? "");
    if (control && asked && Number(asked[1]) <= 1) void control.run(Number(asked[1]));
  }

  /** Positions that are being computed, as a layer of their own. */
  private async showLayer(id: string, label: string, positions: Float32Array, final: boolean): Promise<void> {
    const layer = makeLayer(id, label, "Computed here; the verdict is about the map as it was made.", positions);
    const { layers } = this.page;
    const place = layers.findIndex((other) => LIVE_LAYER.test(other.id));
    if (place >= 0) layers[place] = layer;
    else layers.push(layer);
    if (this.store.state.layer !== id) this.store.set({ layer: id });
    else await this.recolour(true);
    if (final) this.say(`${label}: done.`);
    this.renderPanels();
  }

  private showPlaced(rows: NewRowData[]): void {
    const { cx, cy, radius } = this.page.layers[0].frame;
    this.newRows = rows.map((row) => ({ ...row, x: (row.x - cx) / radius, y: (row.y - cy) / radius }));
    if (rows.length > 0 && this.layer !== this.page.layers[0]) this.store.set({ layer: this.page.layers[0].id });
    this.paintOverlay();
  }

  private zoomToPlaced(rows: NewRowData[]): void {
    const { cx, cy, radius } = this.page.layers[0].frame;
    this.plot.camera = [(rows[0].x - cx) / radius, (rows[0].y - cy) / radius, 0.3];
  }

  private async askRelevance(rows: readonly number[]): Promise<{ names: string[]; values: number[] }> {
    const live = this.host.live!;
    const end = await live.follow(await live.startJob({ kind: "relevance", rows }), () => undefined);
    return end.result ?? { names: [], values: [] };
  }

  private downloads(): HTMLElement {
    const menu = h("details", { class: "pm-menu" });
    const item = (label: string, action: () => Promise<void> | void) =>
      h("button", { type: "button", click: () => { menu.open = false; void action(); } }, label);
    menu.append(
      h("summary", { class: "pm-icon-button", "aria-label": "Download", title: "Download" }, icon("download")),
      h(
        "div",
        { class: "pm-menu-list" },
        item("Picture (PNG)", () => this.savePng()),
        item("Drawing (SVG)", () => this.saveSvg()),
        item("All rows (csv)", () => this.exportRows(Array.from({ length: this.page.n }, (_, row) => row))),
      ),
    );
    menu.addEventListener("focusout", (event) => {
      if (!menu.contains(event.relatedTarget as Node | null)) menu.open = false;
    });
    return menu;
  }

  private makePlot(): PointView {
    if (!hasWebgl()) {
      this.say("This browser has no WebGL: the map is a plain picture here, without hover and lasso.");
      return new FlatPlot(this.map, () => this.paintOverlay());
    }
    return new Plot(this.map, {
      hover: (row) => this.hover(row),
      click: (row, add) => this.clicked(row, add),
      area: (rows, how) => this.store.set({ selection: combine(this.store.state.selection, rows, how), tab: "selection" }),
      view: () => {
        this.paintOverlay();
        this.hideCard();
        this.status.textContent = this.statusText();
        this.save();
      },
    });
  }

  private async start(camera: Camera | null): Promise<void> {
    const { colours } = this.theme;
    void this.plot.setTheme(colours.background, colours.accent);
    void this.plot.setStyle(this.store.state.size, this.store.state.opacity);
    await this.recolour(false);
    if (camera) this.plot.camera = camera;
    this.renderPanels();
    this.root.dataset.ready = "true";
  }

  /** Bring the screen up to the state, doing only what the change asks for. */
  private async follow(state: ViewState, before: ViewState): Promise<void> {
    const changed = (key: keyof ViewState) => state[key] !== before[key];
    if (changed("size") || changed("opacity")) void this.plot.setStyle(state.size, state.opacity);
    if (changed("selection")) {
      void this.plot.setSelection(state.selection);
      this.host.selectionChanged?.(state.selection);
      if (state.selection.length > 0) void this.preload(COMPARED_BYTES);
      if (state.selection.length > 0 && !changed("tab") && before.selection.length === 0) {
        this.store.set({ tab: "selection" });
      }
    }
    if (changed("layer") || changed("colour")) await this.recolour(changed("layer"));
    else if (changed("hidden") || changed("window")) await this.refilter();
    else if (changed("raster") || changed("density")) this.repaintBehind();
    this.renderPanels();
    this.paintOverlay();
    this.save();
  }

  private async recolour(animate: boolean): Promise<void> {
    const turn = ++this.turn;
    const handle = columnOf(this.page, this.store.state.colour);
    if (handle && !handle.loaded) {
      try {
        await handle.load();
      } catch {
        this.say(`The values of “${handle.name}” could not be loaded.`);
        return;
      }
      if (turn !== this.turn) return;
    }
    this.colour = colouring(this.page, this.store.state.colour, this.theme.dark);
    this.labels = [];
    this.paintOverlay();
    void this.plot.draw(this.layer, this.colour, animate);
    await this.refilter();
  }

  private async refilter(): Promise<void> {
    const { hidden, window: shown } = this.store.state;
    this.visible = visibleRows(this.colour, hidden, shown);
    this.shownRows = this.visible?.reduce((sum, flag) => sum + flag, 0) ?? this.page.n;
    this.legend.render(this.colour);
    this.repaintBehind();
    await this.plot.setFilter(this.visible);
    this.relabel();
  }

  private relabel(): void {
    const { labels, hidden } = this.store.state;
    this.labels = labels && this.colour.kind === "categories" ? placeLabels(this.layer, this.colour, hidden) : [];
    this.paintOverlay();
  }

  private repaintBehind(): void {
    const { raster, density } = this.store.state;
    const picture = raster && this.page.raster?.layer === this.layer.id ? this.page.raster : null;
    const cloud = density && this.page.n > DRAWN_AT_MOST ? { colour: this.colour, visible: this.visible } : null;
    const had = this.behind !== null;
    this.behind = backdrop(this.layer, this.theme.colours.background, picture, cloud);
    if (this.behind || had) void this.plot.setBackground(this.behind);
  }

  private async rethemed(): Promise<void> {
    const { background, accent } = this.theme.colours;
    void this.plot.setTheme(background, accent);
    await this.recolour(false);
    this.renderPanels();
  }

  private renderPanels(): void {
    const { state } = this.store;
    this.layerSwitch.render(this.page.layers);
    this.colourMenu.render(state.colour);
    this.appearance.render();
    this.tabs.render(state.tab, state.selection.length);
    if (state.tab === "verdict") this.verdict.render(this.theme.dark);
    if (state.tab === "selection") this.selectionPanel.render(this.theme.dark);
    if (state.tab === "features") this.features.render(state.colour);
    this.undoButton.disabled = !this.store.canUndo;
    this.redoButton.disabled = !this.store.canRedo;
    replace(this.ringKey, ...ringKey(this.shownRings()));
    this.about.textContent = layerNote(this.layer);
    this.status.textContent = this.statusText();
    if ((state.labels && this.labels.length === 0) || (!state.labels && this.labels.length > 0)) this.relabel();
  }

  private statusText(): string {
    const parts: string[] = [];
    if (this.visible) {
      const shown = this.shownRows;
      parts.push(shown === 0 ? "Every row is hidden by the legend." : `${shown.toLocaleString("en")} of ${this.page.n.toLocaleString("en")} rows shown.`);
    }
    if (this.plot.sampled) parts.push(`${this.plot.drawnCount.toLocaleString("en")} rows drawn as points; zoom in to see every one.`);
    return parts.join(" ");
  }

  private paintOverlay(): void {
    if (!this.overlay) return;
    const { background, text, warn, accent } = this.theme.colours;
    const newRows = this.layer === this.page.layers[0] ? this.newRows : [];
    this.overlay.draw(
      { layer: this.layer, visible: this.visible, ...this.shownRings(), labels: this.labels, newRows, cursor: this.cursor },
      this.plot.screen,
      { text, halo: background, warn, accent },
    );
  }

  /** Rings belong to the map itself; the model's picture to the layer it was drawn for. */
  private shownRings(): { far: Uint8Array | null; misshown: Uint8Array | null } {
    const { rings } = this.store.state;
    const first = this.layer === this.page.layers[0];
    const pictured = (this.page.raster?.layer ?? this.page.layers[0].id) === this.layer.id;
    return { far: rings && first ? this.page.far : null, misshown: rings && pictured ? this.page.misshown : null };
  }

  /** New rows are not the renderer's; the pointer finds them here. */
  private watchPlaced(): void {
    this.map.addEventListener("mousemove", (event) => {
      if (this.newRows.length === 0 || this.layer !== this.page.layers[0]) return;
      const { left, top } = this.map.getBoundingClientRect();
      const { ax, bx, ay, by } = this.plot.screen;
      const near = this.newRows.find((row) => Math.hypot(ax * row.x + bx - (event.clientX - left), ay * row.y + by - (event.clientY - top)) < 8);
      if (near) this.card.showPlaced(near, ax * near.x + bx, ay * near.y + by, this.map.clientWidth, this.map.clientHeight);
      else if (this.hovered === null) this.card.hide();
    });
  }

  private hover(row: number | null): void {
    this.hovered = row;
    if (row === null) this.card.hide();
    else this.showCard(row);
  }

  private showCard(row: number): void {
    const { ax, bx, ay, by } = this.plot.screen;
    const [x, y] = [ax * this.layer.x[row] + bx, ay * this.layer.y[row] + by];
    this.card.show(row, x, y, this.map.clientWidth, this.map.clientHeight, this.colour.colours[this.colour.codes[row]]);
  }

  private hideCard(): void {
    if (this.hovered === null && this.cursor === null) this.card.hide();
  }

  /** Point at a row from the table, or at none. */
  private peek(row: number | null): void {
    this.plot.hover(row);
    this.cursor = row;
    this.paintOverlay();
  }

  private clicked(row: number | null, add: boolean): void {
    const { selection } = this.store.state;
    if (row === null) {
      if (selection.length > 0 && !add) this.store.set({ selection: [] });
      else void this.plot.setSelection(selection);
    } else this.store.set({ selection: combine(selection, [row], add ? "add" : "replace"), tab: "selection" });
  }

  private found(rows: number[]): void {
    this.store.set({ selection: rows, tab: "selection" });
    this.plot.focus(rows);
  }

  private keys(): void {
    listenToKeys(this.root, this.map, {
      tool: (mode) => this.tools.choose(mode),
      zoom: (factor) => this.plot.zoom(factor),
      home: () => this.plot.home(),
      layer: (index) => this.page.layers[index] && this.store.set({ layer: this.page.layers[index].id }),
      search: () => this.search.focus(),
      undo: () => this.store.undo(),
      redo: () => this.store.redo(),
      clear: () => this.clear(),
      help: () => this.help.showModal(),
      cursor: {
        get: () => this.cursor,
        set: (row) => this.moveCursor(row),
        select: (row, add) => this.clicked(row, add),
      },
      layerOf: () => this.layer,
      visible: (row) => this.visible === null || this.visible[row] === 1,
    });
  }

  private clear(): void {
    this.cursor = null;
    this.card.hide();
    if (this.store.state.selection.length > 0) this.store.set({ selection: [] });
    this.paintOverlay();
  }

  private moveCursor(row: number): void {
    this.cursor = row;
    const { ax, bx, ay, by } = this.plot.screen;
    const [x, y] = [ax * this.layer.x[row] + bx, ay * this.layer.y[row] + by];
    if (x < 0 || y < 0 || x > this.map.clientWidth || y > this.map.clientHeight) this.plot.focus([row]);
    this.showCard(row);
    this.paintOverlay();
    this.status.textContent = `${rowName(this.page, row)} ${targetText(this.page, row)}`;
  }

  private view(): { hash: string; complete: boolean } {
    return encodeView(this.store.state, this.defaults, this.plot.atHome ? null : this.plot.camera);
  }

  private save(): void {
    window.clearTimeout(this.saving);
    this.saving = window.setTimeout(() => this.host.viewChanged(this.view().hash), 250);
  }

  private async copyLink(): Promise<void> {
    const { hash, complete } = this.view();
    const link = this.host.link!(hash);
    try {
      await navigator.clipboard.writeText(link);
      this.say(complete ? "Link copied." : "Link copied, without the selection: it is too large for an address.");
    } catch {
      this.say("The address of this page is the link; the browser did not allow copying it.");
    }
  }

  private figure(): FigureContent {
    const { background, text, muted } = this.theme.colours;
    const { hidden, selection, size, opacity } = this.store.state;
    return {
      title: this.page.title,
      subtitle: `${this.layer.label} · ${this.page.n.toLocaleString("en")} rows`,
      layer: this.layer,
      colour: this.colour,
      visible: this.visible,
      hidden,
      selection,
      labels: this.labels,
      screen: this.plot.screen,
      width: this.map.clientWidth,
      height: this.map.clientHeight,
      size,
      opacity,
      background,
      text,
      muted,
      backdrop: this.behind,
    };
  }

  private async savePng(): Promise<void> {
    download(`${fileName(this.page.title)}.png`, await pngFigure(this.figure()));
  }

  private saveSvg(): void {
    const text = svgFigure(this.figure());
    if (text === null) this.say("Too many points for a drawing; hide some classes or zoom in, or save a picture (PNG).");
    else download(`${fileName(this.page.title)}.svg`, new Blob([text], { type: "image/svg+xml" }));
  }

  private async exportRows(rows: readonly number[]): Promise<void> {
    const name = `${fileName(this.page.title)}.csv`;
    const { live } = this.host;
    // A layer computed here is unknown to the server; its rows are written by the page.
    if (live && !LIVE_LAYER.test(this.layer.id)) {
      try {
        download(name, await live.exportRows(rows.length === this.page.n ? "all" : rows, this.layer.id));
      } catch (error) {
        this.say(error instanceof Error ? error.message : String(error));
      }
      return;
    }
    const columns: Column[] = await Promise.all(this.page.columns.map((column) => column.load()));
    saveCsv(name, rowsCsv(this.page, this.layer, rows, columns));
  }
}

export function combine(current: readonly number[], rows: readonly number[], how: "replace" | "add" | "remove"): number[] {
  if (how === "replace") return [...rows];
  const set = new Set(current);
  for (const row of rows) {
    if (how === "add") set.add(row);
    else set.delete(row);
  }
  return [...set].sort((a, b) => a - b);
}

function defaultState(page: Page, colour: string): ViewState {
  const size = page.n > 50_000 ? 2.5 : page.n > 8_000 ? 3.5 : page.n > 1_500 ? 5 : 7;
  return {
    layer: page.layers[0].id,
    colour,
    hidden: new Set(),
    window: null,
    selection: [],
    size,
    opacity: page.n > 50_000 ? 0.55 : 0.8,
    raster: true,
    rings: true,
    density: true,
    labels: true,
    tab: "verdict",
  };
}

function fileName(title: string): string {
  return title.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[-.]+|-+$/g, "").slice(0, 60) || "map";
}
