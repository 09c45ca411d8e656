/** How much the target counts: what each share of it predicts, what it keeps of the data, and which one was taken. */

import { h, svg } from "./dom";
import { categorical } from "./palette";
import { format, percent } from "./stats";

/** One share of the target that was tried, with one way of predicting it ("none": the data alone). */
export interface Tried {
  posterior: string;
  share: number;
  score: number;
  inMap: number | null;
  kept: number | null;
  taken: boolean;
}

const WIDTH = 312;
const HEIGHT = 152;
const MARGIN = { left: 42, right: 14, top: 16, bottom: 30 };
const KEPT = "2 3";

/** The values of one posterior over the shares, beginning with the data alone. */
export function branches(tried: Tried[]): { posterior: string; points: Tried[] }[] {
  const plain = tried.filter((one) => one.posterior === "none");
  const names = [...new Set(tried.map((one) => one.posterior))].filter((name) => name !== "none");
  return names.map((posterior) => ({ posterior, points: [...plain, ...tried.filter((one) => one.posterior === posterior)].sort((a, b) => a.share - b.share) }));
}

export function supervisionChart(tried: Tried[], real: boolean, dark: boolean): HTMLElement {
  const shares = [...new Set(tried.map((one) => one.share))].sort((a, b) => a - b);
  const values = tried.flatMap((one) => [one.score, one.inMap ?? 0]);
  const most = real ? Math.max(1, ...values) : 1;
  const step = (WIDTH - MARGIN.left - MARGIN.right) / Math.max(1, shares.length - 1);
  const x = (share: number) => MARGIN.left + step * shares.indexOf(share);
  const y = (value: number) => HEIGHT - MARGIN.bottom - (value / most) * (HEIGHT - MARGIN.top - MARGIN.bottom);
  const lines = branches(tried);
  const colours = categorical(Math.max(3, lines.length), dark);
  const taken = tried.find((one) => one.taken);
  const line = (points: [number, number][], colour: string, dashes: string | null) =>
    svg("path", { d: points.map(([a, b], i) => `${i === 0 ? "M" : "L"}${a.toFixed(1)} ${b.toFixed(1)}`).join(""), fill: "none", stroke: colour, "stroke-width": 2, "stroke-dasharray": dashes });
  const drawn = lines.flatMap(({ points }, i) => [
    line(points.flatMap((one) => (one.kept === null ? [] : [[x(one.share), y(one.kept)] as [number, number]])), colours[i], KEPT),
    line(points.map((one) => [x(one.share), y(one.score)]), colours[i], null),
  ]);
  const dots = tried.flatMap((one) => {
    const colour = colours[lines.findIndex(({ posterior }) => posterior === one.posterior)] ?? "currentColor";
    return one.inMap === null ? [] : [svg("circle", { cx: x(one.share), cy: y(one.inMap), r: 3.5, fill: colour })];
  });
  const chart = svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "pm-chart", role: "img", "aria-label": describe(tried, real) },
    ...[0, 0.25, 0.5, 0.75, 1].flatMap((tick) => [
      svg("line", { x1: MARGIN.left, x2: WIDTH - MARGIN.right, y1: y(tick), y2: y(tick), class: "pm-grid" }),
      svg("text", { x: MARGIN.left - 5, y: y(tick) + 3.5, "text-anchor": "end" }, real ? String(tick) : `${100 * tick} %`),
    ]),
    ...shares.map((share) => svg("text", { x: x(share), y: HEIGHT - MARGIN.bottom + 13, "text-anchor": "middle" }, String(share))),
    svg("text", { x: (WIDTH + MARGIN.left - MARGIN.right) / 2, y: HEIGHT - 4, "text-anchor": "middle" }, "how much the target counts"),
    taken && svg("line", { x1: x(taken.share), x2: x(taken.share), y1: MARGIN.top, y2: HEIGHT - MARGIN.bottom, class: "pm-taken" }),
    taken && svg("text", { x: Math.min(x(taken.share), WIDTH - 24), y: MARGIN.top - 5, "text-anchor": "middle" }, "taken"),
    ...drawn,
    ...dots,
  );
  const told = real ? "nRMSE of ten neighbours" : "predicted by ten neighbours";
  const key = lines.flatMap(({ posterior }, i) => [sample(colours[i], null, `${told}, ${posterior}`), sample(colours[i], KEPT, `neighbours in the data kept, ${posterior}`)]);
  return h("div", {}, chart, h("ul", { class: "pm-key" }, ...key));
}

function sample(colour: string, dashes: string | null, label: string): HTMLElement {
  return h("li", {}, svg("svg", { viewBox: "0 0 22 8", class: "pm-dash", "aria-hidden": "true" }, svg("line", { x1: 1, x2: 21, y1: 4, y2: 4, stroke: colour, "stroke-width": 2.5, "stroke-dasharray": dashes })), label);
}

/** The chart in words: each share with its figures. */
export function describe(tried: Tried[], real: boolean): string {
  const shown = real ? format : percent;
  const each = tried.map((one) => {
    const name = one.posterior === "none" ? String(one.share) : `${one.share} with ${one.posterior}`;
    const figures = [`${real ? "nRMSE" : "predicted"} ${shown(one.score)}`];
    if (one.inMap !== null) figures.push(`on a quick map ${shown(one.inMap)}`);
    if (one.kept !== null) figures.push(`neighbours kept ${percent(one.kept)}`);
    return `${name}: ${figures.join(", ")}${one.taken ? ", taken" : ""}`;
  });
  return `How much the target counts. ${each.join("; ")}`;
}
