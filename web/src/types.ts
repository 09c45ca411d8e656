/** What the packed header says; `prismap/page` writes it. */

export type NumberArray =
  | Int8Array
  | Int16Array
  | Int32Array
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | Float32Array
  | Float64Array;

/** Points in time are numbers: days or seconds since 1970. */
export type Unit = "date" | "time" | null;

export interface ArrayRef {
  dtype: "i1" | "i2" | "i4" | "u1" | "u2" | "u4" | "f4" | "f8";
  shape: number[];
  offset: number;
}

export interface ColumnHeader {
  name: string;
  kind: "number" | "text";
  unit?: "date" | "time";
  values?: ArrayRef;
  texts?: string[];
  codes?: ArrayRef;
}

export interface TargetHeader {
  kind: "class" | "real" | "none";
  name: string;
  classes?: string[];
  codes?: ArrayRef;
  values?: ArrayRef;
  predicted?: ArrayRef;
  unit?: "date";
}

export interface Header {
  format: number;
  version: string;
  title: string;
  n: number;
  layers: { id: string; label: string; note: string; positions: ArrayRef; own?: TargetHeader; own_note?: string }[];
  target: TargetHeader;
  report?: Record<string, unknown> | null;
  curves: { label: string; k: ArrayRef; r_nx: ArrayRef }[];
  notes: string[];
  far?: ArrayRef;
  misshown?: ArrayRef;
  quality?: ArrayRef;
  split?: ColumnHeader;
  keywords?: ColumnHeader;
  ids?: string[];
  relevance?: { names: string[]; values: ArrayRef; baseline: number; spread: number | null; threshold: number };
  neighbors?: { rows: ArrayRef; data: ArrayRef; metric?: ArrayRef; distances?: ArrayRef };
  raster?: { rgba: ArrayRef; extent: [number, number, number, number]; legend: string; layer: string; fidelity?: string };
  images?: ArrayRef;
  columns: ColumnHeader[];
  columns_left_out: number;
  versions?: { label: string; positions: ArrayRef; gone: ArrayRef }[];
  changes?: string[];
  live?: LiveHeader;
}

/** What the server can do beyond showing; absent in a file. */
export interface LiveHeader {
  columns: { name: string; kind: "number" | "text" }[];
  transform: boolean;
  relevance: boolean;
  reembed: boolean;
  /** Whether the map can be shaped by hand. */
  shape?: boolean;
  /** The job that judges the map while it is already looked at. */
  judging?: string | null;
  supervision: number;
  /** The view as it was last left. */
  view: string;
}

export interface NumberColumn {
  kind: "number";
  name: string;
  values: NumberArray;
  unit: Unit;
}

export interface TextColumn {
  kind: "text";
  name: string;
  texts: string[];
  codes: NumberArray;
}

export type Column = NumberColumn | TextColumn;

/** A column that may still have to be fetched. */
export interface ColumnHandle {
  name: string;
  kind: "number" | "text";
  loaded: Column | null;
  load: () => Promise<Column>;
  /** The column is on its way with others: nobody has to fetch it again. */
  expect: (coming: Promise<Column>) => void;
}

export interface Layer {
  id: string;
  label: string;
  note: string;
  /** As given, x0 y0 x1 y1 ... */
  positions: Float32Array;
  /** Scaled into [-1, 1] with one factor for both axes. */
  x: Float32Array;
  y: Float32Array;
  frame: Frame;
  /** The target this layer was made with, where it is not the page's: a shuffled one. */
  own: OwnTarget | null;
}

export interface OwnTarget {
  name: string;
  codes: Int32Array | null;
  values: Float32Array | null;
  note: string;
}

/** position = centre + radius * scaled */
export interface Frame {
  cx: number;
  cy: number;
  radius: number;
}

export interface Curve {
  label: string;
  k: Float32Array;
  r: Float32Array;
}

/** How well each column alone keeps the map's neighbourhoods, and how well shuffled columns do. */
export interface Relevance {
  names: string[];
  values: NumberArray;
  baseline: number;
  spread: number;
  threshold: number;
}

/** The nearest rows of those rows that have some, nearest first, as places among these rows. */
export interface Neighbors {
  rows: NumberArray;
  /** The place of each row of the page in `rows`, -1 for those without neighbours. */
  place: Int32Array;
  count: number;
  data: NumberArray;
  metric: NumberArray | null;
  /** To the nearest rows in the metric, or in the data where that is the metric. */
  distances: NumberArray | null;
}

export interface Images {
  data: Uint8Array;
  height: number;
  width: number;
  /** 1 is grey, 3 is red, green and blue. */
  channels: number;
}

export interface RasterImage {
  rgba: Uint8Array;
  height: number;
  width: number;
  extent: [number, number, number, number];
  legend: string;
  layer: string;
  /** How far it shows what the model does. */
  fidelity: string;
}

export interface Page {
  version: string;
  title: string;
  n: number;
  layers: Layer[];
  target: {
    kind: "class" | "real" | "none";
    name: string;
    classes: string[];
    unit: Unit;
    codes: Int32Array | null;
    values: Float32Array | null;
    predictedCodes: Int32Array | null;
    predictedValues: Float32Array | null;
  };
  report: Record<string, unknown> | null;
  curves: Curve[];
  notes: string[];
  far: Uint8Array | null;
  misshown: Uint8Array | null;
  quality: Float32Array | null;
  split: TextColumn | null;
  /** What the cluster of each row is about, where the rows are texts. */
  keywords: TextColumn | null;
  ids: string[] | null;
  relevance: Relevance | null;
  neighbors: Neighbors | null;
  raster: RasterImage | null;
  images: Images | null;
  columns: ColumnHandle[];
  leftOut: number;
  /** The rows on the maps before the first layer, and rows that only those have, the oldest first. */
  versions: { label: string; positions: Float32Array; gone: Float32Array }[];
  /** What has changed since the last of them. */
  changes: string[];
  live: LiveHeader | null;
}
