"""What fails after the fit does not cost the fit: map and model are written, and a note says what is missing."""

import json

import numpy as np
import pytest

from prismap import PrisMap
from prismap.tables import read_table

OPTIONS = ("--target", "kind", "--perplexity", "5", "--seed", "0")


@pytest.fixture
def rare(tmp_path):
    """Two classes, one of them with a single row."""
    X = np.random.default_rng(0).normal(size=(30, 3))
    lines = [f"{a:.3f},{b:.3f},{c:.3f},{'odd' if i == 3 else 'usual'}" for i, (a, b, c) in enumerate(X)]
    path = tmp_path / "rare.csv"
    path.write_text("a,b,c,kind\n" + "\n".join(lines) + "\n")
    return path


def test_a_class_of_one_row_is_mapped_and_not_judged(run, rare, tmp_path):
    code, out, err = run("map", rare, *OPTIONS, "-o", tmp_path / "out")
    assert code == 0, err
    assert "fewer than two classes have more than one row" in " ".join(out.split())
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"model.prismap", "report.json", "map.html"} <= names
    assert json.loads((tmp_path / "out" / "report.json").read_text())["scores"] == []


@pytest.mark.parametrize("stage", ["judging", "page", "picture"])
def test_a_stage_that_fails_leaves_the_others(run, flowers, tmp_path, monkeypatch, stage):
    def fail(*_, **__):
        raise RuntimeError("no luck")

    where = {"judging": "prismap.map._prismap.judge_subject", "page": "prismap.page._of_map.page_of",
             "picture": "prismap.inspection.MapDisplay.plot"}  # fmt: skip
    monkeypatch.setattr(where[stage], fail)
    options = ("--target", "species", "--perplexity", "5", "--fit-rows", "30")
    code, out, err = run("map", flowers, *options, "-o", tmp_path / "out", "--json")
    assert code == 0, err
    assert "failed (RuntimeError: no luck); the map itself is complete." in err
    names = {path.name for path in (tmp_path / "out").iterdir()}
    missing = {"judging": {"report.json"}, "page": {"map.html"}, "picture": {"map.png"}}
    assert names.isdisjoint(missing[stage])
    assert ("report.json" in names) == (stage != "judging") == (json.loads(out)["report"] is not None)
    model = PrisMap.load(tmp_path / "out" / "model.prismap")
    rows = read_table(next(tmp_path / "out" / name for name in names if name in ("map.parquet", "map.csv")))
    assert rows.n_rows > len(model.embedding_) == 30


def test_a_full_disk_is_not_a_missing_picture(run, flowers, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("prismap.inspection.MapDisplay.plot", full)
    code, _, err = run("map", flowers, "--target", "species", "--perplexity", "5", "-o", tmp_path / "out")
    assert code == 1
    assert "No space left" in err
    assert not (tmp_path / "out").exists()
