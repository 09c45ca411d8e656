"""Readings of generated tables agree: whole and in batches, wherever a file is cut, with pyarrow and without."""

import csv
import gzip
import io

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hardening.garbling import garbled, whole_tables
from prismap.exceptions import InputError
from prismap.tables import Roles, TextColumn, read_batches, read_table
from prismap.tables import _delimited as delimited
from prismap.tables._tokens import ArrowTokens, read_numbers

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
        few.setattr("prismap.tables._tokens.CHUNK_TOKENS", 12)
        chunked = outcome(lambda: [read_table(path, roles)])
    assert chunked == outcome(lambda: [read_table(path, roles)])


# By pyarrow and by the csv module


@st.composite
def odd_files(draw):
    """The bytes of a file of two or three columns: quotes, line ends, blanks and other marks at any place."""
    names = draw(st.sampled_from(["a,b", "a;b", "a\tb\tc", '"a",b', "# made up\na,b", "a", '#"x\ny",b']))
    delimiter = next((mark for mark in ";\t" if mark in names), ",")
    width = names.count(delimiter) + 1
    marks = [delimiter, "\n", "\r\n", "\r", '"', '""', " ", "\t", "\ufeff", "\0", "#", "\x0b", "\x85", "\u2028"]
    pieces = [*TOKENS, *marks, f'{delimiter}"', f'"{delimiter}', '"\n', "\n\n", f"1{delimiter}2\n"]
    rows = st.lists(st.sampled_from(TOKENS), min_size=width, max_size=width).map(delimiter.join)
    odd = "".join(draw(st.lists(st.sampled_from(pieces), max_size=12)))
    text = "\n".join([names, odd, *draw(st.lists(rows, max_size=4))]) + draw(st.sampled_from(["", "\n"]))
    return text.encode(draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"])), errors="replace")


@st.composite
def damaged_files(draw):
    """A table of numbers and quoted words with a few bytes changed."""
    ending = draw(st.sampled_from(["csv", "tsv"]))
    return garbled(WHOLE[ending], np.random.default_rng(draw(st.integers(0, 2**32))))


WHOLE = whole_tables()


def exact(column):
    """Everything that a column is made of."""
    if column is None or isinstance(column, TextColumn):
        return column if column is None else (column.codes.tolist(), column.levels)
    return column.dtype, np.ma.getmaskarray(column).tolist(), list(map(repr, np.ma.getdata(column).tolist()))


def read_exactly(read):
    """All of some tables, or what was refused."""
    try:
        return [
            ({name: exact(column) for name, column in table.columns.items()}, table.n_rows, exact(table.target),
             exact(table.ids), table.notes)
            for table in read()
        ]  # fmt: skip
    except InputError as error:
        return str(error)


@given(
    data=st.one_of(delimited_files(), odd_files(), damaged_files()), packed=st.booleans(),
    block=st.sampled_from([7, 40, 10_000]), n_rows=st.sampled_from([1, 2, 100]),
    roles=st.sampled_from([Roles(), Roles("t", "k", required=False), Roles("b", "a", required=False)]),
)  # fmt: skip
@settings(max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pyarrow_reads_what_the_csv_module_reads(tmp_path, monkeypatch, data, packed, block, n_rows, roles):
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(data) if packed else data)
    ways = [lambda: [read_table(path, roles)], lambda: read_batches(path, ["a", "b"], roles, n_rows=n_rows)]
    plain = [read_exactly(read) for read in ways]
    with monkeypatch.context() as patched:
        patched.setattr(delimited, "ARROW_BYTES", 0)
        patched.setattr(delimited, "BLOCK", block)
        patched.setattr("prismap.tables._tokens.CHUNK_TOKENS", 12)
        assert [read_exactly(read) for read in ways] == plain


PLAIN = "1,2\n\n3,x\r\n4,\n"


@pytest.mark.parametrize(
    ("rows", "by_pyarrow"),
    [
        (PLAIN, True),
        ('"a, b",2\n"say ""hi""",3\n"two\nlines",\n"",""\n', True),
        ("\ufeff1,2\n", True),
        ("é,日本\n", True),
        ("1,2\r3,4\r", True),
        (PLAIN + "5\n", False),  # too few fields
        (PLAIN + " \n", False),  # a line of blanks
        (PLAIN + '5" pipe,3\n', False),  # a quote inside a field
        (PLAIN + '"5"0,3\n', False),  # text behind the closing quote, which pyarrow reads as 50
        (PLAIN + '""5,3\n', False),
        (PLAIN + '5",",b"x"\n', False),
        (PLAIN + '5,"6\n', False),  # no closing quote
    ],
)  # fmt: skip
def test_pyarrow_leaves_doubtful_lines_to_the_csv_module(tmp_path, monkeypatch, rows, by_pyarrow):
    """The test above would be in vain if pyarrow never came to read a file."""
    path, calls = tmp_path / "t.csv", []
    path.write_text("a,b\n" + rows, encoding="utf-8", newline="")
    expected = read_exactly(lambda: [read_table(path)])
    for name in ("_arrow_chunks", "_plain_chunks"):
        monkeypatch.setattr(delimited, name, _spy(getattr(delimited, name), calls, name))
    assert read_exactly(lambda: [read_table(path)]) == expected
    assert "_arrow_chunks" not in calls  # files as small as these are faster without
    calls.clear()
    monkeypatch.setattr(delimited, "ARROW_BYTES", 0)
    assert read_exactly(lambda: [read_table(path)]) == expected
    assert "_arrow_chunks" in calls
    assert ("_plain_chunks" not in calls) == by_pyarrow


def _spy(function, calls, name):
    def spied(*arguments):
        calls.append(name)
        return function(*arguments)

    return spied


def test_quoted_lines_are_not_cut_by_the_blocks_of_pyarrow(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + 20 * '"two\nlines",1\n')
    monkeypatch.setattr(delimited, "ARROW_BYTES", 0)
    monkeypatch.setattr(delimited, "BLOCK", 40)
    (chunk,) = delimited.delimited_source(path).chunks(100)
    assert isinstance(chunk[0], ArrowTokens)
    assert chunk[0].text.to_pylist() == ["two\nlines"] * 20


def test_fields_beyond_the_limit_of_the_csv_module_are_refused_with_pyarrow_too(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + 60 * "1,2\n" + "x" * (csv.field_size_limit() + 1) + ",1\n")
    refused = read_exactly(lambda: [read_table(path)])
    monkeypatch.setattr(delimited, "ARROW_BYTES", 10**9)
    assert read_exactly(lambda: [read_table(path)]) == refused
    assert "field larger than field limit" in refused


def test_rows_before_a_doubtful_line_are_given_once(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"{row},{row}\n" for row in range(50)) + '5",1\n')
    monkeypatch.setattr(delimited, "ARROW_BYTES", 0)
    monkeypatch.setattr(delimited, "BLOCK", 60)
    chunks = list(delimited.delimited_source(path).chunks(7))
    assert [len(chunk[0]) for chunk in chunks] == [7] * 7 + [2]
    assert isinstance(chunks[0][0], ArrowTokens)
    assert isinstance(chunks[-1][0], tuple)
    assert chunks[-1][0] == ("49", '5"')


@given(tokens=st.lists(st.one_of(
    st.floats().map(repr), st.integers().map(str), st.sampled_from(TOKENS), st.text("+-.e0123456789", max_size=12),
    st.text("+-infatyNA()_ ", max_size=8), st.sampled_from(["nan(1)", "-NaN(abc)"]),
), min_size=1, max_size=4))  # fmt: skip
@settings(max_examples=500, deadline=None)
def test_numbers_of_pyarrow_are_those_of_python(tokens):
    pa = pytest.importorskip("pyarrow")

    def outcome(tokens):
        try:
            return list(map(repr, read_numbers(tokens).tolist()))
        except ValueError:
            return None

    text = pa.chunked_array([pa.array(tokens, pa.string())])
    assert outcome(ArrowTokens(text)) == outcome(tokens)


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
