/** Small controls around the map: layers, tools, appearance, tabs, help. */

import type { Choice } from "./colouring";
import { Changed, h, iconButton, replace, uniqueId } from "./dom";
import type { Mode } from "./plot";
import { type Store, TABS, type Tab, type ViewState } from "./state";
import type { Layer, OwnTarget } from "./types";

const LAYER_NOTES: Record<string, string> = {
  unsupervised: "The same rows drawn without looking at the target.",
  permuted: "Labels shuffled before fitting: what separates here is invented, not found in the data.",
};

export class LayerSwitch {
  readonly element = h("div", { class: "pm-layers", role: "radiogroup", "aria-label": "Which map" });
  private readonly changed = new Changed();

  constructor(private readonly store: Store) {}

  render(layers: Layer[]): void {
    if (!this.changed.now(this.store.state.layer, ...layers.map((layer) => layer.id))) return;
    this.element.hidden = layers.length < 2;
    const current = this.store.state.layer;
    const had = this.element.contains(document.activeElement);
    replace(
      this.element,
      ...layers.map((layer, index) =>
        h(
          "button",
          {
            type: "button",
            role: "radio",
            "aria-checked": layer.id === current ? "true" : "false",
            tabindex: layer.id === current ? 0 : -1,
            title: layerNote(layer),
            click: () => this.store.set({ layer: layer.id }),
            keydown: (event: KeyboardEvent) => {
              const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
              if (step === undefined) return;
              event.preventDefault();
              event.stopPropagation();
              this.store.set({ layer: layers[(index + step + layers.length) % layers.length].id });
            },
          },
          layer.label,
        ),
      ),
    );
    if (had) this.element.querySelector<HTMLElement>("[tabindex='0']")?.focus();
  }
}

export function layerNote(layer: Layer): string {
  return layer.note || LAYER_NOTES[layer.id] || "";
}

export class Tools {
  readonly element: HTMLElement;
  private readonly modes: Record<Mode, HTMLButtonElement>;
  private readonly charts: HTMLButtonElement;
  private readonly beside: HTMLButtonElement;

  constructor(
    private readonly setMode: (mode: Mode) => void,
    view: { zoom: (factor: number) => void; home: () => void; charts: (() => void) | null; beside: () => void },
  ) {
    this.charts = iconButton("chart", "Charts of columns (C)", () => view.charts?.(), { hidden: view.charts === null });
    this.beside = iconButton("split", "A second map (S)", () => view.beside());
    this.modes = {
      pan: iconButton("pan", "Move (P)", () => this.choose("pan")),
      lasso: iconButton("lasso", "Lasso (L)", () => this.choose("lasso")),
      box: iconButton("box", "Box (B)", () => this.choose("box")),
    };
    const tools = h(
      "div",
      { class: "pm-tools", role: "toolbar", "aria-label": "Map tools", "aria-orientation": "vertical" },
      h("div", {}, this.modes.pan, this.modes.lasso, this.modes.box),
      h(
        "div",
        {},
        iconButton("plus", "Zoom in (+)", () => view.zoom(1.4)),
        iconButton("minus", "Zoom out (−)", () => view.zoom(1 / 1.4)),
        iconButton("fit", "Whole map (0)", () => view.home()),
      ),
    );
    this.element = h("div", { class: "pm-toolbar" }, tools, h("div", { class: "pm-views", role: "toolbar", "aria-label": "More views" }, this.charts, this.beside));
    this.choose("pan");
  }

  render({ charts, beside }: ViewState): void {
    this.charts.setAttribute("aria-pressed", charts.length > 0 ? "true" : "false");
    this.beside.setAttribute("aria-pressed", beside ? "true" : "false");
  }

  mode: Mode = "pan";

  choose(mode: Mode): void {
    this.mode = mode;
    for (const [name, button] of Object.entries(this.modes)) button.setAttribute("aria-pressed", name === mode ? "true" : "false");
    this.setMode(mode);
  }
}

export class ColourMenu {
  readonly element: HTMLElement;
  private readonly select: HTMLSelectElement;

  private readonly labels = h("div", { class: "pm-layers pm-which-labels", role: "radiogroup", "aria-label": "Which labels", hidden: true });
  private readonly changed = new Changed();

  constructor(
    choices: Choice[],
    private readonly targetName: string,
    private readonly store: Store,
  ) {
    const id = uniqueId("colour");
    this.select = h("select", { id, change: () => store.set({ colour: this.select.value }) });
    for (const group of ["Target", "Map", "Columns"] as const) {
      const own = choices.filter((choice) => choice.group === group);
      if (own.length > 0) {
        this.select.append(h("optgroup", { label: group }, ...own.map((choice) => h("option", { value: choice.id }, choice.label))));
      }
    }
    this.element = h("div", { class: "pm-field" }, h("label", { for: id }, "Colour by"), this.select, this.labels);
  }

  /** `other` is the target that the layer was made with, where it is not the page's. */
  render({ colour, own }: ViewState, other: OwnTarget | null): void {
    this.select.value = colour;
    if (!this.changed.now(colour, own, other)) return;
    this.labels.hidden = other === null || colour !== "target";
    if (other === null) return;
    const had = this.labels.contains(document.activeElement);
    const choice = (label: string, name: string, chosen: boolean) =>
      h(
        "button",
        {
          type: "button",
          role: "radio",
          "aria-label": name,
          "aria-checked": chosen === own ? "true" : "false",
          tabindex: chosen === own ? 0 : -1,
          click: () => this.store.set({ own: chosen }),
          keydown: (event: KeyboardEvent) => {
            if (!/^Arrow/.test(event.key)) return;
            event.preventDefault();
            event.stopPropagation();
            this.store.set({ own: !own });
          },
        },
        label,
      );
    replace(this.labels, choice("shuffled", other.name, true), choice("true", `true ${this.targetName}`, false));
    if (had) this.labels.querySelector<HTMLElement>("[tabindex='0']")?.focus();
  }
}

/** Sliders and switches; only those the page has a use for. */
export class Appearance {
  readonly element: HTMLElement;
  private readonly refreshers: (() => void)[] = [];

  constructor(
    private readonly store: Store,
    available: { raster: string | null; images: boolean },
  ) {
    this.element = h(
      "details",
      { class: "pm-details pm-appearance" },
      h("summary", {}, "Appearance"),
      this.slider("Point size", "size", 1, 14, 0.5),
      this.slider("Opacity", "opacity", 0.02, 1, 0.02),
      this.check("Both by the number of points in view", "auto"),
      this.check("Names on the map", "labels"),
      available.raster !== null && this.check(available.raster || "Decision picture behind the points", "raster"),
      available.images && this.check("Pictures of rows when zoomed in", "sprites"),
      this.check("Density behind the points", "density"),
      this.check("Lines around 25, 50, 75 and 95 % of the rows", "contours"),
    );
  }

  render(): void {
    for (const refresh of this.refreshers) refresh();
  }

  private slider(label: string, key: "size" | "opacity", min: number, max: number, step: number): HTMLElement {
    const input = h("input", { type: "range", min, max, step, input: () => this.store.set({ [key]: Number(input.value), auto: false }) });
    this.refreshers.push(() => (input.value = String(this.store.state[key])));
    return h("label", { class: "pm-slider" }, h("span", {}, label), input);
  }

  private check(label: string, key: "labels" | "raster" | "density" | "contours" | "auto" | "sprites"): HTMLElement {
    const input = h("input", { type: "checkbox", change: () => this.store.set({ [key]: input.checked }) });
    this.refreshers.push(() => (input.checked = this.store.state[key]));
    return h("label", { class: "pm-check" }, input, h("span", {}, label));
  }
}

const TAB_NAMES: Record<Tab, string> = { verdict: "Verdict", selection: "Selection", features: "Features" };

export class Tabs {
  readonly element: HTMLElement;
  private readonly buttons = new Map<Tab, HTMLButtonElement>();
  private readonly panels = new Map<Tab, HTMLElement>();
  private readonly badge = h("span", { class: "pm-badge", hidden: true });

  constructor(store: Store, content: Record<Tab, HTMLElement>) {
    const prefix = uniqueId("tab");
    for (const tab of TABS) {
      const panelId = `${prefix}-${tab}`;
      const button = h(
        "button",
        {
          type: "button",
          role: "tab",
          id: `${panelId}-button`,
          "aria-controls": panelId,
          click: () => store.set({ tab }),
          keydown: (event: KeyboardEvent) => {
            const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
            if (step === undefined) return;
            const next = TABS[(TABS.indexOf(tab) + step + TABS.length) % TABS.length];
            store.set({ tab: next });
            this.buttons.get(next)?.focus();
            event.preventDefault();
            event.stopPropagation();
          },
        },
        TAB_NAMES[tab],
        tab === "selection" && " ",
        tab === "selection" && this.badge,
      );
      this.buttons.set(tab, button);
      this.panels.set(
        tab,
        h("div", { role: "tabpanel", id: panelId, class: "pm-panel", "aria-labelledby": `${panelId}-button`, tabindex: 0 }, content[tab]),
      );
    }
    this.element = h(
      "div",
      { class: "pm-tabs" },
      h("div", { role: "tablist", class: "pm-tablist", "aria-label": "About this map" }, ...this.buttons.values()),
      ...this.panels.values(),
    );
  }

  render(current: Tab, selected: number): void {
    for (const tab of TABS) {
      const chosen = tab === current;
      this.buttons.get(tab)!.setAttribute("aria-selected", chosen ? "true" : "false");
      this.buttons.get(tab)!.tabIndex = chosen ? 0 : -1;
      this.panels.get(tab)!.hidden = !chosen;
    }
    this.badge.hidden = selected === 0;
    this.badge.textContent = selected > 9999 ? `${Math.round(selected / 1000)}k` : String(selected);
  }
}

const KEYS: [string, string][] = [
  ["P, L, B", "move, lasso, box"],
  ["Shift + drag", "lasso without changing the tool"],
  ["Ctrl / Alt", "add to / take from the selection"],
  ["Arrow keys", "go from point to point (with the map in focus)"],
  ["Enter", "select the point under the cursor"],
  ["+ − 0", "zoom in, zoom out, whole map"],
  ["1 … 9", "switch the map"],
  ["C, S", "charts of columns, a second map"],
  ["N", "show the neighbourhood of the row pointed at, or not"],
  ["/", "search"],
  ["Ctrl + Z, Ctrl + Y", "undo, redo"],
  ["Esc", "clear the selection"],
  ["?", "this help"],
];

export function helpDialog(): HTMLDialogElement {
  const dialog = h(
    "dialog",
    { class: "pm-dialog", "aria-label": "Keys and hints" },
    h("h2", {}, "Keys and hints"),
    h("dl", { class: "pm-keys" }, ...KEYS.flatMap(([keys, what]) => [h("dt", {}, keys), h("dd", {}, what)])),
    h("p", { class: "pm-note" }, "Distances between far-apart groups and the size of groups mean little on a map like this; neighbourhoods do. Compare with the unsupervised and the permuted map before believing a gap."),
    h("form", { method: "dialog" }, h("button", { class: "pm-primary" }, "Close")),
  );
  return dialog;
}
