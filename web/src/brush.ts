/** Filters by columns: which rows they leave, and how the rows that are left spread over a column's values. */

import { timeText } from "./stats";
import type { Column, Page } from "./types";

/** Numbers from `low` to `high`, or some of the values of a text column. */
export type Brush = { low: number; high: number } | { codes: ReadonlySet<number> };
/** By the number of the column. */
export type Brushes = ReadonlyMap<number, Brush>;

export const N_BINS = 32;
/** So many values of a text column have a bar; the others share one. */
const N_VALUES = 7;

/** Rows that all brushes leave; null means all. Columns whose values have not come yet leave all rows. */
export function brushed(page: Pick<Page, "n" | "columns">, brushes: Brushes): Uint8Array | null {
  let kept: Uint8Array | null = null;
  for (const [index, brush] of brushes) {
    const column = page.columns[index]?.loaded;
    if (!column) continue;
    kept ??= new Uint8Array(page.n).fill(1);
    for (let row = 0; row < page.n; row++) if (kept[row] && !within(column, brush, row)) kept[row] = 0;
  }
  return kept;
}

function within(column: Column, brush: Brush, row: number): boolean {
  if ("codes" in brush) return column.kind === "text" && brush.codes.has(column.codes[row]);
  return column.kind === "number" && column.values[row] >= brush.low && column.values[row] <= brush.high;
}

/** Rows that both filters leave. */
export function both(a: Uint8Array | null, b: Uint8Array | null): Uint8Array | null {
  if (a === null || b === null) return a ?? b;
  return a.map((flag, row) => flag & b[row]);
}

export interface Bar {
  label: string;
  /** Rows of the whole map, and those that are left. */
  all: number;
  left: number;
  /** Values of a text column that the bar stands for. */
  codes: number[];
}

/** The bars of a column: `left` says which rows are left, null for all. Rows without a value have none. */
export function bars(column: Column, left: Uint8Array | null): { bars: Bar[]; low: number; high: number } {
  return column.kind === "number" ? numberBars(column.values, left, column.unit) : { bars: textBars(column, left), low: 0, high: 0 };
}

function numberBars(values: ArrayLike<number>, left: Uint8Array | null, unit: "date" | "time" | null): { bars: Bar[]; low: number; high: number } {
  let [low, high, whole] = [Infinity, -Infinity, true];
  for (let row = 0; row < values.length; row++) {
    const value = values[row];
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
    if (whole && !Number.isInteger(value)) whole = false;
  }
  if (low > high) return { bars: [], low: 0, high: 0 };
  const count = low === high ? 1 : whole ? Math.min(N_BINS, high - low + 1) : N_BINS;
  const name = (value: number) => (unit === null ? String(Number(value.toPrecision(3))) : timeText(value, unit));
  const edge = (i: number) => low + ((high - low) * i) / count;
  const out: Bar[] = Array.from({ length: count }, (_, i) => ({ label: `${name(edge(i))} to ${name(edge(i + 1))}`, all: 0, left: 0, codes: [] }));
  for (let row = 0; row < values.length; row++) {
    if (!Number.isFinite(values[row])) continue;
    const bar = out[Math.min(count - 1, Math.floor(((values[row] - low) / (high - low || 1)) * count))];
    bar.all++;
    if (left === null || left[row]) bar.left++;
  }
  return { bars: out, low, high };
}

function textBars({ texts, codes }: Extract<Column, { kind: "text" }>, left: Uint8Array | null): Bar[] {
  const counts = texts.map((label, code): Bar => ({ label, all: 0, left: 0, codes: [code] }));
  for (let row = 0; row < codes.length; row++) {
    if (codes[row] < 0) continue;
    counts[codes[row]].all++;
    if (left === null || left[row]) counts[codes[row]].left++;
  }
  counts.sort((a, b) => b.all - a.all || a.codes[0] - b.codes[0]);
  if (counts.length <= N_VALUES + 1) return counts;
  const rest = counts.slice(N_VALUES);
  const sum = (key: "all" | "left") => rest.reduce((total, bar) => total + bar[key], 0);
  return [...counts.slice(0, N_VALUES), { label: `${rest.length} others`, all: sum("all"), left: sum("left"), codes: rest.map((bar) => bar.codes[0]) }];
}

/** As part of an address: column~low~high or column~~code.code. */
export function packBrushes(brushes: Brushes): string {
  return [...brushes]
    .map(([index, brush]) => ("codes" in brush ? `${index}~~${[...brush.codes].join(".")}` : `${index}~${brush.low}~${brush.high}`))
    .join("|");
}

/** Whatever does not fit the page is dropped. */
export function unpackBrushes(text: string, columns: number): Brushes {
  const found = new Map<number, Brush>();
  for (const part of text.split("|")) {
    const [index, low, high] = part.split("~");
    const column = Number(index);
    if (index === "" || !Number.isInteger(column) || column < 0 || column >= columns || high === undefined) continue;
    if (low === "" && /^\d+(\.\d+)*$/.test(high)) found.set(column, { codes: new Set(high.split(".").map(Number)) });
    else if (low !== "" && high !== "" && Number.isFinite(Number(low)) && Number.isFinite(Number(high))) found.set(column, { low: Number(low), high: Number(high) });
  }
  return found;
}
