import { describe, expect, it } from "vitest";
import { makeLayer } from "../src/decode";
import { classCentres, neighbourhood, neighbourhoodText, tornPairs, wrongGroups } from "../src/distortion";
import type { Page } from "../src/types";
import { examplePage } from "./make";

/** Four rows on a line, of which the first and the last are nearest to each other in the metric. */
function torn(): Page {
  const layer = makeLayer("map", "map", "", Float32Array.from([0, 0, 1, 0, 2, 0, 10, 0]));
  const neighbors = {
    rows: Int32Array.from([0, 1, 2, 3]), place: Int32Array.from([0, 1, 2, 3]), count: 1,
    data: Int32Array.from([1, 0, 3, 1]), metric: Int32Array.from([3, 2, 1, 0]), distances: Float32Array.from([0.5, 1, 1, 0.5]),
  };
  return { ...examplePage(), layers: [layer, { ...layer, id: "other" }], neighbors };
}

describe("what a map distorts", () => {
  it("tells rows torn away from rows pushed in", () => {
    const page = torn();
    const hood = neighbourhood(page, page.layers[0], 0)!;
    expect(hood).toEqual({ row: 0, where: "metric", near: [{ row: 3, kept: false, distance: 0.5 }], pushed: [1] });
    expect(neighbourhoodText(hood)).toBe("Of its 1 nearest rows in the metric of the map, 1 was torn away; 1 other was pushed in. The outer ring is at a distance of 0.5.");
    expect(neighbourhood(page, page.layers[0], 1)!.near[0].kept).toBe(false);
    expect(neighbourhood(page, page.layers[0], 2)!.pushed).toEqual([]);
  });
  it("goes by the data on other maps, whose distances it does not know", () => {
    const page = torn();
    expect(neighbourhood(page, page.layers[1], 0)).toEqual({ row: 0, where: "data", near: [{ row: 1, kept: true, distance: null }], pushed: [] });
  });
  it("knows nothing of rows without neighbours", () => {
    const page = torn();
    page.neighbors!.place[0] = -1;
    expect(neighbourhood(page, page.layers[0], 0)).toBeNull();
    expect(tornPairs({ ...page, neighbors: null }, page.layers[0])).toEqual({ pairs: [], total: 0 });
  });
  it("counts pairs that are nearest to each other and lie far apart", () => {
    const page = torn();
    expect(tornPairs(page, page.layers[0])).toEqual({ pairs: [0, 3], total: 2 });
    expect(tornPairs(page, page.layers[1])).toEqual({ pairs: [], total: 1 });
  });
  it("finds groups beside wrong ones by their names", () => {
    const page = { ...torn(), target: { ...examplePage().target, classes: ["a", "b", "c"] } };
    expect(wrongGroups(page)).toEqual([]);
    const arrangement = { wrong: [["a", "b"], ["b", "gone"], ["c", "a"]], nearer: ["c", "a"] };
    expect(wrongGroups({ ...page, report: { arrangement } })).toEqual([{ of: 0, near: 1, nearer: 2 }, { of: 2, near: 0, nearer: null }]);
    const [x] = classCentres(page.layers[0], Int32Array.from([0, 0, 1, -1]), 2);
    expect(x).toBeCloseTo((page.layers[0].x[0] + page.layers[0].x[1]) / 2);
  });
});
