"""A folder of parquet files as one table, and numbers that stay in single precision."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from prismap import PrisMap
from prismap.cli.main import main
from prismap.exceptions import FileFormatError, InputError
from prismap.tables import Roles, TextColumn, learn_encoding, read_table, table_from_frame
from prismap.tables import _learning as learning


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = (rng.normal(size=(60, 4)) + 3 * y[:, None]).astype(np.float32)
    return pd.DataFrame(X, columns=list("abcd")).assign(label=np.array(["x", "y", None], dtype=object)[y])


@pytest.fixture
def folder(frame, tmp_path):
    """Three files, the middle one in a sub-folder; the last has no label at all. Others are to be passed over."""
    (tmp_path / "data/m").mkdir(parents=True)
    (tmp_path / "data/_temporary").mkdir()
    for name, rows in {"a": slice(20), "m/b": slice(20, 40), "z": slice(40, 60)}.items():
        frame[rows].to_parquet(tmp_path / f"data/{name}.parquet", index=False)
    (tmp_path / "data/_temporary/half.parquet").write_bytes(b"half")
    (tmp_path / "data/.hidden.parquet").write_bytes(b"")
    (tmp_path / "data/notes.txt").write_text("no data")
    return tmp_path / "data"


def test_a_folder_is_the_files_below_one_another(frame, folder, tmp_path):
    frame.to_parquet(tmp_path / "whole.parquet", index=False)
    together, whole = read_table(folder, Roles("label")), read_table(tmp_path / "whole.parquet", Roles("label"))
    assert together.n_rows == whole.n_rows == 60
    assert together.target.tolist() == whole.target.tolist() == ["x", "y", None] * 20
    for name in "abcd":
        assert together.columns[name].dtype == np.float32
        np.testing.assert_array_equal(together.columns[name], frame[name])


def test_types_that_differ_between_files_are_joined_or_refused(tmp_path):
    for name, values in {"a": pa.array([1, 2]), "b": pa.array([0.5, None]), "c": pa.array([None, None])}.items():
        parquet.write_table(pa.table({"n": values, "t": ["u", name]}), tmp_path / f"{name}.parquet")
    table = read_table(tmp_path)
    np.testing.assert_array_equal(table.columns["n"], [1, 2, 0.5, np.nan, np.nan, np.nan])
    assert table.columns["t"].values().tolist() == ["u", "a", "u", "b", "u", "c"]
    assert isinstance(table.columns["t"], TextColumn)
    parquet.write_table(pa.table({"n": ["word"], "t": ["u"]}), tmp_path / "d.parquet")
    with pytest.raises(InputError, match="column 'n' is of another type in some of the files"):
        read_table(tmp_path)
    parquet.write_table(pa.table({"n": [1], "other": ["u"]}), tmp_path / "d.parquet")
    with pytest.raises(InputError, match=r"d\.parquet has other columns than .*a\.parquet.*'other', 't'"):
        read_table(tmp_path)
    (tmp_path / "d.parquet").write_bytes(b"PAR1")
    with pytest.raises(FileFormatError, match=r"d\.parquet cannot be read as parquet"):
        read_table(tmp_path)


def test_folders_without_rows_or_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="is a folder without parquet files"):
        read_table(tmp_path)
    parquet.write_table(pa.table({"n": pa.array([], pa.float32())}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="column names and no rows"):
        read_table(tmp_path)


def test_the_command_line_maps_a_folder(folder, tmp_path):
    out = tmp_path / "map"
    options = ["--target", "label", "--quick", "--fit-rows", "40", "--quiet"]
    assert main(["map", str(folder), "-o", str(out), *options]) == 0
    assert parquet.read_table(out / "map.parquet").num_rows == 60
    assert PrisMap.load(out / "model.prismap").rows_.dtype == np.float32


def test_single_precision_stays(frame):
    for given in (frame, pl.DataFrame(frame), pa.Table.from_pandas(frame, preserve_index=False)):
        table = table_from_frame(given, Roles("label"))
        encoding, _ = learn_encoding(table, roles=Roles("label"))
        X = encoding.apply(table).X
        assert X.dtype == np.float32
        exact = frame[list("abcd")].to_numpy(np.float64)
        np.testing.assert_array_equal(X, ((exact - exact.mean(axis=0)) / exact.std(axis=0)).astype(np.float32))
    # Categories have no digits to lose; one column in double precision, or of dates, has.
    for more, dtype in {"u": np.float32, 1.0: np.float64, "2020-01-31": np.float64}.items():
        table = table_from_frame(frame.assign(more=[more, *frame["a"][1:]] if more == 1.0 else more), Roles("label"))
        encoding, _ = learn_encoding(table, roles=Roles("label"), standardize=False)
        assert encoding.apply(table).X.dtype == dtype, more


def test_a_real_target_keeps_its_digits():
    table = table_from_frame(
        pa.table({"a": pa.array([1, 2], pa.float32()), "t": pa.array([0.1, 2], pa.float32())}), Roles("t")
    )
    assert table.columns["a"].dtype == np.float32
    assert table.target.dtype == np.float64


def test_columns_are_learnt_a_few_at_a_time(frame, monkeypatch):
    table = table_from_frame(frame, Roles("label"))
    expected, _ = learn_encoding(table, roles=Roles("label"))
    widths = []
    learn = learning._learn_numbers
    monkeypatch.setattr(learning, "_learn_numbers", lambda block, *a: widths.append(block.shape[1]) or learn(block, *a))
    few = replace(learning.BLOCKS, most_bytes=2 * 60 * 8 * learning.BLOCKS.copies)
    monkeypatch.setattr(learning, "BLOCKS", few)
    learnt, _ = learn_encoding(table, roles=Roles("label"))
    assert widths == [2, 2]
    for one, other in zip(learnt.columns, expected.columns, strict=True):
        np.testing.assert_allclose([*one.center, one.scale], [*other.center, other.scale], rtol=1e-12)
