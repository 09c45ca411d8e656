"""The notebook widget: the page's bytes, a selection both ways, and a fallback."""

import html
from dataclasses import replace

import numpy as np
import pytest

from prismap.exceptions import InputError, PrismapWarning
from prismap.page import _document as document
from prismap.page import show_in_notebook
from prismap.page._packing import unpack


def test_the_widget_carries_the_page_and_its_script(small_map):
    shown = show_in_notebook(small_map, height=500)
    assert unpack(shown._page)[0]["title"] == "twelve rows"
    assert "export" in str(shown._esm)
    assert shown.height == 500


def test_a_selection_made_in_python_reaches_the_page(small_map):
    shown = show_in_notebook(small_map)
    sent = []
    shown.send_state = lambda key=None: sent.append(key)
    shown.selection = [5, 1, 5]
    assert shown.selection.tolist() == [1, 5]
    assert np.frombuffer(shown.get_state("selection")["selection"], "<i4").tolist() == [1, 5]
    shown.selection = np.arange(12) > 9
    assert shown.selection.tolist() == [10, 11]


def test_a_selection_made_in_the_page_reaches_python(small_map):
    shown = show_in_notebook(small_map)
    seen = []
    shown.observe(lambda change: seen.append(change["new"].tolist()), "selection")
    shown.set_state({"selection": memoryview(np.array([2, 7], "<i4").tobytes())})
    assert shown.selection.tolist() == [2, 7]
    assert seen == [[2, 7]]


def test_selected_rows_have_the_names_of_the_table(small_map):
    names = np.array([f"r{i}" for i in range(12)])
    shown = show_in_notebook(small_map, index=names)
    shown.selection = [3, 4]
    assert shown.selected_index.tolist() == ["r3", "r4"]
    assert show_in_notebook(small_map).selected_index.tolist() == []


def test_the_verdict_follows_the_map(small_map):
    heard = []

    def later(callback):
        callback(1, 4)
        heard.append(shown._judging)
        return replace(small_map, report={"verdict": "The labels show."})

    shown = show_in_notebook(small_map)
    shown.judge_later(later).join()
    assert heard == [0.25]
    assert unpack(shown._judged)[0]["report"] == {"verdict": "The labels show."}
    assert (shown._judging, shown._trouble) == (-1.0, "")


def test_a_verdict_that_fails_says_why(small_map):
    def later(callback):
        raise RuntimeError("no luck")

    shown = show_in_notebook(small_map)
    shown.judge_later(later).join()
    assert (shown._judging, shown._trouble, shown._judged) == (-1.0, "no luck", b"")


def test_readers_without_widgets_see_a_picture(small_map):
    bundle = show_in_notebook(small_map, picture=b"PNG")._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert data["image/png"] == "UE5H"
    assert "application/vnd.jupyter.widget-view+json" in data
    assert "12 rows" in data["text/plain"]


@pytest.mark.parametrize("rows", [[12], [-1], [[1, 2]], ["a"], [0.5], [True, False]])
def test_impossible_selections_are_refused(small_map, rows):
    with pytest.raises(InputError, match="row numbers from 0 to 11"):
        show_in_notebook(small_map).selection = rows


def test_without_the_extra_the_page_is_shown_in_a_frame(small_map, monkeypatch):
    def missing(*_, **__):
        raise document.MissingExtraError(
            "needs the package 'anywidget'. Install it with: pip install 'prismap[notebook]'"
        )

    monkeypatch.setattr(document, "import_extra", missing)
    with pytest.warns(PrismapWarning, match="prismap\\[notebook\\]"):
        shown = show_in_notebook(small_map)
    text = shown._repr_html_()
    assert 'sandbox="allow-scripts allow-downloads"' in text
    assert html.escape("<title>twelve rows</title>") in text
    assert "12 rows" in repr(shown)
