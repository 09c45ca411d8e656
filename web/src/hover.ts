/** The card beside the pointer: one row's name, target, warnings, picture and values. */

import { type Neighbourhood, distanceRings, neighbourhoodText } from "./distortion";
import { h, icon, replace } from "./dom";
import { canvasOf, pixelsOf } from "./images";
import { AROUND, dimensions, isReadable, readableTexts, shownColumns } from "./reading";
import { format, percent } from "./stats";
import type { Column, Layer, Page } from "./types";

const VALUES_AT_MOST = 8;
/** Texts on a card, and how much of each. */
const [TEXTS_AT_MOST, LONGEST_TEXT] = [2, 180];

export class HoverCard {
  readonly element = h("div", { class: "pm-card", role: "status", hidden: true });

  constructor(private readonly page: Page) {}

  show(row: number, layer: Layer, x: number, y: number, width: number, height: number, colour: string, hood: Neighbourhood | null): void {
    replace(this.element, ...rowCard(this.page, row, layer, colour, hood));
    this.put(x, y, width, height);
  }

  private put(x: number, y: number, width: number, height: number): void {
    this.element.hidden = false;
    // On a narrow screen the style puts the card under the map, where it hides no point.
    if (getComputedStyle(this.element).getPropertyValue("--pm-below").trim() === "1") {
      this.element.style.transform = "";
      return;
    }
    const box = this.element.getBoundingClientRect();
    const left = x + 18 + box.width > width ? x - 18 - box.width : x + 18;
    const top = Math.min(Math.max(8, y - 20), Math.max(8, height - box.height - 8));
    this.element.style.transform = `translate(${Math.max(8, left)}px, ${top}px)`;
  }

  hide(): void {
    this.element.hidden = true;
  }
}

/** Rows that were placed on the map by the user. */
export function newRows({ split }: Page): number[] {
  const code = split ? split.texts.indexOf("new") : -1;
  if (!split || code < 0) return [];
  return Array.from(split.codes.keys()).filter((row) => split.codes[row] === code);
}

/** What the rows around a new row say of it; nothing of other rows. */
export function neighbourFacts(page: Page, row: number): [string, string][] {
  return page.columns
    .map((handle) => handle.loaded)
    .filter((column): column is Column => column !== null && AROUND.test(column.name))
    .filter((column) => (column.kind === "number" ? !Number.isNaN(column.values[row]) : column.codes[row] >= 0))
    .map((column) => [column.name, column.name === "share of neighbours" && column.kind === "number" ? percent(column.values[row]) : valueText(column, row)]);
}

export function rowName(page: Page, row: number): string {
  return page.ids ? page.ids[row] : `row ${row}`;
}

/** The target of a row in words. */
export function targetText(page: Pick<Page, "target">, row: number): string {
  const { target } = page;
  if (target.codes) return target.codes[row] < 0 ? "unlabelled" : target.classes[target.codes[row]];
  if (target.values) return Number.isNaN(target.values[row]) ? "unlabelled" : format(target.values[row], target.unit);
  return "";
}

export function predictedText(page: Page, row: number): string {
  const { target } = page;
  if (target.predictedCodes) return target.predictedCodes[row] < 0 ? "none" : target.classes[target.predictedCodes[row]];
  return target.predictedValues ? format(target.predictedValues[row], target.unit) : "";
}

export function valueText(column: Column, row: number): string {
  if (column.kind === "number") return format(column.values[row], column.unit);
  return column.codes[row] < 0 ? "missing" : column.texts[column.codes[row]];
}

export function rowCard(page: Page, row: number, layer: Layer, colour: string, hood: Neighbourhood | null = null): HTMLElement[] {
  const facts: [string, string][] = [];
  if (page.target.kind !== "none") facts.push([page.target.name, targetText(page, row)]);
  if (layer.own) facts.push([layer.own.name, targetText({ target: { ...page.target, ...layer.own } }, row)]);
  const predicted = predictedText(page, row);
  if (predicted !== "") facts.push(["predicted", predicted]);
  if (page.split && page.split.codes[row] >= 0) facts.push(["part", page.split.texts[page.split.codes[row]]]);
  if (page.quality && Number.isFinite(page.quality[row])) facts.push(["neighbours kept", percent(page.quality[row])]);
  const isNew = page.split && page.split.texts[page.split.codes[row]] === "new";
  if (isNew) facts.push(...neighbourFacts(page, row));
  const texts = readableTexts(page).slice(0, TEXTS_AT_MOST);
  const values = shownColumns(page, VALUES_AT_MOST + texts.length)
    .filter((column) => !isReadable(column))
    .map((column): [string, string] => [column.name, valueText(column, row)]);
  const more = page.columns.length - dimensions(page).size - values.length - texts.length + page.leftOut;
  const parts: HTMLElement[] = [
    h(
      "div",
      { class: "pm-card-head" },
      h("span", { class: "pm-swatch", style: `background:${colour}` }),
      h("b", {}, rowName(page, row)),
    ),
  ];
  for (const column of texts) if (column.codes[row] >= 0) parts.push(h("p", { class: "pm-card-text" }, shortened(column.texts[column.codes[row]])));
  if (page.images) parts.push(h("div", { class: "pm-card-image" }, thumbnail(page, row)));
  if (page.far?.[row]) parts.push(farWarning());
  if (page.misshown?.[row]) parts.push(h("div", { class: "pm-card-warn" }, icon("warn"), "drawn where the model says otherwise"));
  parts.push(pairs(facts, "pm-facts"));
  if (hood) parts.push(h("div", { class: "pm-card-hood" }, distanceRings(hood, layer), h("p", {}, neighbourhoodText(hood))));
  if (values.length > 0 && !page.images) {
    parts.push(pairs(values, "pm-values"));
    if (more > 0) parts.push(h("div", { class: "pm-more" }, `and ${more} more`));
  }
  return parts;
}

function farWarning(): HTMLElement {
  return h("div", { class: "pm-card-warn" }, icon("warn"), "far from all fitted rows: do not trust its place");
}

function shortened(text: string): string {
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT - 1)}…` : text;
}

function pairs(list: [string, string][], className: string): HTMLElement {
  return h("dl", { class: className }, ...list.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

export function thumbnail(page: Page, row: number): HTMLCanvasElement {
  return canvasOf(page.images!, pixelsOf(page.images!, row), `image of ${rowName(page, row)}`);
}
