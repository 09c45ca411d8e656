/** A strip of small charts under the map: each shows a column of the rows that are left, and each is a filter. */

import { type Bar, type Brush, bars, brushed, both } from "./brush";
import { Changed, h, iconButton, replace, uniqueId } from "./dom";
import { tellingColumns } from "./reading";
import type { Store } from "./state";
import { format } from "./stats";
import type { Column, Page } from "./types";

/** Charts that are shown when the strip is opened for the first time. */
const AT_FIRST = 4;

export class CrossFilter {
  readonly element = h("section", { class: "pm-cross", "aria-label": "Charts of columns", hidden: true });
  private readonly changed = new Changed();
  private dragged: { index: number; from: number } | null = null;

  constructor(
    private readonly page: Page,
    private readonly store: Store,
    private readonly say: (message: string) => void,
  ) {}

  /** Open the strip with the most telling columns, or close it; its filters go with it. */
  async toggle(): Promise<void> {
    const { charts } = this.store.state;
    if (charts.length > 0) {
      this.store.set({ charts: [], brushes: new Map() });
      return;
    }
    const telling = tellingColumns(this.page).slice(0, AT_FIRST).map((column) => this.page.columns.findIndex((handle) => handle.name === column.name));
    const first = telling.length > 0 ? telling : this.page.columns.slice(0, AT_FIRST).map((_, index) => index);
    await Promise.all(first.map((index) => this.load(index)));
    this.store.set({ charts: first });
  }

  /** `shown` are the rows that all filters leave. */
  render(shown: Uint8Array | null): void {
    const { charts, brushes, selection, hidden, window: bins } = this.store.state;
    this.element.hidden = charts.length === 0;
    if (charts.length === 0) {
      replace(this.element);
      this.changed.now();
      return;
    }
    for (const index of charts) if (!this.page.columns[index].loaded) void this.load(index);
    const loaded = charts.filter((index) => this.page.columns[index].loaded).length;
    if (!this.changed.now(charts, brushes, selection, shown, hidden, bins, loaded)) return;
    const had = (document.activeElement as HTMLElement | null)?.dataset.key;
    const left = both(shown, this.selected());
    replace(this.element, ...charts.map((index) => this.chart(index, left)), this.adder());
    if (had) this.element.querySelector<HTMLElement>(`[data-key="${had}"]`)?.focus();
  }

  private selected(): Uint8Array | null {
    const { selection } = this.store.state;
    if (selection.length === 0) return null;
    const mask = new Uint8Array(this.page.n);
    for (const row of selection) mask[row] = 1;
    return mask;
  }

  private async load(index: number): Promise<void> {
    try {
      await this.page.columns[index].load();
    } catch {
      this.say(`The values of “${this.page.columns[index].name}” could not be loaded.`);
      return;
    }
    // Rows that a brush of this column hides are known only now.
    if (this.store.state.charts.includes(index)) this.store.set({ charts: [...this.store.state.charts] });
  }

  private chart(index: number, left: Uint8Array | null): HTMLElement {
    const { name, loaded } = this.page.columns[index];
    const remove = iconButton("close", `Remove the chart of ${name}`, () => {
      const { charts } = this.store.state;
      this.store.set({ charts: charts.filter((other) => other !== index), brushes: this.with(index, null) });
    });
    const title = h("div", { class: "pm-chart-head" }, h("b", { title: name }, name), remove);
    if (!loaded) return h("div", { class: "pm-chart" }, title, h("p", { class: "pm-note" }, "Loading …"));
    return h("div", { class: "pm-chart", role: "group", "aria-label": name }, title, ...(loaded.kind === "number" ? this.histogram(index, loaded, left) : this.values(index, loaded, left)));
  }

  private histogram(index: number, column: Extract<Column, { kind: "number" }>, left: Uint8Array | null): HTMLElement[] {
    const found = bars(column, left);
    const { low, high } = found;
    const brush = this.store.state.brushes.get(index);
    const [from, to] = brush && "low" in brush ? [brush.low, brush.high] : [low, high];
    const most = Math.max(1, ...found.bars.map((bar) => bar.all));
    const step = (high - low) / found.bars.length;
    const plot = h(
      "div",
      { class: "pm-chart-plot", "aria-hidden": "true" },
      ...found.bars.map((bar, i) => {
        const out = low + (i + 1) * step < from || low + i * step > to;
        return h("i", { class: out ? "pm-out" : "", title: `${bar.label}: ${bar.left.toLocaleString("en")} of ${bar.all.toLocaleString("en")}` },
          h("i", { style: `height:${(100 * bar.all) / most}%` }), h("b", { style: `height:${(100 * bar.left) / most}%` }));
      }),
    );
    const at = (event: PointerEvent) => {
      const box = plot.getBoundingClientRect();
      return low + Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) * (high - low);
    };
    plot.addEventListener("pointerdown", (event) => {
      this.dragged = { index, from: at(event) };
      plot.setPointerCapture(event.pointerId);
    });
    plot.addEventListener("pointerup", (event) => {
      if (!this.dragged || this.dragged.index !== index) return;
      const ends = [this.dragged.from, at(event)].sort((a, b) => a - b);
      this.dragged = null;
      // A click takes the brush away.
      this.set(index, ends[1] - ends[0] < 0.01 * (high - low) ? null : { low: ends[0], high: ends[1] });
    });
    const end = (label: string, value: number, brushOf: (value: number) => Brush) => {
      const input = h("input", { type: "range", min: low, max: high, step: (high - low) / 200 || 1, value, "data-key": `${label}-${index}`, "aria-label": `${column.name} ${label}`, "aria-valuetext": format(value, column.unit),
        change: () => this.set(index, brushOf(Number(input.value))) });
      return input;
    };
    const ends = h("div", { class: "pm-chart-ends" }, h("span", {}, format(from, column.unit)), h("span", {}, format(to, column.unit)));
    const sliders = h("div", { class: "pm-chart-sliders" },
      end("from", from, (value) => ({ low: Math.min(value, to), high: to })),
      end("to", to, (value) => ({ low: from, high: Math.max(value, from) })));
    return [plot, ends, sliders];
  }

  private values(index: number, column: Extract<Column, { kind: "text" }>, left: Uint8Array | null): HTMLElement[] {
    const found = bars(column, left).bars;
    const brush = this.store.state.brushes.get(index);
    const chosen = brush && "codes" in brush ? brush.codes : null;
    const most = Math.max(1, ...found.map((bar) => bar.all));
    const isOn = (bar: Bar) => chosen === null || bar.codes.every((code) => chosen.has(code));
    return [
      h("ul", { class: "pm-chart-values" }, ...found.map((bar, i) =>
        h("li", {}, h("button", {
          type: "button", "data-key": `value-${index}-${i}`, "aria-pressed": chosen !== null && isOn(bar) ? "true" : "false", class: isOn(bar) ? "" : "pm-out",
          title: `${bar.label}: ${bar.left.toLocaleString("en")} of ${bar.all.toLocaleString("en")}`,
          click: () => this.toggleValue(index, bar, chosen),
        }, h("span", {}, bar.label), h("span", { class: "pm-chart-bar", "aria-hidden": "true" }, h("i", { style: `width:${(100 * bar.all) / most}%` }), h("b", { style: `width:${(100 * bar.left) / most}%` })), h("small", {}, bar.left.toLocaleString("en")))))),
    ];
  }

  private toggleValue(index: number, bar: Bar, chosen: ReadonlySet<number> | null): void {
    const codes = new Set(chosen ?? []);
    const on = bar.codes.every((code) => codes.has(code));
    for (const code of bar.codes) if (on) codes.delete(code); else codes.add(code);
    this.set(index, codes.size === 0 ? null : { codes });
  }

  private set(index: number, brush: Brush | null): void {
    this.store.set({ brushes: this.with(index, brush) });
  }

  private with(index: number, brush: Brush | null): ReadonlyMap<number, Brush> {
    const next = new Map(this.store.state.brushes);
    if (brush === null) next.delete(index);
    else next.set(index, brush);
    return next;
  }

  private adder(): HTMLElement {
    const id = uniqueId("chart");
    const { charts, brushes } = this.store.state;
    const others = this.page.columns.map((column, index) => ({ name: column.name, index })).filter(({ index }) => !charts.includes(index));
    const select = h("select", { id, change: () => this.store.set({ charts: [...charts, Number(select.value)] }) }, h("option", { value: "" }, "Add a column …"), ...others.map(({ name, index }) => h("option", { value: index }, name)));
    return h("div", { class: "pm-chart-add" },
      others.length > 0 && h("label", { for: id, class: "pm-hidden" }, "Add a chart"), others.length > 0 && select,
      brushes.size > 0 && h("button", { type: "button", class: "pm-button", click: () => this.store.set({ brushes: new Map() }) }, "Clear filters"),
      brushes.size > 0 && h("button", { type: "button", class: "pm-button", click: () => this.selectLeft() }, "Select these rows"));
  }

  private selectLeft(): void {
    const left = brushed(this.page, this.store.state.brushes);
    if (left) this.store.set({ selection: Array.from(left.keys()).filter((row) => left[row]), tab: "selection" });
  }
}
