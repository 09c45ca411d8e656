import { describe, expect, it } from "vitest";
import { combine } from "../src/app";
import { BINS, byCodes, byValues, choices, visibleRows } from "../src/colouring";
import { cell, csv } from "../src/csv";
import { area } from "../src/curves";
import { escapeXml } from "../src/pens";
import { fitFrame, insidePolygon, nextInDirection, screenOf } from "../src/geometry";
import { placeLabels } from "../src/labels";
import { categorical, fromHex, sequential } from "../src/palette";
import { parseComparison, neededColumns, search } from "../src/query";
import { readReport } from "../src/report";
import { rowsCsv } from "../src/selection";
import { classMix, differences, format, percent, shortest } from "../src/stats";
import { branches, describe as inWords } from "../src/supervision";
import { makeLayer } from "../src/decode";
import { examplePage } from "./make";

describe("csv", () => {
  it("defuses everything a spreadsheet would run", () => {
    for (const text of ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "  =1", "＝1+1"]) {
      expect(cell(text).replace(/^"/, "")).toMatch(/^'/);
    }
  });
  it("leaves numbers, plain words and negative numbers alone", () => {
    expect([cell(-3.5), cell("-3.5"), cell("+1e-5"), cell("word"), cell(NaN)]).toEqual(["-3.5", "-3.5", "+1e-5", "word", ""]);
  });
  it("quotes commas, quotes and line ends", () => {
    expect(csv(["a,b"], [['say "hi"'], ["x\ny"]])).toBe('"a,b"\r\n"say ""hi"""\r\n"x\ny"\r\n');
  });
  it("writes a row's name, place, class and values, with names defused too", () => {
    const page = examplePage();
    const lines = rowsCsv(page, page.layers[0], [0, 3], page.columns.map((c) => c.loaded!)).split("\r\n");
    expect(lines).toEqual(["row,x,y,kind,far,Age,city", "alpha,0,0,cat,0,10,Bonn", "'=delta,10,10,,1,,", ""]);
  });
});

describe("query", () => {
  const page = examplePage();
  it("finds words in names, classes and texts", () => {
    expect(search(page, "ALPHA")).toEqual([0]);
    expect(search(page, "dog")).toEqual([2]);
    expect(search(page, "ulm")).toEqual([1, 2]);
    expect(search(page, "nobody")).toEqual([]);
    expect(search(page, "  ")).toEqual([]);
  });
  it("compares numbers and texts by column, missing values never match", () => {
    expect(search(page, "age >= 20")).toEqual([1, 2]);
    expect(search(page, "age != 20")).toEqual([0, 2]);
    expect(search(page, "city = bonn")).toEqual([0]);
    expect(search(page, "kind != cat")).toEqual([2]);
    expect(search(page, "far = 1")).toEqual([3]);
    expect(search(page, "height > 1")).toBeNull();
    expect(search(page, "=delta")).toEqual([3]);
  });
  it("joins terms, takes ranges and row numbers", () => {
    expect(search(page, "row 2")).toEqual([2]);
    expect(search(page, "age = 15..30")).toEqual([1, 2]);
    expect(search(page, "age != 15..30")).toEqual([0]);
    expect(search(page, "age > 10 and city = ulm and dog")).toEqual([2]);
    expect(search(page, "age < 15 or far = 1")).toEqual([0, 3]);
    expect(search(page, "age < 15 and city = ulm or row 3")).toEqual([3]);
    expect(search(page, "age > 10 and height > 1")).toBeNull();
    expect(neededColumns(page, "age > 10 and ulm")).toEqual([0, 1]);
  });
  it("reads the longest operator", () => {
    expect(parseComparison("a<=3")).toEqual({ column: "a", operator: "<=", value: "3" });
    expect(parseComparison("just words")).toBeNull();
  });
});

describe("colouring", () => {
  it("offers only what the page has", () => {
    expect(choices(examplePage()).map((choice) => choice.id)).toEqual(["target", "far", "column:0", "column:1"]);
  });
  it("gives unlabelled rows their own colour and counts them", () => {
    const colour = byCodes("y", [0, -1, 1, 1], ["a", "b"], false);
    expect([...colour.codes]).toEqual([0, 2, 1, 1]);
    expect([colour.missing, ...colour.categories.map((c) => c.count)]).toEqual([1, 1, 2]);
  });
  it("bins a ramp from its smallest to its largest value", () => {
    const colour = byValues("v", Float32Array.from([0, 1, 0.5, NaN]), false);
    expect([...colour.codes]).toEqual([0, BINS - 1, BINS / 2, BINS]);
    expect([...visibleRows(colour, new Set(), [0, 10])!]).toEqual([1, 0, 0, 1]);
  });
  it("does not let a few extreme values take all the colours", () => {
    const values = Float32Array.from({ length: 1000 }, (_, i) => (i === 0 ? 1e6 : i / 1000));
    const colour = byValues("v", values, false);
    expect(colour.max).toBeLessThan(1);
    expect(colour.clipped).toEqual({ low: true, high: true });
    expect(colour.codes[0]).toBe(BINS - 1);
    const mostlyZero = byValues("v", values.map((_, i) => (i < 3 ? 5 : 0)), false);
    expect([mostlyZero.min, mostlyZero.max]).toEqual([0, 5]);
  });
  it("filters hidden categories and needs no mask without a filter", () => {
    const colour = byCodes("y", [0, 1, -1], ["a", "b"], false);
    expect(visibleRows(colour, new Set(), null)).toBeNull();
    expect([...visibleRows(colour, new Set([1, 2]), null)!]).toEqual([1, 0, 0]);
  });
  it("survives constant and empty columns", () => {
    expect([...byValues("v", Float32Array.from([2, 2]), false).codes]).toEqual([0, 0]);
    expect(byValues("v", Float32Array.from([NaN]), false).missing).toBe(1);
  });
});

describe("palette", () => {
  it("never repeats a colour, for few classes and for many", () => {
    for (const dark of [false, true]) {
      for (const count of [1, 2, 8, 10, 11, 40]) expect(new Set(categorical(count, dark)).size).toBe(count);
    }
  });
  it("has no colour that vanishes into its background", () => {
    const brightness = (hex: string) => fromHex(hex).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    for (const colours of [categorical(8, false), categorical(10, false), sequential(BINS, false)]) {
      for (const colour of colours) expect(brightness(colour)).toBeLessThan(215);
    }
    for (const colours of [categorical(8, true), categorical(10, true), sequential(BINS, true)]) {
      for (const colour of colours) expect(brightness(colour)).toBeGreaterThan(55);
    }
  });
});

describe("stats", () => {
  it("compares the mix of a selection with the map", () => {
    const mix = classMix([0, 0, 1, -1], ["a", "b"], [0, 3]);
    expect(mix).toMatchObject([{ label: "a", selected: 0.5, overall: 0.5 }, { label: "unlabelled", selected: 0.5, overall: 0.25 }]);
  });
  it("measures differences in standard deviations of all rows", () => {
    const values = Float32Array.from([0, 0, 1, 1]);
    const [d] = differences([{ kind: "number", name: "v", values, unit: null }], [2, 3], 4);
    expect(d).toMatchObject({ label: "v", effect: 2, inside: 1, outside: 0 });
  });
  it("names the text that is most typical", () => {
    const column = { kind: "text" as const, name: "c", texts: ["x", "y"], codes: Int32Array.from([0, 0, 1, 1]) };
    expect(differences([column], [0, 1], 4)[0]).toMatchObject({ label: "c = x", inside: 1, outside: 0 });
  });
  it("says nothing about everything, nothing, or a constant", () => {
    const column = { kind: "number" as const, name: "v", values: Float32Array.from([1, 1]), unit: null };
    expect(differences([column], [0], 2)).toEqual([]);
    expect(differences([column], [0, 1], 2)).toEqual([]);
  });
  it("writes numbers for people", () => {
    expect([1234, 12345, 0.123456, 1e-7, NaN, -0.5].map((v) => format(v))).toEqual(["1234", "12,345", "0.123", "1.00e-7", "missing", "-0.5"]);
    expect([format(19844, "date"), format(-1, "date"), format(1714571100.5, "time"), format(NaN, "time")]).toEqual(["2024-05-01", "1969-12-31", "2024-05-01 13:45:00", "missing"]);
    expect([5.1, 0.1, 1234567.9, 3, NaN].map((v) => shortest(Math.fround(v)))).toEqual([5.1, 0.1, 1234567.9, 3, NaN]);
    expect([0, 0.0004, 0.05, 0.47].map(percent)).toEqual(["0 %", "<0.1 %", "5.0 %", "47 %"]);
  });
});

describe("geometry", () => {
  it("keeps the aspect: one scale for both axes", () => {
    expect(fitFrame(Float32Array.from([0, 0, 10, 2]))).toMatchObject({ cx: 5, cy: 1 });
    expect(fitFrame(Float32Array.from([3, 3]))).toEqual({ cx: 3, cy: 3, radius: 1 });
    expect(fitFrame(new Float32Array(0))).toEqual({ cx: 0, cy: 0, radius: 1 });
  });
  it("maps the square's middle to the screen's middle", () => {
    const identity = new Float32Array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
    const { ax, bx, ay, by } = screenOf(identity, 800, 400);
    expect([ax * 0 + bx, ay * 0 + by]).toEqual([400, 200]);
    expect([ax * 1 + bx, ay * 1 + by]).toEqual([600, 0]);
  });
  it("knows inside from outside, also in a dent", () => {
    const dented = [0, 0, 4, 0, 4, 4, 2, 1, 0, 4];
    expect(insidePolygon(2, 0.5, dented)).toBe(true);
    expect(insidePolygon(2, 3, dented)).toBe(false);
  });
  it("steps to the nearest row in a direction, past hidden ones", () => {
    const x = Float32Array.from([0, 1, 2, 1]);
    const y = Float32Array.from([0, 0, 0, 5]);
    expect(nextInDirection(x, y, 0, 1, 0, () => true)).toBe(1);
    expect(nextInDirection(x, y, 0, 1, 0, (row) => row !== 1)).toBe(2);
    expect(nextInDirection(x, y, 2, 1, 0, () => true)).toBe(2);
  });
  it("names a class only where it is in the majority", () => {
    const n = 200;
    const apart = Float32Array.from({ length: 2 * n }, (_, i) => (i % 4 < 2 ? 0 : 10) + ((i * 7919) % 101) / 101);
    const mixed = Float32Array.from({ length: 2 * n }, (_, i) => ((i * 7919) % 101) / 101);
    const colour = byCodes("y", Array.from({ length: n }, (_, i) => i % 2), ["a", "b"], false);
    expect(placeLabels(makeLayer("l", "L", "", apart), colour, new Set()).map((l) => l.text)).toEqual(["a", "b"]);
    expect(placeLabels(makeLayer("l", "L", "", apart), colour, new Set([0])).map((l) => l.text)).toEqual(["b"]);
    const three = byCodes("y", Array.from({ length: n }, (_, i) => i % 3), ["a", "b", "c"], false);
    expect(placeLabels(makeLayer("l", "L", "", mixed), three, new Set())).toEqual([]);
    const absent = apart.map((value, i) => (i % 4 < 2 ? NaN : value));
    expect(placeLabels(makeLayer("l", "L", "", absent), colour, new Set()).map((l) => l.text)).toEqual(["b"]);
  });
});

describe("report", () => {
  const report = {
    format: 1, target: "class", n_fitted: 90, verdict: "Good: 97 % right. Beware: it is e.g. small.", target_shows: true, overstates: false,
    scores: [{ name: "1-NN error", value: { value: 0.1, spread: 0.02 }, unsupervised: null, permuted: { values: [0.9], mean: 0.9, spread: null }, chance: 0.9 }],
    structure: { map: { k: [1, 2], value: [0.5, null] } }, overlaps: [{ of: "a", into: "b", share: 0.125 }],
    versions: { numpy: "2" }, notes: ["one"], warnings: ["two"],
  };
  const stated = (id: string, answer: string | null, level = "headline") => ({ id, answer, level, words: `Words of ${id}: 3.1 ± 0.2 %.` });
  const three = [stated("target_shows", "yes"), stated("map_exaggerates", "no"), stated("target_needed", "cannot tell")];
  it("reads statements, and a warning takes the green away", () => {
    const view = readReport({ ...report, statements: [...three, stated("clusters", "no", "detail"), { id: "broken" }] });
    expect(view.statements.map((one) => [one.id, one.level, one.tone])).toEqual([
      ["target_shows", "headline", "good"], ["map_exaggerates", "headline", "good"], ["target_needed", "headline", "neutral"], ["clusters", "detail", "neutral"],
    ]);
    expect(view.statements[0].words).toBe("Words of target_shows: 3.1\u00a0±\u00a00.2\u00a0%.");
    expect(view.level).toBe("good");
    expect(view.remarks).toEqual([]);
    const leak = readReport({ ...report, statements: [stated("leaking_column", null, "warning"), ...three] });
    expect(leak.level).toBe("warn");
    expect(leak.statements.map((one) => one.tone)).toEqual(["warn", "neutral", "neutral", "neutral"]);
  });
  it("colours answers: in part and an exaggeration are amber, no and cannot tell are grey", () => {
    const level = (shows: string, over: string) => readReport({ ...report, statements: [stated("target_shows", shows), stated("map_exaggerates", over)] }).level;
    expect([level("in part", "no"), level("yes", "yes"), level("no", "no"), level("cannot tell", "no"), level("yes", "cannot tell")]).toEqual(["warn", "warn", "neutral", "neutral", "good"]);
  });
  it("says cannot tell once", () => {
    const [one] = readReport({ ...report, statements: [{ ...three[0], answer: "cannot tell", words: "Cannot tell whether it shows." }] }).statements;
    expect([one.answer, one.words]).toEqual(["cannot tell", "whether it shows."]);
  });
  it("keeps the sentences of earlier versions and puts each error beside what it must be compared to", () => {
    const view = readReport(report);
    expect(view.statements.map((one) => one.words)).toEqual(["Good: 97\u00a0% right.", "Beware: it is e.g. small."]);
    expect(view.level).toBe("good");
    expect(view.figures).toEqual([
      { label: "1-NN error", entries: [
        { label: "this map", value: 0.1, text: "10 %", spread: "2.0 %" },
        { label: "permuted labels", value: 0.9, text: "90 %", spread: null },
        { label: "chance", value: 0.9, text: "90 %", spread: null },
      ] },
    ]);
    expect([...view.curves[0].r]).toEqual([0.5, NaN]);
    expect(view.overlaps).toEqual([{ of: "a", into: "b", share: "13 %" }]);
    expect(view.remarks).toEqual(["two", "one"]);
    expect(view.details).toEqual([["Target", "class"], ["Fitted rows", "90"], ["Numpy", "2"]]);
  });
  it("is not green in earlier versions where the map over-states or the target does not show", () => {
    expect(readReport({ ...report, overstates: true }).level).toBe("neutral");
    expect(readReport({ ...report, target_shows: false }).level).toBe("neutral");
  });
  it("reads the supervision that was tried, a branch for each posterior", () => {
    const one = { posterior: "lssvm", supervision: 0.8, score: 0.9, map_score: null, neighbors_kept: 0.5, taken: true };
    const curve = [one, { ...one, posterior: "none", supervision: 0, neighbors_kept: 1, taken: false }, { posterior: "trees" }];
    const view = readReport({ ...report, supervision_curve: curve });
    expect(view.tried).toHaveLength(2);
    expect(view.details.flat()).not.toContain("Supervision curve");
    expect(branches(view.tried)).toEqual([{ posterior: "lssvm", points: [view.tried[1], view.tried[0]] }]);
    expect(inWords(view.tried, view.real)).toBe(
      "How much the target counts. 0.8 with lssvm: predicted 90 %, neighbours kept 50 %, taken; 0: predicted 90 %, neighbours kept 100 %",
    );
    expect(inWords([{ ...view.tried[0], inMap: 0.25 }], true)).toContain("nRMSE 0.9, on a quick map 0.25");
  });
  it("has an answer for no report", () => {
    expect(readReport(null).statements).toEqual([]);
  });
});

describe("curves", () => {
  it("takes the area over a logarithmic axis", () => {
    const k = Float32Array.from({ length: 50 }, (_, i) => i + 1);
    expect(area({ label: "", k, r: k.map(() => 0.4) })).toBeCloseTo(0.4);
    const falling = area({ label: "", k, r: k.map((v) => (v < 7 ? 1 : 0)) });
    expect(falling).toBeCloseTo(Math.log(7) / Math.log(50.5), 1);
  });
});

describe("small things", () => {
  it("combines selections in order", () => {
    expect(combine([5, 1], [3], "add")).toEqual([1, 3, 5]);
    expect(combine([1, 3], [3, 9], "remove")).toEqual([1]);
  });
  it("escapes what XML cannot hold", () => {
    expect(escapeXml(`<script>&"\u0000`)).toBe("&lt;script&gt;&amp;&quot;");
  });
});
