"""A small map and files of rows to place on it."""

import numpy as np
import pytest

from prismap.map import PrisMap

pa = pytest.importorskip("pyarrow")
from pyarrow import parquet  # noqa: E402

N_FEATURES = 4


def make_rows(n_rows, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n_rows)
    return 4.0 * np.eye(3, N_FEATURES)[y] + rng.normal(size=(n_rows, N_FEATURES)), y


def write_rows(path, n_rows, seed, row_group_size=None, **columns):
    X, _ = make_rows(n_rows, seed)
    features = {f"x{j}": X[:, j] for j in range(N_FEATURES)}
    parquet.write_table(pa.table({**features, **columns}), path, row_group_size=row_group_size)
    return X


@pytest.fixture(scope="module")
def model():
    X, y = make_rows(90, 0)
    return PrisMap(supervision=0.8, mapping="fisher", perplexity=8, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def model_file(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.prismap"
    model.save(path)
    return path


@pytest.fixture
def folder(tmp_path):
    """Three parquet files a, b, c of 40, 30 and 20 rows."""
    (tmp_path / "data").mkdir()
    for seed, (name, n_rows) in enumerate({"a": 40, "b": 30, "c": 20}.items()):
        write_rows(tmp_path / "data" / f"{name}.parquet", n_rows, seed + 1)
    return tmp_path / "data"


def contents(out):
    """The tables of a folder by name; nothing but finished files may be there."""
    assert all(path.suffix == ".parquet" and path.name[0] != "." for path in out.rglob("*") if path.is_file())
    return {str(path.relative_to(out)): parquet.read_table(path) for path in sorted(out.rglob("*.parquet"))}
