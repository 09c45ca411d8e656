/** What "colour by ..." means: every choice becomes one small code a row and a palette. */

import { MISSING_DARK, MISSING_LIGHT, SAFE_CLASSES, categorical, sequential } from "./palette";
import type { ColumnHandle, NumberArray, OwnTarget, Page, Unit } from "./types";

export const BINS = 64;

export interface Category {
  label: string;
  colour: string;
  count: number;
}

interface Common {
  /** Index into `colours` for each row; the last colour stands for missing. */
  codes: Uint16Array;
  colours: string[];
  title: string;
  missing: number;
}

export interface CategoryColouring extends Common {
  kind: "categories";
  categories: Category[];
  /** True when the palette had to be generated and some colours look alike. */
  crowded: boolean;
}

export interface RampColouring extends Common {
  kind: "ramp";
  values: NumberArray;
  unit: Unit;
  /** What the first and the last colour stand for; rarer values beyond share them. */
  min: number;
  max: number;
  clipped: { low: boolean; high: boolean };
  histogram: Uint32Array;
}

export type Colouring = CategoryColouring | RampColouring;

export interface Choice {
  id: string;
  label: string;
  group: "Target" | "Map" | "Columns";
}

/** All choices the page has data for. */
export function choices(page: Page): Choice[] {
  const list: Choice[] = [];
  const { target } = page;
  if (target.kind !== "none") list.push({ id: "target", label: target.name, group: "Target" });
  if (target.predictedCodes || target.predictedValues) {
    list.push({ id: "predicted", label: `predicted ${target.name}`, group: "Target" });
  }
  if (page.keywords) list.push({ id: "keywords", label: "keywords of the clusters", group: "Map" });
  if (page.split) list.push({ id: "split", label: "fitted or mapped", group: "Map" });
  if (page.far) list.push({ id: "far", label: "far from the data", group: "Map" });
  if (page.quality) list.push({ id: "quality", label: "quality of each point", group: "Map" });
  if (page.misshown) list.push({ id: "misshown", label: "shown on the wrong side", group: "Map" });
  page.columns.forEach((column, index) => list.push({ id: `column:${index}`, label: column.name, group: "Columns" }));
  if (list.length === 0) list.push({ id: "none", label: "one colour", group: "Map" });
  return list;
}

export function columnOf(page: Page, id: string): ColumnHandle | null {
  const match = /^column:(\d+)$/.exec(id);
  return match ? (page.columns[Number(match[1])] ?? null) : null;
}

/** The colouring of a choice; a column must have been loaded before. `own` stands in for the page's target. */
export function colouring(page: Page, id: string, dark: boolean, own: OwnTarget | null = null): Colouring {
  const { target } = page;
  if (id === "target" && own?.codes) return byCodes(own.name, own.codes, target.classes, dark);
  if (id === "target" && own?.values) return byValues(own.name, own.values, dark, target.unit);
  if (id === "target" && target.codes) return byCodes(target.name, target.codes, target.classes, dark);
  if (id === "target" && target.values) return byValues(target.name, target.values, dark, target.unit);
  if (id === "predicted" && target.predictedCodes) {
    return byCodes(`predicted ${target.name}`, target.predictedCodes, target.classes, dark);
  }
  if (id === "predicted" && target.predictedValues) {
    return byValues(`predicted ${target.name}`, target.predictedValues, dark, target.unit);
  }
  if (id === "keywords" && page.keywords) return byCodes("keywords of the clusters", page.keywords.codes, page.keywords.texts, dark);
  if (id === "split" && page.split) return byCodes("fitted or mapped", page.split.codes, page.split.texts, dark);
  if (id === "far" && page.far) return byCodes("far from the data", page.far, ["near", "far"], dark);
  if (id === "misshown" && page.misshown) {
    return byCodes("shown on the wrong side", page.misshown, ["as the model says", "on the wrong side"], dark);
  }
  if (id === "quality" && page.quality) return byValues("quality of each point", page.quality, dark);
  const column = columnOf(page, id)?.loaded;
  if (column?.kind === "number") return byValues(column.name, column.values, dark, column.unit);
  if (column?.kind === "text") return byTexts(column.name, column.codes, column.texts, dark);
  return byCodes("rows", new Uint8Array(page.n), ["all rows"], dark);
}

export function byCodes(title: string, codes: ArrayLike<number>, names: string[], dark: boolean): CategoryColouring {
  const colours = [...categorical(names.length, dark), dark ? MISSING_DARK : MISSING_LIGHT];
  const counts = new Uint32Array(names.length + 1);
  const own = new Uint16Array(codes.length);
  for (let i = 0; i < codes.length; i++) {
    own[i] = codes[i] < 0 ? names.length : codes[i];
    counts[own[i]]++;
  }
  return {
    kind: "categories",
    title,
    codes: own,
    colours,
    categories: names.map((label, i) => ({ label, colour: colours[i], count: counts[i] })),
    missing: counts[names.length],
    crowded: names.length > SAFE_CLASSES,
  };
}

/** Text columns may have thousands of values: the most frequent keep a colour, the rest share one. */
function byTexts(title: string, codes: NumberArray, texts: string[], dark: boolean): CategoryColouring {
  const limit = 30;
  if (texts.length <= limit) return byCodes(title, codes, texts, dark);
  const counts = new Uint32Array(texts.length);
  for (const code of codes) if (code >= 0) counts[code]++;
  const order = Array.from(texts.keys()).sort((a, b) => counts[b] - counts[a] || a - b);
  const place = new Int32Array(texts.length).fill(limit - 1);
  order.slice(0, limit - 1).forEach((code, rank) => (place[code] = rank));
  const names = [...order.slice(0, limit - 1).map((code) => texts[code]), `${texts.length - limit + 1} other values`];
  return byCodes(title, Int32Array.from(codes, (code) => (code < 0 ? -1 : place[code])), names, dark);
}

export function byValues(title: string, values: NumberArray, dark: boolean, unit: Unit = null): RampColouring {
  const { min, max, clipped } = range(values);
  const span = max > min ? max - min : 1;
  const codes = new Uint16Array(values.length);
  const histogram = new Uint32Array(BINS);
  let missing = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (Number.isNaN(value)) {
      codes[i] = BINS;
      missing++;
      continue;
    }
    const bin = Math.min(BINS - 1, Math.max(0, Math.floor(((value - min) / span) * BINS)));
    codes[i] = bin;
    histogram[bin]++;
  }
  const colours = [...sequential(BINS, dark), dark ? MISSING_DARK : MISSING_LIGHT];
  return { kind: "ramp", title, values, unit, codes, colours, min, max, clipped, histogram, missing };
}

/** The middle 99 % of the values, so that a few extreme ones do not take all the colours; all if that is one value. */
function range(values: NumberArray): { min: number; max: number; clipped: { low: boolean; high: boolean } } {
  const step = Math.max(1, Math.floor(values.length / 50_000));
  const sample: number[] = [];
  let [lowest, highest] = [Infinity, -Infinity];
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (!Number.isFinite(value)) continue;
    if (value < lowest) lowest = value;
    if (value > highest) highest = value;
    if (i % step === 0) sample.push(value);
  }
  if (lowest > highest) return { min: 0, max: 0, clipped: { low: false, high: false } };
  sample.sort((a, b) => a - b);
  const at = (share: number) => sample[Math.round(share * (sample.length - 1))];
  let [min, max] = sample.length < 200 ? [lowest, highest] : [at(0.005), at(0.995)];
  if (min === max) [min, max] = [lowest, highest];
  return { min, max, clipped: { low: lowest < min, high: highest > max } };
}

/** Which rows a filter leaves: hidden categories, or a range of bins of a ramp (inclusive); null means all. */
export function visibleRows(
  colour: Colouring,
  hidden: ReadonlySet<number>,
  window: readonly [number, number] | null,
): Uint8Array | null {
  const { codes } = colour;
  if (colour.kind === "categories") {
    if (hidden.size === 0) return null;
    return Uint8Array.from(codes, (code) => (hidden.has(code) ? 0 : 1));
  }
  if (window === null && hidden.size === 0) return null;
  const [low, high] = window ?? [0, BINS - 1];
  return Uint8Array.from(codes, (code) => {
    if (code === BINS) return hidden.has(BINS) ? 0 : 1;
    return code >= low && code <= high ? 1 : 0;
  });
}
