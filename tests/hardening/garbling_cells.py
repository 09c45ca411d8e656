"""Damaged and forged h5ad files: read, or refused in words.

``python -m hardening.garbling_cells FOLDER FIRST LAST`` reads the cases FIRST to LAST - 1.
"""

import os
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from hardening.cases import arguments, run_cases
from hardening.forging import NUMBERS, OF_AN_ARRAY
from hardening.forked import forked
from hardening.garbling import garbled
from prismap._util.blocks import file_bytes
from prismap.tables import Roles, read_table
from prismap.tables import _cells as cells
from prismap.tables._arrow import reading


def whole_cells(path):
    """A small file with a sparse matrix, a dense layer, a representation and columns of several kinds."""
    import anndata

    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.poisson(0.6, size=(30, 5)).astype(np.float32))
    whole = anndata.AnnData(X, obsm={"X_pca": rng.normal(size=(30, 2))}, layers={"dense": X.toarray(), "raw": X.copy()})
    whole.obs["kind"] = np.array(["a", "b", "c"] * 10)
    whole.obs["depth"] = rng.normal(size=30)
    whole.write_h5ad(path)
    return path.read_bytes()


def forge(path, rng):
    """Change a data set or an attribute by the library's own means: a file without a fault whose numbers lie."""
    import h5py

    with h5py.File(path, "r+") as file:
        names = []
        file.visititems(lambda name, item: names.append(name))
        sparse = [name for name in names if name.endswith(("indices", "indptr", "data", "codes"))]
        some = sparse if rng.random() < 0.5 else names
        name = some[rng.integers(len(some))]
        item = file[name]
        if isinstance(item, h5py.Dataset) and item.dtype.kind in "iuf" and item.ndim:
            values = OF_AN_ARRAY[rng.integers(len(OF_AN_ARRAY))](item[:], rng)
            about = dict(item.attrs)
            del file[name]
            made = file.create_dataset(name, data=values.astype("S3") if values.dtype.kind == "U" else values)
            made.attrs.update(about)
        elif len(item.attrs):
            key = sorted(item.attrs)[rng.integers(len(item.attrs))]
            value = NUMBERS[rng.integers(len(NUMBERS))]
            item.attrs[key] = [value, np.array([10**6, 10**6]), "x", "csr_matrix", np.array([30, 2**40])][
                rng.integers(5)
            ]
        else:
            del file[name]


def main(folder, first, last):
    """Run cases in this process and in forks of it."""
    import anndata  # noqa: F401 - before the forks

    path = Path(folder) / "t.h5ad"
    whole = whole_cells(path)
    cells.SECONDS = 10.0
    os.environ["HDF5_USE_FILE_LOCKING"] = "FALSE"

    def run(case):
        rng = np.random.default_rng([22, case])
        path.write_bytes(whole)
        if case % 2:
            path.write_bytes(garbled(whole, rng))
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    forge(path, rng)
                except Exception:
                    return "not written"
        matrix = (None, "X_pca", "raw", "dense")[rng.integers(4)]
        roles, n_rows = Roles(target="kind", matrix=matrix), (None, 7)[rng.integers(2)]

        def work():
            with reading(path):
                return "used" if all(t.n_rows for t in cells._tables(path, roles, n_rows)) else "no rows"

        def door():
            return "used" if read_table(path, roles).n_rows else "no rows"

        return forked(work, door, n_bytes=int(file_bytes(len(whole))) + 2**29)

    run_cases(run, folder, first, last)


if __name__ == "__main__":
    main(*arguments())
