/** The report in a form the panel can show: its statements, errors side by side, curves, and how the map was made. */

import { type Statement, type Tone, overall, readStatements, unbroken } from "./statements";
import { format, percent } from "./stats";
import type { Tried } from "./supervision";
import type { Curve } from "./types";

export interface ReportView {
  statements: Statement[];
  level: Tone;
  methods: string;
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
const SHOWN_APART = new Set([
  "format", "schema", "verdict", "statements", "findings", "methods_sentence", "target_shows", "overstates", "scores", "structure", "overlaps", "limits",
  "notes", "warnings", "unjudged", "uses_target", "supervision_curve",
]);

export function readReport(report: Record<string, unknown> | null): ReportView {
  const view: ReportView = { statements: [], level: "neutral", methods: "", figures: [], curves: [], tried: [], real: false, overlaps: [], remarks: [], details: [] };
  if (!report) return view;
  view.statements = readStatements(report);
  view.level = overall(view.statements);
  view.methods = typeof report.methods_sentence === "string" ? report.methods_sentence : "";
  const shown = report.target === "class" ? percent : format;
  view.figures = records(report.scores).map((score) => figure(score, shown));
  view.curves = Object.entries(isRecord(report.structure) ? report.structure : {}).flatMap(([label, curve]) => readCurve(label, curve));
  view.tried = records(report.supervision_curve).flatMap(readTried);
  view.real = report.target !== "class";
  view.overlaps = records(report.overlaps).map((pair) => ({ of: String(pair.of), into: String(pair.into), share: percent(Number(pair.share)) }));
  // Statements have the notes already, where there are statements.
  view.remarks = Array.isArray(report.statements) ? [] : [...sentences(report.warnings), ...sentences(report.notes)];
  for (const [key, value] of Object.entries(report)) if (!SHOWN_APART.has(key)) list(key, value, view.details);
  return view;
}

/** What goes with a picture of the map: the first thing stated, and the error beside that of permuted labels. */
export function headlines(report: Record<string, unknown> | null): string[] {
  const { statements, figures } = readReport(report);
  const [first] = statements;
  const lines = first ? [first.answer === "cannot tell" ? `Cannot tell ${first.words}` : first.words] : [];
  const entry = (label: string) => figures[0]?.entries.find((one) => one.label === label);
  const [own, baseline] = [entry("this map"), entry("permuted labels") ?? entry("chance")];
  const text = (one: { text: string; spread: string | null }) => `${one.text}${one.spread === null ? "" : ` ± ${one.spread}`}`;
  if (own) lines.push(`${figures[0].label} ${text(own)}${baseline ? `, ${baseline.label} ${text(baseline)}` : ""}`);
  return lines;
}

function figure(score: Record<string, unknown>, shown: (value: number) => string): Figure {
  const entries = PARTS.flatMap(([key, label]) => {
    const part = score[key];
    const value = typeof part === "number" ? part : isRecord(part) ? (part.value ?? part.mean) : null;
    if (typeof value !== "number") return [];
    const spread = isRecord(part) && typeof part.spread === "number" && part.spread > 0 ? shown(part.spread) : null;
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
  return lines.filter((line) => line.trim() !== "").map(unbroken);
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
