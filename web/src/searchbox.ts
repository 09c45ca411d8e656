/** Find rows by name, class, text or a comparison, and select them. */

import { h, icon, replace, uniqueId } from "./dom";
import { rowName, targetText } from "./hover";
import { neededColumns, search } from "./query";
import type { Page } from "./types";

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
      placeholder: "Search: word, row 12, age > 40 and city = Ulm",
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
      void this.rows().then((rows) => rows && rows.length > 0 && this.choose(rows));
    }
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
