/** Where the page starts: a file brings its data along, the live explorer fetches them, a notebook hands them over. */

import { App } from "./app";
import { DamagedData, fromBase64, gunzip, readPage } from "./decode";
import { h, replace } from "./dom";
import { LiveClient, LiveError } from "./live";
import type { Page } from "./types";
import { render } from "./widget";

async function startFile(root: HTMLElement): Promise<void> {
  const text = document.getElementById("prismap-data")?.textContent ?? "";
  const page = readPage(await gunzip(fromBase64(text)));
  new App(root, page, { live: null, initialView: location.hash, viewChanged: keepInAddress, link: linkTo });
}

async function startLive(root: HTMLElement): Promise<void> {
  const client = new LiveClient(new URLSearchParams(location.search).get("token") ?? "");
  const page = await waitForPage(client, root);
  document.title = page.title;
  let remembering = 0;
  let remembered = page.live?.view ?? "";
  new App(root, page, {
    live: client,
    initialView: location.hash.length > 1 ? location.hash : (page.live?.view ?? ""),
    viewChanged: (hash) => {
      keepInAddress(hash);
      window.clearTimeout(remembering);
      // A view that cannot be kept is no trouble worth a message.
      remembering = window.setTimeout(() => {
        if (hash !== remembered) client.rememberView(hash).catch(() => undefined);
        remembered = hash;
      }, 500);
    },
    link: linkTo,
  });
}

async function waitForPage(client: LiveClient, root: HTMLElement): Promise<Page> {
  const bar = h("progress", { max: 1, "aria-label": "Making the map" });
  const words = h("p", { role: "status" }, "Opening the map …");
  replace(root, h("div", { style: "font:15px/1.5 system-ui;max-width:30em;margin:22vh auto 0;padding:0 1em" }, words, bar));
  for (;;) {
    const found = await client.page();
    if (found instanceof ArrayBuffer) return readPage(found, (index) => client.column(index));
    if (found.share > 0) bar.value = found.share;
    words.textContent = found.message || "Making the map …";
    await new Promise((resolve) => setTimeout(resolve, 400));
  }
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
    const box = "font:16px/1.5 system-ui;max-width:38em;margin:20vh auto;padding:0 1em;overflow-wrap:anywhere";
    replace(root, h("main", { style: box }, h("h1", {}, "This map cannot be shown"), h("p", {}, inWords(error))));
  });
}

export default { render };
