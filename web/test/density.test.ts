import { describe, expect, it } from "vitest";
import { blur, contourLines, contours, countRows } from "../src/contours";
import { rowsInView, styleFor } from "../src/pointstyle";
import { makeLayer } from "../src/decode";

const disc = (n: number) => {
  const positions = new Float32Array(2 * n);
  for (let i = 0; i < n; i++) {
    const radius = Math.sqrt((i + 0.5) / n);
    positions[2 * i] = radius * Math.cos(2.4 * i);
    positions[2 * i + 1] = radius * Math.sin(2.4 * i);
  }
  return makeLayer("disc", "disc", "", positions);
};

describe("contours", () => {
  it("follow the level of a cone at the right radius", () => {
    const grid = 64;
    const cone = Float64Array.from({ length: grid * grid }, (_, cell) => {
      const x = (2 * ((cell % grid) + 0.5)) / grid - 1;
      const y = 1 - (2 * (Math.floor(cell / grid) + 0.5)) / grid;
      return 1 - Math.hypot(x, y);
    });
    const lines = contourLines(cone, grid, 0.5);
    expect(lines.length).toBeGreaterThan(400);
    for (let i = 0; i < lines.length; i += 2) expect(Math.hypot(lines[i], lines[i + 1])).toBeCloseTo(1.15 * 0.5, 2);
  });
  it("lose no rows in smoothing away from the border", () => {
    const values = new Float64Array(40 * 40);
    values[20 * 40 + 17] = 3;
    expect(blur(values, 40, 2).reduce((sum, value) => sum + value, 0)).toBeCloseTo(3, 9);
    expect(blur(values, 40, 2)[20 * 40 + 17]).toBeCloseTo((3 * 1) / (2 * Math.PI * 4), 2);
  });
  it("hold the share of the rows that they say, and leave out what is hidden", () => {
    const layer = disc(4000);
    const widths = contours(layer, null).map((lines) => Math.max(...lines.map(Math.abs)));
    expect(widths).toHaveLength(4);
    expect(widths[3]).toBeGreaterThan(0.8);
    expect(contours(layer, new Uint8Array(4000))).toEqual([]);
    expect(countRows(layer, null, 10).rows).toBe(4000);
  });
});

describe("points", () => {
  it("shrink and pale as more are in view, without jumps", () => {
    const sizes = [10, 1000, 5000, 20_000, 100_000, 500_000, 5_000_000].map((n) => styleFor(n).size);
    expect([...sizes].sort((a, b) => b - a)).toEqual(sizes);
    expect(styleFor(1501).size).toBeCloseTo(styleFor(1499).size, 1);
    expect(styleFor(2_000_000).opacity).toBe(0.12);
  });
  it("are counted where they can be seen", () => {
    const layer = disc(1000);
    const whole = { ax: 50, bx: 50, ay: -50, by: 50 };
    expect(rowsInView(layer, null, whole, 100, 100)).toBe(1000);
    const right = rowsInView(layer, null, { ...whole, bx: 0 }, 100, 100);
    expect(Math.abs(right - 500)).toBeLessThan(20);
    expect(rowsInView(layer, new Uint8Array(1000), whole, 100, 100)).toBe(0);
  });
});
