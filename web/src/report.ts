/** The report in a form the panel can show: the verdict, errors side by side, curves, and how the map was made. */

import { format, percent } from "./stats";
import type { Tried } from "./supervision";
import type { Curve } from "./types";

export interface ReportView {
  verdict: string[];
  level: "good" | "warn" | "neutral";
  figures: Figure[];
  curves: Curve[];
  tried: Tried[];
  real: boolean;
  overlaps: { of: string; into: string; share: string }[];
  remarks: string[];
  details: [string, string][];
}

/** One error on several maps: this one, its unsupervised twin, permuted labels, chance. */
export interface Figure {
  label: string;
  entries: { label: string; value: number; text: string; spread: string | null }[];
}

const PARTS: [key: string, label: string][] = [
  ["value", "this map"],
  ["in_sample", "its fitted rows"],
  ["unsupervised", "unsupervised"],
  ["permuted", "permuted labels"],
  ["permuted_in_sample", "permuted, fitted"],
  ["chance", "chance"],
];
const SHOWN_APART = new Set(["format", "verdict", "target_shows", "overstates", "scores", "structure", "overlaps", "notes", "warnings", "supervision_curve"]);

export function readReport(report: Record<string, unknown> | null): ReportView {
  const view: ReportView = { verdict: [], level: "neutral", figures: [], curves: [], tried: [], real: false, overlaps: [], remarks: [], details: [] };
  if (!report) return view;
  view.verdict = sentences(report.verdict).flatMap((line) => line.split(/(?<=[.!?]) (?=\p{Lu})/u));
  if (report.overstates === true) view.level = "warn";
  else if (report.target_shows === true) view.level = "good";
  const shown = report.target === "class" ? percent : format;
  view.figures = records(report.scores).map((score) => figure(score, shown));
  view.curves = Object.entries(isRecord(report.structure) ? report.structure : {}).flatMap(([label, curve]) => readCurve(label, curve));
  view.tried = records(report.supervision_curve).flatMap(readTried);
  view.real = report.target !== "class";
  view.overlaps = records(report.overlaps).map((pair) => ({ of: String(pair.of), into: String(pair.into), share: percent(Number(pair.share)) }));
  view.remarks = [...sentences(report.warnings), ...sentences(report.notes)];
  for (const [key, value] of Object.entries(report)) if (!SHOWN_APART.has(key)) list(key, value, view.details);
  return view;
}

function figure(score: Record<string, unknown>, shown: (value: number) => string): Figure {
  const entries = PARTS.flatMap(([key, label]) => {
    const part = score[key];
    const value = typeof part === "number" ? part : isRecord(part) ? (part.value ?? part.mean) : null;
    if (typeof value !== "number") return [];
    const spread = isRecord(part) && typeof part.spread === "number" ? shown(part.spread) : null;
    return [{ label, value, text: shown(value), spread }];
  });
  const name = String(score.name ?? "error");
  return { label: name.charAt(0).toUpperCase() + name.slice(1), entries };
}

function readCurve(label: string, curve: unknown): Curve[] {
  if (!isRecord(curve) || !Array.isArray(curve.k) || !Array.isArray(curve.value)) return [];
  const r = Float32Array.from(curve.value, (value) => (typeof value === "number" ? value : NaN));
  return [{ label, k: Float32Array.from(curve.k as number[]), r }];
}

function readTried(one: Record<string, unknown>): Tried[] {
  if (typeof one.supervision !== "number" || typeof one.score !== "number") return [];
  const number = (value: unknown) => (typeof value === "number" ? value : null);
  return [{ posterior: String(one.posterior), share: one.supervision, score: one.score, inMap: number(one.map_score), kept: number(one.neighbors_kept), taken: one.taken === true }];
}

function list(key: string, value: unknown, details: [string, string][]): void {
  if (isRecord(value)) {
    for (const [inner, item] of Object.entries(value)) list(`${key} ${inner}`, item, details);
  } else if (Array.isArray(value)) {
    const simple = value.length > 0 && value.length <= 12 && value.every((item) => typeof item !== "object");
    if (simple) details.push([readable(key), value.map(text).join(", ")]);
  } else if (value !== null && value !== undefined && value !== "") {
    details.push([readable(key), text(value)]);
  }
}

export function readable(key: string): string {
  const words = key.replaceAll("_", " ").replace(/^n (\w+)/, "$1 rows").replace(/^(versions|settings) /, "");
  return words.charAt(0).toUpperCase() + words.slice(1);
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

function records(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
