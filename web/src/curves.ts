/** R_NX curves: how much better than chance the map keeps neighbourhoods of k rows. */

import { h, svg } from "./dom";
import { categorical } from "./palette";
import type { Curve } from "./types";

const WIDTH = 312;
const HEIGHT = 152;
const MARGIN = { left: 30, right: 8, top: 8, bottom: 30 };

export function curveChart(curves: Curve[], dark: boolean): HTMLElement {
  const kMax = Math.max(2, ...curves.flatMap((curve) => Array.from(curve.k)));
  const yMax = Math.min(1, Math.max(0.1, 1.12 * Math.max(...curves.flatMap((curve) => Array.from(curve.r).filter(Number.isFinite)))));
  const x = (k: number) => MARGIN.left + (Math.log(k) / Math.log(kMax)) * (WIDTH - MARGIN.left - MARGIN.right);
  const y = (r: number) => HEIGHT - MARGIN.bottom - (Math.max(0, r) / yMax) * (HEIGHT - MARGIN.top - MARGIN.bottom);
  const colours = categorical(Math.max(3, curves.length), dark);
  const lines = curves.map((curve, i) =>
    svg("path", { d: path(curve, x, y), fill: "none", stroke: colours[i], "stroke-width": 2, "stroke-linejoin": "round", "stroke-dasharray": i === 0 ? null : DASHES[i % DASHES.length] }),
  );
  const chart = svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "pm-chart", role: "img", "aria-label": describe(curves) },
    ...yTicks(yMax).flatMap((tick) => [
      svg("line", { x1: MARGIN.left, x2: WIDTH - MARGIN.right, y1: y(tick), y2: y(tick), class: "pm-grid" }),
      svg("text", { x: MARGIN.left - 5, y: y(tick) + 3.5, "text-anchor": "end" }, String(Number(tick.toFixed(2)))),
    ]),
    ...kTicks(kMax).map((k) => svg("text", { x: x(k), y: HEIGHT - MARGIN.bottom + 13, "text-anchor": "middle" }, String(k))),
    svg("text", { x: (WIDTH + MARGIN.left) / 2, y: HEIGHT - 4, "text-anchor": "middle" }, "neighbourhood size k"),
    ...lines,
  );
  const key = h(
    "ul",
    { class: "pm-key" },
    ...curves.map((curve, i) =>
      h(
        "li",
        {},
        svg("svg", { viewBox: "0 0 22 8", class: "pm-dash", "aria-hidden": "true" }, svg("line", { x1: 1, x2: 21, y1: 4, y2: 4, stroke: colours[i], "stroke-width": 2.5, "stroke-dasharray": i === 0 ? null : DASHES[i % DASHES.length] })),
        curve.label,
        h("b", {}, area(curve).toFixed(3)),
      ),
    ),
  );
  return h("div", {}, chart, key);
}

const DASHES = ["none", "5 3", "2 3", "7 2 2 2"];

function path(curve: Curve, x: (k: number) => number, y: (r: number) => number): string {
  let text = "";
  curve.k.forEach((k, i) => {
    if (k < 1 || !Number.isFinite(curve.r[i])) return;
    text += `${text === "" ? "M" : "L"}${x(k).toFixed(1)} ${y(curve.r[i]).toFixed(1)}`;
  });
  return text;
}

/** Area under R_NX with weight 1/k: the mean over a logarithmic k axis (Lee et al., 2015). */
export function area(curve: Curve): number {
  let [sum, weight] = [0, 0];
  curve.k.forEach((k, i) => {
    if (k < 1 || !Number.isFinite(curve.r[i])) return;
    // A point of a thinned curve stands for the k between its neighbours.
    const before = i > 0 ? Math.sqrt(k * curve.k[i - 1]) : Math.max(1, k - 0.5);
    const after = i + 1 < curve.k.length ? Math.sqrt(k * curve.k[i + 1]) : k + 0.5;
    const w = Math.log(after / before);
    sum += w * curve.r[i];
    weight += w;
  });
  return weight > 0 ? sum / weight : NaN;
}

function kTicks(kMax: number): number[] {
  return [1, 10, 100, 1000, 10_000, 100_000].filter((k) => k <= kMax);
}

function yTicks(yMax: number): number[] {
  const step = yMax > 0.5 ? 0.25 : yMax > 0.2 ? 0.1 : 0.05;
  return Array.from({ length: Math.floor(yMax / step) + 1 }, (_, i) => i * step);
}

function describe(curves: Curve[]): string {
  const parts = curves.map((curve) => `${curve.label} ${area(curve).toFixed(3)}`);
  return `R N X curves over the neighbourhood size; area under the curve: ${parts.join(", ")}`;
}
