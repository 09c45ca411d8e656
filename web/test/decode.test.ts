import { gzipSync } from "node:zlib";
import { describe, expect, it, vi } from "vitest";
import { DamagedData, fromBase64, gunzip, readPage, unpack } from "../src/decode";
import { pack } from "./make";

const message = () =>
  pack((add) => ({
    format: 1, version: "1", title: "t", n: 3,
    layers: [{ id: "a", label: "A", note: "", positions: add(Float32Array.from([0, 0, 4, 2, NaN, 0])) }],
    target: { kind: "class", name: "y", classes: ["u", "v"], codes: add(Int32Array.from([0, 1, -1])) },
    curves: [], notes: [], columns: [{ name: "c", kind: "text", texts: ["x"], codes: add(Int32Array.from([0, -1, 0])) }],
    columns_left_out: 1,
  }));

describe("unpack", () => {
  it("reads the arrays the header points at", () => {
    const page = readPage(message());
    expect([...page.target.codes!]).toEqual([0, 1, -1]);
    expect(page.columns[0].loaded).toMatchObject({ kind: "text", texts: ["x"] });
    expect(page.leftOut).toBe(1);
  });

  it("scales positions into the square and keeps rows without a position out of it", () => {
    const { x, y } = readPage(message()).layers[0];
    expect(Math.max(...x.slice(0, 2), ...y.slice(0, 2))).toBeLessThanOrEqual(1);
    expect(Math.abs(x[0])).toBeCloseTo(1 / 1.06);
    expect(x[2]).toBe(-9);
  });

  it("refuses foreign, cut and newer bytes in words", () => {
    expect(() => unpack(new ArrayBuffer(20))).toThrow(DamagedData);
    expect(() => readPage(message().slice(0, -9))).toThrow("cut short");
    expect(() => readPage(pack(() => ({ format: 2 })))).toThrow("format 2");
  });

  it("asks for a lazy column once, and again after a failure", async () => {
    const live = pack((add) => ({
      format: 1, title: "t", n: 1, layers: [{ id: "a", label: "A", note: "", positions: add(Float32Array.from([0, 0])) }],
      target: { kind: "none", name: "" }, curves: [], notes: [], columns: [], columns_left_out: 0,
      live: { columns: [{ name: "c", kind: "number" }] },
    }));
    const column = { kind: "number" as const, name: "c", values: Float32Array.from([1]) };
    const load = vi.fn().mockRejectedValueOnce(new Error("gone")).mockResolvedValue([column]);
    const handle = readPage(live, load).columns[0];
    await expect(handle.load()).rejects.toThrow("gone");
    await Promise.all([handle.load(), handle.load()]);
    expect(load).toHaveBeenCalledTimes(2);
    expect(handle.loaded).toBe(column);
  });

  it("undoes gzip and base64", async () => {
    const text = gzipSync(new Uint8Array(message())).toString("base64");
    expect(new Uint8Array(await gunzip(fromBase64(`\n${text}\n`)))).toEqual(new Uint8Array(message()));
  });
});
