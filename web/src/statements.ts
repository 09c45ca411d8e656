/** What a report states: warnings, answers to the three questions, and details, each with the tone of its colour. */

export type Tone = "good" | "warn" | "neutral";

export interface Statement {
  id: string;
  level: "warning" | "headline" | "detail";
  answer: string | null;
  words: string;
  tone: Tone;
}

export const QUESTIONS: Record<string, string> = {
  target_shows: "Does the target show?",
  map_exaggerates: "Does the map exaggerate it?",
  target_needed: "Was the target needed?",
};
/** The answers that are good news, and those that are a warning. All others are neither. */
const GOOD = new Set(["target_shows yes", "map_exaggerates no", "target_needed yes"]);
const WARN = new Set(["target_shows in part", "map_exaggerates yes"]);

/** The statements of a report. Reports of earlier versions have sentences alone: the first of them is the answer. */
export function readStatements(report: Record<string, unknown>): Statement[] {
  const listed = Array.isArray(report.statements) ? report.statements.flatMap(read) : sentencesOf(report);
  // A green answer beside a warning would be read first.
  const calm = listed.every((one) => one.level !== "warning");
  return listed.map((one) => ({ ...one, tone: toneOf(one, calm) }));
}

function toneOf({ id, level, answer }: Statement, calm: boolean): Tone {
  if (level === "warning") return "warn";
  if (level !== "headline") return "neutral";
  const key = `${id} ${answer}`;
  return WARN.has(key) ? "warn" : GOOD.has(key) && calm ? "good" : "neutral";
}

/** The colour of all of it: a warning is amber, and only a target that shows and is not exaggerated is green. */
export function overall(statements: Statement[]): Tone {
  const tone = (id: string) => statements.find((one) => one.id === id)?.tone;
  if (statements.some((one) => one.level === "warning") || tone("map_exaggerates") === "warn") return "warn";
  return tone("target_shows") ?? "neutral";
}

/** A number, its error and its per cent sign stay on one line. */
export function unbroken(words: string): string {
  return words.replace(/ ± /g, "\u00a0±\u00a0").replace(/(\d) %/g, "$1\u00a0%");
}

function read(one: unknown): Statement[] {
  if (typeof one !== "object" || one === null) return [];
  const { id, level, answer, words } = one as Record<string, unknown>;
  if (typeof words !== "string" || words.trim() === "") return [];
  const known = level === "warning" || level === "headline" ? level : "detail";
  const given = typeof answer === "string" ? answer : null;
  // "cannot tell" stands beside the words.
  const rest = given === "cannot tell" ? words.replace(/^Cannot tell /, "") : words;
  return [{ id: String(id), level: known, answer: given, words: unbroken(rest), tone: "neutral" }];
}

function sentencesOf(report: Record<string, unknown>): Statement[] {
  if (typeof report.verdict !== "string") return [];
  const lines = report.verdict.split(/\n+|(?<=[.!?]) (?=\p{Lu})/u).filter((line) => line.trim() !== "");
  return lines.map((line, i) => {
    const words = unbroken(line);
    if (i > 0) return { id: "sentence", level: "detail", answer: null, words, tone: "neutral" };
    const answer = report.target_shows === true ? "yes" : null;
    return { id: report.overstates === true ? "sentence" : "target_shows", level: "headline", answer, words, tone: "neutral" };
  });
}
