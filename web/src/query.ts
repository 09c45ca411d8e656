/** The search box: words look through row names, classes and texts; "column > 3" looks at numbers. */

import type { Column, Page } from "./types";

export interface Comparison {
  column: string;
  operator: "=" | "!=" | "<" | "<=" | ">" | ">=";
  value: string;
}

export function parseComparison(text: string): Comparison | null {
  const match = /^\s*(.+?)\s*(<=|>=|!=|=|<|>)\s*(.+?)\s*$/.exec(text);
  return match ? { column: match[1], operator: match[2] as Comparison["operator"], value: match[3] } : null;
}

/** Names a comparison or word search needs loaded before `search` can answer. */
export function neededColumns(page: Page, text: string): number[] {
  const comparison = parseComparison(text);
  return page.columns
    .map((column, index) => ({ column, index }))
    .filter(({ column }) => (comparison ? same(column.name, comparison.column) : column.kind === "text"))
    .map(({ index }) => index);
}

/** The rows that match, ascending; null when a comparison names no known column. */
export function search(page: Page, text: string): number[] | null {
  const comparison = parseComparison(text);
  if (comparison) {
    const column = namedColumn(page, comparison.column);
    if (column) return compareColumn(column, comparison);
    if (wordRows(page, text).length === 0) return null;
  }
  return wordRows(page, text);
}

function namedColumn(page: Page, name: string): Column | null {
  const { target } = page;
  if (same(target.name, name) || same("target", name)) {
    if (target.codes) return { kind: "text", name, texts: target.classes, codes: target.codes };
    if (target.values) return { kind: "number", name, values: target.values };
  }
  if (same("quality", name) && page.quality) return { kind: "number", name, values: page.quality };
  if (same("split", name) && page.split) return page.split;
  if (same("far", name) && page.far) return { kind: "number", name, values: Float32Array.from(page.far) };
  return page.columns.find((column) => same(column.name, name))?.loaded ?? null;
}

function compareColumn(column: Column, { operator, value }: Comparison): number[] {
  const rows: number[] = [];
  if (column.kind === "text") {
    const wanted = column.texts.map((text) => (same(text, value) ? operator === "=" : operator === "!="));
    column.codes.forEach((code, row) => code >= 0 && wanted[code] && rows.push(row));
    return rows;
  }
  const bound = Number(value);
  if (Number.isNaN(bound)) return rows;
  const tests = {
    "=": (v: number) => v === Math.fround(bound),
    "!=": (v: number) => v !== Math.fround(bound) && !Number.isNaN(v),
    "<": (v: number) => v < bound,
    "<=": (v: number) => v <= bound,
    ">": (v: number) => v > bound,
    ">=": (v: number) => v >= bound,
  };
  const test = tests[operator];
  column.values.forEach((v, row) => test(v) && rows.push(row));
  return rows;
}

function wordRows(page: Page, text: string): number[] {
  const needle = text.trim().toLowerCase();
  if (needle === "") return [];
  const hit = new Uint8Array(page.n);
  for (let row = 0; row < page.n; row++) {
    if (page.ids ? page.ids[row].toLowerCase().includes(needle) : String(row) === needle) hit[row] = 1;
  }
  const mark = (texts: string[], codes: ArrayLike<number>) => {
    const wanted = texts.map((value) => value.toLowerCase().includes(needle));
    if (!wanted.includes(true)) return;
    for (let row = 0; row < page.n; row++) if (codes[row] >= 0 && wanted[codes[row]]) hit[row] = 1;
  };
  if (page.target.codes) mark(page.target.classes, page.target.codes);
  for (const { loaded } of page.columns) if (loaded?.kind === "text") mark(loaded.texts, loaded.codes);
  const rows: number[] = [];
  hit.forEach((flag, row) => flag && rows.push(row));
  return rows;
}

function same(a: string, b: string): boolean {
  return a.trim().toLowerCase() === b.trim().toLowerCase();
}
