"""`prismap judge` and `prismap compare` on cells: coordinates from `obsm`, the data from X or a representation."""

import json

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest

from prismap import judge
from prismap.exceptions import InputError

anndata = pytest.importorskip("anndata")


@pytest.fixture(scope="module")
def cells():
    """45 cells of three types, with a map of them and a map of nothing."""
    rng = np.random.default_rng(0)
    codes = np.arange(45) % 3
    obs = pd.DataFrame(
        {"cell_type": pd.Categorical(np.array(["B", "NK", "T"])[codes]), "depth": rng.poisson(900, 45)},
        index=[f"cell-{i}" for i in range(45)],
    )
    found = anndata.AnnData(
        rng.normal(size=(45, 5)).astype(np.float32) + 4 * np.eye(3, 5)[codes],
        obs=obs, var=pd.DataFrame(index=[f"gene{i}" for i in range(5)]),
    )  # fmt: skip
    found.obsm["X_pca"] = rng.normal(size=(45, 3)) * [9, 1, 1] + 4 * np.eye(3)[codes]
    found.obsm["X_umap"] = (3 * np.eye(3, 2)[codes] + rng.normal(size=(45, 2)) / 3).astype(np.float32)
    found.obsm["X_no"] = rng.normal(size=(45, 3))
    return found


@pytest.fixture
def file(cells, tmp_path):
    cells.write_h5ad(tmp_path / "cells.h5ad")
    return tmp_path / "cells.h5ad"


def test_coordinates_in_obsm_are_judged_as_in_python(run, cells, file, tmp_path):
    words = ("--obsm", "X_umap,X_no", "--target", "cell_type", "--rep", "X_pca")
    code, _, err = run("judge", file, *words, "-o", tmp_path / "out")
    assert code == 0, err
    assert "obsm 'X_no' has 3 columns; the first two are judged" in err
    stored = json.loads((tmp_path / "out" / "verdicts.json").read_text())
    shows = [one["statements"][0] for one in stored.values()]
    assert [one["answer"] for one in shows] == ["in part", "cannot tell"]
    # The first map shows the types clearly. In its data one wide column of noise hides them in part.
    assert shows[0]["figures"]["error"]["value"] < 0.1 < 0.2 < shows[0]["figures"]["error_in_data"]["value"]
    rows = pyarrow.parquet.read_table(tmp_path / "out" / "map.parquet").to_pydict()
    assert rows["id"] == list(cells.obs_names)
    np.testing.assert_array_equal(rows["x (X_umap)"], cells.obsm["X_umap"][:, 0])
    alone = judge(cells.obsm["X_pca"], cells.obsm["X_umap"], cells.obs["cell_type"]).to_dict()
    assert stored["X_umap"]["scores"] == alone["scores"]
    assert stored["X_umap"]["structure"] == alone["structure"]  # representations keep their scales


def test_python_takes_the_entries_and_not_the_object(cells):
    with pytest.raises(InputError, match=r"Pass entries of it: judge\(adata.obsm\['X_pca'\]"):
        judge(cells, cells.obsm["X_umap"], cells.obs["cell_type"])


def test_columns_of_obs_may_be_coordinates_too(run, cells, tmp_path):
    mine = cells.copy()
    mine.obs[["u", "v"]] = cells.obsm["X_umap"]
    mine.write_h5ad(tmp_path / "mine.h5ad")
    words = ("--x", "u", "--y", "v", "--obsm", "X_umap", "--target", "cell_type", "--json", "--quiet")
    code, out, err = run("judge", tmp_path / "mine.h5ad", *words, "-o", tmp_path / "out")
    assert code == 0, err
    found = json.loads(out)
    assert found["u, v"]["scores"] == found["X_umap"]["scores"]


def test_methods_are_compared_on_a_representation(run, file, tmp_path):
    words = ("--target", "cell_type", "--rep", "X_pca", "--methods", "pca,lda", "--budget", "quick")
    code, _, err = run("compare", file, *words, "-o", tmp_path / "out")
    assert code == 0, err
    rows = pyarrow.parquet.read_table(tmp_path / "out" / "map.parquet").to_pydict()
    assert np.std(rows["x (pca)"]) > 6  # the wide first component was not standardised


def test_refusals_name_what_there_is(refused, cells, file, flowers, tmp_path):
    out = ("--target", "cell_type", "-o", tmp_path / "out")
    err = refused("judge", file, "--obsm", "X_tsne", *out)
    assert "no obsm 'X_tsne'; obsm holds 'X_no', 'X_pca', 'X_umap'" in err
    assert "no representation or layer 'X_vae'" in refused("compare", file, "--rep", "X_vae", *out)
    assert "--obsm an entry of obsm, such as X_umap" in refused("judge", file, *out)
    assert "--obsm and --rep both name 'X_umap'" in refused("judge", file, "--obsm", "X_umap", "--rep", "X_umap", *out)
    assert "--obsm is for h5ad files" in refused("judge", flowers, "--obsm", "X_umap", *out)
    assert "--rep is for h5ad files" in refused("compare", flowers, "--rep", "X_pca", *out)
    assert "no column 'type' for target" in refused("judge", file, "--obsm", "X_umap", "--target", "type", *out[2:])


def test_cells_without_x_need_a_representation(run, refused, cells, tmp_path):
    bare = anndata.AnnData(obs=cells.obs, obsm=dict(cells.obsm))
    bare.obsm["X_umap"] = pd.DataFrame(cells.obsm["X_umap"], index=cells.obs_names, columns=["u", "v"])
    bare.write_h5ad(tmp_path / "bare.h5ad")
    words = ("--obsm", "X_umap", "--target", "cell_type", "-o", tmp_path / "out")
    assert "the cells have no X; obsm holds 'X_no', 'X_pca', 'X_umap'" in refused(
        "judge", tmp_path / "bare.h5ad", *words
    )
    code, _, err = run("judge", tmp_path / "bare.h5ad", *words, "--rep", "X_pca")
    assert code == 0, err


def test_coordinates_that_are_no_map_are_refused(refused, cells, tmp_path):
    mine = cells.copy()
    mine.obsm["holes"] = np.where(np.arange(45)[:, None] < 4, np.nan, cells.obsm["X_umap"])
    mine.obsm["line"] = cells.obsm["X_umap"][:, :1]
    mine.obsm["point"] = np.ones((45, 2))
    mine.write_h5ad(tmp_path / "mine.h5ad")
    for key, message in (
        ("holes", "obsm 'holes' has no coordinate in 4 of 45 rows: leave these rows out"),
        ("line", "obsm 'line' has the shape (45, 1); a map has two columns"),
        ("point", "obsm 'point' put all 45 rows in one place"),
    ):
        words = ("--obsm", key, "--target", "cell_type", "-o", tmp_path / "out")
        assert message in refused("judge", tmp_path / "mine.h5ad", *words)
