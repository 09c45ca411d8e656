import { describe, expect, it } from "vitest";
import { makeLayer } from "../src/decode";
import { between, goneRows, steps } from "../src/film";
import type { Page } from "../src/types";
import { examplePage } from "./make";

/** Three rows that move to the right by one a map; the last one is new on the last map. */
function months(): Page {
  const versions = [
    { label: "january", positions: Float32Array.from([0, 0, 0, 1, NaN, NaN]), gone: Float32Array.from([3, 3]) },
    { label: "february", positions: Float32Array.from([1, 0, 1, 1, NaN, NaN]), gone: new Float32Array() },
  ];
  const seen = versions.flatMap(({ positions, gone }) => [positions, gone]);
  const now = makeLayer("map", "map", "", Float32Array.from([2, 0, 2, 1, 2, 2]), seen);
  return { ...examplePage(), title: "march", n: 3, layers: [now], versions };
}

describe("maps in time", () => {
  it("are seen in one frame", () => {
    const page = months();
    const { frame } = page.layers[0];
    const list = steps(page);
    expect(list.map((one) => one.label)).toEqual(["january", "february", "march"]);
    for (const { x, y } of [...list, goneRows(page, 0)!]) expect(Math.max(...x, ...y)).toBeLessThan(1);
    list.forEach(({ x }, step) => expect(x[0] * frame.radius + frame.cx).toBeCloseTo(step));
  });
  it("move shared rows evenly, and show others in the half of the map that has them", () => {
    const page = months();
    const list = steps(page);
    const { frame } = page.layers[0];
    const early = between(page, list, 1.25);
    expect(early.x[0] * frame.radius + frame.cx).toBeCloseTo(1.25);
    expect(early.x[2]).toBeLessThan(-8);
    expect(between(page, list, 1.75).x[2]).toBeCloseTo(page.layers[0].x[2]);
    expect(between(page, list, 1).positions).toBe(page.versions[1].positions);
  });
  it("end with the map itself, which judges and layers know", () => {
    const page = months();
    expect(between(page, steps(page), 2)).toBe(page.layers[0]);
    expect(between(page, steps(page), 1.9).id).toBe("version");
  });
  it("show rows that are gone as long as their map is near", () => {
    const page = months();
    expect(goneRows(page, 0)!.share).toBe(1);
    expect(goneRows(page, 0.25)!.share).toBe(0.5);
    expect([goneRows(page, 1), goneRows(page, 2)]).toEqual([null, null]);
  });
});
