"""What is said where: results on stdout, the rest on stderr; one redrawn line on a terminal, log lines elsewhere."""

import io
import json

import numpy as np
import pytest

from prismap.cli import console as module
from prismap.cli.console import Console, to_json


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_log_lines_when_piped():
    stream = io.StringIO()
    console = Console(stream=stream)
    with console.stage("reading"):
        console.doing("row 5")
    console.note("something")
    console.note("something")
    lines = stream.getvalue().splitlines()
    assert lines[0].startswith("reading: ")
    assert lines[0].endswith(" s")
    assert lines[1:] == ["note: something"]
    assert console.notes == ["something"]
    assert "\r" not in stream.getvalue()


def test_progress_is_logged_now_and_then(monkeypatch):
    monkeypatch.setattr(module, "_LOG_SECONDS", 0.0)
    stream = io.StringIO()
    console = Console(stream=stream)
    console.doing("row 5")
    monkeypatch.setattr(module, "_LOG_SECONDS", 100.0)
    console.doing("row 6")
    assert stream.getvalue() == "  row 5\n"


def test_one_line_is_redrawn_on_a_terminal(monkeypatch):
    monkeypatch.setattr(module, "_TERMINAL_SECONDS", 0.0)
    stream = Terminal()
    console = Console(stream=stream)
    with console.stage("placing"):
        console.doing("row 5")
    shown = stream.getvalue()
    assert "\r\x1b[Kplacing ...\r\x1b[Krow 5\r\x1b[Kplacing: " in shown
    assert shown.count("\n") == 1


def test_a_failed_stage_clears_its_line_and_reports_no_time():
    stream = Terminal()
    console = Console(stream=stream)
    with pytest.raises(KeyError), console.stage("reading"):
        raise KeyError
    assert stream.getvalue() == "\r\x1b[Kreading ...\r\x1b[K"


def test_quiet_says_nothing_but_the_result(capsys):
    stream = Terminal()
    console = Console(quiet=True, stream=stream)
    with console.stage("reading"):
        console.doing("row 5")
    console.note("kept for the report")
    console.result("the answer\n", {})
    assert stream.getvalue() == ""
    assert console.notes == ["kept for the report"]
    assert capsys.readouterr().out == "the answer\n"


def test_json_on_stdout_is_strict(capsys):
    Console(as_json=True).result("words", {"a": np.float32(0.5), "b": [np.nan, np.int64(3)], "c": {1: (np.inf, "ü")}})
    assert json.loads(capsys.readouterr().out) == {"a": 0.5, "b": [None, 3], "c": {"1": [None, "ü"]}}
    assert "NaN" not in to_json({"x": np.array([np.nan])})


def test_text_of_files_has_no_power_over_the_terminal(capsys):
    stream = Terminal()
    console = Console(stream=stream)
    evil = "a\x1b]0;title\x07\x1b[2J\x9b31m\u202eb\ud800\r"
    console.note(evil)
    with console.stage(evil):
        console.doing(evil)
    written = stream.getvalue().replace("\r\x1b[K", "")
    console.result(evil, {})
    Console(as_json=True).result("", {"name": evil})
    printed, _ = capsys.readouterr()
    for text in (written, printed):
        assert not set(text) & set("\x1b\x07\x9b\u202e\ud800\r")
        assert r"a\u001b]0;title\u0007\u001b[2J\u009b31m\u202eb\ud800" in text
    assert json.loads(printed.split("\n", 1)[1])["name"] == evil
    assert module.visible("plain: ä → 日本\tand\nlines") == "plain: ä → 日本\tand\nlines"


@pytest.mark.parametrize("as_json", [False, True])
def test_letters_that_the_output_lacks_are_escaped(monkeypatch, as_json):
    """As on Windows, where a pipe has the encoding of the country."""
    text = "Müller, 北京 😀"
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding="cp1252"))
    Console(as_json=as_json).result(text, {"text": text})
    written = raw.getvalue().decode("cp1252")
    if as_json:
        assert json.loads(written) == {"text": text}
    else:
        assert written.splitlines() == ["Müller, \\u5317\\u4eac \\ud83d\\ude00"]
