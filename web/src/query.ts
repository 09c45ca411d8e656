/**
 * The search box: words look through row names, classes and texts; "column > 3" and "column = 3..5" look at numbers;
 * "row 12" is that row; "and" and "or" join them.
 */

import type { Column, NumberColumn, Page } from "./types";

export interface Comparison {
  column: string;
  operator: "=" | "!=" | "<" | "<=" | ">" | ">=";
  value: string;
}

export function parseComparison(text: string): Comparison | null {
  const match = /^\s*(.+?)\s*(<=|>=|!=|=|<|>)\s*(.+?)\s*$/.exec(text);
  return match ? { column: match[1], operator: match[2] as Comparison["operator"], value: match[3] } : null;
}

/** Columns that have to be loaded before `search` can answer. */
export function neededColumns(page: Page, text: string): number[] {
  const needed = new Set<number>();
  for (const term of [text, ...alternatives(text).flat()]) {
    const comparison = parseComparison(term);
    page.columns.forEach((column, index) => {
      if (comparison ? same(column.name, comparison.column) : column.kind === "text") needed.add(index);
    });
  }
  return [...needed].sort((a, b) => a - b);
}

/** The rows that match, ascending; null when a comparison names no known column. "and" binds more closely than "or". */
export function search(page: Page, text: string): number[] | null {
  const terms = alternatives(text);
  // Names may hold such words, too.
  if (terms.flat().length === 1 || (parseComparison(text) === null && wordRows(page, text).length > 0)) return term(page, text);
  const found = new Set<number>();
  for (const all of terms) {
    const sets = all.map((one) => term(page, one));
    if (sets.includes(null)) return null;
    const [first, ...rest] = (sets as number[][]).map((rows) => new Set(rows));
    for (const row of first) if (rest.every((rows) => rows.has(row))) found.add(row);
  }
  return [...found].sort((a, b) => a - b);
}

/** "a and b or c" as [[a, b], [c]]. */
function alternatives(text: string): string[][] {
  return text.split(/\s+or\s+/i).map((part) => part.split(/\s+and\s+/i));
}

function term(page: Page, text: string): number[] | null {
  const numbered = /^\s*row\s+(\d+)\s*$/i.exec(text);
  if (numbered && Number(numbered[1]) < page.n) return [Number(numbered[1])];
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
    if (target.values) return { kind: "number", name, values: target.values, unit: target.unit };
  }
  if (same("quality", name) && page.quality) return { kind: "number", name, values: page.quality, unit: null };
  if (same("split", name) && page.split) return page.split;
  if (same("far", name) && page.far) return { kind: "number", name, values: page.far, unit: null };
  return page.columns.find((column) => same(column.name, name))?.loaded ?? null;
}

function compareColumn(column: Column, { operator, value }: Comparison): number[] {
  const rows: number[] = [];
  if (column.kind === "text") {
    const wanted = column.texts.map((text) => (same(text, value) ? operator === "=" : operator === "!="));
    for (let row = 0; row < column.codes.length; row++) if (column.codes[row] >= 0 && wanted[column.codes[row]]) rows.push(row);
    return rows;
  }
  const test = numberTest(column, operator, value);
  for (let row = 0; row < column.values.length; row++) if (test(column.values[row])) rows.push(row);
  return rows;
}

/** What a comparison asks of a number: "= 20..40" is from 20 to 40, both included. */
function numberTest({ values, unit }: NumberColumn, operator: Comparison["operator"], value: string): (v: number) => boolean {
  const read = (text: string) => (unit === null ? [Number(text), Number(text)] : period(text, unit));
  const ends = /^(.+?)\s*\.\.\s*(.+)$/.exec(value);
  const [low, high] = ends && (operator === "=" || operator === "!=") ? [read(ends[1])[0], read(ends[2])[1]] : read(value);
  if (Number.isNaN(low) || Number.isNaN(high)) return () => false;
  const single = values instanceof Float32Array ? Math.fround(low) : low;
  const is = (v: number) => (v >= low && v <= high) || (low === high && v === single);
  const tests = {
    "=": is,
    "!=": (v: number) => !is(v) && !Number.isNaN(v),
    "<": (v: number) => v < low && !is(v),
    "<=": (v: number) => v < low || is(v),
    ">": (v: number) => v > high && !is(v),
    ">=": (v: number) => v > high || is(v),
  };
  return tests[operator];
}

/** The first and the last moment of a year, month, day or time of day, in the column's unit; NaN for all else. */
export function period(text: string, unit: "date" | "time"): [number, number] {
  const iso = text.trim().replace(/^(\d{1,2})\.(\d{1,2})\.(\d{4})$/, (_, d: string, m: string, y: string) => `${y}-${m.padStart(2, "0")}-${d.padStart(2, "0")}`);
  const match = /^(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[T ](\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?Z?)?)?)?$/.exec(iso);
  if (!match) return [NaN, NaN];
  const [year, month, day, hour, minute, second] = match.slice(1).map((part) => (part === undefined ? null : Number(part)));
  const start = Date.UTC(year!, (month ?? 1) - 1, day ?? 1, hour ?? 0, minute ?? 0, 0) + 1000 * (second ?? 0);
  const next = month === null ? Date.UTC(year! + 1, 0) : day === null ? Date.UTC(year!, month) : hour === null ? start + 86_400_000 : second === null ? start + 60_000 : start + 1;
  const size = unit === "date" ? 86_400_000 : 1000;
  return [start / size, (next - 1) / size];
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
