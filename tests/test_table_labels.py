"""Ids and class labels: text or exact integers in every format, in, through a map, and out again."""

import csv
import gzip
import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prismap.bundle import write_map
from prismap.bundle._rows import safe_cell
from prismap.exceptions import InputError
from prismap.page._folder import load_folder
from prismap.tables import Roles, read_batches, read_table
from prismap.target._labels import encode_classes

pa = pytest.importorskip("pyarrow")
from pyarrow import feather, parquet  # noqa: E402

KEY = 1234567890123456789
FORMATS = ["t.csv", "t.tsv", "t.csv.gz", "t.jsonl", "t.parquet", "t.feather", "t.arrow", "t.npz"]


def write_labels(path, labels):
    """A file with the labels in a column `k` (an array of an npz file), None where missing, beside a number `x`."""
    numbers = list(range(len(labels)))
    unsigned = all(isinstance(label, int) and label >= 0 for label in labels if label is not None)
    if path.suffix == ".npz":
        np.savez(path, X=np.array(numbers, dtype=float)[:, None], k=np.array(labels, np.uint64 if unsigned else None))
    elif path.suffix == ".jsonl":
        rows = [json.dumps({"x": number, "k": label}) for number, label in zip(numbers, labels, strict=True)]
        path.write_text("\n".join(rows), encoding="utf-8")
    elif path.suffix in (".parquet", ".feather", ".arrow"):
        table = pa.table({"x": numbers, "k": pa.array(labels, pa.uint64() if unsigned else None)})
        if path.suffix == ".parquet":
            parquet.write_table(table, path)
        elif path.suffix == ".feather":
            feather.write_feather(table, str(path))
        else:
            with pa.ipc.new_stream(str(path), table.schema) as writer:
                writer.write_table(table)
    else:
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "wt", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writerows([("x", "k"), *zip(numbers, labels, strict=True)])


def texts(labels):
    """Labels as text, None where missing: text files know no more."""
    return [None if label is None else str(label) for label in labels]


INTEGERS = st.lists(st.one_of(st.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=12)
LARGE = st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=12)
WORDS = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\0\r", exclude_categories=["Cs"]), min_size=1, max_size=9),
    min_size=1,
    max_size=12,
)
CODES = st.lists(st.from_regex(r"[+-]?[0-9]{1,21}(\.0{0,3})?", fullmatch=True), min_size=1, max_size=12)


@pytest.mark.parametrize("name", FORMATS)
@given(labels=st.one_of(INTEGERS, LARGE, WORDS, CODES), gap=st.booleans())
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_ids_come_back_as_they_were_written(tmp_path, name, labels, gap):
    labels = [*labels, None] if gap and name != "t.npz" else labels
    write_labels(tmp_path / name, labels)
    whole = read_table(tmp_path / name, Roles(ids="k")).ids
    assert texts(whole.tolist()) == texts(labels)
    parts = read_batches(tmp_path / name, ["x"], Roles(ids="k"), n_rows=3)
    assert texts([label for part in parts for label in part.ids.tolist()]) == texts(labels)
    for out in ("map.parquet", "map.csv"):
        rows = np.zeros(len(labels))
        write_map(tmp_path / out, {"id": whole, "x": rows, "y": rows})
        again = read_table(tmp_path / out, Roles(ids="id")).ids
        expected = texts(labels)
        if out == "map.csv":  # what a spreadsheet would run as a formula begins with an apostrophe
            expected = [safe_cell(label) for label in expected]
        assert texts(again.tolist()) == expected


@pytest.mark.parametrize("name", FORMATS)
@given(labels=st.one_of(INTEGERS, LARGE, CODES))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_classes_are_as_many_as_the_file_keeps_apart(tmp_path, name, labels):
    labels = [*labels, *labels, labels[0]]
    write_labels(tmp_path / name, labels)
    target = read_table(tmp_path / name, Roles(target="k")).target
    # A file of -1 beside others marks rows without a label, and one class alone is refused: not the subject here.
    apart = {str(label) for label in labels}
    if len(apart) < 2 or "-1" in apart:
        return
    classes, codes = encode_classes(target, len(labels))
    names = classes.astype(str)[codes]
    assert len(set(names)) == len(apart)
    trailing = {label.partition(".")[2] for label in apart}
    if len(trailing) == 1:  # numbers that all end in .0 may lose that ending
        assert {name.partition(".")[0] for name in names} == {label.partition(".")[0] for label in apart}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("first", [KEY, 2**63 + 5])
def test_long_keys_are_not_merged(tmp_path, name, first):
    keys = [first + row for row in range(60)]
    write_labels(tmp_path / name, keys)
    assert texts(read_table(tmp_path / name, Roles(ids="k")).ids.tolist()) == texts(keys)
    target = read_table(tmp_path / name, Roles(target="k")).target
    assert target.tolist() == keys
    assert encode_classes(target, 60)[0].tolist() == keys


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "t.npz"])
def test_long_keys_beside_a_missing_one_are_not_merged(tmp_path, name):
    keys = [*(KEY + row for row in range(59)), None]
    write_labels(tmp_path / name, keys)
    assert texts(read_table(tmp_path / name, Roles(ids="k")).ids.tolist()) == texts(keys)
    classes, codes = encode_classes(read_table(tmp_path / name, Roles(target="k")).target, 60)
    assert classes.tolist() == keys[:-1]
    assert codes.tolist() == [*range(59), -1]


@pytest.mark.parametrize("name", FORMATS)
def test_codes_with_zeros_or_points_keep_them(tmp_path, name):
    codes = ["01", "1", "1.0", "00001", "2"]
    write_labels(tmp_path / name, codes)
    assert read_table(tmp_path / name, Roles(ids="k")).ids.tolist() == codes
    table = read_table(tmp_path / name, Roles(target="k"))
    assert table.target.tolist() == codes
    notes = [note for note in table.notes if "'01' and '1'" in note or "'1' and '01'" in note]
    assert len(encode_classes(table.target, 5)[0]) == 5
    assert name in ("t.parquet", "t.feather", "t.arrow", "t.npz") or any("several ways" in note for note in table.notes)
    assert not notes or "target_kind='real'" in notes[0]


def test_decimal_keys_are_exact(tmp_path):
    keys = [10**20 + row for row in range(5)]
    parquet.write_table(pa.table({"x": range(5), "k": pa.array(keys, pa.decimal128(30, 0))}), tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet", Roles(ids="k")).ids.tolist() == [str(key) for key in keys]


def test_quantities_stay_numbers(tmp_path):
    for tokens in (["1.5", "2", "2.0"], ["1e5", "200000", "3"], ["1.0", "2.0", "NA"]):
        (tmp_path / "t.csv").write_text("x,k\n" + "".join(f"{row},{token}\n" for row, token in enumerate(tokens)))
        target = read_table(tmp_path / "t.csv", Roles(target="k")).target
        assert target.dtype.kind in "if"
        wanted = [None if token == "NA" else float(token) for token in tokens]
        assert [None if value is None or value != value else float(value) for value in target.tolist()] == wanted


def test_ids_are_read_verbatim(tmp_path):
    (tmp_path / "t.csv").write_text("k,x\nNA,1\n a,2\na,3\nnull,4\n,5\n")
    assert read_table(tmp_path / "t.csv", Roles(ids="k")).ids.tolist() == ["NA", " a", "a", "null", None]


# Labels given from Python


def codes_of(y):
    classes, codes = encode_classes(y, len(y))
    return classes.tolist(), codes.tolist()


def test_labels_from_python_are_exact():
    assert codes_of([KEY, KEY + 1, None]) == ([KEY, KEY + 1], [0, 1, -1])
    assert codes_of(np.array([2**63, 2**63 + 1], dtype=np.uint64)) == ([2**63, 2**63 + 1], [0, 1])
    assert codes_of([2**63, -5, 2**63 + 1])[1] == [1, 0, 2]
    assert codes_of([2**70, 2**70 + 1]) == ([str(2**70), str(2**70 + 1)], [0, 1])
    assert codes_of(np.array([1e30, 2e30, 1e30])) == ([1e30, 2e30], [0, 1, 0])
    assert codes_of(["01", "1", "1.0"]) == (["01", "1", "1.0"], [0, 1, 2])
    assert codes_of(np.ma.array([KEY, KEY + 1, 0], mask=[0, 0, 1])) == ([KEY, KEY + 1], [0, 1, -1])
    assert codes_of(np.array([0, 1, 2, -1])) == ([0, 1, 2], [0, 1, 2, -1])
    assert codes_of(np.array([0.0, 1.0, 2.0, -1.0, np.nan])) == ([0, 1, 2], [0, 1, 2, -1, -1])
    assert codes_of(np.array([-1, 1])) == ([-1, 1], [0, 1])


def test_labels_of_data_frames_are_exact():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    wanted = ([KEY, KEY + 1], [0, 1, -1])
    assert codes_of(pd.Series([KEY, KEY + 1, None], dtype="Int64")) == wanted
    assert codes_of(pl.Series([KEY, KEY + 1, None])) == wanted
    assert codes_of(pa.chunked_array([[KEY, KEY + 1, None]])) == wanted
    assert codes_of(pd.Series(["a", "b", None], dtype="category")) == (["a", "b"], [0, 1, -1])


@pytest.mark.parametrize("y", [[1, "1", 2], np.array([1, "1", 2], dtype=object)])
def test_a_number_and_its_text_are_not_merged(y):
    with pytest.raises(InputError, match="1 as a int and as text"):
        encode_classes(y, 3)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_the_explorer_shows_long_keys_of_a_folder(tmp_path, ending):
    keys = np.array([KEY + row for row in range(5)])
    rows = np.arange(5.0)
    write_map(tmp_path / f"map.{ending}", {"id": keys, "x": rows, "y": rows, "target": keys // 2})
    page = load_folder(tmp_path)
    assert list(page.row_ids) == [str(key) for key in keys]
    assert list(page.target.classes) == sorted({str(key // 2) for key in keys.tolist()})
