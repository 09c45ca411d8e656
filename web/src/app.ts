/** Puts the parts together: state in the middle, everything else follows it. */

import { SecondMap } from "./beside";
import { brushed } from "./brush";
import { choices } from "./colouring";
import { Appearance, ColourMenu, LayerSwitch, Tabs, Tools, helpDialog, layerNote } from "./controls";
import { CrossFilter } from "./crossfilter";
import { makeLayer } from "./decode";
import { type Shown, distortionKey } from "./distortion";
import { Changed, download, h, icon, iconButton, replace } from "./dom";
import { FeaturePanel } from "./features";
import { Film } from "./film";
import { type FigureContent, pngFigure, svgFigure } from "./figure";
import { newRows, rowName, targetText } from "./hover";
import { listenToKeys } from "./keyboard";
import { Legend } from "./legend";
import type { LiveClient } from "./live";
import { BY_HAND, HandControl, LIVE_LAYER, PlaceControl, SupervisionControl } from "./livecontrols";
import { ringKey } from "./overlay";
import { headlines } from "./report";
import { Scene } from "./scene";
import { SearchBox } from "./searchbox";
import { SelectionPanel, rowsCsv, saveCsv } from "./selection";
import { type Camera, decodeView, encodeView } from "./share";
import { Store, type ViewState, defaultState } from "./state";
import css from "./style.css?inline";
import { ThemeSwitch } from "./theme";
import type { Page } from "./types";
import { VerdictPanel, digest } from "./verdict";

/** Columns fetched for hover cards at once, and for the comparison of a selection. */
const PRELOADED_BYTES = 16_000_000;
const COMPARED_BYTES = 96_000_000;
const AT_ONCE = 64;

/** What differs between a file, the live explorer and a notebook. */
export interface Host {
  live: LiveClient | null;
  /** The part of the address after '#', or what the host remembers. */
  initialView: string;
  viewChanged: (hash: string) => void;
  selectionChanged?: (rows: readonly number[]) => void;
  /** Show the page as the server has it now; `notes` are about rows placed on it. */
  reload?: (notes: readonly string[]) => Promise<void>;
  notes?: readonly string[];
  /** A link to this view, or null where links make no sense. */
  link: ((hash: string) => string) | null;
}

export class App {
  readonly root = h("div", { class: "pm-app" });
  readonly store: Store;
  private readonly defaults: ViewState;
  private readonly theme: ThemeSwitch;
  private readonly scene: Scene;
  private readonly legend: Legend;
  private readonly layerSwitch: LayerSwitch;
  private readonly colourMenu: ColourMenu;
  private readonly appearance: Appearance;
  private readonly tabs: Tabs;
  private readonly verdict: VerdictPanel;
  private readonly selection: SelectionPanel;
  private readonly features: FeaturePanel;
  private readonly search: SearchBox;
  private readonly cross: CrossFilter;
  private second: SecondMap | null = null;
  private readonly tools: Tools;
  private readonly film: Film;
  private readonly strip = h("div", { class: "pm-strip" });
  private readonly about = h("p", { class: "pm-about" });
  private readonly ringKey = h("div", { class: "pm-doubtful" });
  private readonly ringsChanged = new Changed();
  private readonly distortion = h("details", { class: "pm-details pm-distortion" });
  private readonly distortionChanged = new Changed();
  private readonly status = h("div", { class: "pm-status", role: "status" });
  private readonly toast = h("div", { class: "pm-toast", role: "alert", hidden: true });
  private readonly undoButton = iconButton("undo", "Undo (Ctrl+Z)", () => this.store.undo());
  private readonly redoButton = iconButton("redo", "Redo (Ctrl+Y)", () => this.store.redo());
  private readonly help = helpDialog();
  private supervision: SupervisionControl | null = null;
  private linking = false;
  private saving = 0;
  private hiding = 0;

  constructor(
    parent: HTMLElement,
    readonly page: Page,
    private readonly host: Host,
  ) {
    const colours = choices(page);
    this.defaults = defaultState(page.n, page.layers[0].id, colours[0].id, page.versions.length);
    const known = { layers: page.layers.map((layer) => layer.id), colours: colours.map((c) => c.id), columns: page.columns.length, n: page.n, versions: page.versions.length };
    const shared = decodeView(host.initialView, known);
    this.store = new Store({ ...this.defaults, ...shared.state });
    this.theme = new ThemeSwitch(this.root, () => void this.rethemed());
    this.legend = new Legend(this.store, (code) => this.lookAt(code));
    this.layerSwitch = new LayerSwitch(this.store);
    this.colourMenu = new ColourMenu(colours, page.target.name, this.store);
    this.appearance = new Appearance(this.store, {
      raster: page.raster ? page.raster.legend : null,
      images: page.images !== null,
    });
    this.verdict = new VerdictPanel(page);
    this.features = new FeaturePanel(page, (colour) => this.store.set({ colour }));
    this.selection = this.makeSelectionPanel();
    this.tabs = new Tabs(this.store, {
      verdict: this.verdict.element,
      selection: this.selection.element,
      features: this.features.element,
    });
    this.cross = new CrossFilter(page, this.store, (message) => this.say(message));
    this.search = new SearchBox(page, (rows) => this.found(rows));
    this.film = new Film(page, this.store, () => this.scene.plot.settled);
    const stage = this.build(parent);
    this.scene = new Scene(stage, page, this.store, this.theme, {
      click: (row, add) => this.clicked(row, add),
      area: (rows, how) => this.store.set({ selection: combine(this.store.state.selection, rows, how), tab: "selection" }),
      view: () => {
        if (this.scene) this.status.textContent = this.statusText();
        if (this.scene && this.second) this.linkCameras(this.scene, this.second.scene);
        this.save();
      },
      say: (message) => this.say(message),
      hover: (row) => this.second?.scene.peek(row),
    }, (time) => this.film.at(time));
    const { plot } = this.scene;
    this.tools = new Tools((mode) => this.maps().forEach((map) => map.plot.setMode(mode)), {
      zoom: (factor) => plot.zoom(factor),
      home: () => this.maps().forEach((map) => map.plot.home()),
      charts: page.columns.length > 0 ? () => void this.cross.toggle() : null,
      beside: () => this.toggleBeside(),
    });
    this.scene.element.append(this.status, this.toast);
    stage.parentElement!.append(this.tools.element, this.cross.element);
    this.store.subscribe((state, before) => void this.follow(state, before));
    this.keys();
    this.addLiveControls();
    void this.start(shared.camera).then(() => {
      this.resumeSupervision();
      void this.preload(PRELOADED_BYTES);
    });
  }

  /** The view as it is now. */
  get hash(): string {
    return this.view().hash;
  }

  destroy(): void {
    window.clearTimeout(this.saving);
    window.clearTimeout(this.hiding);
    this.film.destroy();
    this.second?.destroy();
    this.scene.destroy();
    this.root.remove();
  }

  say(message: string): void {
    this.toast.textContent = message;
    this.toast.hidden = false;
    window.clearTimeout(this.hiding);
    this.hiding = window.setTimeout(() => (this.toast.hidden = true), 6000);
  }

  /** How far the judging of the map is, or why it failed. */
  judging(share: number | null, trouble = ""): void {
    this.verdict.judging(share, trouble);
    this.verdict.render(this.theme.dark);
  }

  /** The same map, judged by now: its verdict, and the maps it was compared with. */
  adopt(judged: Page): void {
    const { page } = this;
    Object.assign(page, { report: judged.report, curves: judged.curves, notes: judged.notes });
    page.layers.push(...judged.layers.filter((layer) => page.layers.every((known) => known.id !== layer.id)));
    this.strip.hidden = page.layers.length < 2 && page.versions.length === 0;
    this.judging(null);
    const answer = digest(page, () => this.readVerdict());
    if (answer && !this.root.querySelector(".pm-digest")) this.root.querySelector(".pm-right")?.before(answer);
    this.say("The verdict is in.");
    this.renderPanels();
  }

  // Building

  private build(parent: HTMLElement): HTMLElement {
    const { page } = this;
    const all = page.columns.length + page.leftOut;
    const columns = page.leftOut > 0 ? `${page.columns.length} of ${all.toLocaleString("en")} columns` : `${all} ${all === 1 ? "column" : "columns"}`;
    const size = `${page.n.toLocaleString("en")} rows${page.columns.length > 0 ? ` · ${columns}` : ""}`;
    const brand = h(
      "div",
      { class: "pm-brand" },
      h("span", { class: "pm-mark", "aria-hidden": "true" }),
      h("h1", { title: page.title }, page.title),
      page.raster && page.raster.fidelity !== "" && h("span", { class: "pm-fidelity", title: page.raster.fidelity }, page.raster.fidelity),
      h("span", { class: "pm-sub" }, size),
    );
    const actions = h(
      "div",
      { class: "pm-actions", role: "toolbar", "aria-label": "Page" },
      this.undoButton,
      this.redoButton,
      this.host.link && iconButton("link", "Copy a link to this view", () => void this.copyLink()),
      this.downloads(),
      iconButton("moon", "Light or dark", () => this.theme.toggle()),
      iconButton("help", "Keys and hints (?)", () => this.help.showModal()),
    );
    const panes = h("div", { class: "pm-panes" });
    const view = h("div", { class: "pm-view" }, panes);
    this.strip.hidden = page.layers.length < 2 && !page.live?.reembed && page.versions.length === 0;
    this.strip.append(this.layerSwitch.element, this.about);
    const stage = h(
      "main",
      { class: "pm-stage" },
      this.strip,
      view,
      this.film.element,
    );
    replace(
      this.root,
      h("style", {}, css),
      h("header", { class: "pm-top" }, brand, this.search.element, actions),
      h(
        "aside",
        { class: "pm-left", "aria-label": "Colour and legend" },
        this.colourMenu.element,
        this.legend.element,
        this.ringKey,
        this.distortion,
        this.appearance.element,
      ),
      stage,
      digest(page, () => this.readVerdict()),
      h("aside", { class: "pm-right", "aria-label": "About this map" }, this.tabs.element),
      this.help,
    );
    parent.classList.add("pm-frame");
    replace(parent, this.root);
    return panes;
  }

  private makeSelectionPanel(): SelectionPanel {
    const { live } = this.host;
    return new SelectionPanel(this.page, this.store, {
      zoom: (rows) => this.scene.plot.focus(rows),
      peek: (row) => this.maps().forEach((map) => map.peek(row)),
      colour: (colour) => this.store.set({ colour }),
      export: (rows) => this.exportRows(rows),
      lines: (lines) => this.scene.showLines(lines),
      relevance:
        live && this.page.live?.relevance
          ? async (rows, watch) => {
              const job = await live.startJob({ kind: "relevance", rows });
              watch.started(() => void live.stopJob(job.id).catch(() => undefined));
              return (await live.follow(job, (now) => watch.progress(now.share))).result ?? null;
            }
          : null,
    });
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

  private keys(): void {
    const { scene } = this;
    listenToKeys(this.root, scene.element, {
      tool: (mode) => this.tools.choose(mode),
      zoom: (factor) => scene.plot.zoom(factor),
      home: () => scene.plot.home(),
      layer: (index) => this.page.layers[index] && this.store.set({ layer: this.page.layers[index].id }),
      charts: () => this.page.columns.length > 0 && void this.cross.toggle(),
      beside: () => this.toggleBeside(),
      local: () => this.toggleDistortion("local", !this.store.state.local),
      search: () => this.search.focus(),
      undo: () => this.store.undo(),
      redo: () => this.store.redo(),
      clear: () => this.clear(),
      help: () => this.help.showModal(),
      cursor: {
        get: () => scene.cursor,
        set: (row) => {
          scene.moveCursor(row);
          this.status.textContent = `${rowName(this.page, row)} ${targetText(this.page, row)}`;
        },
        select: (row, add) => this.clicked(row, add),
      },
      layerOf: () => scene.layer,
      visible: (row) => scene.visible === null || scene.visible[row] === 1,
    });
  }

  // Following the state

  private async start(camera: Camera | null): Promise<void> {
    const { state } = this.store;
    this.scene.restyle();
    if (state.selection.length > 0) void this.scene.plot.setSelection(state.selection);
    await Promise.all([...state.brushes.keys()].map((index) => this.page.columns[index].load().catch(() => undefined)));
    this.scene.mask = brushed(this.page, state.brushes);
    const drawn = this.scene.retheme();
    this.renderPanels(); // the verdict does not wait for the points
    await drawn;
    await this.showBeside();
    if (camera) this.scene.plot.camera = camera;
    this.renderPanels();
    this.root.dataset.ready = "true";
  }

  /** Bring the screen up to the state, doing only what the change asks for. */
  private async follow(state: ViewState, before: ViewState): Promise<void> {
    const changed = (key: keyof ViewState) => state[key] !== before[key];
    const { scene } = this;
    if (changed("size") || changed("opacity") || changed("auto")) scene.restyle();
    if (changed("selection")) {
      void scene.plot.setSelection(state.selection);
      this.host.selectionChanged?.(state.selection);
      if (state.selection.length !== 1) scene.showLines(null);
      if (state.selection.length > 0) void this.preload(COMPARED_BYTES);
    }
    // A column's values may come after its brush.
    const rebrushed = changed("brushes") || (changed("charts") && state.brushes.size > 0);
    if (rebrushed) scene.mask = brushed(this.page, state.brushes);
    if (changed("layer") || changed("colour") || changed("own") || changed("time")) {
      this.renderPanels();
      await scene.recolour(changed("layer"));
    } else if (changed("hidden") || changed("window") || rebrushed) await scene.refilter();
    else if (changed("raster") || changed("density") || changed("contours")) scene.repaintBehind();
    else if (changed("labels")) scene.relabel();
    else if (changed("sprites")) scene.paintOverlay();
    if (changed("local")) scene.refreshCard();
    this.renderPanels();
    scene.paintOverlay();
    await this.showBeside();
    this.save();
  }

  private maps(): Scene[] {
    return this.second ? [this.scene, this.second.scene] : [this.scene];
  }

  /** Open, close or update the second map. */
  private async showBeside(): Promise<void> {
    const { state } = this.store;
    if (!state.beside) {
      this.second?.destroy();
      this.second = null;
    } else if (this.second) await this.second.follow(state, this.scene.visible, state.beside);
    else {
      const panes = this.scene.element.parentElement!;
      this.second = new SecondMap(panes, this.page, state, state.beside, choices(this.page), this.theme, {
        click: (row, add) => this.clicked(row, add),
        area: (rows, how) => this.store.set({ selection: combine(this.store.state.selection, rows, how), tab: "selection" }),
        view: () => this.second && this.linkCameras(this.second.scene, this.scene),
        say: (message) => this.say(message),
        hover: (row) => this.scene.peek(row),
      }, (beside) => this.store.set({ beside }));
      this.second.scene.plot.setMode(this.tools.mode);
      await this.second.follow(state, this.scene.visible, state.beside);
    }
  }

  /** The next map of the page in the same colours; in other colours where there is only one. */
  private toggleBeside(): void {
    const { beside, layer, colour } = this.store.state;
    if (beside) {
      this.store.set({ beside: null });
      return;
    }
    const other = this.page.layers.find((one) => one.id !== layer);
    const colours = choices(this.page);
    const another = colours.find((choice) => choice.id !== colour) ?? colours[0];
    this.store.set({ beside: { layer: other?.id ?? layer, colour: other ? colour : another.id } });
  }

  /** The same map twice is looked at from the same place. */
  private linkCameras(from: Scene, to: Scene): void {
    if (this.linking || from.layer !== to.layer) return;
    const [a, b] = [from.plot.camera, to.plot.camera];
    if (a.every((value, i) => Math.abs(value - b[i]) < 1e-6)) return;
    this.linking = true;
    to.plot.camera = a;
    this.linking = false;
  }

  private async rethemed(): Promise<void> {
    await this.scene.retheme();
    await this.second?.scene.retheme();
    this.renderPanels();
  }

  private renderPanels(): void {
    const { state } = this.store;
    this.layerSwitch.render(this.page.layers);
    this.colourMenu.render(state, this.scene.layer.own);
    this.legend.render(this.scene.colour);
    this.appearance.render();
    this.tools.render(state);
    this.film.render(this.scene.colour);
    this.cross.render(this.scene.visible);
    this.tabs.render(state.tab, state.selection.length);
    if (state.tab === "verdict") this.verdict.render(this.theme.dark, state.layer === BY_HAND);
    if (state.tab === "selection") this.selection.render(this.theme.dark);
    if (state.tab === "features") this.features.render(state.colour);
    this.undoButton.disabled = !this.store.canUndo;
    this.redoButton.disabled = !this.store.canRedo;
    this.renderRingKey();
    this.renderDistortion();
    this.about.textContent = this.about.title = this.scene.own?.note || layerNote(this.scene.layer);
    this.supervision?.follow(state.layer, state.layer === this.page.layers[0].id);
    this.status.textContent = this.statusText();
  }

  private renderRingKey(): void {
    const { doubtful } = this.scene;
    const { rings } = this.store.state;
    if (this.ringsChanged.now(doubtful.far, doubtful.misshown, rings)) replace(this.ringKey, ...ringKey(doubtful, rings, (shown) => this.store.set({ rings: shown })));
  }

  private renderDistortion(): void {
    const { local, torn, wrong } = this.store.state;
    const { layer } = this.scene;
    if (!this.distortionChanged.now(layer, this.page.report, local, torn, wrong)) return;
    const focused = (document.activeElement as HTMLElement | null)?.dataset.key;
    const parts = distortionKey(this.page, layer, { local, torn, wrong }, (what, on) => this.toggleDistortion(what, on));
    this.distortion.hidden = parts.length === 0;
    replace(this.distortion, ...parts);
    if (focused?.startsWith("distortion-")) this.distortion.querySelector<HTMLElement>(`[data-key="${focused}"]`)?.focus();
  }

  private toggleDistortion(what: Shown, on: boolean): void {
    this.store.set({ [what]: on });
  }

  private statusText(): string {
    const parts: string[] = [];
    const { scene, page } = this;
    const shown = scene.shownRows;
    if (shown === 0) parts.push("Every row is hidden by the legend or the charts.");
    else if (shown < page.n) parts.push(`${shown.toLocaleString("en")} of ${page.n.toLocaleString("en")} rows shown.`);
    if (scene.plot.sampled) parts.push(`${scene.plot.drawnCount.toLocaleString("en")} rows drawn as points; zoom in to see every one.`);
    return parts.join(" ");
  }

  /** Fetch columns that did not come along, as long as they are not too large together. */
  private async preload(bytes: number): Promise<void> {
    const { live } = this.host;
    const { columns } = this.page;
    const fitting = columns.slice(0, Math.floor(bytes / (4 * this.page.n)));
    if (!live || fitting.every((column) => column.loaded)) return;
    try {
      for (let first = 0; first < fitting.length; first += AT_ONCE) {
        const part = fitting.slice(first, first + AT_ONCE);
        if (part.every((column) => column.loaded)) continue;
        const coming = live.columns(first, part.length);
        part.forEach((column, i) => column.expect(coming.then((found) => found[i])));
        await Promise.all(part.map((column) => column.load())); // only then have they arrived at their handles
      }
      this.renderPanels();
      this.maps().forEach((map) => map.refreshCard());
    } catch {
      // Shown as missing values; asking for one by name says what is wrong.
    }
  }

  // What the user does

  private clicked(row: number | null, add: boolean): void {
    const { selection } = this.store.state;
    if (row !== null) this.store.set({ selection: combine(selection, [row], add ? "add" : "replace"), tab: "selection" });
    else if (selection.length > 0 && !add) this.store.set({ selection: [] });
    else void this.scene.plot.setSelection(selection);
  }

  private found(rows: number[]): void {
    this.store.set({ selection: rows, tab: "selection" });
    if (rows.length > 0) this.scene.plot.focus(rows);
  }

  private readVerdict(): void {
    this.store.set({ tab: "verdict" });
    this.tabs.element.scrollIntoView({ behavior: "smooth" });
  }

  /** Bring a class that is to be seen alone into view, unless it is and can be seen well; all: the whole map. */
  private lookAt(code: number | null): void {
    const { colour, plot } = this.scene;
    if (code === null) plot.home();
    else {
      const rows = Array.from(colour.codes.keys()).filter((row) => colour.codes[row] === code);
      if (!this.scene.seenWell(rows)) plot.focus(rows);
    }
  }

  private clear(): void {
    this.scene.leaveCursor();
    if (this.store.state.selection.length > 0) this.store.set({ selection: [] });
  }

  private view(): { hash: string; complete: boolean } {
    const { plot } = this.scene;
    return encodeView(this.store.state, this.defaults, plot.atHome ? null : plot.camera);
  }

  private save(): void {
    window.clearTimeout(this.saving);
    this.saving = window.setTimeout(() => this.host.viewChanged(this.view().hash), 250);
  }

  private async copyLink(): Promise<void> {
    const { hash, complete } = this.view();
    try {
      await navigator.clipboard.writeText(this.host.link!(hash));
      this.say(complete ? "Link copied." : "Link copied, without the selection: it is too large for an address.");
    } catch {
      this.say("The address of this page is the link; the browser did not allow copying it.");
    }
  }

  /** What can be posted: the map or maps on the screen, under the title and what the report says first. */
  private figure(): FigureContent {
    const { background, text, muted } = this.theme.colours;
    const lines = [...headlines(this.page.report), `${this.page.n.toLocaleString("en")} rows`];
    return { title: this.page.title, lines, maps: this.maps().map((map) => map.figure()), background, text, muted };
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
    const layer = this.page.layers.find((one) => one.id === this.scene.layer.id) ?? this.page.layers[0];
    try {
      // A layer computed here is unknown to the server; its rows are written by the page.
      if (live && !LIVE_LAYER.test(layer.id)) {
        download(name, await live.exportRows(rows.length === this.page.n ? "all" : rows, layer.id));
      } else {
        const columns = await Promise.all(this.page.columns.map((column) => column.load()));
        saveCsv(name, rowsCsv(this.page, layer, rows, columns));
      }
    } catch (error) {
      this.say(error instanceof Error ? error.message : String(error));
    }
  }

  // What only a live map can do

  private addLiveControls(): void {
    const { live } = this.host;
    const offers = this.page.live;
    const { scene } = this;
    const actions = {
      say: (message: string) => this.say(message),
      showLayer: (id: string, label: string, positions: Float32Array, final: boolean) => this.showLayer(id, label, positions, final),
      serverLayer: () => (LIVE_LAYER.test(scene.layer.id) ? null : scene.layer.id),
      reload: async (notes: readonly string[]) => await this.host.reload?.(notes),
      selection: () => this.store.state.selection,
      select: (rows: readonly number[]) => {
        if (scene.layer !== this.page.layers[0]) this.store.set({ layer: this.page.layers[0].id });
        this.found([...rows]);
      },
      export: (rows: readonly number[]) => void this.exportRows(rows),
    };
    const supervision = live && offers?.reembed ? new SupervisionControl(live, actions, offers.supervision) : null;
    this.supervision = supervision;
    const place = new PlaceControl(this.root, live && offers?.transform ? live : null, this.page, newRows(this.page), this.host.notes ?? [], actions);
    const hand = live && offers?.shape ? new HandControl(live, actions) : null;
    this.appearance.element.before(...(supervision ? [supervision.element] : []), ...(hand ? [hand.element] : []), place.element);
  }

  /** A link may ask for a supervision that has to be computed first. */
  private resumeSupervision(): void {
    const asked = LIVE_LAYER.exec(new URLSearchParams(this.host.initialView.replace(/^#/, "")).get("layer") ?? "");
    if (asked && Number(asked[1]) <= 1) void this.supervision?.run(Number(asked[1]));
  }

  /** Positions that are being computed, as a layer of their own. */
  private async showLayer(id: string, label: string, positions: Float32Array, final: boolean): Promise<void> {
    const about = id === BY_HAND ? "Shaped by hand: what separates here was put there by you, and is not judged" : "Computed live";
    const layer = makeLayer(id, label, `${about}${withoutPlace(positions)}; the verdict is about the original map.`, positions);
    const { layers } = this.page;
    const place = layers.findIndex((other) => LIVE_LAYER.test(other.id));
    if (place >= 0) layers[place] = layer;
    else layers.push(layer);
    if (this.store.state.layer !== id) this.store.set({ layer: id });
    else await this.scene.recolour(true);
    if (final) this.say(`${label}: done.`);
    this.renderPanels();
  }
}

/** Rows that were placed, not fitted, have no place on a map computed live. */
function withoutPlace(positions: Float32Array): string {
  let missing = 0;
  for (let i = 0; i < positions.length; i += 2) if (Number.isNaN(positions[i])) missing++;
  return missing === 0 ? "" : `, without the ${missing.toLocaleString("en")} rows that were not fitted`;
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

function fileName(title: string): string {
  return title.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[-.]+|-+$/g, "").slice(0, 60) || "map";
}
