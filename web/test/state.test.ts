import { describe, expect, it } from "vitest";
import { decodeView, encodeView, packRows, unpackRows } from "../src/share";
import { Store, type ViewState, toggled } from "../src/state";

const base: ViewState = {
  layer: "fisher", colour: "target", hidden: new Set(), window: null, charts: [], brushes: new Map(), beside: null, selection: [], local: true, torn: false, wrong: false, time: 0, size: 5, opacity: 0.8,
  raster: true, rings: true, density: true, contours: false, sprites: true, auto: true, labels: true, own: true, tab: "verdict",
};
const known = { layers: ["fisher", "permuted"], colours: ["target", "column:0"], columns: 3, n: 100, versions: 0 };

describe("store", () => {
  it("undoes and redoes choices but not looks", () => {
    const store = new Store(base);
    store.set({ selection: [1] });
    store.set({ size: 9 });
    store.set({ layer: "permuted" });
    expect(store.undo()).toBe(true);
    expect(store.state).toMatchObject({ layer: "fisher", selection: [1], size: 9 });
    store.undo();
    expect(store.state.selection).toEqual([]);
    expect(store.undo()).toBe(false);
    store.redo();
    store.redo();
    expect(store.state).toMatchObject({ layer: "permuted", selection: [1] });
  });
  it("forgets the redo after a new choice, and starts each colouring unfiltered", () => {
    const store = new Store(base);
    store.set({ hidden: new Set([1]) });
    store.set({ colour: "column:0" });
    expect(store.state.hidden.size).toBe(0);
    store.undo();
    expect([...store.state.hidden]).toEqual([1]);
    store.set({ selection: [2] });
    expect(store.canRedo).toBe(false);
  });
  it("toggles without touching the old set", () => {
    const before = new Set([1]);
    expect([...toggled(before, 2)]).toEqual([1, 2]);
    expect([...toggled(before, 1)]).toEqual([]);
    expect(before.size).toBe(1);
  });
});

describe("links", () => {
  it("come back as they were", () => {
    const state: ViewState = { ...base, layer: "permuted", colour: "column:0", hidden: new Set([2, 0]), window: [3, 9], selection: [1, 2, 3, 50], size: 7, rings: false, tab: "features" };
    const { hash, complete } = encodeView(state, base, [0.25, -0.5, 0.3]);
    const back = decodeView(`#${hash}`, known);
    expect(complete).toBe(true);
    expect({ ...base, ...back.state, hidden: [...back.state.hidden!].sort() }).toEqual({ ...state, hidden: [0, 2] });
    expect(back.camera).toEqual([0.25, -0.5, 0.3]);
    expect(encodeView(base, base, null).hash).toBe("");
  });
  it("never bring in what the page does not have", () => {
    const hash = "layer=<b>&colour=column:7&size=1e9&opacity=-1&hide=x&window=9.3&tab=admin&rows=1*zzzz&view=1_2_0&raster=maybe";
    const { state, camera } = decodeView(hash, known);
    expect(state).toEqual({ selection: Array.from({ length: 100 }, (_, i) => i) });
    expect(camera).toBeNull();
    expect(decodeView("rows=%00&size=", known).state).toEqual({ selection: [] });
  });
  it("pack rows into gaps and runs", () => {
    for (const rows of [[], [0], [5], [0, 1, 2, 3], [7, 8, 20, 22, 24, 1000]]) expect(unpackRows(packRows(rows))).toEqual(rows);
    expect(packRows([3, 4, 5, 6, 7])).toBe("4.1*4");
  });
  it("leave out a selection that is too long for an address, and say so", () => {
    const scattered = Array.from({ length: 9000 }, (_, i) => i * i);
    expect(encodeView({ ...base, selection: scattered }, base, null)).toEqual({ hash: "", complete: false });
  });
});
