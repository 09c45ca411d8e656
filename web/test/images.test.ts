import { describe, expect, it } from "vitest";
import { meanAndRest, meanOf, paintDifference, pixelsOf, spritesApart } from "../src/images";

const grey = { data: Uint8Array.of(0, 10, 20, 30, 100, 200), height: 1, width: 2, channels: 1 };
const colour = { data: Uint8Array.of(1, 2, 3, 4, 5, 6), height: 1, width: 1, channels: 3 };

describe("pictures of rows", () => {
  it("are grey or in colour", () => {
    expect([...pixelsOf(grey, 1)]).toEqual([20, 20, 20, 255, 30, 30, 30, 255]);
    expect([...pixelsOf(colour, 1)]).toEqual([4, 5, 6, 255]);
  });
  it("have a mean, and one of the rest", () => {
    const all = meanOf(grey, [0, 1, 2]);
    expect([...all]).toEqual([40, 80]);
    const { mean, rest } = meanAndRest(grey, all, [0, 1], 3);
    expect([...mean]).toEqual([10, 20]);
    expect([...rest!]).toEqual([100, 200]);
    expect(meanAndRest(grey, all, [0, 1, 2], 3).rest).toBeNull();
  });
  it("differ from the rest in orange or blue, white where they do not", () => {
    const painted = paintDifference({ ...grey, width: 3 }, Float64Array.of(10, 0, 5), Float64Array.of(0, 10, 5));
    expect([...painted]).toEqual([213, 94, 0, 255, 0, 114, 178, 255, 255, 255, 255, 255]);
  });
  it("do not lie upon each other", () => {
    const places: Record<number, [number, number]> = { 0: [5, 5], 1: [7, 7], 2: [25, 5] };
    expect(spritesApart([0, 1, 2], (row) => places[row], 20)).toEqual([0, 2]);
  });
});
