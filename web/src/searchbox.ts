/** Find rows by name, class, text or a comparison, and select them. */

import { h, icon, replace, uniqueId } from "./dom";
import { rowName, targetText } from "./hover";
import { neededColumns, search } from "./query";
import { dimensions, tellingColumns } from "./reading";
import { format } from "./stats";
import type { Column, Page } from "./types";

const LISTED = 8;

export class SearchBox {
  readonly element: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly list = h("div", { class: "pm-results", hidden: true });
  private asked = 0;

  constructor(
    private readonly page: Page,
    private readonly select: (rows: number[]) => void,
  ) {
    const id = uniqueId("search");
    this.input = h("input", {
      id,
      type: "search",
      placeholder: placeholder(page),
      autocomplete: "off",
      spellcheck: "false",
      input: () => void this.update(),
      focus: () => void this.update(),
      keydown: (event: KeyboardEvent) => this.key(event),
    });
    this.element = h(
      "div",
      { class: "pm-search", role: "search", focusout: (event: FocusEvent) => this.left(event) },
      h("label", { for: id, class: "pm-hidden" }, "Search rows"),
      icon("search"),
      this.input,
      this.list,
    );
  }

  focus(): void {
    this.input.focus();
    this.input.select();
  }

  private left(event: FocusEvent): void {
    if (!this.element.contains(event.relatedTarget as Node | null)) this.list.hidden = true;
  }

  private key(event: KeyboardEvent): void {
    if (event.key === "Escape") {
      this.list.hidden = true;
      this.input.blur();
    } else if (event.key === "ArrowDown") {
      this.list.querySelector<HTMLElement>("button")?.focus();
      event.preventDefault();
    } else if (event.key === "Enter") {
      void this.rows().then((rows) => this.entered(rows));
    }
  }

  /** Rows that were asked for are selected; if there are none, neither is what was found before. */
  private entered(rows: number[] | null): void {
    if (this.input.value.trim() === "") return;
    if (rows && rows.length > 0) this.choose(rows);
    else this.select([]);
  }

  private async rows(): Promise<number[] | null> {
    const text = this.input.value;
    if (text.trim() === "") return [];
    await Promise.all(neededColumns(this.page, text).map((index) => this.page.columns[index].load()));
    return search(this.page, text);
  }

  private async update(): Promise<void> {
    const turn = ++this.asked;
    const rows = await this.rows();
    // A slower answer to an older question is dropped.
    if (turn !== this.asked) return;
    this.list.hidden = this.input.value.trim() === "";
    if (rows === null) replace(this.list, h("p", { class: "pm-note" }, "No column has this name."));
    else if (rows.length === 0) replace(this.list, h("p", { class: "pm-note" }, "No row matches."));
    else {
      replace(
        this.list,
        h("button", { type: "button", class: "pm-result pm-result-all", click: () => this.choose(rows) }, rows.length === 1 ? "Select this row" : `Select all ${rows.length.toLocaleString("en")} rows`),
        ...rows.slice(0, LISTED).map((row) =>
          h("button", { type: "button", class: "pm-result", click: () => this.choose([row]) }, h("span", {}, rowName(this.page, row)), h("small", {}, targetText(this.page, row))),
        ),
      );
    }
  }

  private choose(rows: number[]): void {
    this.list.hidden = true;
    this.select(rows);
  }
}

/** What fits into the box on any screen. */
const LONGEST = 36;

/** An example that works on this table: the target, or a column of it. */
export function placeholder(page: Page): string {
  const { target } = page;
  const quoted = (column: Column): string | null => {
    if (column.kind === "text") return column.texts.length > 0 && column.texts.length <= 30 ? `${column.name} = ${column.texts[0]}` : null;
    const known = Array.from(column.values as ArrayLike<number>).filter(Number.isFinite).sort((a, b) => a - b);
    return known.length > 0 ? `${column.name} > ${format(known[known.length >> 1], column.unit)}` : null;
  };
  const own: Column[] = target.codes ? [{ kind: "text", name: target.name, texts: target.classes, codes: target.codes }] : target.values ? [{ kind: "number", name: target.name, values: target.values, unit: target.unit }] : [];
  const hidden = dimensions(page);
  const telling = tellingColumns(page).filter((column) => !hidden.has(column.name)).slice(0, 12);
  const numbers = telling.filter((column) => column.kind === "number");
  const examples = [...numbers, ...own, ...telling].map(quoted).filter((text): text is string => text !== null && !/[,"]/.test(text));
  const fitting = examples.map((text) => `Search, or ${text}`).find((text) => text.length <= LONGEST);
  return fitting ?? "Search rows";
}
