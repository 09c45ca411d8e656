/** The columns: how much each matters for the map when that is known, and a click to colour by it. */

import { Changed, h, replace } from "./dom";
import { percent } from "./stats";
import type { Page, Relevance } from "./types";
import { empty } from "./verdict";

const LISTED = 200;
/** With more columns than this a part of a name finds one. */
const SEARCHED = 12;

export class FeaturePanel {
  readonly element = h("div", { class: "pm-features" });
  private readonly changed = new Changed();
  private readonly filter = h("input", {
    type: "search",
    class: "pm-filter",
    placeholder: "Find a column",
    "aria-label": "Find a column",
    input: () => this.render(this.current),
  });
  private current = "";

  constructor(
    private readonly page: Page,
    private readonly colour: (id: string) => void,
  ) {}

  render(current: string): void {
    if (!this.changed.now(current, this.filter.value)) return;
    const typing = document.activeElement === this.filter;
    this.current = current;
    const { page } = this;
    if (page.columns.length === 0) {
      replace(this.element, empty("No columns in this page", "The map was written without the values of its rows."));
      return;
    }
    const { relevance } = page;
    const weight = new Map(relevance?.names.map((name, i) => [name, relevance.values[i]]) ?? []);
    const entries = page.columns.map((column, index) => ({ name: column.name, index, weight: weight.get(column.name) ?? null }));
    if (relevance) entries.sort((a, b) => (b.weight ?? -Infinity) - (a.weight ?? -Infinity));
    const wanted = this.filter.value.trim().toLowerCase();
    const shown = entries.filter((entry) => entry.name.toLowerCase().includes(wanted));
    const most = Math.max(1e-12, ...entries.map((entry) => entry.weight ?? 0));
    replace(
      this.element,
      h("h3", {}, relevance ? "Which columns this map shows" : "Columns"),
      relevance && h("p", { class: "pm-note" }, explain(relevance)),
      entries.length > SEARCHED && this.filter,
      h(
        "ul",
        { class: "pm-feature-list" },
        ...shown.slice(0, LISTED).map((entry) => this.entry(entry, most, current)),
      ),
      shown.length === 0 && h("p", { class: "pm-note" }, "No column has this name."),
      shown.length > LISTED && h("p", { class: "pm-note" }, `The first ${LISTED} of ${shown.length} columns; type a part of a name to find others.`),
      page.leftOut > 0 && h("p", { class: "pm-note" }, leftOutText(page)),
    );
    if (typing) this.filter.focus();
  }

  private entry({ name, index, weight }: { name: string; index: number; weight: number | null }, most: number, current: string): HTMLElement {
    const id = `column:${index}`;
    const { relevance } = this.page;
    const shows = weight !== null && relevance !== null && weight > relevance.threshold;
    const tick = relevance && `left:${(100 * Math.max(0, relevance.baseline)) / most}%`;
    return h(
      "li",
      {},
      h(
        "button",
        {
          type: "button",
          "aria-pressed": id === current ? "true" : "false",
          title: weight === null || shows ? `Colour by ${name}` : `Colour by ${name}, which shows no more than a shuffled column`,
          click: () => this.colour(id),
        },
        h("span", { class: "pm-bar-name" }, name),
        weight !== null &&
          h("span", { class: shows ? "pm-bar" : "pm-bar pm-bar-none" }, h("i", { style: `width:${(100 * Math.max(0, weight)) / most}%` }), tick && h("em", { style: tick })),
        weight !== null && h("b", {}, percent(weight)),
      ),
    );
  }
}

/** What the bars are, and what they must be compared with. */
function explain({ baseline, spread }: Relevance): string {
  const chance = `${percent(baseline)}${spread > 0 ? ` ± ${Number((100 * spread).toPrecision(1))}` : ""}`;
  return `Share of a row's ten nearest rows on the map that are among its ten nearest in the column alone. Shuffled columns reach ${chance} (the tick); grey bars are no more than the best of these. Click a column to colour by it.`;
}

export function leftOutText({ columns, leftOut }: Page): string {
  const how = "the least relevant ones; “prismap explore” on the folder of the map has them";
  return `${leftOut.toLocaleString("en")} of ${(columns.length + leftOut).toLocaleString("en")} columns did not fit into this page: ${how}.`;
}
