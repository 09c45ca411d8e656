"""Cells: `PrisMap.from_anndata` and `to_anndata`, in memory and backed, dense and sparse, and bad input."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from prismap import PrisMap
from prismap.exceptions import InputError, PrismapWarning
from prismap.tables import Roles, read_batches, read_table

anndata = pytest.importorskip("anndata")
OPTIONS = {"random_state": 0, "method": "mds", "supervision": 0.5, "perplexity": 8}


@pytest.fixture(scope="module")
def cells():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], 20)
    X = np.log1p(rng.poisson(np.exp(rng.normal(1, 1, (3, 8)))[codes]))
    obs = pd.DataFrame(
        {"cell_type": pd.Categorical(np.array(["B", "NK", "T"])[codes]), "depth": rng.poisson(900, 60)},
        index=[f"cell-{i}" for i in range(60)],
    )
    found = anndata.AnnData(sp.csr_matrix(X), obs=obs, var=pd.DataFrame(index=[f"gene{i}" for i in range(8)]))
    found.obsm["X_pca"] = rng.normal(size=(60, 3)).astype(np.float32) + codes[:, None]
    found.layers["counts"] = sp.csr_matrix(rng.poisson(40, (60, 8)))
    return found


@pytest.mark.parametrize(
    ("matrix", "first"), [({}, "gene0"), ({"use_rep": "X_pca"}, "X_pca:1"), ({"layer": "counts"}, "counts:gene0")]
)
def test_a_map_of_cells_is_the_map_of_its_matrix(cells, matrix, first):
    m = PrisMap.from_anndata(cells, "cell_type", **matrix, **OPTIONS)
    key = next(iter(matrix.values()), None)
    X = cells.X if key is None else cells.obsm["X_pca"] if key == "X_pca" else cells.layers[key]
    X = X.toarray() if sp.issparse(X) else X
    plain = PrisMap(**OPTIONS, target="class").fit(X.astype(float), cells.obs["cell_type"].to_numpy(dtype=object))
    np.testing.assert_array_equal(m.embedding_, plain.embedding_)
    assert m.encoding_.names[0] == first
    assert list(m.index_) == list(cells.obs_names)
    assert any("raw counts" in note for note in m.notes_) == (key == "counts")


def test_new_cells_are_found_by_the_names_of_their_genes(cells, tmp_path):
    m = PrisMap.from_anndata(cells, "cell_type", **OPTIONS)
    turned = cells[40:, ::-1].copy()
    np.testing.assert_array_equal(m.transform(turned), m.embedding_[40:])
    m.save(tmp_path / "m.prismap")
    np.testing.assert_array_equal(PrisMap.load(tmp_path / "m.prismap").transform(turned), m.transform(turned))


def test_positions_are_written_into_the_object(cells, tmp_path):
    m = PrisMap.from_anndata(cells, "cell_type", use_rep="X_pca", **OPTIONS)
    mine = cells.copy()
    m.to_anndata(mine)
    np.testing.assert_array_equal(mine.obsm["X_prismap"], m.embedding_)
    assert not mine.obs["prismap_far"].all()
    assert mine.uns["prismap"]["target"] == "cell_type"
    assert "prismap_trust" not in mine.obs  # nobody has judged the map
    m.report(budget="quick")
    m.to_anndata(mine)
    assert mine.obs["prismap_trust"].between(0, 1).any()
    assert mine.uns["prismap"]["verdict"]
    mine.write_h5ad(tmp_path / "cells.h5ad")  # everything that was added can be written
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    again = PrisMap.from_anndata(backed, "cell_type", use_rep="X_pca", **OPTIONS)
    np.testing.assert_array_equal(again.embedding_, m.embedding_)


def test_whole_and_batched_reading_agree(cells, tmp_path):
    path = tmp_path / "cells.h5ad"
    cells.write_h5ad(path)
    for matrix in (None, "X_pca", "counts"):
        roles = Roles("cell_type", matrix=matrix)
        whole, parts = read_table(path, roles), list(read_batches(path, (), roles, n_rows=25))
        assert [part.n_rows for part in parts] == [25, 25, 10]
        for name, column in whole.columns.items():
            if isinstance(column, np.ndarray):
                np.testing.assert_array_equal(np.concatenate([part.columns[name] for part in parts]), column)
        assert np.concatenate([part.target for part in parts]).tolist() == whole.target.tolist()
        assert np.concatenate([part.ids for part in parts]).tolist() == list(cells.obs_names)


def test_bad_input_names_the_way_out(cells):
    with pytest.raises(InputError, match="PrisMap.from_anndata"):
        PrisMap().fit(cells, cells.obs["cell_type"])
    with pytest.raises(InputError, match="no representation or layer 'X_umap'; obsm holds 'X_pca'"):
        PrisMap.from_anndata(cells, "cell_type", use_rep="X_umap")
    with pytest.raises(InputError, match="name one of them"):
        PrisMap.from_anndata(cells, "cell_type", use_rep="X_pca", layer="counts")
    with pytest.raises(InputError, match="no column 'celltype' for target; did you mean 'cell_type'"):
        PrisMap.from_anndata(cells, "celltype")
    clash = cells.copy()
    clash.obs["gene0"] = 1.0
    with pytest.raises(InputError, match="'gene0' are columns of obs and features too"):
        PrisMap.from_anndata(clash, "cell_type")
    m = PrisMap.from_anndata(cells, "cell_type", **OPTIONS)
    with pytest.warns(PrismapWarning, match="lacks 6 columns of the map: -'gene0', .* do not trust these positions"):
        assert np.isfinite(m.transform(cells[:, 6:])).all()


def test_raw_counts_are_normalised_by_library_size_now_and_later(cells):
    m = PrisMap.from_anndata(cells, "cell_type", layer="counts", normalize="counts", **OPTIONS)
    assert not any("raw counts" in note for note in m.notes_)
    deeper = cells.copy()
    deeper.layers["counts"] = 8 * deeper.layers["counts"]
    np.testing.assert_allclose(m.transform(deeper), m.transform(cells), atol=1e-9)


def test_the_command_line_maps_and_applies_cells(cells, tmp_path, capsys):
    from prismap.cli.main import main

    source, out, placed = tmp_path / "cells.h5ad", tmp_path / "out", tmp_path / "placed.h5ad"
    cells.write_h5ad(source)
    made = ["map", str(source), "--target", "cell_type", "--rep", "X_pca", "--show", "gene1", "--quick", "-o", str(out)]
    assert main(made) == 0
    assert main(["apply", str(out), str(source), "-o", str(placed)]) == 0
    assert "60 cells placed" in capsys.readouterr().out
    found = anndata.read_h5ad(placed)
    np.testing.assert_array_equal(found.obsm["X_prismap"], PrisMap.load(out / "model.prismap").embedding_)
    assert main(["apply", str(out), str(source), "-o", str(placed)]) == 2
    assert "--force" in capsys.readouterr().err
    assert main(["apply", str(out), str(source), "-o", str(source), "--force"]) == 2
    assert "is the file to read" in capsys.readouterr().err
