/** The current view as a figure with its legend: SVG text, or the same drawn on a canvas for PNG. */

import type { Colouring } from "./colouring";
import type { Screen } from "./geometry";
import type { Label } from "./labels";
import { format } from "./stats";
import type { Layer } from "./types";

export const SVG_POINTS_AT_MOST = 50_000;

export interface FigureContent {
  title: string;
  subtitle: string;
  layer: Layer;
  colour: Colouring;
  visible: Uint8Array | null;
  hidden: ReadonlySet<number>;
  selection: readonly number[];
  labels: Label[];
  screen: Screen;
  width: number;
  height: number;
  size: number;
  opacity: number;
  background: string;
  text: string;
  muted: string;
  backdrop: CanvasImageSource | null;
}

interface Dot {
  x: number;
  y: number;
  colour: string;
  faded: boolean;
}

const SIDEBAR = 190;
const TOP = 56;

function dots(content: FigureContent): Dot[] {
  const { layer, colour, visible, screen, width, height } = content;
  const chosen = new Set(content.selection);
  const list: Dot[] = [];
  for (let row = 0; row < layer.x.length; row++) {
    if (visible && !visible[row]) continue;
    const x = screen.ax * layer.x[row] + screen.bx;
    const y = screen.ay * layer.y[row] + screen.by;
    if (x < 0 || y < 0 || x > width || y > height) continue;
    list.push({ x, y, colour: colour.colours[colour.codes[row]], faded: chosen.size > 0 && !chosen.has(row) });
  }
  return list;
}

function legendLines(content: FigureContent): { colour: string; text: string }[] {
  const { colour, hidden } = content;
  if (colour.kind === "categories") {
    const lines = colour.categories
      .map((category, code) => ({ colour: category.colour, text: category.label, code }))
      .filter((entry) => !hidden.has(entry.code));
    if (colour.missing > 0) lines.push({ colour: colour.colours.at(-1)!, text: "unlabelled", code: -1 });
    const room = Math.max(1, Math.floor((content.height - 28) / 20));
    if (lines.length <= room) return lines;
    return [...lines.slice(0, room - 1), { colour: content.background, text: `and ${lines.length - room + 1} more`, code: -1 }];
  }
  return [0, 0.25, 0.5, 0.75, 1].map((t) => ({
    colour: colour.colours[Math.round(t * (colour.colours.length - 2))],
    text: format(colour.min + t * (colour.max - colour.min), colour.unit),
  }));
}

export function escapeXml(text: string): string {
  // Characters XML 1.0 forbids are dropped, the rest is escaped.
  // eslint-disable-next-line no-control-regex
  const clean = text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "");
  return clean.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

/** SVG, or null when there are more points than a vector file should hold. */
export function svgFigure(content: FigureContent): string | null {
  const points = dots(content);
  if (points.length > SVG_POINTS_AT_MOST) return null;
  const { width, height, text, muted } = content;
  const font = `font-family="system-ui, sans-serif"`;
  const circles = points.map(
    ({ x, y, colour, faded }) =>
      `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${content.size / 2}" fill="${colour}" fill-opacity="${faded ? 0.12 : content.opacity}"/>`,
  );
  const names = content.labels.map(({ text: name, x, y }) => {
    const [px, py] = [content.screen.ax * x + content.screen.bx, content.screen.ay * y + content.screen.by];
    return `<text x="${px.toFixed(1)}" y="${py.toFixed(1)}" text-anchor="middle" dominant-baseline="middle" font-size="13" font-weight="600" fill="${text}" stroke="${content.background}" stroke-width="3" paint-order="stroke" ${font}>${escapeXml(name)}</text>`;
  });
  const legend = legendLines(content).map(
    ({ colour, text: name }, i) =>
      `<circle cx="${width + 16}" cy="${TOP + 28 + 20 * i}" r="5" fill="${colour}"/><text x="${width + 28}" y="${TOP + 32 + 20 * i}" font-size="12" fill="${text}" ${font}>${escapeXml(name)}</text>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width + SIDEBAR}" height="${height + TOP}" viewBox="0 0 ${width + SIDEBAR} ${height + TOP}">`,
    `<rect width="100%" height="100%" fill="${content.background}"/>`,
    `<text x="16" y="26" font-size="17" font-weight="600" fill="${text}" ${font}>${escapeXml(content.title)}</text>`,
    `<text x="16" y="45" font-size="12" fill="${muted}" ${font}>${escapeXml(content.subtitle)}</text>`,
    `<g transform="translate(0 ${TOP})">${circles.join("")}${names.join("")}</g>`,
    `<text x="${width + 10}" y="${TOP + 10}" font-size="12" font-weight="600" fill="${text}" ${font}>${escapeXml(content.colour.title)}</text>`,
    ...legend,
    "</svg>",
  ].join("\n");
}

export async function pngFigure(content: FigureContent, scale = 2): Promise<Blob> {
  const canvas = document.createElement("canvas");
  canvas.width = (content.width + SIDEBAR) * scale;
  canvas.height = (content.height + TOP) * scale;
  const pen = canvas.getContext("2d")!;
  pen.scale(scale, scale);
  pen.fillStyle = content.background;
  pen.fillRect(0, 0, content.width + SIDEBAR, content.height + TOP);
  drawMap(pen, content, TOP);
  pen.textBaseline = "alphabetic";
  pen.textAlign = "left";
  write(pen, content.title, 16, 26, "600 17px system-ui, sans-serif", content.text);
  write(pen, content.subtitle, 16, 45, "12px system-ui, sans-serif", content.muted);
  write(pen, content.colour.title, content.width + 10, TOP + 10, "600 12px system-ui, sans-serif", content.text);
  legendLines(content).forEach(({ colour, text }, i) => {
    disc(pen, content.width + 16, TOP + 28 + 20 * i, 5, colour);
    write(pen, text, content.width + 28, TOP + 32 + 20 * i, "12px system-ui, sans-serif", content.text);
  });
  return await new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the browser made no picture"))), "image/png"),
  );
}

/** The points on a plain canvas: for PNG files, and on screen where WebGL is missing. */
export function drawMap(pen: CanvasRenderingContext2D, content: FigureContent, top: number): void {
  const { screen } = content;
  pen.save();
  pen.translate(0, top);
  pen.beginPath();
  pen.rect(0, 0, content.width, content.height);
  pen.clip();
  if (content.backdrop) {
    pen.drawImage(content.backdrop, screen.bx - screen.ax, screen.by + screen.ay, 2 * screen.ax, -2 * screen.ay);
  }
  for (const { x, y, colour, faded } of dots(content)) {
    pen.globalAlpha = faded ? 0.12 : content.opacity;
    disc(pen, x, y, content.size / 2, colour);
  }
  pen.globalAlpha = 1;
  for (const label of content.labels) {
    pen.font = "600 13px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.lineWidth = 4;
    pen.lineJoin = "round";
    pen.strokeStyle = content.background;
    const [x, y] = [screen.ax * label.x + screen.bx, screen.ay * label.y + screen.by];
    pen.strokeText(label.text, x, y);
    pen.fillStyle = content.text;
    pen.fillText(label.text, x, y);
  }
  pen.restore();
}

function disc(pen: CanvasRenderingContext2D, x: number, y: number, radius: number, colour: string): void {
  pen.fillStyle = colour;
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.fill();
}

function write(pen: CanvasRenderingContext2D, text: string, x: number, y: number, font: string, colour: string): void {
  pen.font = font;
  pen.fillStyle = colour;
  pen.fillText(text, x, y);
}
