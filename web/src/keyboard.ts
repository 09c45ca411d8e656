/** Everything the mouse can do on the map, from the keyboard. */

import { nextInDirection } from "./geometry";
import type { Mode } from "./plot";
import type { Layer } from "./types";

export interface KeyActions {
  tool: (mode: Mode) => void;
  zoom: (factor: number) => void;
  home: () => void;
  layer: (index: number) => void;
  charts: () => void;
  beside: () => void;
  local: () => void;
  search: () => void;
  undo: () => void;
  redo: () => void;
  clear: () => void;
  help: () => void;
  cursor: { get: () => number | null; set: (row: number) => void; select: (row: number, add: boolean) => void };
  layerOf: () => Layer;
  visible: (row: number) => boolean;
}

const ARROWS: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

export function listenToKeys(root: HTMLElement, map: HTMLElement, actions: KeyActions): void {
  root.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    const typing = target.matches("input:not([type=range]):not([type=checkbox]), textarea, select");
    if (typing || event.altKey || target.closest("dialog")) return;
    if (event.ctrlKey || event.metaKey) {
      const key = event.key.toLowerCase();
      if (key === "z" && !event.shiftKey) actions.undo();
      else if (key === "y" || key === "z") actions.redo();
      else if (key === "enter" && target === map) selectCursor(actions, true);
      else return;
      event.preventDefault();
      return;
    }
    if (target === map && mapKey(event, actions)) event.preventDefault();
    else if (pageKey(event, actions)) event.preventDefault();
  });
  // A page in a file has nothing else that wants keys: they work wherever the focus is.
  if (root.parentElement?.id === "prismap") {
    document.addEventListener("keydown", (event) => {
      if (event.target === document.body && !event.ctrlKey && !event.metaKey && !event.altKey && pageKey(event, actions)) event.preventDefault();
      else if (event.target === document.body && (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z") {
        if (event.shiftKey) actions.redo();
        else actions.undo();
        event.preventDefault();
      }
    });
  }
}

function pageKey(event: KeyboardEvent, actions: KeyActions): boolean {
  const simple: Record<string, () => void> = {
    p: () => actions.tool("pan"),
    l: () => actions.tool("lasso"),
    b: () => actions.tool("box"),
    c: actions.charts,
    s: actions.beside,
    n: actions.local,
    "+": () => actions.zoom(1.4),
    "=": () => actions.zoom(1.4),
    "-": () => actions.zoom(1 / 1.4),
    "0": actions.home,
    "/": actions.search,
    "?": actions.help,
    escape: actions.clear,
  };
  const action = simple[event.key.toLowerCase()];
  if (action) action();
  else if (/^[1-9]$/.test(event.key)) actions.layer(Number(event.key) - 1);
  else return false;
  return true;
}

function mapKey(event: KeyboardEvent, actions: KeyActions): boolean {
  const arrow = ARROWS[event.key];
  if (arrow) {
    const layer = actions.layerOf();
    const from = actions.cursor.get();
    if (from === null) {
      const start = centralRow(layer, actions.visible);
      if (start !== null) actions.cursor.set(start);
    } else actions.cursor.set(nextInDirection(layer.x, layer.y, from, arrow[0], arrow[1], actions.visible));
    return true;
  }
  if (event.key === "Enter" || event.key === " ") {
    selectCursor(actions, false);
    return true;
  }
  return false;
}

function selectCursor(actions: KeyActions, add: boolean): void {
  const row = actions.cursor.get();
  if (row !== null) actions.cursor.select(row, add);
}

function centralRow(layer: Layer, visible: (row: number) => boolean): number | null {
  let best: number | null = null;
  let near = Infinity;
  for (let row = 0; row < layer.x.length; row++) {
    const distance = Math.hypot(layer.x[row], layer.y[row]);
    if (distance < near && visible(row)) [best, near] = [row, distance];
  }
  return best;
}
