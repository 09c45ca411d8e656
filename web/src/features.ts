/** The columns: how much each matters for the map when that is known, and a click to colour by it. */

import { Changed, h, replace } from "./dom";
import { format } from "./stats";
import type { Page } from "./types";
import { empty } from "./verdict";

const LISTED = 300;

export class FeaturePanel {
  readonly element = h("div", { class: "pm-features" });
  private readonly changed = new Changed();

  constructor(
    private readonly page: Page,
    private readonly colour: (id: string) => void,
  ) {}

  render(current: string): void {
    if (!this.changed.now(current)) return;
    const { page } = this;
    if (page.columns.length === 0) {
      replace(this.element, empty("No columns in this page", "The map was written without the values of its rows."));
      return;
    }
    const weight = new Map(page.relevance?.names.map((name, i) => [name, page.relevance!.values[i]]) ?? []);
    const entries = page.columns.map((column, index) => ({ name: column.name, index, weight: weight.get(column.name) ?? null }));
    if (weight.size > 0) entries.sort((a, b) => (b.weight ?? -Infinity) - (a.weight ?? -Infinity));
    const most = Math.max(1e-12, ...entries.map((entry) => entry.weight ?? 0));
    replace(
      this.element,
      h("h3", {}, weight.size > 0 ? "Relevance for this map" : "Columns"),
      h("p", { class: "pm-note" }, "Click one to colour the map by it."),
      h(
        "ul",
        { class: "pm-feature-list" },
        ...entries.slice(0, LISTED).map(({ name, index, weight: value }) => {
          const id = `column:${index}`;
          return h(
            "li",
            {},
            h(
              "button",
              { type: "button", "aria-pressed": id === current ? "true" : "false", click: () => this.colour(id) },
              h("span", { class: "pm-bar-name" }, name),
              value !== null && h("span", { class: "pm-bar" }, h("i", { style: `width:${(100 * Math.max(0, value)) / most}%` })),
              value !== null && h("b", {}, format(value)),
            ),
          );
        }),
      ),
      entries.length > LISTED && h("p", { class: "pm-note" }, `The first ${LISTED} of ${entries.length} columns; find others in “Colour by”.`),
      page.leftOut > 0 && h("p", { class: "pm-note" }, `${page.leftOut} more columns did not fit into this page.`),
    );
  }
}
