import { describe, expect, it } from "vitest";
import { byCodes } from "../src/colouring";
import { makeLayer } from "../src/decode";
import { type MapPanel, shownPart, svgFigure, wrapped } from "../src/figure";
import { headlines } from "../src/report";

/** Two points near the middle of a wide frame. */
function panel(title = "map", colourTitle = "kind"): MapPanel {
  const layer = makeLayer("l", "L", "", Float32Array.from([0, 0, 10, 10]));
  return {
    title, layer, colour: byCodes(colourTitle, [0, 1], ["<cat>", "dog"], false), visible: null, hidden: new Set(), selection: [], labels: [],
    screen: { ax: 200, bx: 600, ay: -200, by: 250 }, width: 1200, height: 500, size: 6, opacity: 0.8, backdrop: null,
  };
}
const theme = { background: "#fff", text: "#111", muted: "#666" };
const sizeOf = (svg: string) => /width="(\d+)" height="(\d+)"/.exec(svg)!.slice(1).map(Number);

describe("figure", () => {
  it("holds title, verdict, error, baseline, legend and no empty half", () => {
    const svg = svgFigure({ ...theme, title: "My map", lines: ["The target shows.", "10-NN error 2 %, permuted labels 66 %"], maps: [panel()] })!;
    for (const words of ["My map", "The target shows.", "10-NN error 2 %, permuted labels 66 %", "&lt;cat&gt;", "dog", "kind"]) expect(svg).toContain(`>${words}</text>`);
    const [width] = sizeOf(svg);
    expect(width).toBeLessThan(640);
    const part = shownPart(panel(), [{ x: 420, y: 60, colour: "", faded: false }, { x: 790, y: 440, colour: "", faded: false }]);
    expect(part).toEqual({ left: 406, top: 46, right: 804, bottom: 454 });
  });
  it("shows both maps, with one legend where it is the same", () => {
    const count = (svg: string, words: string) => svg.split(`>${words}</text>`).length - 1;
    const both = svgFigure({ ...theme, title: "t", lines: [], maps: [panel("map"), panel("without target")] })!;
    expect([count(both, "map"), count(both, "without target"), count(both, "dog")]).toEqual([1, 1, 1]);
    const other = svgFigure({ ...theme, title: "t", lines: [], maps: [panel("map"), panel("map", "colour")] })!;
    expect(count(other, "dog")).toBe(2);
    expect(sizeOf(both)[0]).toBeGreaterThan(850);
  });
  it("wraps long lines and widens specks", () => {
    expect(wrapped("one two three", 10, 45)).toEqual(["one two", "three"]);
    const speck = shownPart(panel(), [{ x: 10, y: 10, colour: "", faded: false }]);
    expect([speck.right - speck.left, speck.bottom - speck.top]).toEqual([220, 220]);
    expect(Math.min(speck.left, speck.top)).toBeGreaterThanOrEqual(0);
  });
  it("says the error beside its baseline", () => {
    const scores = [{ name: "10-NN error", value: { value: 0.155, spread: 0.011 }, permuted: { mean: 0.363, spread: null } }];
    expect(headlines({ target: "class", verdict: "It shows. More.", target_shows: true, scores })).toEqual(["It shows.", "10-NN error 16 % ± 1.1 %, permuted labels 36 %"]);
    expect(headlines(null)).toEqual([]);
  });
});
