"""The notebook widget's front end, driven through a model like anywidget's."""

import base64
import json
from dataclasses import replace

import pytest
from playwright.sync_api import expect

from browser.examples import BROWSER, CENTRES, stated, three_groups
from browser.hands import count, lasso, on_screen, wait_for_map
from prismap.page._document import page_script
from prismap.page._message import pack_page

pytestmark = BROWSER

HARNESS = """<!doctype html><meta charset="utf-8"><body style="margin:0"><div id="cell"></div><script type="module">
const { default: widget } = await import(URL.createObjectURL(new Blob([%s], { type: "text/javascript" })));
const bytes = Uint8Array.from(atob("%s"), (c) => c.charCodeAt(0));
const none = new DataView(new ArrayBuffer(0));
const values = { _page: new DataView(bytes.buffer), height: 600, view: "", selection: none };
const listeners = {};
window.saved = [];
window.model = {
  get: (name) => values[name],
  set: (name, value) => { values[name] = value; },
  save_changes: () => window.saved.push(Array.from(new Int32Array(values.selection.buffer))),
  on: (event, listener) => { listeners[event] = listener; },
  off: (event) => { delete listeners[event]; },
};
window.select = (rows) => {
  values.selection = new DataView(Int32Array.from(rows).buffer);
  listeners["change:selection"]();
};
window.tell = (name, value) => { values[name] = value; listeners["change:" + name](); };
window.judged = (text) => tell("_judged", new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer));
window.listening = () => Object.keys(listeners);
window.leave = widget.render({ model, el: document.getElementById("cell") });
</script>"""


@pytest.fixture
def cell(tab, tmp_path):
    data = three_groups()
    path = tmp_path / "cell.html"
    script = json.dumps(page_script()).replace("</", "<\\/")
    path.write_text(HARNESS % (script, base64.b64encode(pack_page(data)).decode()))
    tab.goto(path.as_uri())
    wait_for_map(tab)
    return tab, data


def test_a_selection_goes_both_ways(cell, keep):
    page, data = cell
    lasso(page, on_screen(page, CENTRES[1], data), 0.14)
    expect(count(page)).to_have_text("30 rows")
    assert page.evaluate("saved.at(-1)") == list(range(1, 90, 3))
    page.evaluate("select([3, 4])")
    expect(count(page)).to_have_text("2 rows")
    keep("widget")


def test_leaving_a_cell_leaves_nothing_behind(cell):
    page, _ = cell
    page.evaluate("leave()")
    assert page.evaluate("listening()") == []
    assert page.locator("canvas").count() == 0


def test_the_verdict_arrives_while_the_map_is_looked_at(cell):
    page, data = cell
    page.evaluate("tell('_judging', 0.5)")
    expect(page.get_by_role("progressbar", name="Judging this map")).to_be_visible()
    later = replace(data, report={**data.report, "statements": [stated("target_shows", "no", "Another verdict.")]})
    page.evaluate("judged", base64.b64encode(pack_page(later)).decode())
    expect(page.locator(".pm-verdict .pm-sentence")).to_contain_text("Another verdict.")


def test_a_narrow_cell_puts_the_panels_below_the_map(cell):
    page, _ = cell
    page.evaluate("document.getElementById('cell').style.width = '700px'")
    stage, panel = (page.locator(name).bounding_box() for name in (".pm-stage", ".pm-right"))
    assert stage["width"] == 700
    assert panel["y"] > stage["y"] + stage["height"]
