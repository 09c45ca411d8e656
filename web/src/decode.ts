/** From bytes to arrays: the reading half of `packing.py`. */

import { fitFrame, scaleInto } from "./geometry";
import type { ArrayRef, Column, ColumnHandle, ColumnHeader, Header, Layer, Neighbors, NumberArray, Page, TextColumn } from "./types";

const CONSTRUCTORS = {
  i1: Int8Array,
  i2: Int16Array,
  i4: Int32Array,
  u1: Uint8Array,
  u2: Uint16Array,
  u4: Uint32Array,
  f4: Float32Array,
  f8: Float64Array,
} as const;

/** Fetches columns that did not come along: how many, from which on. */
export type LoadColumns = (first: number, count: number) => Promise<Column[]>;

export class DamagedData extends Error {}

export interface Unpacked<H> {
  header: H;
  array: (ref: ArrayRef) => NumberArray;
}

/** Split a packed message into its header and a reader of its arrays. */
export function unpack<H>(message: ArrayBuffer): Unpacked<H> {
  const bytes = new Uint8Array(message);
  if (bytes.length < 8 || String.fromCharCode(...bytes.subarray(0, 4)) !== "PRSM") {
    throw new DamagedData("These bytes are not a prismap page.");
  }
  const length = new DataView(message).getUint32(4, true);
  if (8 + length > bytes.length) throw new DamagedData("The page's data are cut short.");
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length))) as H;
  const start = 8 + length;
  const array = (ref: ArrayRef): NumberArray => {
    const count = ref.shape.reduce((product, size) => product * size, 1);
    const Constructor = CONSTRUCTORS[ref.dtype];
    const offset = start + ref.offset;
    if (Constructor === undefined || offset + count * Constructor.BYTES_PER_ELEMENT > bytes.length) {
      throw new DamagedData("The page's data are cut short.");
    }
    return new Constructor(message, offset, count);
  };
  return { header, array };
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

export async function gunzip(bytes: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return await new Response(stream).arrayBuffer();
}

export function readColumn(header: ColumnHeader, array: (ref: ArrayRef) => NumberArray): Column {
  if (header.kind === "number" && header.values) {
    return { kind: "number", name: header.name, values: array(header.values), unit: header.unit ?? null };
  }
  if (header.kind === "text" && header.texts && header.codes) {
    return { kind: "text", name: header.name, texts: header.texts, codes: array(header.codes) };
  }
  throw new DamagedData(`The column '${header.name}' cannot be read.`);
}

/** The page's model; `loadColumns` fetches those columns that did not come along. */
export function readPage(message: ArrayBuffer, loadColumns?: LoadColumns): Page {
  const { header, array } = unpack<Header>(message);
  if (header.format !== 1) {
    throw new DamagedData(`This page's data have format ${header.format}; this viewer reads format 1.`);
  }
  const optional = <T extends NumberArray>(ref: ArrayRef | undefined): T | null => (ref ? (array(ref) as T) : null);
  const kind = header.target.kind;
  const versions = (header.versions ?? []).map(({ label, positions, gone }) => ({ label, positions: array(positions) as Float32Array, gone: array(gone) as Float32Array }));
  // All versions of the map are seen from the same place.
  const seen = versions.flatMap(({ positions, gone }) => [positions, gone]);
  return {
    version: header.version,
    title: header.title,
    n: header.n,
    layers: header.layers.map(({ id, label, note, positions, own, own_note }, i) => ({
      ...makeLayer(id, label, note, array(positions) as Float32Array, i === 0 ? seen : []),
      own: own
        ? { name: own.name, codes: optional<Int32Array>(own.codes), values: optional<Float32Array>(own.values), note: own_note ?? "" }
        : null,
    })),
    target: {
      kind,
      name: header.target.name,
      classes: header.target.classes ?? [],
      unit: header.target.unit ?? null,
      codes: optional<Int32Array>(header.target.codes),
      values: optional<Float32Array>(header.target.values),
      predictedCodes: kind === "class" ? optional<Int32Array>(header.target.predicted) : null,
      predictedValues: kind === "real" ? optional<Float32Array>(header.target.predicted) : null,
    },
    report: header.report ?? null,
    curves: header.curves.map((curve) => ({
      label: curve.label,
      k: array(curve.k) as Float32Array,
      r: array(curve.r_nx) as Float32Array,
    })),
    notes: header.notes,
    far: optional<Uint8Array>(header.far),
    misshown: optional<Uint8Array>(header.misshown),
    quality: optional<Float32Array>(header.quality),
    split: header.split ? (readColumn(header.split, array) as TextColumn) : null,
    keywords: header.keywords ? (readColumn(header.keywords, array) as TextColumn) : null,
    ids: header.ids ?? null,
    relevance: header.relevance
      ? { ...header.relevance, values: array(header.relevance.values), spread: header.relevance.spread ?? NaN }
      : null,
    neighbors: header.neighbors ? readNeighbors(header.neighbors, header.n, array) : null,
    raster: header.raster
      ? {
          rgba: array(header.raster.rgba) as Uint8Array,
          height: header.raster.rgba.shape[0],
          width: header.raster.rgba.shape[1],
          extent: header.raster.extent,
          legend: header.raster.legend,
          layer: header.raster.layer,
          fidelity: header.raster.fidelity ?? "",
        }
      : null,
    images: header.images
      ? { data: array(header.images) as Uint8Array, height: header.images.shape[1], width: header.images.shape[2], channels: header.images.shape[3] ?? 1 }
      : null,
    columns: columnHandles(header, array, loadColumns),
    leftOut: header.columns_left_out,
    versions,
    changes: header.changes ?? [],
    live: header.live ?? null,
  };
}

function readNeighbors(header: NonNullable<Header["neighbors"]>, n: number, array: (ref: ArrayRef) => NumberArray): Neighbors {
  const rows = array(header.rows);
  const place = new Int32Array(n).fill(-1);
  rows.forEach((row: number, i: number) => (place[row] = i));
  const { metric, distances } = header;
  return { rows, place, count: header.data.shape[1], data: array(header.data), metric: metric ? array(metric) : null, distances: distances ? array(distances) : null };
}

/** `seen`: what else has to fit into its frame. */
export function makeLayer(id: string, label: string, note: string, positions: Float32Array, seen: readonly Float32Array[] = []): Layer {
  const frame = fitFrame(positions, ...seen);
  return { id, label, note, positions, frame, own: null, ...scaleInto(positions, frame) };
}

function columnHandles(
  header: Header,
  array: (ref: ArrayRef) => NumberArray,
  loadColumns?: LoadColumns,
): ColumnHandle[] {
  if (header.live && loadColumns) {
    return header.live.columns.map((column, index) =>
      lazyHandle(column.name, column.kind, async () => (await loadColumns(index, 1))[0]),
    );
  }
  return header.columns.map((column) => {
    const loaded = readColumn(column, array);
    return { name: column.name, kind: column.kind, loaded, load: () => Promise.resolve(loaded), expect: () => undefined };
  });
}

function lazyHandle(name: string, kind: "number" | "text", fetchColumn: () => Promise<Column>): ColumnHandle {
  let pending: Promise<Column> | null = null;
  const handle: ColumnHandle = {
    name,
    kind,
    loaded: null,
    load: () => {
      if (pending === null) handle.expect(fetchColumn());
      return pending!;
    },
    expect: (coming) => {
      if (handle.loaded) return;
      pending = coming.then(
        (column) => (handle.loaded = column),
        (error: unknown) => {
          pending = null;
          throw error;
        },
      );
      // Whoever asks for the column hears of it; here nobody may be asking.
      pending.catch(() => undefined);
    },
  };
  return handle;
}
