/** Colours that people with a colour-vision deficiency can tell apart, and honest words where that ends. */

export type Rgb = [number, number, number];

/** Okabe & Ito (2008) without black and with a darker yellow, which has to be seen on white. */
const OKABE_ITO = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#c9b400", "#5b5b7a"];

/** Petroff (2021), ten colours optimised for colour-vision deficiencies; its two greys moved away from ours. */
const PETROFF = [
  "#3f90da",
  "#ffa90e",
  "#bd1f01",
  "#2f9e78",
  "#832db6",
  "#a96b59",
  "#e76300",
  "#b9ac70",
  "#4b5d8a",
  "#7fd0d3",
];

export const MISSING_LIGHT = "#b9bec7";
export const MISSING_DARK = "#5a626e";
export const SAFE_CLASSES = 10;

/** viridis at eleven even steps (van der Walt & Smith, 2015). */
const VIRIDIS = [
  "#440154", "#482576", "#414487", "#35608d", "#2a788e", "#21918c", "#22a884", "#43bf71", "#7ad151", "#bbdf27", "#fde725",
];

export function categorical(count: number, dark: boolean): string[] {
  if (count <= OKABE_ITO.length) {
    const colours = OKABE_ITO.slice(0, count);
    return dark ? colours.map((c) => (c === "#5b5b7a" ? "#a9a9c8" : c === "#0072b2" ? "#2f97d8" : c)) : colours;
  }
  if (count <= PETROFF.length) {
    const colours = PETROFF.slice(0, count);
    return dark ? colours.map((c) => (c === "#bd1f01" ? "#e0452a" : c === "#832db6" ? "#a75fd6" : c === "#4b5d8a" ? "#8094c4" : c)) : colours;
  }
  return generated(count, dark);
}

/** Golden-angle hues over three alternating lightness steps: as far apart as many colours can be. */
export function generated(count: number, dark: boolean): string[] {
  const steps = dark ? [0.78, 0.64, 0.88] : [0.58, 0.72, 0.44];
  return Array.from({ length: count }, (_, i) => {
    const hue = (i * 137.508 + 20) % 360;
    return toHex(oklch(steps[i % 3], 0.14, hue));
  });
}

/** viridis without the end that would vanish into the background. */
export function sequential(steps: number, dark: boolean): string[] {
  const [from, to] = dark ? [0.25, 1] : [0, 0.93];
  return Array.from({ length: steps }, (_, i) => {
    const t = (from + ((to - from) * i) / Math.max(1, steps - 1)) * (VIRIDIS.length - 1);
    const low = Math.min(VIRIDIS.length - 2, Math.floor(t));
    return toHex(mix(fromHex(VIRIDIS[low]), fromHex(VIRIDIS[low + 1]), t - low));
  });
}

export function fromHex(hex: string): Rgb {
  const value = parseInt(hex.slice(1, 7), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

export function toHex(rgb: Rgb): string {
  return `#${rgb.map((v) => Math.round(Math.min(255, Math.max(0, v))).toString(16).padStart(2, "0")).join("")}`;
}

export function mix(a: Rgb, b: Rgb, t: number): Rgb {
  return [a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t, a[2] + (b[2] - a[2]) * t];
}

/** OKLCH to sRGB (Ottosson, 2020). */
function oklch(lightness: number, chroma: number, hue: number): Rgb {
  const a = chroma * Math.cos((hue * Math.PI) / 180);
  const b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  return linear.map((v) => 255 * (v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055)) as Rgb;
}
