/** Elements by hand. Text always goes in as text: nothing in this page writes HTML from data. */

type Child = Node | string | number | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: never) => void)>;

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  apply(element, attributes);
  append(element, children);
  return element;
}

export function svg(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  apply(element, attributes);
  append(element, children);
  return element;
}

function apply(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value as EventListener);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

function append(element: Element, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

export function replace(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  append(element, children);
}

const PATHS: Record<string, string> = {
  pan: "M12 3v18M3 12h18M12 3l-3 3M12 3l3 3M12 21l-3-3M12 21l3-3M3 12l3-3M3 12l3 3M21 12l-3-3M21 12l-3 3",
  lasso: "M12 4c5 0 9 2.600 9 6s-4 6-9 6c-1.200 0-2.300-.15-3.300-.42M6 14c-1.900-1-3-2.400-3-4 0-3.400 4-6 9-6M6 14a2 2 0 1 0 1.700 1.900c0 2-1 3.600-2.700 4.600",
  box: "M4 8V4h4M16 4h4v4M20 16v4h-4M8 20H4v-4M9 4h2M13 4h2M9 20h2M13 20h2M4 9v2M4 13v2M20 9v2M20 13v2",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  fit: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  undo: "M9 14L4 9l5-5M4 9h10a6 6 0 0 1 0 12h-3",
  redo: "M15 14l5-5-5-5M20 9H10a6 6 0 0 0 0 12h3",
  link: "M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.700-5.700l-1.200 1.200M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.700 5.700l1.200-1.200",
  download: "M12 4v11M7 10.500l5 5 5-5M4 20h16",
  moon: "M20 14.500A8 8 0 1 1 9.500 4a6.500 6.500 0 0 0 10.500 10.500z",
  help: "M9.200 9a3 3 0 1 1 4.600 2.600c-1.200.7-1.800 1.300-1.800 2.600M12 17.500v.1M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l5 5",
  chart: "M4 20h16M6 20v-6M11 20V9M16 20V5",
  play: "M8 5l11 7-11 7z",
  pause: "M8 5v14M16 5v14",
  split: "M4 5h16v14H4zM12 5v14",
  close: "M6 6l12 12M18 6L6 18",
  warn: "M12 4L2.500 20h19zM12 10v4.500M12 17.300v.1",
  target: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8z",
};

export function icon(name: string): SVGElement {
  return svg(
    "svg",
    { viewBox: "0 0 24 24", class: "pm-icon", "aria-hidden": "true", focusable: "false" },
    svg("path", { d: PATHS[name] }),
  );
}

export function iconButton(name: string, label: string, action: () => void, attributes: Attributes = {}): HTMLButtonElement {
  return h("button", { type: "button", class: "pm-icon-button", "aria-label": label, title: label, click: action, ...attributes }, icon(name));
}

/** True once for each new list of values: what has not changed is not drawn again, under the user's pointer. */
export class Changed {
  private last: unknown[] = [];

  now(...values: unknown[]): boolean {
    const same = values.length === this.last.length && values.every((value, i) => value === this.last[i]);
    this.last = values;
    return !same;
  }
}

let counter = 0;

/** An id no other element has, also with several maps in one notebook. */
export function uniqueId(prefix: string): string {
  counter += 1;
  return `pm-${prefix}-${counter}`;
}

/** Offer a file made here for download; nothing is sent anywhere. */
export function download(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const anchor = h("a", { href: url, download: name });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
