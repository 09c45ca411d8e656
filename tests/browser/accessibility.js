// The rules of accessibility.py, run inside the page; answers with the breaches found.
() => {
  const found = [];
  const seen = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && e.getClientRects().length > 0;
  const all = [...document.querySelectorAll("body *")].filter(seen);
  const tell = (rule, e) => found.push(`${rule}: <${e.tagName.toLowerCase()} class="${e.getAttribute("class") ?? ""}"> ` +
    (e.textContent ?? "").trim().slice(0, 40));
  const named = (e) => (e.getAttribute("aria-label") ?? "").trim() !== "" ||
    (e.getAttribute("aria-labelledby") ?? "").split(" ").some((id) => document.getElementById(id)?.textContent.trim());
  const text = (e) => [...e.childNodes].map((n) => n.nodeType === 3 ? n.textContent :
    n.nodeType === 1 && n.getAttribute("aria-hidden") !== "true" ? text(n) : "").join(" ").trim();

  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  for (const id of new Set(ids)) if (ids.filter((other) => other === id).length > 1) found.push(`duplicate id ${id}`);
  if (!document.documentElement.lang) found.push("the page has no language");
  if (!document.title) found.push("the page has no title");
  if (all.filter((e) => e.matches("main")).length !== 1) found.push("there must be one main region");
  if (all.filter((e) => e.matches("h1")).length !== 1) found.push("there must be one first heading");
  let level = 1;
  for (const e of all.filter((e) => e.matches("h1,h2,h3,h4"))) {
    const own = Number(e.tagName[1]);
    if (own > level + 2) tell("a heading skips levels", e);
    level = own;
  }
  const asides = all.filter((e) => e.matches("aside,nav,section[aria-label]"));
  for (const e of asides) if (e.matches("aside,nav") && !named(e)) tell("a region has no name", e);

  for (const e of all) {
    if (e.matches("button,a[href],summary,[role=button],[role=tab],[role=radio]") && !named(e) && text(e) === "")
      tell("nothing says what this does", e);
    if (e.matches("input,select,textarea") && !named(e) && !(e.labels && [...e.labels].some((l) => l.textContent.trim())))
      tell("a field has no label", e);
    if (e.matches("img,canvas[role=img],svg[role=img]") && !named(e) && !e.hasAttribute("alt")) tell("a picture has no words", e);
    if (e.tabIndex > 0) tell("a tab order of its own", e);
    for (const name of ["aria-controls", "aria-labelledby", "aria-describedby"])
      for (const id of (e.getAttribute(name) ?? "").split(" ").filter(Boolean))
        if (!document.getElementById(id)) tell(`${name} names nothing`, e);
    if (e.matches("[role=tab]") && !e.closest("[role=tablist]")) tell("a tab without its list", e);
    if (e.matches("[role=radio]") && !e.closest("[role=radiogroup]")) tell("a choice without its group", e);
    if (e.matches("[role=radio]") && !e.hasAttribute("aria-checked")) tell("a choice without a state", e);
    if (e.matches("[aria-hidden=true]") && (e.tabIndex >= 0 || e.querySelector("button,a[href],input"))) tell("hidden but in reach", e);
    if (e.matches("li") && !e.parentElement.matches("ul,ol")) tell("an item without its list", e);
    if (e.matches("ul,ol") && [...e.children].some((c) => !c.matches("li"))) tell("a list with something else in it", e);
    if (e.matches("button,summary,select,[role=tab],[role=radio]")) {
      const box = e.getBoundingClientRect();
      if (box.width < 24 && box.height < 24) tell("a target smaller than 24 pixels", e);
    }
  }

  const pen = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    pen.clearRect(0, 0, 1, 1); pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1);
    const d = pen.getImageData(0, 0, 1, 1).data;
    return [d[0], d[1], d[2], d[3] / 255];
  };
  const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3]));
  const ground = (e) => {
    const layers = [];
    for (let p = e; p; p = p.parentElement) layers.push(rgba(getComputedStyle(p).backgroundColor));
    return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255]);
  };
  const light = (rgb) => rgb.map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  for (const e of all) {
    const words = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!words || e.closest(":disabled") || e.matches("option,optgroup,style,script") || e instanceof SVGElement) continue;
    const style = getComputedStyle(e);
    const back = ground(e);
    const [a, b] = [light(over(rgba(style.color), back)), light(back)].sort((x, y) => y - x);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < (large ? 3 : 4.5)) tell(`contrast ${contrast.toFixed(2)}`, e);
  }
  return found;
}
