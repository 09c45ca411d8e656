/** What people would read of a row: names and texts first, then what matters; never the numbers of an embedding. */

import type { Column, Page, TextColumn } from "./types";

/** Columns that only new rows have. */
export const AROUND = / of neighbours$|^distance to the data$/;
/** So many columns that are numbered alike, such as e0 to e767, are dimensions of an embedding. */
const FEWEST_DIMENSIONS = 8;
/** A text column with a value of its own for more than this share of the rows is to be read, not to be counted. */
const OWN_VALUES = 0.5;

function loadedColumns(page: Page): Column[] {
  return page.columns.map((handle) => handle.loaded).filter((column): column is Column => column !== null && !AROUND.test(column.name));
}

/** Whether most rows have a text of their own in a column. */
export function isReadable(column: Column): column is TextColumn {
  return column.kind === "text" && column.texts.length > Math.max(10, OWN_VALUES * column.codes.length);
}

/** Texts to be read, the shortest first: names, then sentences. */
export function readableTexts(page: Page): TextColumn[] {
  const length = ({ texts }: TextColumn) => texts.slice(0, 50).reduce((sum, text) => sum + text.length, 0) / Math.min(50, texts.length);
  return loadedColumns(page).filter(isReadable).sort((a, b) => length(a) - length(b));
}

/** Names of numbered columns, if rows have texts, names or pictures that can be read instead of them. */
export function dimensions(page: Page): ReadonlySet<string> {
  const numbered = new Map<string, string[]>();
  for (const { name, kind } of page.columns) {
    const prefix = kind === "number" ? /^(.*?)\d+$/.exec(name)?.[1] : undefined;
    if (prefix !== undefined) numbered.set(prefix, [...(numbered.get(prefix) ?? []), name]);
  }
  const many = [...numbered.values()].filter((names) => names.length >= FEWEST_DIMENSIONS).flat();
  return new Set(many.length > 0 && (page.images || readableTexts(page).length > 0) ? many : []);
}

/** Columns with few values or numbers, the most relevant first where that is known; dimensions of an embedding last. */
export function tellingColumns(page: Page): Column[] {
  const weight = new Map(page.relevance?.names.map((name, i) => [name, page.relevance!.values[i]]) ?? []);
  const hidden = dimensions(page);
  const rank = (column: Column) => (hidden.has(column.name) ? -2 : (weight.get(column.name) ?? -1));
  return loadedColumns(page).filter((column) => !isReadable(column)).sort((a, b) => rank(b) - rank(a));
}

/** The columns worth the room on a card or in a table: texts to be read, then those that matter. */
export function shownColumns(page: Page, most: number): Column[] {
  const hidden = dimensions(page);
  return [...readableTexts(page), ...tellingColumns(page).filter((column) => !hidden.has(column.name))].slice(0, most);
}
