"""`--given COL`: `map` leaves it out, `apply` reads it by itself, `judge` and `compare` say whether it shows."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from metrics.test_shift import batches
from prismap import MapReport, judge
from prismap.exceptions import InputError
from prismap.map import PrisMap


@pytest.fixture
def table(tmp_path):
    """A csv file with sites that shift all measures."""
    X, y, level = batches(n_rows=120, effect=3.0, n_levels=2, correlation=0.3)
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(kind=np.where(y, "ill", "well"), site=level + 1)
    frame.to_csv(tmp_path / "sites.csv", index=False)
    return frame


def test_given_is_left_out_and_read_again(run, refused, table, tmp_path):
    data = tmp_path / "sites.csv"
    words = ("map", data, "--target", "kind", "--given", "site", "--perplexity", "10", "--budget", "quick")
    code, out, err = run(*words, "-o", tmp_path / "out")
    assert code == 0, err
    assert "'site': ten neighbours miss the level of" in " ".join(out.split())
    report = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
    answers = {one["id"]: one["answer"] for one in report["statements"]}
    assert answers["column_shows"] in ("no", "cannot tell")
    assert report["confounding"]["column"] == "site"
    model = PrisMap.load(tmp_path / "out" / "model.prismap")
    assert model.map_.given.levels.names == ("1", "2")

    code, _, err = run("apply", tmp_path / "out", data, "-o", tmp_path / "placed.csv", "--quiet")
    assert code == 0, err
    placed = pd.read_csv(tmp_path / "placed.csv")
    np.testing.assert_allclose(placed[["x", "y"]], model.embedding_, atol=1e-6)

    table.drop(columns="site").to_csv(tmp_path / "without.csv", index=False)
    message = refused("apply", tmp_path / "out", tmp_path / "without.csv", "-o", tmp_path / "no.csv")
    assert "the level of 'site' of every row is needed" in message
    table.assign(site=7).to_csv(tmp_path / "new.csv", index=False)
    message = refused("apply", tmp_path / "out", tmp_path / "new.csv", "-o", tmp_path / "no.csv")
    assert "levels that the map was not fitted with ('7')" in message


def test_a_column_that_is_not_there_is_named(refused, table, tmp_path):
    message = refused("map", tmp_path / "sites.csv", "--given", "batch", "-o", tmp_path / "out")
    assert "there is no column 'batch' for given" in message


def test_a_column_is_given_or_says_what_is_independent(refused, table, tmp_path):
    words = (tmp_path / "sites.csv", "--target", "kind", "--given", "site", "-o", tmp_path / "out")
    assert "'site' is given and says what is independent" in refused("map", *words, "--groups", "site")


def test_maps_of_others_are_judged_inside_levels(run, refused, table, tmp_path):
    shown = table.assign(plain_1=table.a, plain_2=table.b, random_1=np.sin(np.arange(120)), random_2=table.f % 0.1)
    shown.to_csv(tmp_path / "maps.csv", index=False)
    words = ("judge", tmp_path / "maps.csv", "--x", "plain_1,random_1", "--y", "plain_2,random_2", "--given", "site")
    code, out, err = run(*words, "--target", "kind", "-o", tmp_path / "out")
    assert code == 0, err
    first, *lines = out.splitlines()
    assert "inside levels" in first
    assert "levels show" in first
    verdicts = json.loads((tmp_path / "out" / "verdicts.json").read_text("utf-8"))
    found = {name: one["confounding"] for name, one in verdicts.items()}
    assert {one["column"] for one in found.values()} == {"site"}
    expected = judge(table[list("abcdef")], table[["a", "b"]], table.kind, given=table.site).confounding
    assert expected.level_shows
    plain = next(line for line in lines if line.startswith("plain_1, plain_2"))
    assert " yes " in plain
    assert "The map shows 'site'" in " ".join(out.split())
    assert "name it with --target" in refused(*words, "-o", tmp_path / "no")
    assert "both name 'site'" in refused(*words, "--target", "site", "-o", tmp_path / "no")
    words = ("judge", tmp_path / "maps.csv", "--x", "plain_1", "--y", "site", "--given", "site")
    assert "and so does --target, --id, --given" in refused(*words, "-o", tmp_path / "no")


def test_methods_are_compared_inside_levels(run, table, tmp_path):
    words = ("compare", tmp_path / "sites.csv", "--target", "kind", "--given", "site", "--methods", "prismap,pca")
    code, out, err = run(*words, "--budget", "quick", "-o", tmp_path / "out")
    assert code == 0, err
    verdicts = json.loads((tmp_path / "out" / "verdicts.json").read_text("utf-8"))
    shows = {name: MapReport.from_dict(one).confounding.level_shows for name, one in verdicts.items()}
    assert shows == {"prismap": False, "pca": True}
    assert "inside levels" in out.splitlines()[0]


@pytest.mark.parametrize("X", ["sparse", "similarity"])
def test_levels_are_taken_out_of_dense_vectors_only(X):
    rows = np.random.default_rng(0).normal(size=(40, 5))
    kind = {"sparse": (sp.csr_array(rows), "vectors"), "similarity": (rows @ rows.T, "similarity")}[X]
    with pytest.raises(InputError, match="given needs dense vectors in memory"):
        PrisMap(data=kind[1]).fit(kind[0], np.arange(40) % 2, given=np.arange(40) // 20)
