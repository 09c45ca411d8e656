/** What a map does to neighbourhoods and groups: rows torn apart or pushed in, and groups that lie wrongly. */

import { h, svg } from "./dom";
import { type Where, kinds, nearest } from "./neighbors";
import { format } from "./stats";
import type { Layer, Page } from "./types";

/** Nearest rows farther apart than this, a tenth of the width of the map, are torn: a glance does not find them together. */
const TORN = 0.2;

/** The nearest rows of a row as they are in the metric, and what the map makes of them. */
export interface Neighbourhood {
  row: number;
  where: Where;
  /** Its nearest rows; their distances are known on the map that the metric is of. */
  near: readonly { row: number; kept: boolean; distance: number | null }[];
  /** Rows that are near on the map only. */
  pushed: readonly number[];
}

/** How a row's neighbourhood is shown on a layer; null where its nearest rows are not known. */
export function neighbourhood(page: Page, layer: Layer, row: number): Neighbourhood | null {
  const { neighbors, layers } = page;
  const there = kinds(page, row);
  if (!neighbors || there.length === 0 || layer.x[row] < -8) return null;
  const where = layer === layers[0] && there.includes("metric") ? "metric" : "data";
  const measured = neighbors.distances !== null && (where === "metric") === (neighbors.metric !== null);
  const [truly, onMap] = [nearest(page, layer, row, where), nearest(page, layer, row, "map")];
  const start = neighbors.place[row] * neighbors.count;
  return {
    row,
    where,
    near: truly.map((other, i) => ({ row: other, kept: onMap.includes(other), distance: measured ? neighbors.distances![start + i] : null })),
    pushed: onMap.filter((other) => !truly.includes(other)),
  };
}

/** Pairs of rows that are among the nearest of each other, and those of them that lie far apart on a layer. */
export function tornPairs(page: Page, layer: Layer): { pairs: number[]; total: number } {
  const { neighbors, layers } = page;
  const pairs: number[] = [];
  let total = 0;
  if (!neighbors) return { pairs, total };
  const { rows, count } = neighbors;
  const table = layer === layers[0] ? (neighbors.metric ?? neighbors.data) : neighbors.data;
  const mutual = (of: number, other: number): boolean => {
    for (let k = 0; k < count; k++) if (table[of * count + k] === other) return true;
    return false;
  };
  for (let i = 0; i < rows.length; i++) {
    for (let k = 0; k < count; k++) {
      const j = table[i * count + k];
      const [a, b] = [rows[i], rows[j]];
      if (j <= i || layer.x[a] < -8 || layer.x[b] < -8 || !mutual(j, i)) continue;
      total++;
      if (Math.hypot(layer.x[a] - layer.x[b], layer.y[a] - layer.y[b]) > TORN) pairs.push(a, b);
    }
  }
  return { pairs, total };
}

/** A group that lies next to another one on the map, and a third one that is nearer to it in the data. */
export interface WrongGroup {
  of: number;
  near: number;
  nearer: number | null;
}

/** Classes whose nearest class on the map is surely not the nearest in the data, as the report counts them. */
export function wrongGroups({ report, target }: Page): WrongGroup[] {
  const arrangement = report?.arrangement as { wrong?: [string, string][]; nearer?: string[] } | null | undefined;
  const code = (name: string | undefined) => (name === undefined ? -1 : target.classes.indexOf(name));
  return (arrangement?.wrong ?? [])
    .map(([of, near], i) => ({ of: code(of), near: code(near), nearer: code(arrangement?.nearer?.[i]) }))
    .filter(({ of, near }) => of >= 0 && near >= 0)
    .map((one) => ({ ...one, nearer: one.nearer < 0 ? null : one.nearer }));
}

/** Where the classes are on a layer, on average: x0 y0 x1 y1 ... */
export function classCentres({ x, y }: Layer, codes: Int32Array, classes: number): Float64Array {
  const sums = new Float64Array(2 * classes);
  const sizes = new Float64Array(classes);
  for (let row = 0; row < codes.length; row++) {
    const code = codes[row];
    if (code < 0 || x[row] < -8) continue;
    sums[2 * code] += x[row];
    sums[2 * code + 1] += y[row];
    sizes[code]++;
  }
  return sums.map((sum, i) => sum / sizes[i >> 1]);
}

const WHERE_NEAREST: Record<Where, string> = { metric: "nearest rows in the metric of the map", data: "nearest rows in the data", map: "" };

/** In words. */
export function neighbourhoodText(hood: Neighbourhood): string {
  const { near, pushed, where } = hood;
  const torn = near.filter((one) => !one.kept).length;
  const names = `its ${near.length} ${WHERE_NEAREST[where]}`;
  const rings = farthest(hood) > 0 ? ` The outer ring is at a distance of ${format(farthest(hood))}.` : "";
  if (torn === 0) return `All of ${names} are its nearest here.${rings}`;
  return `Of ${names}, ${torn} ${torn === 1 ? "was" : "were"} torn away; ${pushed.length} ${pushed.length === 1 ? "other was" : "others were"} pushed in.${rings}`;
}

/** The distance of the farthest of the nearest rows; NaN where distances are not known. */
function farthest({ near }: Neighbourhood): number {
  return near.reduce((most, one) => Math.max(most, one.distance ?? NaN), 0);
}

/** Rings of true distance: each nearest row as far from the middle as it is, in the direction in which the map has it. */
export function distanceRings(hood: Neighbourhood, { x, y }: Layer): SVGElement | null {
  const { row, near, pushed } = hood;
  const far = farthest(hood);
  if (!(far > 0)) return null;
  const [size, reach] = [124, 44];
  const at = (other: number, radius: number): [number, number] => {
    const [dx, dy] = [x[other] - x[row], y[other] - y[row]];
    const length = Math.hypot(dx, dy) || 1;
    return [size / 2 + (radius * dx) / length, size / 2 - (radius * dy) / length];
  };
  const dot = ({ row: other, kept, distance }: Neighbourhood["near"][number]) => {
    const [cx, cy] = at(other, (reach * (distance ?? far)) / far);
    return svg("circle", { cx, cy, r: 3.6, class: kept ? "pm-kept" : "pm-away" });
  };
  const square = (other: number) => {
    const [cx, cy] = at(other, reach + 10);
    return svg("rect", { x: cx - 3, y: cy - 3, width: 6, height: 6, class: "pm-pushed" });
  };
  const rings = [1, 0.5].map((share) => svg("circle", { cx: size / 2, cy: size / 2, r: reach * share, class: "pm-ring" }));
  return svg("svg", { viewBox: `0 0 ${size} ${size}`, class: "pm-rings", "aria-hidden": "true" }, ...rings, svg("circle", { cx: size / 2, cy: size / 2, r: 2.5, class: "pm-self" }), ...pushed.map(square), ...near.map(dot));
}

export type Shown = "local" | "torn" | "wrong";

/** Switches of what is drawn about distortions, with how many there are; nothing where nothing is known. */
export function distortionKey(page: Page, layer: Layer, shown: Record<Shown, boolean>, toggle: (what: Shown, on: boolean) => void): HTMLElement[] {
  const check = (what: Shown, text: string) => {
    const input = h("input", { type: "checkbox", change: () => toggle(what, input.checked), "data-key": `distortion-${what}` });
    input.checked = shown[what];
    return h("label", { class: "pm-check" }, input, h("span", {}, text));
  };
  const key = (...entries: [className: string, text: string][]) =>
    h("ul", { class: "pm-ringkey" }, ...entries.map(([className, text]) => h("li", {}, h("i", { class: className }), text)));
  const parts: HTMLElement[] = [];
  if (page.neighbors) {
    const { pairs, total } = tornPairs(page, layer);
    parts.push(check("local", "Neighbourhood of the row pointed at (N)"));
    if (shown.local) parts.push(key(["pm-line-kept", "kept near"], ["pm-line-torn", "torn away"], ["pm-mark-pushed", "pushed in"]));
    const count = (pairs.length / 2).toLocaleString("en");
    parts.push(check("torn", `${count} of ${total.toLocaleString("en")} pairs of nearest rows torn apart`));
    if (shown.torn) parts.push(h("p", { class: "pm-note" }, "Each is among the ten nearest of the other, and they lie farther apart than a tenth of the map."));
  }
  const wrong = layer === page.layers[0] ? wrongGroups(page) : [];
  if (wrong.length > 0) {
    parts.push(check("wrong", `${wrong.length} ${wrong.length === 1 ? "group lies" : "groups lie"} beside a wrong one`));
    if (shown.wrong) {
      const { classes } = page.target;
      parts.push(
        key(["pm-line-torn", "wrongly near"], ["pm-line-kept", "nearer in the data"]),
        h("ul", { class: "pm-plain pm-note" }, ...wrong.map(({ of, near, nearer }) => h("li", {}, `${classes[of]} lies beside ${classes[near]}${nearer === null ? "" : `, but ${classes[nearer]} is nearer in the data`}.`))),
      );
    }
  }
  return parts.length > 0 ? [h("summary", {}, "What the map distorts"), ...parts] : [];
}
