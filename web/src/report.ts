/** The report in a form the panel can show: a sentence, and figures with readable names. */

import { format } from "./stats";

export interface ReportView {
  verdict: string[];
  level: "good" | "warn" | "neutral";
  figures: Figure[];
  details: [string, string][];
}

/** One figure on several maps, e.g. the error of the map, its unsupervised twin and permuted labels. */
export interface Figure {
  label: string;
  entries: { label: string; value: number; spread: number | null }[];
}

const WORDS: Record<string, string> = {
  knn: "k-NN",
  nn: "NN",
  auc: "area under",
  r_nx: "R_NX",
  rnx: "R_NX",
  nx: "NX",
  n: "number of",
  std: "spread",
};

export function readReport(report: Record<string, unknown> | null): ReportView {
  const view: ReportView = { verdict: [], level: "neutral", figures: [], details: [] };
  if (!report) return view;
  for (const [key, value] of Object.entries(report)) {
    if (key === "verdict") view.verdict = sentences(value);
    else if (key === "level") view.level = value === "good" || value === "warn" ? value : "neutral";
    else collect(key, value, view);
  }
  return view;
}

function collect(key: string, value: unknown, view: ReportView): void {
  if (isRecord(value)) {
    const entries = figureEntries(value);
    if (entries) view.figures.push({ label: readable(key), entries });
    else for (const [inner, item] of Object.entries(value)) collect(`${key} ${inner}`, item, view);
  } else if (Array.isArray(value)) {
    const simple = value.length > 0 && value.length <= 12 && value.every((item) => typeof item !== "object");
    if (simple) view.details.push([readable(key), value.map(text).join(", ")]);
  } else if (value !== null && value !== undefined && value !== "") {
    view.details.push([readable(key), text(value)]);
  }
}

/** A record of two or more numbers, or of {mean, std}, is one figure on several maps. */
function figureEntries(record: Record<string, unknown>): Figure["entries"] | null {
  const entries: Figure["entries"] = [];
  for (const [name, value] of Object.entries(record)) {
    if (typeof value === "number") entries.push({ label: readable(name), value, spread: null });
    else if (isRecord(value) && typeof value.mean === "number") {
      entries.push({ label: readable(name), value: value.mean, spread: typeof value.std === "number" ? value.std : null });
    } else return null;
  }
  return entries.length >= 2 && entries.every((entry) => Math.abs(entry.value) <= 1) ? entries : null;
}

export function readable(key: string): string {
  const words = key.replace(/r_nx/gi, "rnx").split(/[_\s]+/);
  const text = words.map((word) => WORDS[word.toLowerCase()] ?? word).join(" ");
  return text.startsWith("k-NN") ? text : text.charAt(0).toUpperCase() + text.slice(1);
}

function sentences(value: unknown): string[] {
  const lines = Array.isArray(value) ? value.map(String) : typeof value === "string" ? value.split(/\n+/) : [];
  // A number and its per cent sign stay on one line.
  return lines.filter((line) => line.trim() !== "").map((line) => line.replace(/(\d) %/g, "$1\u00a0%"));
}

function text(value: unknown): string {
  if (typeof value === "number") return format(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  return String(value);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
