/** A row's nearest rows: in the data, in the metric and on the map, and which of them the map keeps together. */

import type { Layer, Neighbors, Page } from "./types";

export type Where = "data" | "metric" | "map";
export const WHERE: Record<Where, string> = { data: "in the data", metric: "in the metric", map: "on the map" };

/** What there is to choose from for this row; nothing for rows that were placed. */
export function kinds({ neighbors }: Page, row: number): Where[] {
  if (!neighbors || neighbors.place[row] < 0) return [];
  return neighbors.metric ? ["data", "metric", "map"] : ["data", "map"];
}

/** The nearest rows, nearest first. */
export function nearest(page: Page, layer: Layer, row: number, where: Where): number[] {
  const { neighbors } = page;
  if (!neighbors || neighbors.place[row] < 0) return [];
  if (where === "map") return nearestOnMap(layer, neighbors, row);
  const table = where === "metric" ? (neighbors.metric ?? neighbors.data) : neighbors.data;
  const start = neighbors.place[row] * neighbors.count;
  return Array.from({ length: neighbors.count }, (_, i) => neighbors.rows[table[start + i]]);
}

/** The nearest on a layer, among the rows that have neighbours: the same number out of the same rows. */
export function nearestOnMap({ x, y }: Layer, { rows, count }: Neighbors, row: number): number[] {
  const found: { row: number; distance: number }[] = [];
  for (let i = 0; i < rows.length; i++) {
    const other = rows[i];
    if (other === row || x[other] < -8) continue;
    const distance = (x[other] - x[row]) ** 2 + (y[other] - y[row]) ** 2;
    if (found.length === count && distance >= found[count - 1].distance) continue;
    let place = found.length;
    while (place > 0 && found[place - 1].distance > distance) place--;
    found.splice(place, 0, { row: other, distance });
    if (found.length > count) found.pop();
  }
  return found.map((one) => one.row);
}
