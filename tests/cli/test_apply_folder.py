"""`prismap apply` into a folder: many files, one of them bad, stopped and resumed."""

import json

import pytest

from cli.flowers import tree, write_flowers
from prismap.map import PrisMap

pytest.importorskip("pyarrow")
from pyarrow import parquet


@pytest.fixture
def data(tmp_path):
    """Three files; the one in the middle lost a field of its last line."""
    folder = tmp_path / "data"
    folder.mkdir()
    for seed, name in enumerate(("a.csv", "b.csv", "c.csv")):
        write_flowers(folder / name, n_rows=5, seed=seed)
    good = (folder / "b.csv").read_text()
    (folder / "b.csv").write_text(good[: good.rindex(",")])
    return folder


def test_a_bad_file_is_named_and_done_when_it_is_repaired(run, made, data, tmp_path):
    words = ("apply", made[0], data, "-o", tmp_path / "out", "--workers", "1", "--json")
    code, said, err = run(*words)
    assert code == 1
    assert "prismap: 1 of 3 files were not mapped" in err
    assert f"{data / 'b.csv'}, line 6: 6 fields" in err
    assert "with --resume does the rest" in err
    answer = json.loads(said)
    assert (answer["rows"], [one["error"] is None for one in answer["files"]]) == (10, [True, False, True])
    assert [path.name for path in sorted((tmp_path / "out").iterdir())] == ["a.parquet", "c.parquet"]

    assert "--resume completes it, --force writes it anew" in run(*words)[2]
    write_flowers(data / "b.csv", n_rows=5, seed=1)
    code, said, _ = run(*words[:-1], "--resume")
    assert code == 0
    assert said.startswith("15 rows placed (2 of 3 files done before)")
    assert parquet.read_table(tmp_path / "out").num_rows == 15
    code, said, _ = run(*words[:-1], "--force")
    assert (code, said[:14]) == (0, "15 rows placed")
    assert "done before" not in said


def test_a_file_that_is_done_is_kept_on_resume(run, made, data, tmp_path):
    words = ("apply", made[0], data / "a.csv", "-o", tmp_path / "a.parquet", "--resume")
    assert run(*words)[1].startswith("5 rows placed, ")
    assert run(*words)[1].startswith("5 rows placed (done before), ")


def test_stopped_runs_say_how_to_go_on(run, made, data, tmp_path, monkeypatch):
    def interrupted(self, X, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(PrisMap, "place", interrupted)
    code, said, err = run("apply", made[0], data, "-o", tmp_path / "out", "--workers", "1")
    assert (code, said) == (130, "")
    assert "nothing is half written; the same command with --resume does the rest\nprismap: stopped\n" in err
    assert list((tmp_path / "out").iterdir()) == []


def test_refusals(refused, made, data, tmp_path):
    words = ("apply", made[0], data)
    before = tree(tmp_path)
    assert "into a folder; -o" in refused(*words, "-o", tmp_path / "out.csv")
    assert "--address is for --engine dask" in refused(*words, "-o", tmp_path / "out", "--address", "tcp://x:1")
    assert "no data file at" in refused("apply", made[0], f"{data}/*.txt", "-o", tmp_path / "out")
    assert "'spark' is not known; there are local and dask" in refused(
        *words, "-o", tmp_path / "out", "--engine", "spark"
    )
    assert tree(tmp_path) == before
