"""Wrong input of every kind: exit code 2, one clear line, nothing written."""

import json

import numpy as np
import pytest

from cli.flowers import write_flowers
from prismap.bundle._json import sealed


@pytest.fixture
def refused_map(refused, tmp_path):
    def refused_map(data, *options):
        return refused("map", data, "-o", tmp_path / "out", *options)

    return refused_map


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["mop"], "'mop' is not known; did you mean map? There are demo, map, apply"),
        (["map"], "required: FILE, -o/--out"),
        (["map", "d.csv", "-o", "out", "--data", "words"], "--data: 'words' is not known; there are vectors, cosine"),
        (["map", "d.csv", "-o", "out", "--perplexity", "0"], "--perplexity: a number from 1 is needed; got '0'"),
        (
            ["map", "d.csv", "-o", "out", "--fit-rows", "many"],
            "--fit-rows: a whole number from 2 or a time such as '10 min' is needed; got 'many'",
        ),
        (["map", "d.csv", "-o", "out", "--supervision", "-1"], "--supervision: auto, max or a number from 0"),
        (["map", "d.csv", "-o", "out", "--seed", "-1"], "--seed: a whole number from 0"),
        (
            ["map", "d.csv", "-o", "out", "--impute", "mean"],
            "--impute: 'mean' is not known; did you mean median? There is only median",
        ),
        (["map", "nowhere.csv", "-o", "out"], "there is no file nowhere.csv"),
        (["report", "nowhere"], "there is no file nowhere"),
        (["apply", "nowhere", "d.csv", "-o", "out.xls"], "-o must name a .parquet, .csv or .h5ad file"),
    ],
)
def test_wrong_arguments(refused, argv, message):
    assert message in refused(*argv)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("d.csv", b"", "is empty"),
        ("d.csv", b"a,b\n", "column names and no rows"),
        ("d.csv", b"a,a\n1,2\n", "more than once: 'a'"),
        ("d.csv", b"a,b\n1,2\n3\n", "line 3: 1 fields"),
        (
            "d.csv",
            b"a,b\n1,inf\n,\n",
            "infinite values in 1 column, of 2 rows: 'b' 1. Fill them before, leave the columns out (--drop), or fit",
        ),
        ("d.csv", b"a,b\n1,inf\n2,3\n", "'b' 1"),
        ("d.csv", b"a\nx\ny\nz\n", "no column is left to make a map of: column 'a' holds 3 different texts"),
        ("d.xls", b"a,b\n1,2\n", "the ending '.xls' is not known"),
        ("d.parquet", b"a,b\n1,2\n", "cannot be read as parquet"),
        ("d.arrow", b"a,b\n1,2\n", "cannot be read as arrow"),
        ("d.npz", b"a,b\n1,2\n", "cannot be read as npz"),
        ("d.npy", b"a,b\n1,2\n", "cannot be read as npy"),
    ],
)
def test_files_that_cannot_be_mapped(refused_map, tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    assert message in refused_map(tmp_path / name)


def test_unknown_columns(refused_map, flowers):
    assert "no column 'speces' for target; did you mean 'species'" in refused_map(flowers, "--target", "speces")
    assert "no column 'x' for drop" in refused_map(flowers, "--target", "species", "--drop", "key,x")
    assert "no column 'x' for id" in refused_map(flowers, "--id", "x")


def test_text_that_is_no_category(refused_map, flowers):
    words = refused_map(flowers, "--drop", "sl,sw,pl,pw,soil,species")
    assert "no column is left to make a map of: column 'key' names the rows: shown, not used (--id key names" in words


def test_an_empty_target(refused_map, tmp_path):
    path = write_flowers(tmp_path / "d.csv", species=[""] * 90)
    assert "the target column 'species' is empty" in refused_map(path, "--target", "species", "--id", "key")


def test_matrices_of_pairs(refused_map, flowers, tmp_path):
    kind = ("--data", "similarity")
    assert "'soil' is text" in refused_map(flowers, "--target", "species", "--id", "key", *kind)
    np.save(tmp_path / "s.npy", np.ones((4, 3)))
    assert "as many columns as rows; got 4 rows and 3 columns" in refused_map(tmp_path / "s.npy", *kind)
    np.savez(tmp_path / "s.npz", S=np.eye(3), kind="words")
    assert "says it holds 'words'; say --data vectors" in refused_map(tmp_path / "s.npz")
    np.savez(tmp_path / "s.npz", S=np.eye(3))
    assert "say --data similarity" in refused_map(tmp_path / "s.npz")


def test_more_than_memory_allows(refused_map, flowers, monkeypatch):
    monkeypatch.setattr("prismap._util.blocks.available_bytes", lambda: 1000)
    assert "would need 0.0 GiB of memory" in refused_map(flowers, "--target", "species", "--id", "key")


def test_folders_that_are_left_alone(refused, flowers, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("years")
    assert "not prismap's (thesis.tex)" in refused("map", flowers, "-o", tmp_path / "out", "--force")
    assert "is a file" in refused("map", flowers, "-o", flowers)
    assert "not prismap's (flowers.csv, out)" in refused("demo", "-o", tmp_path)


def test_reports_that_are_none(refused, tmp_path):
    path = tmp_path / "report.json"
    for content in ("{", "[1]", '{"format": 1}', "[" * 10000, "\\x00"):
        path.write_text(content)
        assert "holds no report that prismap wrote" in refused("report", tmp_path)
        assert "holds no report that prismap wrote" in refused("report", path)
    path.write_text(json.dumps(sealed({"format": 7})))
    assert "no report of format" in refused("report", path)
