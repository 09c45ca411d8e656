"""Columns of vectors (embeddings) in files and frames, and objects that hand out Arrow data."""

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from prismap import PrisMap
from prismap.scale import map_file
from prismap.tables import Roles, TextColumn, is_frame, read_table, table_from_frame

E = np.random.default_rng(0).normal(size=(45, 4)).astype(np.float32)


@pytest.fixture
def table():
    return pa.table({
        "label": np.repeat(["a", "b", "c"], 15),
        "embedding": pa.FixedSizeListArray.from_arrays(pa.array(E.ravel()), 4),
        "lists": [row.tolist() for row in E],
        "ragged": [[1.0] * (place % 3 + 1) for place in range(45)],
        "words": [["x", "y"]] * 45,
    })  # fmt: skip


class Relation:
    """An object of another library: column names, and a stream of Arrow data."""

    def __init__(self, table):
        self.table, self.columns, self.dtypes = table, table.column_names, ["?"] * table.num_columns

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class Dataset:
    """The interface of a data set of Hugging Face, as far as it is used."""

    def __init__(self, table, form=None):
        self.table, self.form, self.column_names = table, form, table.column_names

    def with_format(self, form):
        return Dataset(self.table, form)

    def __getitem__(self, rows):
        assert self.form == "arrow"
        return self.table


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars", "relation", "dataset", "file"])
def test_each_entry_of_a_vector_becomes_a_column(table, kind, tmp_path):
    if kind == "file":
        pq.write_table(table, tmp_path / "t.parquet")
        given = read_table(tmp_path / "t.parquet", Roles("label"))
    else:
        made = {
            "arrow": table, "pandas": table.to_pandas(), "polars": pl.from_arrow(table), "relation": Relation(table),
            "dataset": Dataset(table),
        }[kind]  # fmt: skip
        assert is_frame(made)
        given = table_from_frame(made, Roles("label"))
    for name in ("embedding", "lists"):
        entries = np.column_stack([given.columns[f"{name}:{place}"] for place in (1, 2, 3, 4)])
        # As they are stored; the numbers of Python's lists have double precision.
        assert entries.dtype == (np.float64 if name == "lists" else np.float32)
        np.testing.assert_array_equal(entries, E.astype(np.float64))
    assert isinstance(given.columns["ragged"], TextColumn)
    assert isinstance(given.columns["words"], TextColumn)
    assert given.target.tolist() == ["a"] * 15 + ["b"] * 15 + ["c"] * 15


def test_a_map_of_embeddings_takes_later_files(table, tmp_path):
    drop = ("lists", "ragged", "words")
    options = {"data": "cosine", "random_state": 0, "perplexity": 8, "method": "mds"}
    m = PrisMap.from_table(table, "label", drop=drop, standardize=False, **options)
    plain = PrisMap(**options, target="class").fit(E, table["label"].to_numpy(zero_copy_only=False))
    np.testing.assert_array_equal(m.embedding_, plain.embedding_)
    m.save(tmp_path / "m.prismap")
    pq.write_table(table, tmp_path / "later.parquet")
    map_file(tmp_path / "later.parquet", tmp_path / "out.parquet", tmp_path / "m.prismap")
    placed = pq.read_table(tmp_path / "out.parquet")
    np.testing.assert_array_equal(np.column_stack([placed["x"], placed["y"]]), m.embedding_)


def test_a_shown_vector_is_not_taken_apart(table):
    given = table_from_frame(table, Roles("label", show=("lists",), drop=("embedding",)))
    assert isinstance(given.columns["lists"], TextColumn)
    assert not any(name.startswith("embedding") for name in given.columns)
