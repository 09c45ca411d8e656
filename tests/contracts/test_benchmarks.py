"""The pages of speed: comparisons become rows, rows become pages and goals, parts are measured one by one."""

import json
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks import goals, large, million, run, speed
from benchmarks.harness import clocked, compare, on_its_own, peak_gb
from experiments import ledger

from prismap.map._methods import METHODS

pytestmark = pytest.mark.linux  # peaks of memory are read from /proc


def keep(out, page, part, rows, **more):
    """Rows as a part leaves them."""
    (out / "rows").mkdir(exist_ok=True)
    kept = {"rows": rows, "seconds": 1, "quick": False, "version": "0", "commit": "abc1234"} | more
    (out / "rows" / f"{page}.{ledger.file_name(part)}.json").write_text(json.dumps(kept), encoding="utf-8")


# Comparisons


def test_a_comparison_says_ratio_goal_and_answer():
    calls = []
    found = compare(
        "two sides", lambda: calls.append("ours"), lambda: calls.append("theirs"), lambda a, b: a == b, repeat=2,
        goal=1e9, peak=False,
    )  # fmt: skip
    assert calls == ["ours", "theirs"] * 3
    row = found.as_row()
    assert (row["what"], row["answer"], row["peak MiB"]) == ("two sides", "same", "")
    assert row["goal"] == ">= 1e+09: missed"
    assert row["our seconds"].endswith(" CPU")
    unequal = compare("", lambda: 1, lambda: 2, lambda a, b: a == b, repeat=1, clock="wall").as_row()
    assert (unequal["answer"], unequal["goal"]) == ("OTHER", "")
    assert "one pair" in unequal["theirs / ours"]
    assert compare("", lambda: 1, lambda: 2, repeat=1).as_row()["answer"] == ""


def test_core_seconds_count_processes_that_were_started_and_no_sleep():
    _, busy = clocked(lambda: subprocess.run([sys.executable, "-c", "sum(range(10**7))"], check=True))
    _, idle = clocked(lambda: subprocess.run([sys.executable, "-S", "-c", "import time; time.sleep(1)"], check=True))
    assert busy > 0.05
    assert idle < 0.7


def test_the_peak_of_a_process_of_its_own_is_its_own():
    held = np.ones(60_000_000)  # 480 MB
    assert peak_gb() > 0.48
    assert on_its_own(peak_gb) < 0.3
    assert len(held)


# Parts and pages


@pytest.mark.parametrize("script", [speed, large])
def test_both_pages_have_what_the_ledger_needs(script):
    assert script.PARTS
    assert ledger.title(script)
    assert ledger.explanation(script)
    assert set(script.WITHOUT_DATA) <= set(script.PARTS)
    assert set(script.THREADED) <= set(script.PARTS)
    assert len({ledger.file_name(part) for part in script.PARTS}) == len(script.PARTS)
    assert not any(" " in part for part in script.PARTS)  # make passes them on


def test_parts_are_found_by_name_and_short_name():
    assert run.part_named(speed, "fit") == run.part_named(speed, "bench_fit") == "bench_fit"
    with pytest.raises(SystemExit, match="no part"):
        run.part_named(large, "fit")


def test_rows_without_a_commit_or_of_another_size_are_measured_again(tmp_path):
    args = SimpleNamespace(out=tmp_path, quick=False)
    assert not run.is_measured(speed, "bench_fit", args)
    keep(tmp_path, "speed", "bench_fit", [])
    assert run.is_measured(speed, "bench_fit", args)
    assert not run.is_measured(speed, "bench_fit", SimpleNamespace(out=tmp_path, quick=True))
    keep(tmp_path, "speed", "bench_fit", [], commit="")
    assert not run.is_measured(speed, "bench_fit", args)
    path = ledger.rows_path(speed, "bench_fit", tmp_path)  # rows of a run that was ended have no seconds
    path.write_text(json.dumps({"rows": [], "quick": False, "commit": "abc1234"}), encoding="utf-8")
    assert not run.is_measured(speed, "bench_fit", args)


def test_one_part_measured_again_leaves_the_rows_of_the_others(tmp_path, monkeypatch):
    keep(tmp_path, "speed", "bench_fit", [{"what": "an old fit"}], commit="")
    monkeypatch.setitem(speed.PARTS, "bench_gp", lambda options: iter([{"what": "a new process"}]))
    ledger.do_part(speed, "bench_gp", ledger.Options(out=tmp_path))
    run.write_pages(tmp_path)
    page = (tmp_path / "speed.md").read_text(encoding="utf-8")
    assert "an old fit" in page
    assert "a new process" in page
    assert f"at commit {ledger.commit()} (bench_gp)" in page
    assert "before rows were kept with their commit (bench_fit)" in page
    assert "`make bench DATA=FOLDER`" in page
    kept = json.loads(ledger.rows_path(speed, "bench_gp", tmp_path).read_text(encoding="utf-8"))
    assert kept["machine"] == ledger.machine()


def test_a_part_that_fails_is_named_and_the_others_go_on(monkeypatch, capsys, tmp_path):
    asked = []
    monkeypatch.setattr(run, "run_part", lambda script, part, args: asked.append(part) or int(part == "growth"))
    monkeypatch.setattr(sys, "argv", ["run", "--page", "large", "growth", "drift", "--out", str(tmp_path)])
    assert run.main() == 1
    assert asked == ["growth", "drift"]
    assert "failed: growth" in capsys.readouterr().out


def test_a_part_has_one_thread_of_linear_algebra_unless_threads_are_its_subject(monkeypatch):
    seen = {}
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)

    def started(command, *, check, env):
        seen[command[4]] = env.get("OPENBLAS_NUM_THREADS")
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(run.subprocess, "run", started)
    args = SimpleNamespace(data="D", out=None, peers=None, folder=None, quick=False)
    for part in ("bench_fit", "bench_busy"):
        run.run_part(speed, part, args)
    assert seen == {"bench_fit": "1", "bench_busy": None}


# Goals


def outcomes(out):
    """(goal, figure, outcome) of every line of the table."""
    lines = goals.goals_table(out).splitlines()[2:]
    return {line.split(" | ")[0][2:]: line.split(" | ")[1:3] for line in lines}


def test_nothing_is_met_that_was_not_measured(tmp_path):
    assert {outcome for _, outcome in outcomes(tmp_path).values()} == {"not measured"}
    keep(tmp_path, "large", "growth", [{"exponent": "1.08"}], quick=True)
    assert outcomes(tmp_path)["growth of the search at most n^1.15"] == ["", "not measured"]


@pytest.mark.parametrize(
    ("page", "part", "met", "missed", "wanted"),
    [
        ("large", "growth", [{"exponent": "1.15"}], [{"exponent": "1.16"}], "growth of the search"),
        ("large", "neighbours", [{"data": "a", "rows": 5, "recall at 90": "0.95"}],
         [{"data": "a", "rows": 5, "recall at 90": "0.949"}], "neighbours: recall"),
        ("large", "threads", [{"rows": 20_000, "map at 1 and 2 threads": "same bits", "placed rows": "same bits"}],
         [{"rows": 20_000, "map at 1 and 2 threads": "same bits", "placed rows": "OTHER BITS"}], "the same seed"),
        ("large", "settling", [{"data": "mean", "iterations": 375, "iterations, all iterations": 750}],
         [{"data": "mean", "iterations": 376, "iterations, all iterations": 750}], "a descent that settles"),
        ("large", "refit", [{"metric": "m", "partial_refit, CPU s": 9.9}],
         [{"metric": "m", "partial_refit, CPU s": 10.1}], "partial_refit"),
        ("large", "files", [{"engine": "pool", "rows": 9, "rows per core second": 100},
                            {"engine": "Dask", "rows": 9, "rows per core second": 120}],
         [{"engine": "pool", "rows": 9, "rows per core second": 100},
          {"engine": "Dask", "rows": 9, "rows per core second": 79}], "the same at 2 million"),
        ("speed", "bench_busy", [{"what": f"by {m}", "theirs / ours": "0.5 (0.4 .. 0.6)"} for m in METHODS],
         [{"what": "a", "theirs / ours": "0.9 (one pair)"}, {"what": "b", "theirs / ours": "0.49 (one pair)"}],
         "every method"),
        ("large", "mnist", [{"map": "prismap", "fit, CPU s": 130}, {"map": "openTSNE", "fit, CPU s": 100}],
         [{"map": "prismap", "fit, CPU s": 131}, {"map": "openTSNE", "fit, CPU s": 100}], "60,000 rows of mnist"),
    ],
)  # fmt: skip
def test_a_goal_is_met_up_to_its_limit_and_missed_beyond(tmp_path, page, part, met, missed, wanted):
    for rows, expected in ((met, "met"), (missed, "missed")):
        keep(tmp_path, page, part, rows)
        (outcome,) = [cells[1] for goal, cells in outcomes(tmp_path).items() if goal.startswith(wanted)]
        assert outcome == expected


def test_a_goal_of_every_method_is_open_while_some_are_not_measured(tmp_path):
    keep(tmp_path, "speed", "bench_busy", [{"what": f"by {m}", "theirs / ours": "0.9"} for m in list(METHODS)[:-1]])
    (cells,) = [cells for goal, cells in outcomes(tmp_path).items() if goal.startswith("every method")]
    assert cells[0].startswith("10 of 11 measured")
    assert cells[1] == "open"


def test_a_peer_that_was_stopped_can_show_a_goal_as_met_but_not_as_missed(tmp_path):
    line = {"who": "openTSNE", "rows": 1_000_000, "stopped": True, "iterations": 100, "CPU": 2000, "peak GB": 3.0}
    theirs = million.as_row(line)
    assert (theirs["iterations"], theirs["fit, CPU s"]) == ("100 of 750, stopped", "> 2000")
    story = {"n_iter": 700, "neighbors": "partition, recall 0.988 (estimated)"}
    for seconds, expected in ((2600, "met"), (2601, "open")):
        ours = {"who": "prismap", "rows": 1_000_000, "CPU": seconds, "peak GB": 11.9, "story": story}
        keep(tmp_path, "large", "million", [million.as_row(ours), theirs])
        found = outcomes(tmp_path)
        figure, outcome = found["a million rows in at most 1.3 x openTSNE's CPU time"]
        assert outcome == expected
        assert figure.startswith("less than 1.30")
    assert found["a million rows in at most 12 GB"] == ["11.90 GB", "met"]
    assert found["the same of a million rows, as the search estimates it"] == ["0.988", "met"]


def test_a_short_stream_leaves_the_goal_of_a_long_one_open(tmp_path):
    row = {"peak MiB after 200,000 rows": 400, "peak MiB at the end": 401, "rows per core second": 9}
    goal = "drift of 100 million rows in constant memory"
    keep(tmp_path, "large", "drift", [row | {"rows": 10_000_000}])
    assert outcomes(tmp_path)[goal][1] == "open"
    keep(tmp_path, "large", "drift-of-100-million", [row | {"rows": 100_000_000}])
    assert outcomes(tmp_path)[goal][1] == "met"
    keep(tmp_path, "large", "drift-of-100-million", [row | {"rows": 100_000_000, "peak MiB at the end": 500}])
    assert outcomes(tmp_path)[goal][1] == "missed"


def test_growth_is_that_of_the_fits(tmp_path):
    lines = [{"who": "prismap", "rows": n, "CPU": n // 1000, "peak GB": 1.0} for n in (60_000, 1_000_000)]
    keep(tmp_path, "large", "million", [million.as_row(line) for line in lines])
    figure, outcome = outcomes(tmp_path)["growth of a fit from 60,000 to a million rows at most n^1.15"]
    assert figure.startswith("n^1.00")
    assert outcome == "met"


# Lines of long runs


def test_lines_that_are_there_are_taken_and_none_is_run(tmp_path, monkeypatch):
    monkeypatch.setattr(million, "run_lines", None)
    million.keep(tmp_path, "prismap", 60_000, {"who": "prismap", "rows": 60_000, "CPU": 200, "peak GB": 1.2})
    (row,) = million.million(ledger.Options(folder=tmp_path))
    assert (row["rows"], row["fit, CPU s"], row["commit"]) == (60_000, 200, ledger.commit())


def test_lines_that_are_not_there_are_measured(tmp_path, monkeypatch):
    asked = []

    def run_lines(data, folder, sizes, who):
        asked.extend((n, name) for n in sizes for name in who)
        million.keep(folder, "openTSNE", sizes[0], {"who": "openTSNE", "rows": sizes[0], "CPU": 1, "peak GB": 1.0})

    monkeypatch.setattr(million, "run_lines", run_lines)
    (row,) = million.million(ledger.Options(quick=True))
    assert asked == [(12_000, "prismap"), (12_000, "openTSNE"), (12_000, "permuted")]
    assert row["map"] == "openTSNE"


def test_the_committed_goals_are_those_of_the_committed_rows():
    page = (ledger.RESULTS / "large.md").read_text(encoding="utf-8")
    assert goals.goals_table(ledger.RESULTS) in page
    assert goals.estimate(ledger.RESULTS) in page
