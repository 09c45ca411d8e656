/** What only a live map can do: another supervision, new rows from a table. */

import { h, replace, uniqueId } from "./dom";
import type { LiveClient } from "./live";
import { rowName } from "./hover";
import type { Page } from "./types";

const LISTED = 50;
/** Tables that a browser offers to open; any other that prismap reads can be dropped. */
const TABLES = ".csv,.tsv,.txt,.gz,.json,.jsonl,.ndjson,.xlsx,.parquet,.pq,.arrow,.feather,.npz,.npy,.h5ad,text/csv";

/** What the controls ask of the app. */
export interface LiveHost {
  say: (message: string) => void;
  /** Show positions as a layer of this name; `final` once they will not change any more. */
  showLayer: (id: string, label: string, positions: Float32Array, final: boolean) => Promise<void>;
  /** The layer on the screen, if the server knows it by this name. */
  serverLayer: () => string | null;
  /** The page as the server has it now; `notes` are about the rows placed on it. */
  reload: (notes: readonly string[]) => Promise<void>;
  selection: () => readonly number[];
  select: (rows: readonly number[]) => void;
  export: (rows: readonly number[]) => void;
}

/** Layers that are computed here, which the server does not know by name. */
export const LIVE_LAYER = /^supervision-(\d(?:\.\d+)?)$|^by-hand$/;
export const BY_HAND = "by-hand";

/** The weight of the target, re-embedded from where the points are now. */
export class SupervisionControl {
  readonly element: HTMLElement;
  private readonly slider: HTMLInputElement;
  private readonly output = h("output", {});
  private readonly bar = h("progress", { max: 1, value: 0, "aria-label": "Re-embedding" });
  private readonly working: HTMLElement;
  private running: string | null = null;
  /** The job whose positions are on the screen. */
  private shown: string | null = null;

  constructor(
    private readonly client: LiveClient,
    private readonly host: LiveHost,
    private readonly initial: number,
  ) {
    const id = uniqueId("supervision");
    this.slider = h("input", {
      id,
      type: "range",
      min: 0,
      max: 1,
      step: 0.05,
      value: initial,
      input: () => this.label(),
      change: () => void this.run(Number(this.slider.value)),
    });
    this.working = h(
      "div",
      { class: "pm-working", hidden: true },
      this.bar,
      h("button", { type: "button", class: "pm-button", click: () => this.running && void this.client.stopJob(this.running).catch(() => undefined) }, "Stop"),
    );
    this.element = h(
      "section",
      { class: "pm-live" },
      h("label", { for: id, class: "pm-live-label" }, "Supervision"),
      h("div", { class: "pm-slider-line" }, this.slider, this.output),
      this.working,
      h("p", { class: "pm-note" }, "0 ignores the target, 1 uses it fully. The points move to their new places."),
    );
    this.label();
  }

  async run(supervision: number): Promise<void> {
    if (this.running) await this.client.stopJob(this.running).catch(() => undefined);
    this.slider.value = String(supervision);
    this.label();
    const id = `supervision-${supervision}`;
    const name = `Supervision ${supervision}`;
    try {
      const layer = this.host.serverLayer();
      const from = layer === null ? { job: this.shown } : { layer };
      const job = await this.client.startJob({ kind: "reembed", supervision, ...from });
      this.running = job.id;
      this.working.hidden = false;
      let step = 0;
      const end = await this.client.follow(job, async (now) => {
        if (this.running !== job.id) return;
        this.bar.value = now.share;
        if (now.step === step || now.state !== "running") return;
        step = now.step;
        this.shown = job.id;
        await this.host.showLayer(id, name, await this.client.positions(job.id), false);
      });
      if (end.state === "done") {
        this.shown = job.id;
        await this.host.showLayer(id, name, await this.client.positions(job.id), true);
      } else if (this.running === job.id) this.host.say("Stopped. The points stay where they had come to.");
      this.done(job.id);
    } catch (error) {
      this.host.say(error instanceof Error ? error.message : String(error));
      this.done(this.running);
    }
  }

  /** The weight of the map on the screen, where it has one; what is being computed stays as the user set it. */
  follow(layer: string, first: boolean): void {
    const live = LIVE_LAYER.exec(layer);
    const weight = live?.[1] ? Number(live[1]) : live ? null : first ? this.initial : layer === "unsupervised" ? 0 : null;
    if (this.running || weight === null) return;
    this.slider.value = String(weight);
    this.label();
  }

  private done(job: string | null): void {
    if (this.running !== job) return;
    this.running = null;
    this.working.hidden = true;
    this.bar.value = 0;
  }

  private label(): void {
    this.output.textContent = Number(this.slider.value).toFixed(2);
    this.slider.setAttribute("aria-valuetext", this.output.textContent);
  }
}

/** Groups of rows that belong together teach a metric, and the map follows: an experiment, and never judged. */
export class HandControl {
  readonly element: HTMLElement;
  private groups: (readonly number[])[] = [];
  private readonly list = h("ol", { class: "pm-groups" });
  private readonly status = h("p", { class: "pm-note", role: "status" });
  private readonly go = h("button", { type: "button", class: "pm-button", disabled: true, click: () => void this.run() }, "Let the map follow");

  constructor(
    private readonly client: LiveClient,
    private readonly host: LiveHost,
  ) {
    const add = h("button", { type: "button", class: "pm-button", click: () => this.add() }, "Selection is a group");
    const clear = h("button", { type: "button", class: "pm-link", click: () => this.set([]) }, "Forget groups");
    this.element = h(
      "details",
      { class: "pm-details pm-hand" },
      h("summary", {}, "Shape the map by hand"),
      h("p", { class: "pm-note" }, "An experiment: select rows that belong together, name at least two groups, and the map learns what tells them apart. It then shows what you put there."),
      add,
      this.list,
      this.go,
      clear,
      this.status,
    );
  }

  private add(): void {
    const rows = this.host.selection();
    const known = new Set(this.groups.flat());
    const fresh = rows.filter((row) => !known.has(row));
    if (fresh.length < 2) this.host.say("Select at least two rows that are in no group yet.");
    else this.set([...this.groups, fresh]);
  }

  private set(groups: (readonly number[])[]): void {
    this.groups = groups;
    this.go.disabled = groups.length < 2;
    replace(this.list, ...groups.map((rows) => h("li", {}, h("button", { type: "button", class: "pm-link", click: () => this.host.select(rows) }, `${rows.length.toLocaleString("en")} rows`))));
  }

  private async run(): Promise<void> {
    this.go.disabled = true;
    this.status.textContent = "Learning …";
    try {
      const job = await this.client.startJob({ kind: "shape", groups: this.groups, layer: this.host.serverLayer() });
      let step = 0;
      const end = await this.client.follow(job, async (now) => {
        if (now.step === step || now.state !== "running") return;
        step = now.step;
        await this.host.showLayer(BY_HAND, "Shaped by hand", await this.client.positions(job.id), false);
      });
      await this.host.showLayer(BY_HAND, "Shaped by hand", await this.client.positions(job.id), true);
      const { names, values } = end.result ?? { names: [], values: [] };
      const order = names.map((_, i) => i).sort((a, b) => values[b] - values[a]).slice(0, 3);
      this.status.textContent = `What tells the groups apart: ${order.map((i) => `${names[i]} (${Math.round(100 * values[i])} %)`).join(", ")}.`;
    } catch (error) {
      this.status.textContent = "";
      this.host.say(error instanceof Error ? error.message : String(error));
    }
    this.go.disabled = this.groups.length < 2;
  }
}

/** New rows from a table: a button, a place to drop files, and the list of what was placed. */
export class PlaceControl {
  readonly element: HTMLElement;
  private readonly list = h("div", { class: "pm-new" });

  /** `rows` are those placed before, `notes` what was said of them. */
  constructor(
    root: HTMLElement,
    private readonly client: LiveClient | null,
    private readonly page: Page,
    private readonly rows: readonly number[],
    notes: readonly string[],
    private readonly host: LiveHost,
  ) {
    const id = uniqueId("file");
    const input = h("input", { id, type: "file", accept: TABLES, class: "pm-hidden", tabindex: -1, change: () => {
      if (input.files?.[0]) void this.place(input.files[0]);
      input.value = "";
    } });
    this.element = h(
      "section",
      { class: "pm-live", hidden: client === null },
      h("button", { type: "button", class: "pm-button", click: () => input.click() }, "Place new rows…"),
      h("label", { for: id, class: "pm-hidden" }, "File with new rows"),
      input,
      this.list,
    );
    this.listenForFiles(root);
    if (rows.length > 0) this.render(notes);
  }

  private listenForFiles(root: HTMLElement): void {
    const veil = h("div", { class: "pm-veil", hidden: true }, h("b", {}, "Drop a table to place its rows on this map"));
    root.append(veil);
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    root.addEventListener("dragover", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      veil.hidden = false;
    });
    root.addEventListener("dragleave", (event) => {
      if (!root.contains(event.relatedTarget as Node | null)) veil.hidden = true;
    });
    root.addEventListener("drop", (event) => {
      veil.hidden = true;
      if (!hasFiles(event)) return;
      event.preventDefault();
      const file = event.dataTransfer?.files[0];
      if (file) void this.place(file);
    });
  }

  async place(file: File): Promise<void> {
    if (this.client === null) {
      this.host.say("Placing new rows needs the map's model: open its folder with “prismap explore”.");
      return;
    }
    await this.change(async (client) => (await client.place(file)).notes);
  }

  /** Change the rows of the page on the server, and show the page as it is then. */
  private async change(work: (client: LiveClient) => Promise<readonly string[]>): Promise<void> {
    try {
      await this.host.reload(await work(this.client!));
    } catch (error) {
      this.host.say(error instanceof Error ? error.message : String(error));
    }
  }

  private render(notes: readonly string[]): void {
    const { page, rows } = this;
    const far = rows.filter((row) => page.far?.[row]).length;
    const count = `${rows.length.toLocaleString("en")} new row${rows.length === 1 ? "" : "s"}`;
    replace(
      this.list,
      h("p", { "data-test": "placed" }, h("b", {}, count), far > 0 ? `, ${far.toLocaleString("en")} far from the data` : ", all near the data"),
      ...notes.map((note) => h("p", { class: "pm-note" }, note)),
      h(
        "ul",
        { class: "pm-new-list" },
        ...rows.slice(0, LISTED).map((row) =>
          h("li", {}, h("button", { type: "button", class: "pm-link", click: () => this.host.select([row]) }, rowName(page, row)), page.far?.[row] === 1 && h("small", { class: "pm-far" }, "far")),
        ),
      ),
      rows.length > LISTED && h("p", { class: "pm-note" }, `and ${(rows.length - LISTED).toLocaleString("en")} more`),
      h(
        "div",
        { class: "pm-new-actions" },
        h("button", { type: "button", class: "pm-link", click: () => this.host.select(rows) }, "Select"),
        h("button", { type: "button", class: "pm-link", click: () => this.host.export(rows) }, "Save places"),
        h("button", { type: "button", class: "pm-link", click: () => void this.change(async (client) => (await client.removePlaced(), [])) }, "Remove"),
      ),
    );
  }
}
