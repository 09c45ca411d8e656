import { describe, expect, it } from "vitest";
import { type Brush, bars, both, brushed, packBrushes, unpackBrushes } from "../src/brush";
import type { Column, ColumnHandle } from "../src/types";

const size: Column = { kind: "number", name: "size", values: Float32Array.of(1, 2, 3, 4, NaN), unit: null };
const city: Column = { kind: "text", name: "city", texts: ["Ulm", "Bonn"], codes: Int8Array.of(0, 1, 1, -1, 0) };
const handle = (loaded: Column | null): ColumnHandle => ({ name: "", kind: "number", loaded, load: () => Promise.reject(new Error()), expect: () => undefined });
const page = { n: 5, columns: [handle(size), handle(city), handle(null)] };

describe("brushes", () => {
  it("leave rows that all of them leave; missing values are outside", () => {
    const brushes = new Map<number, Brush>([[0, { low: 2, high: 4 }], [1, { codes: new Set([1]) }]]);
    expect(brushed(page, brushes)).toEqual(Uint8Array.of(0, 1, 1, 0, 0));
    expect(brushed(page, new Map([[0, { low: 0, high: 9 }]]))).toEqual(Uint8Array.of(1, 1, 1, 1, 0));
    expect(brushed(page, new Map([[2, { low: 0, high: 1 }]]))).toBeNull();
    expect(brushed(page, new Map())).toBeNull();
  });
  it("go with other filters", () => {
    expect(both(null, Uint8Array.of(1, 0))).toEqual(Uint8Array.of(1, 0));
    expect(both(Uint8Array.of(1, 1), Uint8Array.of(1, 0))).toEqual(Uint8Array.of(1, 0));
    expect(both(null, null)).toBeNull();
  });
  it("survive an address, and nothing else does", () => {
    const brushes = new Map<number, Brush>([[0, { low: -1.5, high: 4 }], [1, { codes: new Set([0, 1]) }]]);
    expect(unpackBrushes(packBrushes(brushes), 3)).toEqual(brushes);
    for (const bad of ["", "9~1~2", "0~a~2", "x~1~2", "0~1", "0~~", "-1~1~2", "1~~a.b"]) expect(unpackBrushes(bad, 3).size).toBe(0);
  });
});

describe("bars", () => {
  it("count all rows and those that are left; whole numbers have a bar each", () => {
    const found = bars(size, Uint8Array.of(1, 1, 0, 0, 0));
    expect(found).toMatchObject({ low: 1, high: 4 });
    expect(found.bars.map((bar) => [bar.all, bar.left])).toEqual([[1, 1], [1, 1], [1, 0], [1, 0]]);
    expect(bars({ ...size, values: Float32Array.of(NaN, NaN) }, null).bars).toEqual([]);
    expect(bars({ ...size, values: Float32Array.of(7, 7) }, null).bars.map((bar) => bar.all)).toEqual([2]);
  });
  it("of texts are sorted by number, and the rare ones share one", () => {
    expect(bars(city, null).bars.map((bar) => [bar.label, bar.all])).toEqual([["Ulm", 2], ["Bonn", 2]]);
    const many: Column = { kind: "text", name: "id", texts: Array.from({ length: 20 }, (_, i) => `v${i}`), codes: Int8Array.from({ length: 20 }, (_, i) => i) };
    const found = bars(many, null).bars;
    expect(found).toHaveLength(8);
    expect(found[7]).toMatchObject({ label: "13 others", all: 13 });
  });
});
