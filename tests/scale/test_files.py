"""`map_file`: the rows of one file, once each, completely or not at all."""

import os

import numpy as np
import pytest

from prismap.exceptions import FileFormatError, InputError
from prismap.map import PrisMap
from prismap.scale import _files as files
from prismap.scale import map_file
from prismap.tables import ColumnEncoding, TableEncoding
from scale.conftest import make_rows, pa, parquet, write_rows


def test_positions_are_those_of_transform(model, model_file, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "batch_rows", lambda n_features: 7)
    X = write_rows(tmp_path / "in.parquet", 20, 1, y=np.arange(20))
    result = map_file(tmp_path / "in.parquet", tmp_path / "out.parquet", model_file)
    table = parquet.read_table(tmp_path / "out.parquet").to_pydict()
    loaded = PrisMap.load(model_file)
    Y, far = loaded.place(X)
    np.testing.assert_allclose(np.transpose([table["x"], table["y"]]), Y, rtol=1e-5)
    assert table["far"] == far.tolist()
    assert table["row"] == table["id"] == list(range(20))
    assert (result.rows, result.far, result.skipped, result.error) == (20, far.sum(), False, None)


def test_what_is_done_is_not_done_again_unless_source_or_model_changed(model, model_file, tmp_path):
    source, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    write_rows(source, 20, 1)
    first = map_file(source, out, model_file)
    stamp = out.stat().st_mtime_ns
    again = map_file(source, out, model)  # the object and its file are the same model
    assert again.skipped
    assert (again.rows, again.far) == (first.rows, first.far)
    assert out.stat().st_mtime_ns == stamp
    assert not map_file(source, out, model, resume=False).skipped
    os.utime(source, ns=(0, 1))
    assert not map_file(source, out, model).skipped
    write_rows(source, 20, 2)  # other rows, with the old time
    os.utime(source, ns=(0, 1))
    assert not map_file(source, out, model).skipped
    X, y = make_rows(60, 7)
    other = PrisMap(perplexity=8, random_state=0).fit(X, y)
    assert not map_file(source, out, other).skipped
    out.write_bytes(out.read_bytes()[:-9])
    assert not map_file(source, out, other).skipped


def test_labels_keep_their_type_whatever_a_batch_holds(model, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "batch_rows", lambda n_features: 5)
    X, _ = make_rows(90, 0)
    columns = tuple(ColumnEncoding(f"x{j}", None, None, (0.0,), 1.0) for j in range(4))
    monkeypatch.setattr(files, "encoding_of", lambda model: TableEncoding(columns, "t", "key"))
    target = pa.array([1.0] * 5 + [1.5, None, *[2.0] * 8])
    write_rows(tmp_path / "in.parquet", 15, 1, t=target, key=pa.array([f"k{i}" for i in range(15)]))
    result = map_file(tmp_path / "in.parquet", tmp_path / "out.parquet", model)
    table = parquet.read_table(tmp_path / "out.parquet")
    assert table.column("target").to_pylist() == target.to_pylist()
    assert table.column("id").to_pylist() == [f"k{i}" for i in range(15)]
    assert result.new_classes == ("1.5",)
    # The same in text, where the whole file decides.
    lines = [",".join([*map(str, X[i]), "x" if i > 7 else "1"]) for i in range(10)]
    (tmp_path / "in.csv").write_text("\n".join(["x0,x1,x2,x3,t", *lines]))
    map_file(tmp_path / "in.csv", tmp_path / "text.parquet", model)
    assert parquet.read_table(tmp_path / "text.parquet").column("target").to_pylist() == [*"11111111xx"]


def test_damaged_and_foolish_files_are_refused_and_leave_nothing(model, tmp_path):
    source = tmp_path / "in.parquet"
    write_rows(source, 3000, 1, row_group_size=1000)
    good = source.read_bytes()
    source.write_bytes(good[:100] + bytes(40_000) + good[40_100:])
    with pytest.raises(FileFormatError, match="in.parquet cannot be read as parquet"):
        map_file(source, tmp_path / "out.parquet", model)
    with pytest.raises(InputError, match="is the file to read"):
        map_file(source, source, model)
    with pytest.raises(InputError, match="must name a .parquet or .csv"):
        map_file(source, tmp_path / "out.xls", model)
    with pytest.raises(InputError, match="there is no file"):
        map_file(tmp_path / "no.parquet", tmp_path / "out.parquet", model)
    assert os.listdir(tmp_path) == ["in.parquet"]


def test_a_file_that_lost_rows_gets_no_name(model, tmp_path, monkeypatch):
    write_rows(tmp_path / "in.parquet", 20, 1)
    part = files.Part(tmp_path / "in.parquet", tmp_path / "out.parquet", rows=21)
    with pytest.raises(FileFormatError, match="announces 21 rows and holds 20"):
        files.map_part(part, model, "mark")
    monkeypatch.setattr(files.Tally, "add", lambda self, far, *_: setattr(self, "rows", self.rows + 2 * len(far)))
    with pytest.raises(OSError, match="40 rows were placed and 20 are in the file"):
        map_file(tmp_path / "in.parquet", tmp_path / "out.parquet", model)
    assert os.listdir(tmp_path) == ["in.parquet"]


def test_columns_are_found_by_name_without_a_warning(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = make_rows(60, 0)
    model = PrisMap(perplexity=8, random_state=0).fit(pd.DataFrame(X, columns=["x3", "x2", "x1", "x0"]), y)
    rows = write_rows(tmp_path / "in.parquet", 9, 1)
    map_file(tmp_path / "in.parquet", tmp_path / "out.parquet", model)
    table = parquet.read_table(tmp_path / "out.parquet")
    expected = model.transform(pd.DataFrame(rows[:, ::-1], columns=["x3", "x2", "x1", "x0"]))
    np.testing.assert_array_equal(np.transpose([table["x"], table["y"]]), expected)
    assert list(model.feature_names_in_) == ["x3", "x2", "x1", "x0"]
