/** Where the page starts: a file brings its data along. */

import { App } from "./app";
import { DamagedData, fromBase64, gunzip, readPage } from "./decode";
import { h, replace } from "./dom";

async function startFile(root: HTMLElement): Promise<void> {
  const text = document.getElementById("prismap-data")?.textContent ?? "";
  const page = readPage(await gunzip(fromBase64(text)));
  new App(root, page, {
    initialView: location.hash,
    viewChanged: (hash) => history.replaceState(null, "", hash === "" ? "#" : `#${hash}`),
    link: (hash) => `${location.href.split("#")[0]}#${hash}`,
  });
}

function readable(error: unknown): string {
  if (error instanceof DamagedData) return error.message;
  return "The data in this page are damaged or incomplete. Make the page again with prismap.";
}

const root = document.getElementById("prismap");
if (root?.dataset.mode === "static") {
  startFile(root).catch((error: unknown) => {
    console.error(error);
    replace(root, h("div", { style: "font:16px system-ui;max-width:36em;margin:20vh auto;padding:0 1em" }, h("h1", {}, "This map cannot be shown"), h("p", {}, readable(error))));
  });
}
