"""`prismap map --given COL`: the column is left out of the map, and `apply` reads it by itself."""

import json

import numpy as np
import pandas as pd
import pytest

from metrics.test_shift import batches
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
    assert "The map does not show 'site'" in " ".join(out.split())
    report = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
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
