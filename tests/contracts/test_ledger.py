"""The ledger of experiments: rows of parts become pages, parts can be left out, resumed and fail alone."""

import json
import re
import shutil
import sys
import threading
from types import SimpleNamespace

import pytest
from experiments import arrangement, ledger, run, table_h

from prismap import PrisMap

SCRIPT = '''"""Squares of numbers.

What a square is.
"""
import sys

def small(options):
    for k in (1, 2):
        yield {"n": k, "square": float(k * k), "quick": options.quick}

def large(options):
    yield {"n": 10, "square": f"{options.data} | 100"}

def broken(options):
    yield {"n": 0}
    raise ValueError("no such square")

READING = "They grow."
PARTS = {"small": small, "large, with data": large, "broken": broken}
WITHOUT_DATA = ("small",)

if __name__ == "__main__":
    from experiments.ledger import main
    main(sys.modules[__name__])
'''


@pytest.fixture
def squares(tmp_path, monkeypatch):
    """An experiment of three parts, the last of which fails, as the only one there is."""
    (tmp_path / "experiments_squares.py").write_text(SCRIPT, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    import experiments_squares

    monkeypatch.setattr(run, "NAMES", ("squares",))
    monkeypatch.setattr(run.importlib, "import_module", lambda name: experiments_squares)
    yield experiments_squares
    sys.modules.pop("experiments_squares")


def run_all(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["run", "--jobs", "2", *arguments])
    return run.main()


def test_a_page_has_docstring_reading_rows_and_what_is_missing(squares, tmp_path):
    seconds = ledger.do_part(squares, "small", ledger.Options(out=tmp_path))
    assert seconds >= 0
    assert list(ledger.write_page(squares, tmp_path)) == ["small"]
    text = (tmp_path / "experiments_squares.md").read_text(encoding="utf-8")
    assert text.startswith(
        "# Squares of numbers\n\nWhat a square is.\n\nThey grow.\n\n## small\n\n| n | square | quick |"
    )
    assert "| 2 | 4.0 | False |" in text
    assert "Not done: large, with data, broken." in text
    assert "trial" not in text


def test_figures_in_braces_are_taken_from_the_rows(squares, tmp_path, monkeypatch):
    monkeypatch.setattr(squares, "READING", "The square of 2 is {two}, and of 10 {ten}.")
    quoted = {"two": ("small", {"n": 2}, "square"), "ten": ("large, with data", {"n": 10}, "square")}
    monkeypatch.setattr(squares, "QUOTED", quoted, raising=False)
    ledger.do_part(squares, "small", ledger.Options(out=tmp_path))
    ledger.write_page(squares, tmp_path)
    text = (tmp_path / "experiments_squares.md").read_text(encoding="utf-8")
    assert "The square of 2 is 4.0, and of 10 -." in text


def test_small_sizes_are_called_a_trial(squares, tmp_path):
    ledger.do_part(squares, "small", ledger.Options(quick=True, out=tmp_path))
    ledger.write_page(squares, tmp_path)
    assert "trial of the script" in (tmp_path / "experiments_squares.md").read_text(encoding="utf-8")


def test_a_page_says_which_code_and_which_defaults_measured_its_parts():
    new = {"commit": "abc1234", "defaults": {"supervision": "auto", "mapping": "auto"}}
    assert list(ledger.runs_of({"one": new, "two": new}, default_maps=False)) == ["Measured at commit abc1234."]
    code, defaults = ledger.runs_of({"one": new, "two": {}, "three": {}}, default_maps=True)
    assert code == "Measured at commit abc1234 (one); before rows were kept with their commit (two, three)."
    assert "`supervision='auto', mapping='auto'` (one); `supervision=0.8, mapping='fisher'` (two, three)." in defaults


def test_rows_are_kept_with_their_commit_and_defaults(squares, tmp_path):
    ledger.do_part(squares, "small", ledger.Options(out=tmp_path / "new folder"))
    kept = json.loads(ledger.rows_path(squares, "small", tmp_path / "new folder").read_text(encoding="utf-8"))
    assert kept["commit"] == ledger.commit()
    assert kept["defaults"] == {"supervision": PrisMap().supervision, "mapping": PrisMap().mapping}


def test_a_failing_part_is_named_and_leaves_no_rows(squares, tmp_path, monkeypatch, capsys):
    out = tmp_path / "results"
    assert run_all(monkeypatch, "--data", "FOLDER", "--out", str(out)) == 1
    told = capsys.readouterr().out
    assert "no such square" in told
    assert "failed: experiments_squares, broken" in told
    assert sorted(path.name for path in (out / "rows").iterdir()) == [
        "experiments_squares.large_with_data.json", "experiments_squares.small.json",
    ]  # fmt: skip
    assert "2 of 3" in (tmp_path / "results.md").read_text(encoding="utf-8")
    assert r"FOLDER \| 100" in (out / "experiments_squares.md").read_text(encoding="utf-8")


def test_a_page_can_be_written_while_another_part_keeps_its_rows(squares, tmp_path, monkeypatch):
    monkeypatch.setitem(squares.PARTS, "small", lambda options: ({"n": k} for k in range(2000)))
    out = tmp_path / "results"

    def measure(n_times):
        for _ in range(n_times):
            ledger.do_part(squares, "small", ledger.Options(out=out))

    measure(1)
    again = threading.Thread(target=measure, args=(10,))
    again.start()
    while again.is_alive():
        assert len(ledger.write_page(squares, out)["small"]["rows"]) == 2000
    assert sorted(path.name for path in out.rglob("*") if path.is_file()) == [
        "experiments_squares.md", "experiments_squares.small.json",
    ]  # fmt: skip


def test_resume_keeps_rows_of_the_same_size_or_those_of_this_library_alone(squares, tmp_path, monkeypatch):
    ledger.do_part(squares, "small", ledger.Options(out=tmp_path))

    def is_kept(part, resume, *, quick=False):
        return run.is_done(squares, part, SimpleNamespace(out=tmp_path, quick=quick, resume=resume))

    monkeypatch.setattr(ledger, "is_unchanged_since", lambda commit: commit == ledger.commit())
    assert is_kept("small", "kept")
    assert is_kept("small", "current")
    assert not is_kept("small", None)
    assert not is_kept("small", "kept", quick=True)
    assert not is_kept("broken", "kept")
    monkeypatch.setattr(ledger, "is_unchanged_since", lambda commit: False)
    assert is_kept("small", "kept")
    assert not is_kept("small", "current")


def test_a_run_on_kept_rows_names_every_part_and_changes_no_rows(squares, tmp_path, monkeypatch, capsys):
    out = tmp_path / "results"
    for part in ("small", "large, with data"):
        ledger.do_part(squares, part, ledger.Options(data="FOLDER", out=out))
    rows = {path.name: path.read_bytes() for path in (out / "rows").iterdir()}
    monkeypatch.delitem(squares.PARTS, "broken")
    monkeypatch.setattr(ledger, "is_unchanged_since", lambda commit: False)
    assert run_all(monkeypatch, "--resume", "--out", str(out)) == 0
    assert {path.name: path.read_bytes() for path in (out / "rows").iterdir()} == rows
    printed = capsys.readouterr().out
    for part in ("small", "large, with data"):
        assert f"kept: experiments_squares, {part}, measured by an earlier library at {ledger.commit()}" in printed
    assert "2 parts are kept, 0 of them measured by the library as it is.\n0 are measured now." in printed


def test_pages_can_be_written_from_kept_rows_alone(squares, tmp_path, monkeypatch, capsys):
    out = tmp_path / "results"
    ledger.do_part(squares, "small", ledger.Options(out=out))
    monkeypatch.setattr(run, "run_part", None)  # which would be called
    assert run_all(monkeypatch, "--resume", "only", "--data", "FOLDER", "--out", str(out)) == 0
    printed = capsys.readouterr().out
    assert "without rows: experiments_squares, broken" in printed
    assert "2 have no rows." in printed
    assert "1 of 3" in (tmp_path / "results.md").read_text(encoding="utf-8")


def test_parts_that_are_measured_or_lack_data_are_named(squares, tmp_path, monkeypatch, capsys):
    out = tmp_path / "results"
    assert run_all(monkeypatch, "--resume", "--out", str(out)) == 0
    printed = capsys.readouterr().out
    assert "to measure: experiments_squares, small" in printed
    assert "0 parts are kept, 0 of them measured by the library as it is.\n1 are measured now." in printed
    assert "2 parts need data sets and are left out" in printed


def test_the_list_of_pages_counts_parts_that_are_older(squares, tmp_path, monkeypatch):
    out = tmp_path / "results"
    ledger.do_part(squares, "small", ledger.Options(out=out))
    monkeypatch.setattr(run, "OLDER", ("1211a32", ledger.commit()))
    run.write_index(out)
    text = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert f"1 of the 1 parts that are kept were measured at commits {ledger.commit()}, before" in text
    assert f"(results/squares.md) | 1 of 3 | 0 | {ledger.commit()} |" in text
    assert run.on_older([{"commit": "abc1234", "seconds": 1}]) == []
    assert run.codes_of({"commit": "6bb9b820, audiology at 1a0bc8cf"}) == ["6bb9b820", "1a0bc8cf"]
    assert run.codes_of({}) == []


def test_the_library_changes_with_its_own_files_only(tmp_path, monkeypatch):
    monkeypatch.setattr(ledger, "RESULTS", tmp_path / "docs" / "results")
    for name in ("src", "src/prismap/page", "docs"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").write_text("one", encoding="utf-8")
    assert not ledger.is_unchanged_since("abc1234")  # no repository at all
    author = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    for words in (("init", "-q"), ("add", "."), (*author, "commit", "-q", "-m", "first")):
        assert ledger.git(*words) is not None
    first = ledger.commit()
    assert ledger.is_unchanged_since(first)
    for name in ("docs", "src/prismap/page"):
        (tmp_path / name / "file").write_text("two", encoding="utf-8")
        assert ledger.is_unchanged_since(first)
    (tmp_path / "src" / "file").write_text("two", encoding="utf-8")
    assert not ledger.is_unchanged_since(first)
    assert not ledger.is_unchanged_since("abc1234")
    assert not ledger.is_unchanged_since(None)


def test_what_was_never_measured_or_took_longest_comes_first(squares, tmp_path, monkeypatch):
    for seconds, part in ((1, "small"), (9, "large, with data")):
        path = ledger.rows_path(squares, part, tmp_path)
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"seconds": seconds}), encoding="utf-8")
    order = []
    monkeypatch.setattr(run, "run_part", lambda script, part, args: order.append(part) or (0, 0.0, ""))
    monkeypatch.setattr(run, "write_index", lambda out: None)
    assert run_all(monkeypatch, "--jobs", "1", "--data", "FOLDER", "--out", str(tmp_path)) == 0
    assert order == ["broken", "large, with data", "small"]


def test_only_parts_with_a_word_in_their_name(squares, tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr(run, "run_part", lambda script, part, args: done.append(part) or (0, 0.0, ""))
    monkeypatch.setattr(run, "write_index", lambda out: None)
    words = ("--jobs", "1", "--data", "FOLDER", "--out", str(tmp_path), "--parts", "large", "small")
    assert run_all(monkeypatch, *words) == 0
    assert sorted(done) == ["large, with data", "small"]


def test_without_data_only_the_parts_that_need_none(squares):
    assert ledger.feasible(squares, None) == ["small"]
    assert ledger.feasible(squares, "FOLDER") == list(squares.PARTS)


def test_every_experiment_has_what_a_page_needs():
    import importlib

    for name in run.NAMES:
        script = importlib.import_module(f"experiments.{name}")
        assert script.PARTS
        assert ledger.title(script)
        assert ledger.explanation(script)
        assert set(getattr(script, "WITHOUT_DATA", ())) <= set(script.PARTS)
        files = [ledger.file_name(part) for part in script.PARTS]
        assert len(set(files)) == len(files)


def test_committed_rows_are_those_of_the_committed_pages():
    own_tables = {path.name for path in (ledger.RESULTS / "rows").glob("league.*.json")}  # SHOWS_ALL
    for path in sorted((ledger.RESULTS / "rows").glob("*.json")):
        kept = json.loads(path.read_text(encoding="utf-8"))
        page = (ledger.RESULTS / f"{path.name.split('.')[0]}.md").read_text(encoding="utf-8")
        if path.name not in own_tables:
            assert ledger.markdown(kept["rows"]) in page, path.name
        assert not kept["quick"], path.name


def test_the_committed_pages_and_their_list_are_what_the_scripts_write(tmp_path):
    """Also that every page can be written: its text, its rows, and what else a script adds."""
    out = tmp_path / "results"
    shutil.copytree(ledger.RESULTS, out, ignore=lambda folder, names: [name for name in names if name.endswith(".md")])
    run.write_index(out)
    written = {path.name for path in out.glob("*.md")}
    assert len(written) == len(run.NAMES)
    for path in [tmp_path / "results.md", *(out / name for name in written)]:
        committed = ledger.RESULTS.parent / path.relative_to(tmp_path)
        assert path.read_text(encoding="utf-8") == committed.read_text(encoding="utf-8"), path.name


#: Figures of runs and trials whose rows are not kept, which their sentences say.
NOT_KEPT = {58.4, 0.78}
DECIMAL = re.compile(r"(?<!\w)\d*\.\d+")


def decimals(text):
    return {float(number) for number in DECIMAL.findall(text)}


def table_figures(*pages):
    """All figures in the tables of pages, shares also as per cent."""
    lines = [line for page in pages for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    found = decimals("\n".join(lines))
    return found | {round(number / 100, 4) for number in found}


SECTIONS = (ledger.RESULTS / "not_reached.md").read_text("utf-8").split("\n## ")[1:]


@pytest.mark.parametrize("section", [section for section in SECTIONS if section.startswith("[Table")])
def test_what_is_not_reached_is_quoted_from_the_tables(section):
    pages = [ledger.RESULTS / name for name in re.findall(r"\]\((\w+\.md)\)", section)]
    known = table_figures(*pages) | NOT_KEPT
    rounded = known | {round(number, 2) for number in known}
    assert not decimals(section) - rounded


def test_the_page_of_mixtures_has_the_stresses_of_table_h():
    page = (ledger.RESULTS.parent / "methods" / "mixture.md").read_text(encoding="utf-8")
    assert table_h.summary(ledger.RESULTS) in page
    for sentences in table_h.expectations(ledger.RESULTS):
        assert sentences in " ".join(page.split())


def test_the_page_of_quality_has_the_counts_of_known_arrangements(tmp_path):
    shutil.copytree(ledger.RESULTS / "rows", tmp_path / "rows")
    page = (ledger.RESULTS.parent / "methods" / "quality.md").read_text(encoding="utf-8")
    assert arrangement.said_of_known(ledger.write_page(arrangement, tmp_path)) in page
