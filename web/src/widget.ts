/** The page inside a notebook, by anywidget's contract: bytes in, a selection both ways, the verdict when it is there. */

import { App } from "./app";
import { readPage } from "./decode";
import { h } from "./dom";

/** What of anywidget's model is used here. */
export interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  on(event: string, listener: () => void): void;
  off(event: string, listener: () => void): void;
}

export function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const frame = h("div", { style: `height:${Number(model.get("height")) || 640}px;overflow:auto` });
  el.append(frame);
  const app = new App(frame, readPage(bytesOf(model.get("_page"))), {
    live: null,
    initialView: String(model.get("view") ?? ""),
    viewChanged: (hash) => {
      model.set("view", hash);
      model.save_changes();
    },
    selectionChanged: (rows) => {
      model.set("selection", new DataView(Int32Array.from(rows).buffer));
      model.save_changes();
    },
    link: null,
  });
  const listeners: Record<string, () => void> = {
    "change:selection": () => {
      const rows = Array.from(new Int32Array(bytesOf(model.get("selection"))));
      const now = app.store.state.selection;
      if (rows.length !== now.length || rows.some((row, i) => row !== now[i])) app.store.set({ selection: rows });
    },
    "change:_judged": () => {
      const judged = bytesOf(model.get("_judged"));
      if (judged.byteLength > 0) app.adopt(readPage(judged));
    },
    "change:_judging": () => {
      const share = Number(model.get("_judging") ?? -1);
      const trouble = String(model.get("_trouble") ?? "");
      if (share >= 0 || trouble !== "") app.judging(share >= 0 ? share : null, trouble);
    },
  };
  for (const listener of Object.values(listeners)) listener();
  for (const [event, listener] of Object.entries(listeners)) model.on(event, listener);
  return () => {
    for (const [event, listener] of Object.entries(listeners)) model.off(event, listener);
    app.destroy();
  };
}

function bytesOf(value: unknown): ArrayBuffer {
  if (!(value instanceof DataView)) return new ArrayBuffer(0);
  return value.buffer.slice(value.byteOffset, value.byteOffset + value.byteLength) as ArrayBuffer;
}
