/** The first thing to read: can this map be trusted, and the figures behind the answer. */

import { curveChart } from "./curves";
import { Changed, h, replace } from "./dom";
import { type Figure, type ReportView, readReport } from "./report";
import { QUESTIONS, type Statement, type Tone, unbroken } from "./statements";
import { supervisionChart } from "./supervision";
import type { Curve, Page } from "./types";

export class VerdictPanel {
  readonly element = h("div", { class: "pm-verdict" });
  private readonly changed = new Changed();

  constructor(private readonly page: Page) {}

  private share: number | null = null;
  private trouble = "";

  /** How far the judging is; null when there is none going on. */
  judging(share: number | null, trouble = ""): void {
    this.share = share;
    this.trouble = trouble;
  }

  /** `byHand`: the map on the screen is one that the user shaped. */
  render(dark: boolean, byHand = false): void {
    if (!this.changed.now(dark, this.page.report, this.share, this.trouble, byHand)) return;
    if (this.share !== null) {
      const bar = h("progress", { max: 1, value: this.share, "aria-label": "Judging this map" });
      const words = "The map is judged on rows it was not fitted to, and beside maps of shuffled targets. Until then nothing is known about how far it can be trusted.";
      replace(this.element, h("h3", {}, "Judging this map"), h("div", { class: "pm-working" }, bar), h("p", { class: "pm-note" }, words));
      return;
    }
    const view = readReport(this.page.report);
    const curves = this.page.curves.length > 0 ? this.page.curves : view.curves;
    const nothing = view.statements.length === 0 && view.figures.length === 0 && curves.length === 0;
    const stated = new Set(view.statements.map((one) => one.words));
    const notes = [...new Set([...view.remarks, ...this.page.notes.map(unbroken)])].filter((note) => !stated.has(note));
    replace(
      this.element,
      byHand && h("blockquote", { class: "pm-sentence pm-warn" }, h("p", {}, h("b", {}, "This map was shaped by hand."), " It was not judged: what separates on it was put there by the groups that you named. The verdict below is about the original map.")),
      ...answers(view),
      this.trouble !== "" && h("p", { class: "pm-note", role: "alert" }, `This map could not be judged: ${this.trouble}`),
      nothing && empty("No report came with this map", "A verdict comes with maps that “prismap map” makes without --quick."),
      more(view),
      view.figures.length > 0 && figureBars(view.figures[0]),
      moreFigures(view, curves, dark),
      details(view, nothing ? [] : notes),
      ...(nothing ? notes.map((note) => h("p", { class: "pm-note" }, note)) : []),
    );
  }
}

/** What is read first, for screens on which the panel is out of sight: a warning, or the answer; false without a report. */
export function digest(page: Page, read: () => void): HTMLElement | false {
  const { statements, level } = readReport(page.report);
  const [first] = statements;
  if (!first) return false;
  const words = first.answer === "cannot tell" ? `Cannot tell ${first.words}` : first.words;
  return h(
    "button",
    { type: "button", class: `pm-digest pm-sentence pm-${level}`, "aria-label": `Verdict: ${words} Read more.`, click: read },
    h("span", {}, words),
    h("b", {}, "Verdict"),
  );
}

/** The warnings, and the answers to the three questions. */
function answers(view: ReportView): HTMLElement[] {
  const warnings = view.statements.filter((one) => one.level === "warning");
  const headlines = view.statements.filter((one) => one.level === "headline");
  const box = (level: Tone, list: Statement[]) => h("ul", { class: `pm-sentence pm-statements pm-${level}` }, ...list.map(line));
  return [...(warnings.length > 0 ? [box("warn", warnings)] : []), ...(headlines.length > 0 ? [box(warnings.length > 0 ? "neutral" : view.level, headlines)] : [])];
}

function line(one: Statement): HTMLElement {
  const mark = one.level === "warning" ? "warning" : one.answer;
  return h(
    "li",
    { class: one.level === "detail" ? null : "pm-answer" },
    QUESTIONS[one.id] && h("small", {}, QUESTIONS[one.id]),
    mark && h("b", { class: `pm-tag pm-tag-${one.tone}` }, mark),
    ` ${one.words}`,
  );
}

/** Everything else that the report states. */
function more(view: ReportView): HTMLElement | false {
  const rest = view.statements.filter((one) => one.level === "detail");
  if (rest.length === 0) return false;
  return h("details", { class: "pm-details" }, h("summary", {}, `Everything else (${rest.length})`), h("ul", { class: "pm-statements" }, ...rest.map(line)), overlaps(view));
}

function moreFigures(view: ReportView, curves: Curve[], dark: boolean): HTMLElement | false {
  if (view.figures.length < 2 && view.tried.length < 2 && curves.length === 0) return false;
  return h(
    "details",
    // Without answers the figures are all there is.
    { class: "pm-details", open: view.statements.length === 0 },
    h("summary", {}, "More figures"),
    curves.length > 0 &&
      h(
        "section",
        {},
        h("h3", {}, "Neighbourhoods kept (R_NX)"),
        curveChart(curves, dark),
        h("p", { class: "pm-note" }, "0 is a random placement, 1 keeps every neighbourhood. The number is the area over a logarithmic k."),
      ),
    view.tried.length > 1 &&
      h(
        "section",
        {},
        h("h3", {}, "How much the target counts"),
        supervisionChart(view.tried, view.real, dark),
        h("p", { class: "pm-note" }, "Judged out of fold, before the map was made. Dots are quick maps, which decide: the smallest share is taken that is as good as the best."),
      ),
    ...view.figures.slice(1).map(figureBars),
  );
}

function figureBars(figure: Figure): HTMLElement {
  const most = Math.max(1e-9, ...figure.entries.map((entry) => Math.abs(entry.value)));
  return h(
    "section",
    {},
    h("h3", {}, figure.label),
    h(
      "ul",
      { class: "pm-bars" },
      ...figure.entries.map((entry, i) =>
        h(
          "li",
          {},
          h("span", { class: "pm-bar-name" }, entry.label),
          h("span", { class: i === 0 ? "pm-bar" : "pm-bar pm-bar-other" }, h("i", { style: `width:${(100 * Math.abs(entry.value)) / most}%` })),
          h("b", {}, entry.text, entry.spread !== null && h("small", {}, ` ± ${entry.spread}`)),
        ),
      ),
    ),
  );
}

function overlaps(view: ReportView): HTMLElement | false {
  if (view.overlaps.length === 0) return false;
  return h(
    "section",
    {},
    h("h3", {}, "Classes that mix"),
    h("ul", { class: "pm-plain" }, ...view.overlaps.slice(0, 6).map(({ of, into, share }) => h("li", {}, h("b", {}, share), ` of the neighbours of ${of} are ${into}`))),
  );
}

function details(view: ReportView, notes: string[]): HTMLElement | false {
  if (view.details.length === 0 && notes.length === 0) return false;
  return h(
    "details",
    { class: "pm-details" },
    h("summary", {}, "How this map was made"),
    view.methods !== "" && h("section", {}, h("h3", {}, "For a methods section"), h("p", { class: "pm-note" }, view.methods)),
    h("dl", { class: "pm-facts" }, ...view.details.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
    ...notes.map((note) => h("p", { class: "pm-note" }, note)),
  );
}

export function empty(title: string, hint: string): HTMLElement {
  return h("div", { class: "pm-empty" }, h("b", {}, title), h("p", {}, hint));
}
