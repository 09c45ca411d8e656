/** The map and the maps before it as a film: the same rows move from month to month. */

import type { Colouring } from "./colouring";
import { Changed, h, iconButton, icon, replace } from "./dom";
import { scaleInto } from "./geometry";
import type { Store } from "./state";
import type { Layer, Page } from "./types";

const SECONDS_PER_STEP = 1.6;
const [WIDTH, HEIGHT] = [78, 56];

/** The rows on the maps before this one and on the map itself, in one frame. */
export function steps({ versions, layers, title }: Page): { label: string; x: Float32Array; y: Float32Array }[] {
  const [now] = layers;
  return [...versions.map(({ label, positions }) => ({ label, ...scaleInto(positions, now.frame) })), { label: title, x: now.x, y: now.y }];
}

/** The rows at a time between two maps. Rows that only one of them has are where it has them, in its half of the way. */
export function between(page: Page, list: ReturnType<typeof steps>, time: number): Layer {
  const [now] = page.layers;
  if (time >= list.length - 1) return now;
  const first = Math.floor(time);
  const share = time - first;
  const [a, b] = [list[first], list[first + 1]];
  const nearer = share < 0.5 ? a : b;
  const move = (from: Float32Array, to: Float32Array, own: Float32Array) =>
    from.map((value, row) => (a.x[row] < -8 || b.x[row] < -8 ? own[row] : value + share * (to[row] - value)));
  const label = share === 0 ? a.label : `between ${a.label} and ${b.label}`;
  const positions = share === 0 ? page.versions[first].positions : now.positions;
  const note = share === 0 ? `The rows of this map as they were on “${a.label}”; hollow ones are gone.` : `From “${a.label}” to “${b.label}”.`;
  return { ...now, id: "version", label, note, positions, x: move(a.x, b.x, nearer.x), y: move(a.y, b.y, nearer.y) };
}

/** Rows that only an earlier map has, as far as it is shown. */
export function goneRows({ versions, layers }: Page, time: number): { x: Float32Array; y: Float32Array; share: number } | null {
  const version = versions[Math.round(time)];
  if (!version || version.gone.length === 0) return null;
  return { ...scaleInto(version.gone, layers[0].frame), share: 1 - 2 * Math.abs(time - Math.round(time)) };
}

/** A slider between the maps, and a strip of them; empty where there is only one. */
export class Film {
  readonly element = h("section", { class: "pm-film", "aria-label": "Earlier maps", hidden: true });
  readonly steps: ReturnType<typeof steps>;
  private readonly slider: HTMLInputElement;
  private readonly play: HTMLButtonElement;
  private readonly strip = h("div", { class: "pm-film-strip", role: "group", "aria-label": "Maps in time" });
  private readonly changed = new Changed();
  private layer: Layer | null = null;
  private time = NaN;
  private wanted: number;
  private going = false;
  private playing = 0;

  constructor(
    private readonly page: Page,
    private readonly store: Store,
    private readonly drawn: () => Promise<void>,
  ) {
    this.steps = steps(page);
    this.wanted = this.last;
    this.slider = h("input", { type: "range", min: 0, max: this.last, step: 0.05, "aria-label": "Time", input: () => this.go(Number(this.slider.value)) });
    this.play = iconButton("play", "Play", () => (this.playing ? this.stop() : this.start()));
    this.element.append(
      h("div", { class: "pm-film-bar" }, this.play, this.slider),
      this.strip,
      ...(page.changes.length > 0 ? [h("p", { class: "pm-note" }, `Since ${page.versions.at(-1)?.label}: ${page.changes.join(" ")}`)] : []),
    );
  }

  /** The number of the map itself, after those before it. */
  get last(): number {
    return this.steps.length - 1;
  }

  /** The layer at the time that is looked at. */
  at(time: number): Layer {
    if (this.layer === null || time !== this.time) [this.layer, this.time] = [between(this.page, this.steps, time), time];
    return this.layer;
  }

  render(colour: Colouring): void {
    const { time, layer } = this.store.state;
    this.element.hidden = this.last === 0 || layer !== this.page.layers[0].id;
    if (this.element.hidden) return;
    if (!this.going) this.wanted = time;
    this.slider.value = String(time);
    const near = this.steps[Math.round(time)].label;
    this.slider.setAttribute("aria-valuetext", Number.isInteger(time) ? near : `near ${near}`);
    if (!this.changed.now(colour, Math.round(time), Number.isInteger(time))) return;
    const had = (document.activeElement as HTMLElement | null)?.dataset.step;
    replace(
      this.strip,
      ...this.steps.map(({ label }, step) =>
        h("button", { type: "button", "data-step": step, "aria-pressed": step === time ? "true" : "false", title: label, click: () => this.go(step) }, this.picture(step, colour), h("span", {}, label)),
      ),
    );
    if (had !== undefined) this.strip.querySelector<HTMLElement>(`[data-step="${had}"]`)?.focus();
  }

  destroy(): void {
    this.stop();
  }

  /** One picture after the other: those asked for while one is drawn are passed over, but the last. */
  private go(time: number, byHand = true): void {
    if (byHand) this.stop();
    this.wanted = time;
    if (!this.going) void this.follow();
  }

  private async follow(): Promise<void> {
    this.going = true;
    while (this.store.state.time !== this.wanted) {
      this.store.set({ time: this.wanted });
      await this.drawn();
    }
    this.going = false;
  }

  /** From the first map to the last; in steps for those who want less motion. */
  private start(): void {
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const from = this.store.state.time >= this.last ? 0 : this.store.state.time;
    const begin = performance.now();
    this.name("pause", "Pause");
    const frame = (now: number) => {
      // A frame may have begun before the click that asked for it.
      const time = Math.min(this.last, from + Math.max(0, now - begin) / (1000 * SECONDS_PER_STEP));
      this.go(still ? Math.floor(time) : eased(time), false);
      if (time < this.last) this.playing = requestAnimationFrame(frame);
      else this.stop();
    };
    this.playing = requestAnimationFrame(frame);
  }

  private stop(): void {
    cancelAnimationFrame(this.playing);
    this.playing = 0;
    this.name("play", "Play");
  }

  private name(picture: string, label: string): void {
    this.play.setAttribute("aria-label", label);
    this.play.title = label;
    replace(this.play, icon(picture));
  }

  private picture(step: number, { codes, colours }: Colouring): HTMLCanvasElement {
    const ratio = window.devicePixelRatio || 1;
    const canvas = h("canvas", { width: WIDTH * ratio, height: HEIGHT * ratio, "aria-hidden": "true" });
    const pen = canvas.getContext("2d");
    if (!pen) return canvas;
    pen.scale(ratio, ratio);
    const { x, y } = this.steps[step];
    const every = Math.max(1, Math.ceil(x.length / 3000));
    for (let row = 0; row < x.length; row += every) {
      if (x[row] < -8) continue;
      pen.fillStyle = colours[codes[row]];
      pen.fillRect(WIDTH / 2 + (x[row] * HEIGHT) / 2 - 0.7, HEIGHT / 2 - (y[row] * HEIGHT) / 2 - 0.7, 1.4, 1.4);
    }
    return canvas;
  }
}

/** Slow at each map, quick between them. */
function eased(time: number): number {
  const step = Math.floor(time);
  const share = time - step;
  return step + share * share * (3 - 2 * share);
}
