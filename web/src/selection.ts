/** The selection: how many, which classes, what sets them apart, and the rows themselves. */

import { csv } from "./csv";
import { Changed, download, h, replace } from "./dom";
import { rowName, targetText, thumbnail, valueText } from "./hover";
import { canvasOf, meanAndRest, meanOf, paintDifference, paintMean } from "./images";
import { swatch } from "./legend";
import type { LocalRelevance } from "./live";
import { WHERE, type Where, kinds, nearest } from "./neighbors";
import type { Lines } from "./overlay";
import { categorical } from "./palette";
import { dimensions, shownColumns } from "./reading";
import { type Difference, classMix, differences, format, percent, shortest, timeText } from "./stats";
import type { Store } from "./state";
import type { Column, NumberArray, Page } from "./types";
import { empty } from "./verdict";

const TABLE_ROWS = 200;
const TABLE_COLUMNS = 6;

export interface SelectionActions {
  zoom: (rows: readonly number[]) => void;
  peek: (row: number | null) => void;
  colour: (id: string) => void;
  export: (rows: readonly number[]) => Promise<void>;
  lines: (lines: Lines | null) => void;
  /** Local relevance from the live server, when there is one; null once it was stopped. */
  relevance: ((rows: readonly number[], watch: Watch) => Promise<LocalRelevance | null>) | null;
}

/** Who follows long work: told how far it is, and handed the way to stop it. */
export interface Watch {
  progress: (share: number) => void;
  started: (stop: () => void) => void;
}

/** How a selection differs from the other rows, in words. */
function comparedText(d: Difference): string {
  if (d.unit !== null) return `${format(d.inside, d.unit)} on average, ${laterText(d)} than elsewhere`;
  return `${d.effect >= 0 ? "higher" : "lower"} by ${Math.abs(d.effect).toFixed(1)} standard deviations`;
}

/** A difference of dates as a span of time. */
function laterText({ inside, outside, unit }: Difference): string {
  const days = Math.abs(inside - outside) / (unit === "time" ? 86_400 : 1);
  const [size, word] = days >= 730 ? [365.25, "years"] : days >= 2 ? [1, "days"] : [1 / 24, "hours"];
  return `${Math.round(days / size).toLocaleString("en")} ${word} ${inside >= outside ? "later" : "earlier"}`;
}

export class SelectionPanel {
  readonly element = h("div", { class: "pm-selection" });
  private readonly extra = h("section", {});
  private rendered: readonly number[] | null = null;
  private readonly changed = new Changed();
  private where: Where = "data";
  private dark = false;
  private meanOfAll: Float64Array | null = null;
  /** Which column the table is sorted by, 0 for the order of the rows. */
  private sort = { key: 0, down: false };

  constructor(
    private readonly page: Page,
    private readonly store: Store,
    private readonly actions: SelectionActions,
  ) {}

  render(dark: boolean): void {
    const rows = this.store.state.selection;
    const { layer } = this.store.state;
    const loaded = this.page.columns.filter((column) => column.loaded).length;
    if (!this.changed.now(rows, dark, loaded, rows.length === 1 && layer, this.where)) return;
    if (rows.length !== 1) this.actions.lines(null);
    this.dark = dark;
    if (this.rendered !== rows) replace(this.extra);
    this.rendered = rows;
    if (rows.length === 0) {
      replace(
        this.element,
        empty("Nothing selected", "Drag with the lasso or the box, click a point, or search. Hold Ctrl to add and Alt to take away."),
      );
      return;
    }
    const chosen = rows.length === 1 ? rowName(this.page, rows[0]) : `${rows.length.toLocaleString("en")} rows`;
    replace(
      this.element,
      h(
        "div",
        { class: "pm-count" },
        h("b", { class: "pm-count-number", "data-test": "count" }, chosen),
        h("span", {}, `${percent(rows.length / this.page.n)} of ${this.page.n.toLocaleString("en")}`),
      ),
      h(
        "div",
        { class: "pm-row-actions" },
        h("button", { type: "button", click: () => this.actions.zoom(rows) }, "Zoom to"),
        h("button", { type: "button", click: () => void this.actions.export(rows) }, "Export csv"),
        h("button", { type: "button", click: () => this.store.set({ selection: this.rest(rows) }) }, "Invert"),
        h("button", { type: "button", click: () => this.store.set({ selection: [] }) }, "Clear"),
      ),
      rows.length === 1 && this.nearest(rows[0]),
      this.pictures(rows),
      this.mix(rows, dark),
      this.distinguishing(rows),
      this.extra,
      this.table(rows),
    );
  }

  /** Which features change the target around these rows; the tick is their share over the whole map. */
  private targetRelevance({ names, values, overall }: NonNullable<LocalRelevance["target"]>): HTMLElement[] {
    const most = Math.max(1e-12, ...values, ...overall);
    const order = names.map((_, i) => i).sort((a, b) => values[b] - values[a]).slice(0, 8);
    return [
      h("h3", {}, `What changes ${this.page.target.name} here`),
      h("ul", { class: "pm-feature-list", "data-test": "target-relevance" }, ...order.map((i) => this.relevanceBar(names[i], values[i], most, overall[i]))),
      h("p", { class: "pm-note" }, "Shares of the columns in the Fisher tensor of these rows: how fast the distribution of the target changes along each. The tick is the share over the whole map."),
    ];
  }

  /** Ask the server what arranges these rows, and show it under the page's own comparison. */
  private async askRelevance(rows: readonly number[]): Promise<void> {
    const bar = h("progress", { max: 1, "aria-label": "Local relevance" });
    const stop = h("button", { type: "button", class: "pm-button", disabled: true }, "Stop");
    const status = h("p", { class: "pm-note", role: "status" }, "Computing the local relevance …");
    replace(this.extra, status, h("div", { class: "pm-working" }, bar, stop));
    const watch: Watch = {
      progress: (share) => share > 0 && (bar.value = share),
      started: (end) => {
        stop.disabled = false;
        stop.addEventListener("click", () => {
          stop.disabled = true;
          status.textContent = "Stopping …";
          end();
        });
      },
    };
    try {
      const found = await this.actions.relevance!(rows, watch);
      if (this.store.state.selection !== rows) return;
      if (found === null) {
        replace(this.extra, h("p", { class: "pm-note", role: "status" }, "Stopped."));
        return;
      }
      const { names, values } = found;
      const most = Math.max(1e-12, ...values);
      const order = names.map((_, i) => i).sort((a, b) => values[b] - values[a]).slice(0, 8);
      replace(
        this.extra,
        h("h3", {}, "Local relevance"),
        h("ul", { class: "pm-feature-list" }, ...order.map((i) => this.relevanceBar(names[i], values[i], most))),
        h("p", { class: "pm-note" }, "How well each column keeps the neighbourhoods of the selected rows; click to colour the map."),
        ...(found.target ? this.targetRelevance(found.target) : []),
      );
    } catch (error) {
      replace(this.extra, h("p", { class: "pm-note", role: "alert" }, error instanceof Error ? error.message : String(error)));
    }
  }

  private relevanceBar(name: string, value: number, most: number, tick: number | null = null): HTMLElement {
    const column = this.page.columns.findIndex((handle) => handle.name === name);
    return h(
      "li",
      {},
      h(
        "button",
        { type: "button", disabled: column < 0, click: () => this.actions.colour(`column:${column}`) },
        h("span", { class: "pm-bar-name" }, name),
        h("span", { class: "pm-bar" }, h("i", { style: `width:${(100 * Math.max(0, value)) / most}%` }), tick !== null && h("em", { style: `left:${(100 * tick) / most}%` })),
        h("b", {}, tick === null ? format(value) : percent(value)),
      ),
    );
  }

  /** The nearest rows of one row, as lines on the map and as a list. */
  private nearest(row: number): HTMLElement | false {
    const there = kinds(this.page, row);
    if (there.length === 0) {
      this.actions.lines(null);
      return this.page.neighbors !== null && h("p", { class: "pm-note" }, "This row was placed on the map; nearest rows are known for fitted ones.");
    }
    if (!there.includes(this.where)) this.where = there[0];
    const layer = this.page.layers.find((one) => one.id === this.store.state.layer) ?? this.page.layers[0];
    const to = nearest(this.page, layer, row, this.where);
    const kept = new Set(nearest(this.page, layer, row, "map"));
    this.actions.lines({ from: row, to, kept });
    const stay = to.filter((other) => kept.has(other)).length;
    return h(
      "section",
      { class: "pm-nearest" },
      h("h3", {}, "Nearest rows"),
      h(
        "div",
        { class: "pm-layers", role: "group", "aria-label": "Nearest rows" },
        ...there.map((where) =>
          h("button", { type: "button", "aria-pressed": where === this.where ? "true" : "false", click: () => this.look(where) }, WHERE[where]),
        ),
      ),
      this.where !== "map" &&
        h("p", { class: "pm-note" }, `${stay} of these ${to.length} are among its ${to.length} nearest on this map; dashed lines lead to the others.`),
      h(
        "ol",
        { class: "pm-nearest-list" },
        ...to.map((other) =>
          h(
            "li",
            { class: kept.has(other) ? null : "pm-torn", mouseenter: () => this.actions.peek(other), mouseleave: () => this.actions.peek(null) },
            h("button", { type: "button", class: "pm-link", focus: () => this.actions.peek(other), blur: () => this.actions.peek(null), click: () => this.store.set({ selection: [other] }) }, rowName(this.page, other)),
            this.page.images && thumbnail(this.page, other),
            h("span", {}, targetText(this.page, other)),
            !kept.has(other) && h("small", {}, "not kept near"),
          ),
        ),
      ),
    );
  }

  private look(where: Where): void {
    this.where = where;
    this.render(this.dark);
    this.element.querySelector<HTMLElement>(".pm-nearest [aria-pressed='true']")?.focus();
  }

  private rest(rows: readonly number[]): number[] {
    const chosen = new Set(rows);
    return Array.from({ length: this.page.n }, (_, row) => row).filter((row) => !chosen.has(row));
  }

  private mix(rows: readonly number[], dark: boolean): HTMLElement | false {
    const { target } = this.page;
    if (target.codes) {
      const colours = categorical(target.classes.length, dark);
      const shares = classMix(target.codes, target.classes, rows);
      const shown = shares.slice(0, 8);
      return h(
        "section",
        {},
        h("h3", {}, `Mix of ${target.name}`),
        h(
          "div",
          { class: "pm-stack", "aria-hidden": "true" },
          ...shares.map((share) => h("i", { style: `flex:${share.count};background:${colours[share.index] ?? "var(--pm-muted)"}` })),
        ),
        h(
          "ul",
          { class: "pm-mix" },
          ...shown.map((share) =>
            h(
              "li",
              {},
              swatch(colours[share.index] ?? "var(--pm-muted)"),
              h("span", { class: "pm-entry-name" }, share.label),
              h("b", {}, percent(share.selected)),
              h("small", {}, `map ${percent(share.overall)}`),
            ),
          ),
        ),
        shares.length > shown.length && h("p", { class: "pm-note" }, `and ${shares.length - shown.length} more classes`),
      );
    }
    if (target.values) {
      const inside = rows.map((row) => target.values![row]).filter(Number.isFinite);
      const all = Array.from(target.values).filter(Number.isFinite);
      if (inside.length === 0) return false;
      const mean = (list: number[]) => list.reduce((sum, v) => sum + v, 0) / list.length;
      return h(
        "section",
        {},
        h("h3", {}, target.name),
        h("p", {}, h("b", {}, format(mean(inside), target.unit)), " on average here, ", h("b", {}, format(mean(all), target.unit)), " on the whole map"),
      );
    }
    return false;
  }

  /** The mean picture of the rows, and where it is brighter or darker than that of all others. */
  private pictures(rows: readonly number[]): HTMLElement | false {
    const { images, n } = this.page;
    if (!images || rows.length < 2) return false;
    this.meanOfAll ??= meanOf(images, Array.from({ length: n }, (_, row) => row));
    const { mean, rest } = meanAndRest(images, this.meanOfAll, rows, n);
    const picture = (canvas: HTMLCanvasElement, caption: string) => h("figure", {}, canvas, h("figcaption", {}, caption));
    return h(
      "section",
      { class: "pm-pictures" },
      picture(canvasOf(images, paintMean(images, mean), "mean image of the selection"), "mean"),
      rest && picture(canvasOf(images, paintDifference(images, mean, rest), "difference from the mean of all other rows"), "brighter (orange) or darker (blue) than the rest"),
    );
  }

  private distinguishing(rows: readonly number[]): HTMLElement | false {
    const loaded = this.page.columns.map((column) => column.loaded);
    const hidden = dimensions(this.page);
    const list = differences(loaded.map((column) => (column && hidden.has(column.name) ? null : column)), rows, this.page.n).slice(0, 7);
    const missing = loaded.filter((column) => column === null).length;
    const { relevance } = this.actions;
    if (list.length === 0 && !relevance) return false;
    const most = Math.max(0.5, ...list.map((d) => Math.abs(d.effect)));
    return h(
      "section",
      {},
      h("h3", {}, "What sets it apart"),
      h("ul", { class: "pm-diffs" }, ...list.map((d) => this.difference(d, most))),
      list.length > 0 && h("p", { class: "pm-note" }, "Difference of the means in standard deviations; click to colour the map."),
      missing > 0 && h("p", { class: "pm-note" }, `${missing} columns were too large to compare.`),
      relevance && h("button", { type: "button", click: () => void this.askRelevance(rows) }, "Local relevance"),
    );
  }

  private difference(d: Difference, most: number): HTMLElement {
    const width = (50 * Math.abs(d.effect)) / most;
    const side = d.effect >= 0 ? `left:50%;width:${width}%` : `right:50%;width:${width}%`;
    return h(
      "li",
      {},
      h(
        "button",
        {
          type: "button",
          title: `${d.label}: mean here ${format(d.inside, d.unit)}, elsewhere ${format(d.outside, d.unit)}`,
          "aria-label": `${d.label}: ${comparedText(d)}. Colour by it.`,
          click: () => this.actions.colour(`column:${d.column}`),
        },
        h("span", { class: "pm-bar-name" }, d.label),
        h("span", { class: "pm-diverging" }, h("i", { style: side, class: d.effect >= 0 ? "pm-up" : "pm-down" })),
        h("b", {}, d.unit === null ? `${d.effect >= 0 ? "+" : "−"}${Math.abs(d.effect).toFixed(1)}` : laterText(d)),
      ),
    );
  }

  private table(rows: readonly number[]): HTMLElement {
    const columns = shownColumns(this.page, TABLE_COLUMNS);
    const { target, images } = this.page;
    const keys: { name: string; of: (row: number) => string | number }[] = [
      { name: "row", of: (row) => row },
      ...(target.kind === "none" ? [] : [{ name: target.name, of: (row: number) => target.values?.[row] ?? targetText(this.page, row) }]),
      ...columns.map((column) => ({ name: column.name, of: (row: number) => (column.kind === "number" ? column.values[row] : valueText(column, row)) })),
    ];
    const sorted = this.sorted(rows, keys[this.sort.key]?.of ?? keys[0].of);
    const head = keys.map(({ name }, key) => this.headCell(name, key));
    if (images) head.splice(1, 0, h("th", { scope: "col" }, h("span", { class: "pm-hidden" }, "picture")));
    const body = sorted.slice(0, TABLE_ROWS).map((row) =>
      h(
        "tr",
        { mouseenter: () => this.actions.peek(row), mouseleave: () => this.actions.peek(null) },
        h(
          "th",
          { scope: "row" },
          h("button", { type: "button", class: "pm-link", focus: () => this.actions.peek(row), blur: () => this.actions.peek(null), click: () => this.actions.zoom([row]) }, rowName(this.page, row)),
        ),
        images && h("td", {}, thumbnail(this.page, row)),
        target.kind !== "none" && h("td", {}, targetText(this.page, row)),
        ...columns.map((column) => h("td", {}, valueText(column, row))),
      ),
    );
    return h(
      "section",
      { class: "pm-table-section" },
      h("h3", {}, rows.length > TABLE_ROWS ? `First ${TABLE_ROWS} rows` : "Rows"),
      h(
        "div",
        { class: "pm-table", tabindex: 0, role: "region", "aria-label": "Selected rows" },
        h("table", {}, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...body)),
      ),
    );
  }

  /** A click sorts by the column, another one the other way round. */
  private headCell(name: string, key: number): HTMLElement {
    const current = this.sort.key === key;
    const order = current ? (this.sort.down ? "descending" : "ascending") : "none";
    const sort = () => {
      this.sort = { key, down: current && !this.sort.down };
      this.changed.now();
      this.render(this.dark);
      this.element.querySelector<HTMLElement>(`[data-key="sort-${key}"]`)?.focus();
    };
    const arrow = { none: "", ascending: " ↑", descending: " ↓" }[order];
    return h("th", { scope: "col", "aria-sort": order }, h("button", { type: "button", class: "pm-sort", "data-key": `sort-${key}`, title: `Sort by ${name}`, click: sort }, `${name}${arrow}`));
  }

  /** Rows by a value, missing ones last. */
  private sorted(rows: readonly number[], of: (row: number) => string | number): readonly number[] {
    const { key, down } = this.sort;
    if (key === 0 && !down) return rows;
    const sign = down ? -1 : 1;
    const missing = (value: string | number) => Number.isNaN(value) || value === "missing" || value === "unlabelled";
    return [...rows].sort((a, b) => {
      const [x, y] = [of(a), of(b)];
      if (missing(x) || missing(y)) return Number(missing(x)) - Number(missing(y)) || a - b;
      const compared = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true });
      return sign * compared || a - b;
    });
  }
}

/** The csv of some rows with everything the page knows about them. */
export function rowsCsv(page: Page, layer: { id: string; positions: Float32Array }, rows: readonly number[], columns: Column[]): string {
  const { target } = page;
  const header = ["row", "x", "y"];
  if (target.kind !== "none") header.push(target.name);
  if (target.predictedCodes || target.predictedValues) header.push(`predicted ${target.name}`);
  if (page.split) header.push("split");
  if (page.far) header.push("far");
  if (page.quality) header.push("quality");
  header.push(...columns.map((column) => column.name));
  const code = (names: string[], codes: NumberArray, row: number) => (codes[row] < 0 ? "" : names[codes[row]]);
  const value = (column: Column, row: number): string | number => {
    if (column.kind === "text") return code(column.texts, column.codes, row);
    const number = column.values[row];
    return column.unit === null ? shortest(number) : Number.isNaN(number) ? "" : timeText(number, column.unit);
  };
  const cells = (row: number): (string | number)[] => {
    const out: (string | number)[] = [page.ids ? page.ids[row] : row, shortest(layer.positions[2 * row]), shortest(layer.positions[2 * row + 1])];
    if (target.codes) out.push(code(target.classes, target.codes, row));
    else if (target.values) out.push(shortest(target.values[row]));
    if (target.predictedCodes) out.push(code(target.classes, target.predictedCodes, row));
    else if (target.predictedValues) out.push(shortest(target.predictedValues[row]));
    if (page.split) out.push(code(page.split.texts, page.split.codes, row));
    if (page.far) out.push(page.far[row]);
    if (page.quality) out.push(shortest(page.quality[row]));
    for (const column of columns) out.push(value(column, row));
    return out;
  };
  return csv(header, rows.map(cells));
}

export function saveCsv(name: string, text: string): void {
  download(name, new Blob([text], { type: "text/csv;charset=utf-8" }));
}
