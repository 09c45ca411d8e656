/** What the user has chosen, with undo. Everything drawn follows from the page's data and this. */

import type { Beside } from "./beside";
import type { Brushes } from "./brush";
import { styleFor } from "./pointstyle";

/** Beyond this many rows a sample is drawn over their density, and every row again once zoomed in far enough. */
export const DRAWN_AT_MOST = 200_000;
/** From so many rows on their density is shown at first: points cover each other. */
const DENSE_ROWS = 20_000;

export interface ViewState {
  layer: string;
  colour: string;
  /** Hidden categories of the current colouring. */
  hidden: ReadonlySet<number>;
  /** Shown bins of a ramp, inclusive. */
  window: readonly [number, number] | null;
  /** Columns that have a chart under the map, and the filters made there. */
  charts: readonly number[];
  brushes: Brushes;
  /** What the second map shows; null without one. */
  beside: Beside | null;
  /** Selected rows, ascending. */
  selection: readonly number[];
  size: number;
  opacity: number;
  raster: boolean;
  rings: boolean;
  density: boolean;
  contours: boolean;
  /** Whether rows are shown by their pictures once few are in view. */
  sprites: boolean;
  /** Whether size and opacity follow the number of points in view. */
  auto: boolean;
  labels: boolean;
  /** What is drawn of distortions: the neighbourhood of the row pointed at, torn pairs, groups beside wrong ones. */
  local: boolean;
  torn: boolean;
  wrong: boolean;
  /** Whether a layer made with another target is coloured by that one. */
  own: boolean;
  /** Which of the maps in time is shown, and how far on the way to the next: 0 is the oldest. */
  time: number;
  tab: Tab;
}

export type Tab = "verdict" | "selection" | "features";
export const TABS: readonly Tab[] = ["verdict", "selection", "features"];

/** Changes of these can be undone; size, opacity and the like are quicker to put back by hand. */
const UNDOABLE: readonly (keyof ViewState)[] = ["layer", "colour", "hidden", "window", "brushes", "selection"];
const DEPTH = 100;

type Listener = (state: ViewState, before: ViewState) => void;

export class Store {
  private past: ViewState[] = [];
  private future: ViewState[] = [];
  private listeners: Listener[] = [];

  constructor(private current: ViewState) {}

  get state(): ViewState {
    return this.current;
  }

  get canUndo(): boolean {
    return this.past.length > 0;
  }

  get canRedo(): boolean {
    return this.future.length > 0;
  }

  subscribe(listener: Listener): void {
    this.listeners.push(listener);
  }

  /** Change some of it; a new colouring always starts unfiltered. */
  set(patch: Partial<ViewState>): void {
    const before = this.current;
    const next = { ...before, ...patch };
    if (next.colour !== before.colour && !("hidden" in patch)) {
      next.hidden = new Set();
      next.window = null;
    }
    if (UNDOABLE.some((key) => next[key] !== before[key])) {
      this.past = [...this.past.slice(1 - DEPTH), before];
      this.future = [];
    }
    this.move(next);
  }

  undo(): boolean {
    return this.step(this.past, this.future);
  }

  redo(): boolean {
    return this.step(this.future, this.past);
  }

  private step(from: ViewState[], to: ViewState[]): boolean {
    const target = from.pop();
    if (!target) return false;
    to.push(this.current);
    const kept = Object.fromEntries(UNDOABLE.map((key) => [key, target[key]]));
    this.move({ ...this.current, ...kept });
    return true;
  }

  private move(next: ViewState): void {
    const before = this.current;
    this.current = next;
    for (const listener of this.listeners) listener(next, before);
  }
}

/** How a page looks before anybody has touched it: the more rows, the smaller and paler the points. */
export function defaultState(n: number, layer: string, colour: string, time = 0): ViewState {
  return {
    layer,
    colour,
    hidden: new Set(),
    window: null,
    charts: [],
    brushes: new Map(),
    beside: null,
    selection: [],
    ...styleFor(n),
    raster: true,
    rings: false,
    density: n >= DENSE_ROWS,
    contours: false,
    sprites: true,
    auto: true,
    labels: true,
    local: true,
    torn: false,
    wrong: false,
    own: true,
    time,
    tab: "verdict",
  };
}

export function toggled<T>(set: ReadonlySet<T>, item: T): Set<T> {
  const next = new Set(set);
  if (!next.delete(item)) next.add(item);
  return next;
}
