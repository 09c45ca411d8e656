/** Where the page starts: a file brings its data along, the live explorer fetches them, a notebook hands them over. */

import { App } from "./app";
import { DamagedData, fromBase64, gunzip, readPage } from "./decode";
import { h, replace } from "./dom";
import { LiveClient, LiveError } from "./live";
import css from "./style.css?inline";
import type { Page } from "./types";
import { render } from "./widget";

async function startFile(root: HTMLElement): Promise<void> {
  const text = document.getElementById("prismap-data")?.textContent ?? "";
  const page = readPage(await gunzip(fromBase64(text)));
  new App(root, page, { live: null, initialView: location.hash, viewChanged: keepInAddress, link: linkTo });
}

async function startLive(root: HTMLElement): Promise<void> {
  const client = new LiveClient();
  const page = await waitForPage(client, root);
  document.title = page.title;
  let remembering = 0;
  let remembered = page.live?.view ?? "";
  let app: App;
  const open = (page: Page, initialView: string, notes: readonly string[]) => {
    app = new App(root, page, {
      live: client,
      initialView,
      notes,
      viewChanged: (hash) => {
        keepInAddress(hash);
        window.clearTimeout(remembering);
        // A view that cannot be kept is no trouble worth a message.
        remembering = window.setTimeout(() => {
          if (hash !== remembered) client.rememberView(hash).catch(() => undefined);
          remembered = hash;
        }, 500);
      },
      reload: async (notes) => {
        const found = await client.page();
        if (!(found instanceof ArrayBuffer)) return;
        const view = app.hash;
        app.destroy();
        open(readPage(found, (first, count) => client.columns(first, count)), view, notes);
      },
      link: linkTo,
    });
  };
  open(page, location.hash.length > 1 ? location.hash : (page.live?.view ?? ""), []);
  if (page.live?.judging) void judgeLater(client, page.live.judging, () => app);
}

/** The map is there; its verdict comes when it has been judged. */
async function judgeLater(client: LiveClient, id: string, app: () => App): Promise<void> {
  try {
    const job = { id, state: "running" as const, share: 0, step: 0, message: "" };
    await client.follow(job, (now) => app().judging(now.share));
    const found = await client.page();
    if (found instanceof ArrayBuffer) app().adopt(readPage(found));
  } catch (error) {
    app().judging(null, error instanceof Error ? error.message : String(error));
  }
}

/** The page before its map: what is being done, and how far it is, in the tab's name too. */
async function waitForPage(client: LiveClient, root: HTMLElement): Promise<Page> {
  const bar = h("progress", { max: 1, "aria-label": "Making the map" });
  const words = h("p", { role: "status" }, "Opening the map …");
  const rest = h("p", { class: "pm-note", hidden: true }, "The map comes here by itself when it is ready; its verdict follows when it has been judged.");
  replace(root, messagePage("Making the map", bar, words, rest));
  for (;;) {
    const found = await client.page();
    if (found instanceof ArrayBuffer) return readPage(found, (first, count) => client.columns(first, count));
    if (found.share > 0) {
      bar.value = found.share;
      document.title = `${Math.floor(100 * found.share)} % · prismap`;
      rest.hidden = false;
    }
    words.textContent = found.message || "Making the map …";
    await new Promise((resolve) => setTimeout(resolve, 400));
  }
}

/** A page that is no map: a heading and a few lines, light or dark as the system is. */
function messagePage(heading: string, ...content: HTMLElement[]): HTMLElement {
  const theme = window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const brand = h("div", { class: "pm-brand" }, h("span", { class: "pm-mark", "aria-hidden": "true" }), h("h1", {}, heading));
  return h("div", { class: "pm-app pm-message", "data-theme": theme }, h("style", {}, css), h("main", {}, brand, ...content));
}

function keepInAddress(hash: string): void {
  try {
    history.replaceState(null, "", hash === "" ? "#" : `#${hash}`);
  } catch {
    // A page inside another one may not change its address; then there is no link to share.
  }
}

function linkTo(hash: string): string {
  return `${location.href.split("#")[0]}#${hash}`;
}

function inWords(error: unknown): string {
  if (error instanceof DamagedData || error instanceof LiveError) return error.message;
  return "The data of this map are damaged or incomplete. Make the map again with prismap.";
}

const root = document.getElementById("prismap");
const start = { static: startFile, live: startLive }[root?.dataset.mode ?? ""];
if (root && start) {
  start(root).catch((error: unknown) => {
    console.warn(error);
    document.title = "prismap";
    replace(root, messagePage("This map cannot be shown", h("p", {}, inWords(error))));
  });
}

export default { render };
