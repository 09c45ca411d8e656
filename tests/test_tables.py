"""Data files: typed columns from every format, the same with and without pyarrow, and clear refusals."""

import sys

import numpy as np
import pytest

from prismap.exceptions import FileFormatError, InputError, MissingExtraError
from prismap.tables import Roles, TextColumn, read_batches, read_table

pa = pytest.importorskip("pyarrow")
from pyarrow import feather, parquet  # noqa: E402

CSV = """width,colour,label,ok
1.5,red,a,true
2,blue,b,false
-3e2,red,a,true
"""


@pytest.fixture(params=["pyarrow", "core"])
def engine(request, monkeypatch):
    """Text files are read with pyarrow, whatever their size, and without it; the answers must not differ."""
    monkeypatch.setattr("prismap.tables._delimited.ARROW_BYTES", 0)
    if request.param == "core":
        for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
            monkeypatch.setitem(sys.modules, name, None)
    return request.param


@pytest.fixture
def write(tmp_path):
    def write(content, name="data.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return write


def plain(column):
    """A column as a list, text as text."""
    values = column.values() if isinstance(column, TextColumn) else column
    return [None if value != value else value for value in values.tolist()]


def as_lists(table):
    return {name: plain(column) for name, column in table.columns.items()}


# Delimited text


def test_csv_columns_are_typed(write, engine):
    table = read_table(write(CSV), Roles(target="label"))
    assert as_lists(table) == {"width": [1.5, 2.0, -300.0], "colour": ["red", "blue", "red"], "ok": [1.0, 0.0, 1.0]}
    assert table.target.tolist() == ["a", "b", "a"]
    assert (table.n_rows, table.ids, table.notes) == (3, None, ())
    assert table.columns["colour"].levels == ("blue", "red")


@pytest.mark.parametrize(
    ("column", "wanted"),
    [
        (["1", " 2 ", "+3", "4."], [1.0, 2.0, 3.0, 4.0]),
        (["1", "NA", "", "4"], [1.0, None, None, 4.0]),
        (["1", " " * 20, "", "4"], [1.0, None, None, 4.0]),
        (["1", "?", " nan", "None"], [1.0, None, None, None]),
        (["1", "inf", "-Infinity", "1e400"], [1.0, np.inf, -np.inf, np.inf]),
        (["007", "1", "2", "3"], [7.0, 1.0, 2.0, 3.0]),
        (["007", "123", "NA", "4567"], ["007", "123", None, "4567"]),
        (["01", "02", "11", "12"], [1.0, 2.0, 11.0, 12.0]),
        (["007", "123", "456", "78.5"], [7.0, 123.0, 456.0, 78.5]),
        (["1_0", "1", "2", "3"], ["1_0", "1", "2", "3"]),
        (["0x10", "1", "2", "3"], ["0x10", "1", "2", "3"]),
        (["1.5", "#DIV/0!", "<NA>", "2"], [1.5, None, None, 2.0]),
        (["1.5", "-", "--", "..."], [1.5, None, None, None]),
        (["007", "123", "-", "4567"], ["007", "123", "-", "4567"]),
        (["+", "-", "+", "-"], ["+", "-", "+", "-"]),
        (["TRUE", "false", "NA", "True"], [1.0, 0.0, None, 1.0]),
        (["true", "false", "maybe", "true"], ["true", "false", "maybe", "true"]),
        (["true", "1", "0", "true"], ["true", "1", "0", "true"]),
        (["2020-01-01", "2020-01-02", "2020-01-01", ""], ["2020-01-01", "2020-01-02", "2020-01-01", None]),
        ([" a ", "a", "b", "null"], ["a", "a", "b", None]),
        (["", "", "", ""], [None] * 4),
        (["é", "日本", "z", "Z"], ["é", "日本", "z", "Z"]),
        (['"a,b"', '"say ""hi"""', '"two\nlines"', "c"], ["a,b", 'say "hi"', "two\nlines", "c"]),
        (['"1"', '"2"', "3", "4"], [1.0, 2.0, 3.0, 4.0]),
    ],
)
def test_tokens_become_numbers_or_text(write, engine, column, wanted):
    path = write("v,k\n" + "".join(f"{token},{row}\n" for row, token in enumerate(column)))
    assert as_lists(read_table(path)) == {"v": wanted, "k": [0.0, 1.0, 2.0, 3.0]}


@pytest.mark.parametrize("name", ["data.csv", "data.tsv", "data.txt"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_and_said(write, engine, name, delimiter):
    table = read_table(write(CSV.replace(",", delimiter), name), Roles(target="label"))
    assert list(table.columns) == ["width", "colour", "ok"]
    assert table.target.tolist() == ["a", "b", "a"]
    usual = delimiter == ("," if name == "data.csv" else "\t")
    words = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
    assert table.notes == (() if usual else (f"the columns of {name} are divided by {words[delimiter]}",))


def test_decimal_commas_are_read_in_semicolon_files(write, engine):
    table = read_table(write("a;b;c\n1,5;2;x,y\n-2;,;z\n"))
    assert as_lists(table) == {"a": [1.5, -2.0], "b": ["2", ","], "c": ["x,y", "z"]}


def test_byte_order_marks_and_line_ends_are_no_data(write, engine):
    for encoding in ("utf-8-sig", "utf-16"):
        path = write(CSV.replace("\n", "\r\n") + "\r\n\r\n", encoding=encoding)
        assert as_lists(read_table(path))["width"] == [1.5, 2.0, -300.0]


def test_quoted_names_over_two_lines(write, engine):
    assert as_lists(read_table(write('"a\nb",c\n1,2\n3,4\n'))) == {"a\nb": [1.0, 3.0], "c": [2.0, 4.0]}


def test_a_quoted_field_may_run_past_the_lines_that_show_the_delimiter(write, engine):
    table = read_table(write("x, y, z;b\n" + "x;1\n" * 18 + '"y\nz";2\n'))
    assert as_lists(table) == {"x, y, z": ["x"] * 18 + ["y\nz"], "b": [1.0] * 18 + [2.0]}


def test_numbered_columns_are_names(write, engine):
    assert list(read_table(write("0,1,2\n5,6,7\n8,9,9\n")).columns) == ["0", "1", "2"]


@pytest.mark.parametrize(
    "names",
    [
        ["2019", "2020", "2021"], ["400.5", "401", "401.5", "class"], ["id", "1", "7", "12"], ["9", "a", "b"],
        ["drug", "0.1", "1", "10", "100"], ["id", "7", "1", "12"],
        ["900", "850.5", "800", "700", "600", "500", "400", "350"],
        ["900", "850.5", "800", "700", "600", "500", "400", "350", "class"],
    ],
)  # fmt: skip
def test_years_and_wavelengths_are_names(write, engine, names):
    rows = "\n".join(",".join(f"{row}.{j}" for j in range(len(names))) for row in range(3))
    assert list(read_table(write(",".join(names) + "\n" + rows)).columns) == names


@pytest.mark.parametrize(
    ("head", "n_remarks"),
    [("# made by a tool\n", 1), ('# made, by "a tool\n#\n', 2), ("# made by a tool\n\n# version 2\n\n", 2)],
)
def test_remarks_at_the_head_are_left_out_and_said(write, engine, head, n_remarks):
    path = write(head + "a,b\n1,2\n3,#4\n")
    table = read_table(path)
    assert as_lists(table) == {"a": [1.0, 3.0], "b": ["2", "#4"]}
    assert f"remarks at the head of data.csv were left out: {n_remarks} that begin with #" in table.notes
    path.write_text(head + "a,b\n1,2\n1\n", encoding="utf-8")
    with pytest.raises(InputError, match=f"line {head.count(chr(10)) + 3}: 1 fields, but 2 column names"):
        read_table(path)


def test_names_may_begin_with_a_hash(write, engine):
    for head in ("# of a tool\n#a,b", "#a,b", "# a,b", "##a,b"):
        assert as_lists(read_table(write(f"{head}\n1,2\n"))) == {"a": [1.0], "b": [2.0]}


@pytest.mark.parametrize("head", ["a b word\n", "# a b word\n", '# by numpy\n#  "a"   b word  \n'])
def test_columns_may_be_divided_by_blanks(write, engine, head):
    path = write(head + '1.5 2 x\n  3   4.5  "two words" \n5 6 z\n', "data.txt")
    table = read_table(path)
    assert as_lists(table) == {"a": [1.5, 3.0, 5.0], "b": [2.0, 4.5, 6.0], "word": ["x", "two words", "z"]}
    assert "the columns of data.txt are divided by blanks" in table.notes
    assert list(read_table(write("one sentence\nof two\nwords each\n", "data.csv")).columns) == ["one sentence"]
    with pytest.raises(InputError, match=r"line 32: 1 fields, but 2 column names \(divided by blanks\)"):
        read_table(write("a b\n" + 30 * "1 2\n" + "3\n", "data.txt"))


def test_one_column_is_enough(write, engine):
    assert as_lists(read_table(write("a\n1\n2\n"))) == {"a": [1.0, 2.0]}


def test_labels_keep_their_words(write, engine):
    path = write("k,a,b,c\n007,true,1,1.5\n008,false,2,\n")
    table = read_table(path, Roles(target="a", ids="k", text=("k",)))
    assert table.target.tolist() == ["true", "false"]
    assert table.ids.tolist() == ["007", "008"]
    assert list(table.columns) == ["b", "c"]
    assert read_table(path, Roles(target="b")).target.dtype == np.int64
    assert plain(read_table(path, Roles(target="c")).target) == [1.5, None]


def test_large_csv_is_equal_with_and_without_pyarrow(write, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5)) * 10.0 ** rng.integers(-8, 9, size=(300, 5))
    lines = [",".join([*map(repr, row), f"level {row[0] > 0}"]) for row in X.tolist()]
    path = write("a,b,c,d,e,f\n" + "\n".join(lines) + "\n")
    quick = as_lists(read_table(path))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert as_lists(read_table(path)) == quick
    np.testing.assert_array_equal(np.transpose([quick[name] for name in "abcde"]), X)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "data.csv is empty"),
        ("\n\n  \n", "data.csv is empty"),
        ("a,b\n", "column names and no rows"),
        ("a,b,a,b\n1,2,3,4\n", r"column names occur more than once: 'a', 'b'"),
        ("a,b,c\n1,2,3\n1,2\n", "line 3: 2 fields, but 3 column names"),
        ("a,b\n1,2\n\n1,2,3\n4,5\n", "line 4: 3 fields, but 2 column names"),
        ("5.1,3.5,1.4\n4.9,3.0,1.4\n", r"looks like data \(5.1, 3.5, 1.4, ...\)"),
        ("5.1,-3.5,1.4,red\n4.9,3.0,1.4,red\n", r"looks like data \(5.1, -3.5, 1.4, red, ...\)"),
        ("# a\n# b\n", "data.csv holds remarks and no table"),
        ('a,b\n1,"2\n', "not valid delimited text"),
        (b"a,b\n\x81\xe9,2\n", "is neither UTF-8 nor latin-1 text. Save it as UTF-8"),
        (b"\xff\xfea", "is not UTF-16 text"),
        (b"a,b\n\0\0,2\n", "it holds zero bytes"),
    ],
)
def test_broken_text_is_refused_with_the_reason(write, engine, content, message):
    with pytest.raises(InputError, match=message):
        read_table(write(content))


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        (Roles(target="lable"), "no column 'lable' for target; did you mean 'label'"),
        (Roles(target="zzz"), "there are 'width', 'colour', 'label', 'ok'"),
        (Roles(ids="zzz"), "no column 'zzz' for id"),
        (Roles(drop=("width", "zzz")), "no column 'zzz' for drop"),
    ],
)
def test_unknown_columns_are_refused_with_those_there_are(write, roles, message):
    with pytest.raises(InputError, match=message):
        read_table(write(CSV), roles)


def test_unknown_files_are_refused(tmp_path, write):
    with pytest.raises(InputError, match=r"there is no file .*none\.csv"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(InputError, match="is a folder"):
        read_table(tmp_path)
    with pytest.raises(InputError, match=r"ending '.xls' is not known. Save it as xlsx or csv; data files end in .csv"):
        read_table(write("x", "data.xls"))


def test_more_than_memory_is_refused_with_the_figure(write, monkeypatch, tmp_path):
    monkeypatch.setattr("prismap._util.blocks.available_bytes", lambda: 10)
    parquet.write_table(pa.table({"a": [1.0] * 9}), tmp_path / "t.parquet")
    np.savez(tmp_path / "t.npz", X=np.zeros((9, 2)))
    for path in (write(CSV), tmp_path / "t.parquet", tmp_path / "t.npz"):
        with pytest.raises(InputError, match="would need .* GiB of memory"):
            read_table(path)


# Parquet and arrow


@pytest.fixture
def arrow_table():
    return pa.table(
        {
            "size": pa.array([1, 2, None], pa.int16()),
            "price": pa.array([1, 2, 3], pa.decimal128(9, 2)),
            "ok": [True, None, False],
            "colour": ["red", None, "blue"],
            "grade": pa.array(["b", "a", "b"]).dictionary_encode(),
            "day": pa.array([0, 1, 1], pa.date32()),
            "nothing": pa.nulls(3),
            "blank": pa.array([None] * 3, pa.string()),
            "vector": [[1.0], [2.0], None],
            "label": pa.array([3, 1, 3], pa.uint8()),
        }
    )


def write_arrow(table, path):
    if path.suffix == ".parquet":
        parquet.write_table(table, path, row_group_size=2)
    elif path.suffix == ".feather":
        feather.write_feather(table, str(path))
    else:
        with pa.ipc.new_stream(str(path), table.schema) as writer:
            writer.write_table(table)


@pytest.mark.parametrize("ending", [".parquet", ".feather", ".arrow"])
def test_arrow_columns_are_typed(arrow_table, tmp_path, ending):
    path = tmp_path / f"data{ending}"
    write_arrow(arrow_table, path)
    table = read_table(path, Roles(target="label"))
    assert as_lists(table) == {
        "size": [1.0, 2.0, None],
        "price": [1.0, 2.0, 3.0],
        "ok": [1.0, None, 0.0],
        "colour": ["red", None, "blue"],
        "grade": ["b", "a", "b"],
        "day": ["1970-01-01", "1970-01-02", "1970-01-02"],
        "nothing": [None] * 3,
        "blank": [None] * 3,
        "vector": ["[1.0]", "[2.0]", None],
    }
    assert table.target.dtype == np.int64
    assert table.target.tolist() == [3, 1, 3]


def test_arrow_labels_keep_their_words(arrow_table, tmp_path):
    parquet.write_table(arrow_table, tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet", Roles(target="ok", ids="size"))
    assert table.target.tolist() == ["true", None, "false"]
    assert plain(table.ids) == [1.0, 2.0, None]
    assert plain(read_table(tmp_path / "t.parquet", Roles(text=("size",))).columns["size"]) == ["1", "2", None]


def test_arrow_without_pyarrow_names_the_extra(tmp_path, monkeypatch):
    parquet.write_table(pa.table({"a": [1.0]}), tmp_path / "t.parquet")
    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=r"Reading parquet files needs .*prismap\[io\]"):
        read_table(tmp_path / "t.parquet")


# numpy


def test_npz_with_names_and_target(tmp_path):
    np.savez(
        tmp_path / "t.npz", X=np.uint8([[1, 2], [3, 4], [5, 6]]), y=np.int16([1, 0, 1]), class_names=["cat", "dog"],
        feature_names=["a", "b"], extra=np.array(["p", "q", "r"]), image_shape=np.array([1, 2]),
    )  # fmt: skip
    table = read_table(tmp_path / "t.npz")
    assert as_lists(table) == {"a": [1, 3, 5], "b": [2, 4, 6]}
    assert table.target.tolist() == ["dog", "cat", "dog"]
    assert table.notes == ("the target is the array y of the file",)
    named = read_table(tmp_path / "t.npz", Roles(target="extra", ids="y"))
    assert named.target.tolist() == ["p", "q", "r"]
    assert named.ids.tolist() == ["dog", "cat", "dog"]
    assert named.notes == ()
    assert read_table(tmp_path / "t.npz", Roles(target="b")).target.tolist() == [2, 4, 6]


def test_npz_with_a_matrix_of_pairs(tmp_path):
    S, X = np.eye(3), np.zeros((3, 2))
    np.savez(tmp_path / "s.npz", S=S, y=[True, False, True])
    with pytest.raises(InputError, match="It has S: say data='similarity'"):
        read_table(tmp_path / "s.npz")
    np.savez(tmp_path / "alone.npz", S=S)
    with pytest.raises(InputError, match="It has S: say data='similarity'"):
        read_table(tmp_path / "alone.npz")
    np.savez(tmp_path / "alone.npz", S)
    assert len(read_table(tmp_path / "alone.npz").columns) == 3
    table = read_table(tmp_path / "s.npz", kind="similarity")
    assert list(table.columns) == ["x0", "x1", "x2"]
    assert table.target.tolist() == ["true", "false", "true"]
    np.savez(tmp_path / "both.npz", S=S, X=X, kind="dissimilarity")
    assert read_table(tmp_path / "both.npz").kind == "dissimilarity"
    assert len(read_table(tmp_path / "both.npz").columns) == 3
    assert len(read_table(tmp_path / "both.npz", kind="vectors").columns) == 2


def test_npy_is_a_matrix(tmp_path):
    np.save(tmp_path / "m.npy", np.float32([[1, 2], [3, np.nan]]))
    table = read_table(tmp_path / "m.npy")
    assert as_lists(table) == {"x0": [1.0, 3.0], "x1": [2.0, None]}
    assert table.target is None


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": np.zeros(3)}, "X must be a matrix of numbers, .* shape \\(3,\\)"),
        ({"X": np.array([["a"]])}, "X must be a matrix of numbers"),
        ({"X": np.zeros((3, 0))}, "X must be a matrix of numbers"),
        ({"A": np.zeros((2, 2)), "B": np.zeros((2, 2))}, "no array X or data, only 'A', 'B'"),
        ({"X": np.zeros((3, 2)), "y": np.zeros(2)}, "y must have one entry for each of the 3 rows"),
        ({"X": np.zeros((3, 2)), "y": np.zeros((3, 2))}, r"got shape \(3, 2\)"),
        ({"X": np.zeros((2, 2)), "y": [0, 5], "class_names": ["a", "b"]}, "codes outside 0..1"),
        ({"X": np.zeros((2, 2)), "y": np.array([1j, 2])}, "y must hold numbers or text"),
        ({"X": np.zeros((2, 2)), "feature_names": ["a"]}, "feature_names has 1 entries for 2 columns"),
        ({"X": np.zeros((2, 2)), "feature_names": ["a", "a"]}, "more than once"),
        ({"X": np.zeros((0, 2))}, "no rows"),
        ({"X": np.array([[None]])}, "cannot be read as npz: Object arrays cannot be loaded"),
    ],
)
def test_npz_that_makes_no_sense_is_refused(tmp_path, arrays, message):
    np.savez(tmp_path / "t.npz", **arrays)
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / "t.npz")


# Damage


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.arrow", "t.npz", "t.npy", "t.csv"])
def test_damaged_files_raise_nothing_but_input_errors(tmp_path, name):
    path = tmp_path / name
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 3))
    if name == "t.npz":
        np.savez_compressed(path, X=X, y=np.arange(6))
    elif name == "t.npy":
        np.save(path, X)
    elif name == "t.csv":
        path.write_text('a,b,"c, d"\n' + "\n".join(",".join(map(str, row)) for row in X), encoding="utf-8")
    else:
        write_arrow(pa.table({"a": X[:, 0], "b": ["ü", "v", "w", "u", "v", None]}), path)
    data = path.read_bytes()
    refused = 0
    for trial in range(80):
        damaged = bytearray(data)
        if trial < 40:
            del damaged[int(len(data) * trial / 40) :]
        else:
            damaged[rng.integers(len(data))] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            read_table(path)
        except InputError:
            refused += 1
    assert refused >= (4 if name == "t.csv" else 40)


# Batches


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.feather", "t.arrow", "t.npz"])
def test_batches_together_are_the_file(tmp_path, name):
    path = tmp_path / name
    X = np.random.default_rng(0).normal(size=(11, 3))
    words = [f"r{row}" for row in range(11)]
    if name == "t.npz":
        np.savez(path, X=X, feature_names=["a", "b", "c"], name=words, y=np.arange(11))
    elif name == "t.csv":
        lines = [
            f"{a!r},{b!r},{c!r},{word},{row}"
            for row, ((a, b, c), word) in enumerate(zip(X.tolist(), words, strict=True))
        ]
        path.write_text("a,b,c,name,y\n" + "\n".join(lines), encoding="utf-8")
    else:
        write_arrow(pa.table({**dict(zip("abc", X.T, strict=True)), "name": words, "y": np.arange(11)}), path)
    tables = list(read_batches(path, ["c", "a"], Roles(target="y", ids="name", text=("name",)), n_rows=4))
    assert max(table.n_rows for table in tables) <= 4
    assert [word for table in tables for word in table.ids] == words
    assert [label for table in tables for label in table.target] == list(range(11))
    for column, name in ((0, "a"), (2, "c")):
        np.testing.assert_array_equal(np.concatenate([table.columns[name] for table in tables]), X[:, column])
    if path.suffix != ".npz":
        assert all(set(table.columns) == {"a", "c"} for table in tables)


def test_batches_of_a_file_that_lacks_columns_show_what_it_has(write):
    (table,) = read_batches(write(CSV), ["width", "size"], Roles(target="nowhere"))
    assert set(table.columns) == {"width", "colour", "label", "ok"}
    assert table.target is None


def test_a_ragged_line_late_in_the_file_is_refused_before_the_first_batch(write):
    batches = read_batches(write("a,b\n" + "1,2\n" * 10 + "1\n"), ["a"], Roles(), n_rows=4)
    with pytest.raises(InputError, match="line 12: 1 fields"):
        next(batches)


def test_file_format_errors_are_input_errors():
    assert issubclass(FileFormatError, InputError)


# Files under another name, or that change while they are read


def test_the_content_of_numpy_files_decides(tmp_path):
    X = np.arange(6.0).reshape(3, 2)
    np.savez(tmp_path / "m.npz", X=X, y=[0, 1, 0])
    (tmp_path / "m.npz").rename(tmp_path / "archive.npy")
    np.save(tmp_path / "m.npy", X)
    (tmp_path / "m.npy").rename(tmp_path / "matrix.npz")
    for name in ("archive.npy", "matrix.npz"):
        assert as_lists(read_table(tmp_path / name)) == {"x0": [0.0, 2.0, 4.0], "x1": [1.0, 3.0, 5.0]}
    assert read_table(tmp_path / "archive.npy").target.tolist() == [0, 1, 0]


def test_a_matrix_that_shrinks_after_it_was_read_is_still_there(tmp_path):
    path = tmp_path / "m.npy"
    np.save(path, np.ones((50_000, 4)))
    table = read_table(path)
    with open(path, "rb+") as file:
        file.truncate(200)
    assert table.columns["x3"].sum() == 50_000
    with pytest.raises(FileFormatError, match="announces 1600000 bytes and holds 72"):
        read_table(path)


def test_packed_and_latin_1_text_is_read(write, engine, tmp_path):
    import gzip

    plain_table = as_lists(read_table(write(CSV)))
    packed = gzip.compress(CSV.encode())
    assert as_lists(read_table(write(packed, "data.csv.gz"))) == plain_table
    with pytest.raises(FileFormatError, match=r"data.csv.gz cannot be unpacked"):
        read_table(write(packed[:-20], "data.csv.gz"))
    with pytest.raises(FileFormatError, match=r"data.csv.gz cannot be unpacked"):
        read_table(write(CSV, "data.csv.gz"))
    table = read_table(write("name,x\nJosé,1\nMüller,2\nzoë,3\n".encode("latin-1")))
    assert as_lists(table)["name"] == ["José", "Müller", "zoë"]
    assert table.notes == (
        "data.csv is not UTF-8 and was read as latin-1 (Windows-1252); save it as UTF-8 if letters look wrong",
    )


def test_a_line_without_end_is_refused(write, monkeypatch):
    monkeypatch.setattr("prismap.tables._delimited.MAX_LINE", 100)
    with pytest.raises(FileFormatError, match="a line of more than 100 characters"):
        read_table(write("a,b\n1," + "2" * 200 + "\n"))


def test_json_lines_are_read(write, engine):
    lines = ['{"a": 1, "b": "x", "ok": true}', "", '{"a": 2.5, "c": [1, 2]}', '{"b": null, "a": null, "ok": false}']
    table = read_table(write("\n".join(lines), "data.jsonl"))
    assert as_lists(table) == {
        "a": [1.0, 2.5, None], "b": ["x", None, None], "ok": [1.0, None, 0.0], "c": [None, "[1, 2]", None]
    }  # fmt: skip
    for bad, message in (('{"a": 1}\n[1]', "line 2 holds no object"), ('{"a": 1}\n{', "line 2 is not JSON")):
        with pytest.raises(FileFormatError, match=message):
            read_table(write(bad, "data.jsonl"))


def test_json_may_be_a_list_of_objects(write):
    for text in ('[{"a": 1, "b": "x"}, {"a": 2.5}]', '\n [\n {"a": 1,\n "b": "x"},\n {"a": 2.5}]\n'):
        for name in ("data.json", "data.jsonl"):
            assert as_lists(read_table(write(text, name))) == {"a": [1.0, 2.5], "b": ["x", None]}
    assert as_lists(read_table(write('{"a": 1}\n{"a": 2}\n', "data.json"))) == {"a": [1.0, 2.0]}
    for bad, message in (
        ('[{"a": 1}, 2]', "holds no list of objects"), ('[{"a": 1}', "data.json is not JSON"), ("[]", "has no rows"),
        ('[\n1]', "line 1 is not JSON"), ('{"a": 1}\n[{"a": 1}]', "line 2 holds no object"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=message):
            read_table(write(bad, "data.json"))


@pytest.fixture
def workbook(tmp_path):
    """Write rows to the first sheet of an xlsx file."""
    openpyxl = pytest.importorskip("openpyxl")

    def workbook(*rows):
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.create_sheet("notes").append(["not read"])
        book.save(tmp_path / "data.xlsx")
        return tmp_path / "data.xlsx"

    return workbook


def test_the_first_sheet_of_a_workbook_is_read(workbook):
    import datetime as dt

    path = workbook(
        [], ["a", "b", None, "day", "ok"], [1, "x", 0.5, dt.datetime(2020, 1, 31), True], [],
        [None, "NA", 2, dt.date(2020, 2, 1), False], [2.5, "é", "", None, None],
    )  # fmt: skip
    assert as_lists(read_table(path)) == {
        "a": [1.0, None, 2.5], "b": ["x", None, "é"], "unnamed_3": [0.5, 2.0, None],
        "day": ["2020-01-31T00:00:00", "2020-02-01T00:00:00", None], "ok": [1.0, 0.0, None],
    }  # fmt: skip
    parts = list(read_batches(path, ["a", "b"], Roles(ids="b"), n_rows=2))
    assert [label for part in parts for label in part.ids.tolist()] == ["x", "NA", "é"]
    with pytest.raises(InputError, match="to the right of the 1 named columns"):
        read_table(workbook(["a"], [1, 2]))
    with pytest.raises(InputError, match="no sheet holds names and rows"):
        read_table(workbook())
    (path.parent / "bad.xlsx").write_bytes(b"PK no")
    with pytest.raises(FileFormatError, match="bad.xlsx cannot be read as xlsx"):
        read_table(path.parent / "bad.xlsx")


def test_the_sheet_with_the_columns_that_are_named_is_read(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book, path = openpyxl.Workbook(), tmp_path / "data.xlsx"
    book.active.title = "empty"
    for title, rows in {
        "about": [["About"], ["It is"]],
        "data": [["a", "y"], [1, 2]],
        "more": [["a", "b"], [3, 4]],
    }.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    table = read_table(path)
    assert list(table.columns) == ["About"]
    assert table.notes == (
        "data.xlsx has several sheets: 'about' was read, and not 'data', 'more' (sheet=... names another)",
    )
    assert read_table(path, Roles(target="y")).target.tolist() == [2]
    assert as_lists(read_table(path, Roles(use=("b",)))) == {"a": [3.0], "b": [4.0]}
    (batch,) = read_batches(path, ["a", "b"], Roles(target="z"))
    assert as_lists(batch) == {"a": [3.0], "b": [4.0]}


def test_workbooks_without_openpyxl_name_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    (tmp_path / "t.xlsx").write_bytes(b"PK")
    with pytest.raises(MissingExtraError, match=r"Reading xlsx files needs .*prismap\[excel\]"):
        read_table(tmp_path / "t.xlsx")


def test_a_column_is_found_in_any_case_and_none_is_hidden(write):
    names = [f"c{place:02d}" for place in range(20)]
    path = write(",".join([*names, "State"]) + "\n" + ",".join("1" * 21) + "\n")
    with pytest.raises(InputError, match="did you mean 'State'"):
        read_table(path, Roles(target="STATE"))
    with pytest.raises(InputError, match="'c19', 'State'"):
        read_table(path, Roles(target="weight"))
