/** Small sums over selections. */

import type { Column, NumberArray, Unit } from "./types";

export interface Share {
  label: string;
  index: number;
  count: number;
  /** Fraction of the selection and of all rows. */
  selected: number;
  overall: number;
}

/** How the classes mix in a selection, largest first, with their share of the whole map for comparison. */
export function classMix(codes: ArrayLike<number>, names: string[], rows: ArrayLike<number>): Share[] {
  const inside = new Uint32Array(names.length + 1);
  const all = new Uint32Array(names.length + 1);
  for (let i = 0; i < codes.length; i++) all[codes[i] < 0 ? names.length : codes[i]]++;
  for (let i = 0; i < rows.length; i++) {
    const code = codes[rows[i]];
    inside[code < 0 ? names.length : code]++;
  }
  return [...names, "unlabelled"]
    .map((label, index) => ({
      label,
      index,
      count: inside[index],
      selected: inside[index] / Math.max(1, rows.length),
      overall: all[index] / Math.max(1, codes.length),
    }))
    .filter((share) => share.count > 0)
    .sort((a, b) => b.count - a.count || a.index - b.index);
}

export interface Difference {
  label: string;
  column: number;
  /** (mean inside - mean of the others) / standard deviation of all. */
  effect: number;
  inside: number;
  outside: number;
  unit: Unit;
}

/** What sets a selection apart: standardised differences of the means, largest first; texts by their most typical value. */
export function differences(columns: (Column | null)[], rows: ArrayLike<number>, n: number): Difference[] {
  if (rows.length === 0 || rows.length === n) return [];
  const chosen = new Uint8Array(n);
  for (let i = 0; i < rows.length; i++) chosen[rows[i]] = 1;
  const list: Difference[] = [];
  columns.forEach((column, index) => {
    if (column === null) return;
    const found = column.kind === "number" ? meanDifference(column.values, chosen) : shareDifference(column.codes, column.texts, chosen);
    const unit = column.kind === "number" ? column.unit : null;
    if (found) list.push({ label: `${column.name}${found.suffix}`, column: index, unit, ...found.figures });
  });
  return list.sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect));
}

type Found = { suffix: string; figures: { effect: number; inside: number; outside: number } } | null;

function meanDifference(values: NumberArray, chosen: Uint8Array): Found {
  const count = [0, 0];
  const sum = [0, 0];
  for (let i = 0; i < values.length; i++) {
    if (!Number.isFinite(values[i])) continue;
    count[chosen[i]]++;
    sum[chosen[i]] += values[i];
  }
  if (count[0] === 0 || count[1] === 0) return null;
  const mean = (sum[0] + sum[1]) / (count[0] + count[1]);
  let squares = 0;
  for (const value of values) if (Number.isFinite(value)) squares += (value - mean) ** 2;
  const deviation = Math.sqrt(squares / (count[0] + count[1]));
  if (deviation === 0) return null;
  const inside = sum[1] / count[1];
  const outside = sum[0] / count[0];
  return { suffix: "", figures: { effect: (inside - outside) / deviation, inside, outside } };
}

function shareDifference(codes: NumberArray, texts: string[], chosen: Uint8Array): Found {
  // A column with a value a row (names, addresses) sets nothing apart.
  if (texts.length > Math.max(30, codes.length / 2)) return null;
  const counts = [new Float64Array(texts.length), new Float64Array(texts.length)];
  const total = [0, 0];
  for (let i = 0; i < codes.length; i++) {
    if (codes[i] < 0) continue;
    counts[chosen[i]][codes[i]]++;
    total[chosen[i]]++;
  }
  if (total[0] === 0 || total[1] === 0) return null;
  let best: Found = null;
  for (let v = 0; v < texts.length; v++) {
    const inside = counts[1][v] / total[1];
    const outside = counts[0][v] / total[0];
    const share = (counts[0][v] + counts[1][v]) / (total[0] + total[1]);
    const effect = (inside - outside) / Math.sqrt(Math.max(1e-12, share * (1 - share)));
    if (share < 1 && (best === null || Math.abs(effect) > Math.abs(best.figures.effect))) {
      best = { suffix: ` = ${texts[v]}`, figures: { effect, inside, outside } };
    }
  }
  return best;
}

/** Numbers as people read them: three significant digits, no trailing noise, years without a comma; dates as dates. */
export function format(value: number, unit: Unit = null): string {
  if (Number.isNaN(value)) return "missing";
  if (unit !== null && Number.isFinite(value)) return timeText(value, unit);
  if (!Number.isFinite(value)) return value > 0 ? "infinite" : "-infinite";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e4) return String(value);
  if (Number.isInteger(value) && size < 1e6) return value.toLocaleString("en");
  if (size >= 1e6 || size < 1e-3) return value.toExponential(2);
  return String(Number(value.toPrecision(size >= 100 ? 4 : 3)));
}

/** A point in time: days since 1970 as a date, seconds as a date with the time of day. */
export function timeText(value: number, unit: "date" | "time"): string {
  const date = new Date(unit === "date" ? Math.floor(value) * 86_400_000 : Math.round(value * 1000));
  if (Number.isNaN(date.getTime())) return String(value);
  const text = date.toISOString().replace("T", " ");
  return unit === "date" ? text.slice(0, -14) : text.slice(0, -5);
}

/** The number that people meant when a value was stored as float32: its shortest decimal. */
export function shortest(value: number): number {
  if (!Number.isFinite(value) || Number.isInteger(value) || Math.fround(value) !== value) return value;
  for (let digits = 6; digits < 9; digits++) {
    const candidate = Number(value.toPrecision(digits));
    if (Math.fround(candidate) === value) return candidate;
  }
  return value;
}

export function percent(share: number): string {
  const value = 100 * share;
  if (value > 0 && value < 0.1) return "<0.1 %";
  return `${value >= 10 || value === 0 ? Math.round(value) : value.toFixed(1)} %`;
}
