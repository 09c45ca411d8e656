/** Messages as packing.py writes them, built by hand. */

import type { Page } from "../src/types";
import { makeLayer } from "../src/decode";

export function pack(header: (add: (array: ArrayLike<number> & ArrayBufferView) => unknown) => unknown): ArrayBuffer {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const names = new Map<unknown, string>([
    [Float32Array, "f4"],
    [Int32Array, "i4"],
    [Uint8Array, "u1"],
  ]);
  const add = (array: ArrayLike<number> & ArrayBufferView) => {
    const reference = { dtype: names.get(array.constructor), shape: [array.length], offset: length };
    const raw = new Uint8Array(Math.ceil(array.byteLength / 8) * 8);
    raw.set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    chunks.push(raw);
    length += raw.length;
    return reference;
  };
  let text = JSON.stringify(header(add));
  while ((new TextEncoder().encode(text).length + 8) % 8 !== 0) text += " ";
  const head = new TextEncoder().encode(text);
  const out = new Uint8Array(8 + head.length + length);
  out.set(new TextEncoder().encode("PRSM"));
  new DataView(out.buffer).setUint32(4, head.length, true);
  out.set(head, 8);
  let at = 8 + head.length;
  for (const chunk of chunks) {
    out.set(chunk, at);
    at += chunk.length;
  }
  return out.buffer;
}

export function examplePage(): Page {
  const loaded = { kind: "number" as const, name: "Age", values: Float32Array.from([10, 20, 30, NaN]), unit: null };
  const city = { kind: "text" as const, name: "city", texts: ["Bonn", "Ulm"], codes: Int32Array.from([0, 1, 1, -1]) };
  return {
    version: "0", title: "example", n: 4,
    layers: [makeLayer("fisher", "Fisher", "", Float32Array.from([0, 0, 10, 0, 0, 10, 10, 10]))],
    target: { kind: "class", name: "kind", classes: ["cat", "dog"], unit: null, codes: Int32Array.from([0, 0, 1, -1]), values: null, predictedCodes: null, predictedValues: null },
    report: null, curves: [], notes: [], far: Uint8Array.from([0, 0, 0, 1]), misshown: null, quality: null, split: null, keywords: null,
    ids: ["alpha", "beta", "gamma", "=delta"], relevance: null, neighbors: null, raster: null, images: null,
    columns: [
      { name: "Age", kind: "number", loaded, load: () => Promise.resolve(loaded), expect: () => undefined },
      { name: "city", kind: "text", loaded: city, load: () => Promise.resolve(city), expect: () => undefined },
    ],
    leftOut: 0, versions: [], changes: [], live: null,
  };
}
