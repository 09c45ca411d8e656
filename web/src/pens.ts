/** What a figure is drawn with: the same few strokes become SVG text or pixels. */

export interface TextStyle {
  size: number;
  colour: string;
  weight?: number;
  anchor?: "start" | "middle";
  /** Colour of an outline that keeps words readable over anything. */
  halo?: string;
}

export interface Pen {
  rect: (x: number, y: number, width: number, height: number, colour: string) => void;
  disc: (x: number, y: number, radius: number, colour: string, opacity: number) => void;
  line: (from: [number, number], to: [number, number], width: number, colour: string) => void;
  /** Words on a line whose middle is at y. */
  text: (words: string, x: number, y: number, style: TextStyle) => void;
  image: (picture: HTMLCanvasElement, x: number, y: number, width: number, height: number) => void;
  /** Draw within a box of the figure; (0, 0) is moved to (dx, dy). */
  within: (box: { x: number; y: number; width: number; height: number }, dx: number, dy: number, draw: () => void) => void;
}

const FAMILY = "system-ui, sans-serif";

export class CanvasPen implements Pen {
  constructor(private readonly pen: CanvasRenderingContext2D) {}

  rect(x: number, y: number, width: number, height: number, colour: string): void {
    this.pen.fillStyle = colour;
    this.pen.fillRect(x, y, width, height);
  }

  disc(x: number, y: number, radius: number, colour: string, opacity: number): void {
    this.pen.globalAlpha = opacity;
    this.pen.fillStyle = colour;
    this.pen.beginPath();
    this.pen.arc(x, y, radius, 0, 2 * Math.PI);
    this.pen.fill();
    this.pen.globalAlpha = 1;
  }

  line([x0, y0]: [number, number], [x1, y1]: [number, number], width: number, colour: string): void {
    this.pen.lineWidth = width;
    this.pen.strokeStyle = colour;
    this.pen.beginPath();
    this.pen.moveTo(x0, y0);
    this.pen.lineTo(x1, y1);
    this.pen.stroke();
  }

  text(words: string, x: number, y: number, { size, colour, weight = 400, anchor = "start", halo }: TextStyle): void {
    this.pen.font = `${weight} ${size}px ${FAMILY}`;
    this.pen.textAlign = anchor === "middle" ? "center" : "left";
    this.pen.textBaseline = "middle";
    if (halo) {
      this.pen.lineJoin = "round";
      this.pen.lineWidth = 4;
      this.pen.strokeStyle = halo;
      this.pen.strokeText(words, x, y);
    }
    this.pen.fillStyle = colour;
    this.pen.fillText(words, x, y);
  }

  image(picture: HTMLCanvasElement, x: number, y: number, width: number, height: number): void {
    this.pen.drawImage(picture, x, y, width, height);
  }

  within(box: { x: number; y: number; width: number; height: number }, dx: number, dy: number, draw: () => void): void {
    this.pen.save();
    this.pen.beginPath();
    this.pen.rect(box.x, box.y, box.width, box.height);
    this.pen.clip();
    this.pen.translate(dx, dy);
    draw();
    this.pen.restore();
  }
}

export class SvgPen implements Pen {
  private readonly parts: string[] = [];
  private clips = 0;

  rect(x: number, y: number, width: number, height: number, colour: string): void {
    this.parts.push(`<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" fill="${escapeXml(colour)}"/>`);
  }

  disc(x: number, y: number, radius: number, colour: string, opacity: number): void {
    this.parts.push(`<circle cx="${round(x)}" cy="${round(y)}" r="${round(radius)}" fill="${escapeXml(colour)}"${opacity < 1 ? ` fill-opacity="${round(opacity)}"` : ""}/>`);
  }

  line([x0, y0]: [number, number], [x1, y1]: [number, number], width: number, colour: string): void {
    this.parts.push(`<path d="M${round(x0)} ${round(y0)}L${round(x1)} ${round(y1)}" stroke="${escapeXml(colour)}" stroke-width="${width}"/>`);
  }

  text(words: string, x: number, y: number, { size, colour, weight = 400, anchor = "start", halo }: TextStyle): void {
    const outline = halo ? ` stroke="${escapeXml(halo)}" stroke-width="4" stroke-linejoin="round" paint-order="stroke"` : "";
    this.parts.push(`<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}" dominant-baseline="central" font-family="${FAMILY}" font-size="${size}" font-weight="${weight}" fill="${escapeXml(colour)}"${outline}>${escapeXml(words)}</text>`);
  }

  image(picture: HTMLCanvasElement, x: number, y: number, width: number, height: number): void {
    this.parts.push(`<image x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" preserveAspectRatio="none" href="${picture.toDataURL()}"/>`);
  }

  within(box: { x: number; y: number; width: number; height: number }, dx: number, dy: number, draw: () => void): void {
    const id = `pane-${++this.clips}`;
    this.parts.push(`<clipPath id="${id}"><rect x="${round(box.x)}" y="${round(box.y)}" width="${round(box.width)}" height="${round(box.height)}"/></clipPath><g clip-path="url(#${id})"><g transform="translate(${round(dx)} ${round(dy)})">`);
    draw();
    this.parts.push("</g></g>");
  }

  document(width: number, height: number): string {
    return [`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`, ...this.parts, "</svg>"].join("\n");
  }
}

function round(value: number): number {
  return Math.round(10 * value) / 10;
}

export function escapeXml(text: string): string {
  // Characters XML 1.0 forbids are dropped, the rest is escaped.
  // eslint-disable-next-line no-control-regex
  const clean = text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "");
  return clean.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
