/** The first thing to read: can this map be trusted, and the figures behind the answer. */

import { curveChart } from "./curves";
import { Changed, h, replace } from "./dom";
import { type Figure, type ReportView, readReport } from "./report";
import { supervisionChart } from "./supervision";
import type { Page } from "./types";

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
    const nothing = view.verdict.length === 0 && view.figures.length === 0 && curves.length === 0;
    replace(
      this.element,
      byHand && h("blockquote", { class: "pm-sentence pm-warn" }, h("p", {}, h("b", {}, "This map was shaped by hand."), " It was not judged: what separates on it was put there by the groups that you named. The verdict below is about the original map.")),
      view.verdict.length > 0 &&
        h("blockquote", { class: `pm-sentence pm-${view.level}` }, ...view.verdict.map(sentence)),
      this.trouble !== "" && h("p", { class: "pm-note", role: "alert" }, `This map could not be judged: ${this.trouble}`),
      nothing && empty("No report came with this map", "A verdict comes with maps that “prismap map” makes without --quick."),
      view.figures.length > 0 && figureBars(view.figures[0]),
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
      overlaps(view),
      view.figures.length > 1 &&
        h("details", { class: "pm-details" }, h("summary", {}, "More figures"), ...view.figures.slice(1).map(figureBars)),
      details(view),
      ...[...new Set([...view.remarks, ...this.page.notes])].map((note) => h("p", { class: "pm-note" }, note)),
    );
  }
}

/** The answer alone, for screens on which the panel is out of sight; false without a report. */
export function digest(page: Page, read: () => void): HTMLElement | false {
  const { verdict, level } = readReport(page.report);
  if (verdict.length === 0) return false;
  return h(
    "button",
    { type: "button", class: `pm-digest pm-sentence pm-${level}`, "aria-label": `Verdict: ${verdict[0]} Read more.`, click: read },
    h("span", {}, verdict[0]),
    h("b", {}, "Verdict"),
  );
}

/** The first sentence is the answer; a warning must not drown in the others. */
function sentence(line: string, index: number): HTMLElement {
  const [, warning, rest] = /^(Beware:)?(.*)$/s.exec(line)!;
  return h("p", { class: index === 0 ? "pm-answer" : null }, warning && h("strong", {}, warning), rest);
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

function details(view: ReportView): HTMLElement | false {
  if (view.details.length === 0) return false;
  return h(
    "details",
    { class: "pm-details" },
    h("summary", {}, "How this map was made"),
    h("dl", { class: "pm-facts" }, ...view.details.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
  );
}

export function empty(title: string, hint: string): HTMLElement {
  return h("div", { class: "pm-empty" }, h("b", {}, title), h("p", {}, hint));
}
