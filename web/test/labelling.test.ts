import { describe, expect, it } from "vitest";
import { byCodes } from "../src/colouring";
import { makeLayer } from "../src/decode";
import { type Box, type PlacedLabel, layoutLabels } from "../src/labelling";
import { placeLabels } from "../src/labels";

const FRAME = { width: 800, height: 600, radius: 3 };
const SCREEN = { ax: 300, bx: 400, ay: -300, by: 300 };
const wide = (text: string) => 8 * text.length;

/** Round clouds of rows on a lattice of centres. */
function clouds(count: number, rows = 40, spread = 0.03) {
  const side = Math.ceil(Math.sqrt(count));
  const positions: number[] = [];
  const codes: number[] = [];
  for (let code = 0; code < count; code++) {
    for (let i = 0; i < rows; i++) {
      const [angle, far] = [2.4 * i, spread * Math.sqrt(i / rows)];
      positions.push((code % side) / side + far * Math.cos(angle), Math.floor(code / side) / side + far * Math.sin(angle));
      codes.push(code);
    }
  }
  const layer = makeLayer("l", "L", "", Float32Array.from(positions));
  const colour = byCodes("y", codes, Array.from({ length: count }, (_, code) => `species ${code}`), false);
  return { layer, colour, labels: placeLabels(layer, colour, new Set()) };
}

function pointsUnder({ left, top, right, bottom }: Box, { layer }: { layer: { x: Float32Array; y: Float32Array } }): number {
  let count = 0;
  for (let row = 0; row < layer.x.length; row++) {
    const [x, y] = [SCREEN.ax * layer.x[row] + SCREEN.bx, SCREEN.ay * layer.y[row] + SCREEN.by];
    if (x > left && x < right && y > top && y < bottom) count++;
  }
  return count;
}

const overlaps = (a: Box, b: Box) => a.left < b.right && a.right > b.left && a.top < b.bottom && a.bottom > b.top;

function check(placed: PlacedLabel[], map: Parameters<typeof pointsUnder>[1]) {
  placed.forEach(({ box }, i) => {
    expect(pointsUnder(box, map)).toBe(0);
    expect(Math.min(box.left, box.top, FRAME.width - box.right, FRAME.height - box.bottom)).toBeGreaterThanOrEqual(0);
    for (const other of placed.slice(0, i)) expect(overlaps(box, other.box)).toBe(false);
  });
}

describe("labelling", () => {
  it("puts names over no point, inside the frame and apart", () => {
    for (const count of [3, 16, 60]) {
      const map = clouds(count);
      const placed = layoutLabels(map.labels, { ...map, visible: null }, SCREEN, FRAME, wide);
      check(placed, map);
      expect(placed.length).toBeGreaterThan(0.7 * count);
    }
  });
  it("leads a line to the points of names that stand away from them", () => {
    // A disc of one class within a ring of another: its name has to stand outside both.
    const n = 6000;
    const far = (i: number) => Math.sqrt(i / n);
    const layer = makeLayer("l", "L", "", Float32Array.from({ length: 2 * n }, (_, k) => far(k >> 1) * (k % 2 ? Math.sin(2.4 * (k >> 1)) : Math.cos(2.4 * (k >> 1)))));
    const colour = byCodes("y", Array.from({ length: n }, (_, i) => (far(i) < 0.4 ? 0 : 1)), ["inner", "outer"], false);
    const map = { layer, colour, labels: placeLabels(layer, colour, new Set()) };
    const placed = layoutLabels(map.labels, { ...map, visible: null }, SCREEN, FRAME, wide);
    check(placed, map);
    const led = placed.filter(({ line }) => line !== null);
    expect(led.map(({ label }) => label.text)).toContain("inner");
    for (const { line, box, label } of led) {
      const [x0, y0, x1, y1] = line!;
      expect(x0 >= box.left && x0 <= box.right && y0 >= box.top && y0 <= box.bottom).toBe(true);
      const near = map.colour.codes.findIndex((code, row) => code === label.code && Math.hypot(SCREEN.ax * map.layer.x[row] + SCREEN.bx - x1, SCREEN.ay * map.layer.y[row] + SCREEN.by - y1) < 12);
      expect(near).toBeGreaterThanOrEqual(0);
    }
  });
  it("lets the first choose first, and leaves out those without room", () => {
    const map = clouds(4, 10, 0.01);
    const tiny = { width: 90, height: 42, radius: 2 };
    const screen = { ax: 15, bx: 45, ay: -15, by: 21 };
    const shown = (labels: typeof map.labels) => layoutLabels(labels, { ...map, visible: null }, screen, tiny, () => 80).map(({ label }) => label.code);
    expect(shown(map.labels).length).toBeLessThan(4);
    expect(shown(map.labels)[0]).toBe(map.labels[0].code);
    expect(shown([...map.labels].reverse())[0]).toBe(map.labels[3].code);
  });
  it("keeps away from tools, and has names for what is in view alone", () => {
    const map = clouds(3);
    const tools = { left: 0, top: 0, right: 800, bottom: 300 };
    for (const { box } of layoutLabels(map.labels, { ...map, visible: null }, SCREEN, FRAME, wide, [tools])) expect(overlaps(box, tools)).toBe(false);
    const zoomed = { ax: 3000, bx: 400 - 3000 * map.labels[0].x, ay: -3000, by: 300 + 3000 * map.labels[0].y };
    expect(layoutLabels(map.labels, { ...map, visible: null }, zoomed, FRAME, wide).map(({ label }) => label.code)).toEqual([map.labels[0].code]);
  });
});
