/** The legend is the filter: click a class to hide it, "only" to see it alone, drag the ends of a ramp. */

import { BINS, type CategoryColouring, type Colouring, type RampColouring } from "./colouring";
import { Changed, h, replace } from "./dom";
import { format } from "./stats";
import { type Store, toggled } from "./state";

/** With more classes than this they can be searched and sorted; so many are listed at first. */
const SEARCHED = 12;
const LISTED = 40;

export class Legend {
  readonly element = h("div", { class: "pm-legend" });

  private readonly changed = new Changed();
  private shown: Colouring | null = null;
  private all = false;
  private readonly search = h("input", {
    type: "search", class: "pm-filter", placeholder: "Find a class", "aria-label": "Find a class", "data-key": "search", input: () => this.again(),
  });
  private readonly order = h(
    "select",
    { "aria-label": "Order of the classes", "data-key": "order", change: () => this.again() },
    ...[["given", "in order"], ["size", "by size"], ["name", "by name"]].map(([value, label]) => h("option", { value }, label)),
  );

  /** `look` is told which class is to be seen alone, or null for all. */
  constructor(
    private readonly store: Store,
    private readonly look: (code: number | null) => void,
  ) {}

  render(colour: Colouring): void {
    const { hidden, window: shown } = this.store.state;
    if (!this.changed.now(colour, hidden, shown)) return;
    if (colour.title !== this.shown?.title) {
      this.all = false;
      this.search.value = "";
    }
    this.shown = colour;
    // Keep the keyboard where it was: the list is built anew after each click.
    const focused = this.element.ownerDocument.activeElement?.getAttribute("data-key") ?? null;
    replace(this.element, ...(colour.kind === "categories" ? this.categories(colour) : this.ramp(colour)));
    if (focused) this.element.querySelector<HTMLElement>(`[data-key="${focused}"]`)?.focus({ preventScroll: true });
  }

  private categories(colour: CategoryColouring): (HTMLElement | false)[] {
    const { hidden } = this.store.state;
    const entries = colour.categories.map((category, code) => ({ ...category, code }));
    if (colour.missing > 0) {
      const code = colour.categories.length;
      entries.push({ label: "unlabelled", colour: colour.colours[code], count: colour.missing, code });
    }
    const codes = entries.map((entry) => entry.code);
    const many = entries.length > SEARCHED;
    const wanted = many ? this.search.value.trim().toLowerCase() : "";
    const found = entries.filter((entry) => entry.label.toLowerCase().includes(wanted));
    if (many && this.order.value === "size") found.sort((a, b) => b.count - a.count);
    if (many && this.order.value === "name") found.sort((a, b) => a.label.localeCompare(b.label, "en", { numeric: true }));
    const shown = this.all ? found : found.slice(0, LISTED);
    const rest = found.length - shown.length;
    return [
      many && h("div", { class: "pm-legend-tools" }, this.search, this.order),
      hidden.size > 0 &&
        h("button", { type: "button", class: "pm-link", "data-key": "all", click: () => this.showAll() }, `Show all ${entries.length} classes`),
      h("ul", { class: "pm-entries", "aria-label": `Classes of ${colour.title}` }, ...shown.map((entry) => this.entry(entry, codes))),
      found.length === 0 && h("p", { class: "pm-note" }, "No class has this name."),
      rest > 0 &&
        h("button", { type: "button", class: "pm-link", "data-key": "rest", click: () => this.listAll() }, `List ${rest.toLocaleString("en")} more`),
      colour.crowded &&
        h(
          "p",
          { class: "pm-note" },
          `${colour.categories.length} classes: more than ten colours cannot all be told apart. Use “only” to check one.`,
        ),
    ];
  }

  private entry({ label, colour: fill, count, code }: { label: string; colour: string; count: number; code: number }, codes: number[]): HTMLElement {
    const { hidden } = this.store.state;
    const shown = !hidden.has(code);
    return h(
      "li",
      { class: shown ? "pm-entry" : "pm-entry pm-off" },
      h(
        "button",
        {
          type: "button",
          class: "pm-entry-main",
          "aria-pressed": shown ? "true" : "false",
          "data-key": `toggle-${code}`,
          title: shown ? `Hide ${label}` : `Show ${label}`,
          click: () => this.store.set({ hidden: toggled(hidden, code) }),
        },
        swatch(fill),
        h("span", { class: "pm-entry-name" }, label === "" ? "(empty)" : label),
        h("span", { class: "pm-entry-count" }, count.toLocaleString("en")),
      ),
      h(
        "button",
        { type: "button", class: "pm-only", "data-key": `only-${code}`, "aria-label": `Show only ${label}`, click: () => this.only(codes, code) },
        "only",
      ),
    );
  }

  private showAll(): void {
    this.store.set({ hidden: new Set() });
    this.look(null);
  }

  private listAll(): void {
    this.all = true;
    this.again();
  }

  /** Draw the same colouring anew: another order, or other names asked for. */
  private again(): void {
    this.changed.now();
    if (this.shown) this.render(this.shown);
  }

  private only(all: number[], code: number): void {
    const { hidden } = this.store.state;
    const alone = hidden.size === all.length - 1 && !hidden.has(code);
    this.store.set({ hidden: alone ? new Set() : new Set(all.filter((other) => other !== code)) });
    this.look(alone ? null : code);
  }

  private ramp(colour: RampColouring): (HTMLElement | false)[] {
    const [low, high] = this.store.state.window ?? [0, BINS - 1];
    const step = (colour.max - colour.min) / BINS;
    const from = colour.min + low * step;
    const to = colour.min + (high + 1) * step;
    const ends = {
      low: `${colour.clipped.low ? "≤ " : ""}${format(colour.min, colour.unit)}`,
      high: `${colour.clipped.high ? "≥ " : ""}${format(colour.max, colour.unit)}`,
    };
    if (colour.max === colour.min) {
      return [h("p", { class: "pm-note" }, `All rows have the value ${format(colour.min, colour.unit)}.`)];
    }
    return [
      histogram(colour, low, high),
      h("div", { class: "pm-ramp", style: `background:linear-gradient(to right, ${colour.colours.slice(0, BINS).join(",")})` }),
      h("div", { class: "pm-ramp-ends" }, h("span", {}, ends.low), h("span", {}, ends.high)),
      this.thumb("From", low, (value) => [Math.min(value, high), high], format(from, colour.unit)),
      this.thumb("To", high, (value) => [low, Math.max(value, low)], format(to, colour.unit)),
      colour.missing > 0 &&
        h("p", { class: "pm-note" }, swatch(colour.colours[BINS]), ` ${colour.missing.toLocaleString("en")} rows without a value`),
      this.store.state.window !== null &&
        h("button", { type: "button", class: "pm-link", "data-key": "all", click: () => this.store.set({ window: null }) }, "Show all"),
    ];
  }

  private thumb(label: string, value: number, window: (value: number) => [number, number], shown: string): HTMLElement {
    const input = h("input", {
      type: "range",
      min: 0,
      max: BINS - 1,
      value,
      "data-key": label,
      "aria-valuetext": shown,
      change: (event: Event) => {
        const [low, high] = window(Number((event.target as HTMLInputElement).value));
        this.store.set({ window: low === 0 && high === BINS - 1 ? null : [low, high] });
      },
    });
    return h("label", { class: "pm-thumb" }, h("span", {}, label), input, h("output", {}, shown));
  }
}

export function swatch(colour: string): HTMLElement {
  return h("span", { class: "pm-swatch", style: `background:${colour}`, "aria-hidden": "true" });
}

function histogram(colour: RampColouring, low: number, high: number): HTMLElement {
  const most = Math.max(1, ...colour.histogram);
  const bars = Array.from(colour.histogram, (count, bin) =>
    h("i", {
      style: `height:${count === 0 ? 0 : Math.max(4, (100 * count) / most)}%;background:${colour.colours[bin]}`,
      class: bin < low || bin > high ? "pm-out" : "",
    }),
  );
  return h("div", { class: "pm-histogram", "aria-hidden": "true" }, ...bars);
}
