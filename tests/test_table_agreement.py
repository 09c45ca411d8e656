"""Whole and batched reading of generated tables agree, whatever the file and wherever it is cut."""

import csv
import io

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prismap.exceptions import InputError
from prismap.tables import Roles, TextColumn, read_batches, read_table

TOKENS = [
    "1", "2", "-3", "0", "01", "1.0", "2.5", "+4", "1e3", "1E-2", ".5", "5.", "1_000", "0x1F", "inf", "-Infinity",
    "NaN", "nan", "NA", "n/a", "null", "None", "?", "-", "true", "FALSE", "True", "yes", "a", "b", "é", "日本", "ß",
    "İ", "ǅ", "١٢", "²", "1,5", "2,75", "12345678901234567890", "99999999999999999999999", "1e999", "2020-01-31",
    "", " ", " 1", "1 ", "\t2", "\u00a03", "4\u2003", "\x1f5", "\x856", " NA ", "a,b", 'say "hi"', "two\nlines",
    "crlf\r\nx", "'1'", "\ufeff1", "a;b", "c|d", "\x0b7", "\u200b8",
]  # fmt: skip
KINDS = [
    TOKENS,
    ["1", "2.5", "-3", "1e3", "", "NA", " 4"],
    ["true", "False", "", "TRUE"],
    ["1", "0", "true", "false", ""],
    ["1", "01", "2", ""],
    ["1.0", "2.0", ""],
    ["1,5", "2", "3,25", ""],
    ["", "NA"],
    ["9223372036854775808", "1", "-1", ""],
]
COLUMN = st.sampled_from(KINDS).flatmap(lambda tokens: st.lists(st.sampled_from(tokens), min_size=9, max_size=9))


@st.composite
def delimited_files(draw):
    """The bytes of a file with columns a, b, k (ids), t (target), and the mark that divides them."""
    columns = [draw(COLUMN) for _ in range(4)]
    delimiter = draw(st.sampled_from([",", ";", "\t", "|"]))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    file = io.StringIO()
    quoting = draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    writer = csv.writer(file, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerows([("a", "b", "k", "t"), *zip(*columns, strict=True)])
    text = draw(st.sampled_from(["", end])) + file.getvalue() + draw(st.sampled_from(["", end, " " + end]))
    return text.encode(draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16"])))


def as_text(values):
    values = values.values() if isinstance(values, TextColumn) else values
    return [None if value is None or value != value else repr(value) for value in values.tolist()]


def contents(tables):
    """Columns, ids and target of tables, one after the other."""
    tables = list(tables)
    columns = {name: [as_text(table.columns[name]) for table in tables] for name in ("a", "b")}
    columns |= {"k": [as_text(table.ids) for table in tables], "t": [as_text(table.target) for table in tables]}
    return {name: [value for part in parts for value in part] for name, parts in columns.items()}


def outcome(read):
    try:
        return contents(read())
    except InputError as error:
        return str(error)


@given(data=delimited_files(), n_rows=st.sampled_from([1, 2, 4, 9]), name=st.sampled_from(["t.csv", "t.tsv"]))
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_delimited_text_in_batches_is_the_whole(tmp_path, data, n_rows, name):
    path, roles = tmp_path / name, Roles("t", "k")
    path.write_bytes(data)
    whole = outcome(lambda: [read_table(path, roles)])
    assert outcome(lambda: read_batches(path, ["a", "b"], roles, n_rows=n_rows)) == whole
    assert isinstance(whole, dict), whole
    assert len(whole["a"]) == 9


@given(data=delimited_files())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_file_in_many_chunks_is_the_file_in_one(tmp_path, monkeypatch, data):
    path, roles = tmp_path / "t.csv", Roles("t", "k")
    path.write_bytes(data)
    with monkeypatch.context() as few:
        few.setattr("prismap.tables.tokens.CHUNK_TOKENS", 12)
        chunked = outcome(lambda: [read_table(path, roles)])
    assert chunked == outcome(lambda: [read_table(path, roles)])


@given(columns=st.lists(COLUMN, min_size=4, max_size=4), missing=st.lists(st.booleans(), min_size=9, max_size=9),
       n_rows=st.sampled_from([1, 2, 4]), ending=st.sampled_from(["parquet", "arrow"]))  # fmt: skip
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_arrow_in_batches_is_the_whole(tmp_path, columns, missing, n_rows, ending):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    path, roles = tmp_path / f"t.{ending}", Roles("t", "k", text=("b",))
    gaps = [[None if gap else token for token, gap in zip(tokens, missing, strict=True)] for tokens in columns]
    numbers = [None if gap else row * (2**59 + 1) for row, gap in enumerate(missing)]
    table = pa.table({"a": pa.array(numbers), "b": pa.array(gaps[1], pa.string()), "k": numbers, "t": gaps[3]})
    table = table.set_column(3, "t", pa.array(gaps[3], pa.string()))
    if ending == "parquet":
        parquet.write_table(table, path, row_group_size=3)
    else:
        feather.write_feather(table, str(path), chunksize=3)
    whole = outcome(lambda: [read_table(path, roles)])
    assert outcome(lambda: read_batches(path, ["a", "b"], roles, n_rows=n_rows)) == whole
    assert whole["k"] == [None if number is None else repr(number) for number in numbers]


def test_numpy_in_batches_is_the_whole(tmp_path):
    path, roles = tmp_path / "t.npz", Roles("t", "k")
    keys = np.array([2**63 + row for row in range(9)], dtype=np.uint64)
    np.savez(path, X=np.arange(18.0).reshape(9, 2), feature_names=["a", "b"], k=keys, t=np.array([*"abcabcabc"]))
    whole = contents([read_table(path, roles)])
    assert contents(read_batches(path, ["a", "b"], roles, n_rows=4)) == whole
    assert whole["k"] == [repr(key) for key in keys.tolist()]
