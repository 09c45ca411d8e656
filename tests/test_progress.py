"""How far long work is: in a terminal, in a notebook, and nowhere else."""

import io
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from prismap import PrisMap
from prismap._util.progress import Pace, Progress

X = np.random.default_rng(0).normal(size=(40, 3))


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr("prismap._util.progress.sys", SimpleNamespace(stderr=screen, modules={}))
    return screen


def test_a_fit_says_how_far_it_is_and_leaves_a_clean_line(terminal):
    seen = []
    PrisMap(perplexity=5, random_state=0).fit(X, verbose=1, callback=lambda *found: seen.append(found))
    said = terminal.getvalue()
    assert "map: measuring the distances of 40 rows" in said
    assert "map: embedding" in said
    assert said.endswith("\r\x1b[K")
    assert seen  # the user's own callback is called, too


def test_the_time_left_follows_from_the_time_taken(terminal, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("prismap._util.progress.time.perf_counter", lambda: now[0])
    with Progress("map") as progress:
        progress.stage("embedding")
        now[0] = 2.0
        progress.at(100, 400, "iteration 100 of 400")
        now[0] = 2.1  # too soon to be drawn again
        progress.at(110, 400, "iteration 110 of 400")
    assert "map: iteration 100 of 400, 6 s left" in terminal.getvalue()
    assert "110" not in terminal.getvalue()


def test_a_search_before_the_first_iterations_does_not_count(terminal, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("prismap._util.progress.time.perf_counter", lambda: now[0])
    with Progress("map") as progress:
        progress.stage("embedding")
        follow = progress.watching(None, 750)
        for iteration, at in ((50, 1000.0), (150, 1010.0), (250, 1020.0)):
            now[0] = at
            follow(iteration, 0.0, None)
    assert "iteration 150 of 750, 60 s left" in terminal.getvalue()
    assert "iteration 250 of 750, 50 s left" in terminal.getvalue()


@pytest.mark.parametrize("verbose", [0, None])
def test_short_work_and_quiet_work_say_nothing(terminal, verbose):
    PrisMap(perplexity=5, random_state=0).fit(X, verbose=verbose)
    assert terminal.getvalue() == ""


def test_nothing_is_said_where_nobody_looks(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr("prismap._util.progress._FIRST", 0.0)
    PrisMap(perplexity=5, random_state=0).fit(X)
    assert sys.stderr.getvalue() == ""


def test_maps_for_comparison_are_counted_and_do_not_speak_themselves(terminal, monkeypatch):
    monkeypatch.setattr("prismap._util.progress._EVERY", 0.0)
    y = np.arange(40) % 2
    PrisMap(perplexity=5, random_state=0).fit(X, y, verbose=0).report(verbose=1, n_permutations=1)
    said = terminal.getvalue()
    assert re.search(r"verdict: 1 of (\d+) maps for comparison.*verdict: \1 of \1 maps", said, re.DOTALL)
    assert "map: embedding" not in said


def test_a_notebook_gets_a_bar_that_goes_away(monkeypatch):
    shown = []
    handle = SimpleNamespace(update=lambda bundle, raw: shown.append(bundle["text/html"]))

    def display(bundle, raw, display_id):
        shown.append(bundle["text/html"])
        return handle

    monkeypatch.setattr("prismap._util.progress._EVERY", 0.0)
    kernel = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=1), display=SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    monkeypatch.setitem(sys.modules, "IPython.display", kernel.display)
    with Progress("map", verbose=1) as progress:
        progress.stage("embedding <5>")
        progress.at(1, 2, "half")
    assert shown[0].startswith("<progress")
    assert "embedding &lt;5&gt;" in shown[0]
    assert 'value="0.500"' in shown[1]
    assert shown[-1] == ""


def test_what_went_before_the_first_report_does_not_count(monkeypatch):
    clock = iter([100.0, 104.0, 130.0])
    monkeypatch.setattr("prismap._util.progress.time.perf_counter", lambda: next(clock))
    pace = Pace()
    assert pace.left(50, 750) == ""  # a hundred seconds for a metric, say
    assert pace.left(150, 750) == ", 24 s left"
    assert pace.left(750, 750) == ""
