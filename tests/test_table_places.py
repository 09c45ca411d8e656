"""Where in a file the table is: titles above the names, rows to skip, and sheets."""

import pytest

from prismap.exceptions import InputError
from prismap.tables import Roles, read_table
from prismap.tables._tokens import header_place

ROWS = "shop,month,sum\nA,3,7.5\nB,4,8.5\nC,5,9.5\n"


@pytest.mark.parametrize(
    ("rows", "place"),
    [
        ([["a", "b"], ["1", "2"]], 0),
        ([["Sales", "", ""], ["a", "b", "c"], ["1", "2", "3"]], 1),
        ([["Created:", "2024", ""], ["a", "b", "c"], ["1", "2", "3"]], 1),
        ([["", "b"], ["r1", "2"], ["r2", "3"]], 0),  # an index without a name
        ([["", "name", "town"], ["x", "Ann", "Rome"], ["y", "Bob", "Oslo"]], 0),
        ([["a", "b", ""], ["1", "2", "3"], ["4", "5", "6"]], 0),
        ([["a"], ["1"], ["2"]], 0),
        ([["a", "b", "c", "d"], ["1", "", "", ""], ["", "2", "", ""]], 0),
        ([], 0),
    ],
)
def test_the_row_of_the_names(rows, place):
    assert header_place(rows) == place


def test_wanted_names_find_their_row_but_a_value_does_not():
    rows = [["north", "south", "west"], ["shop", "month", "sum"], ["A", "B", "C"]]
    assert header_place(rows, {"shop", "sum"}) == 1
    assert header_place(rows, {"shop"}) == 0  # a single word may be a value


@pytest.mark.parametrize(
    ("title", "n_lines"),
    [("Sales of March\n", 1), ("Sales of March\n\n", 2), ("Sales of March,,\n,,\n", 2), ("Made by,Ann\nfor Bob\n", 2)],
)
def test_titles_of_text_files_are_left_out_and_said(tmp_path, title, n_lines):
    path = tmp_path / "d.csv"
    path.write_text(title + ROWS)
    table = read_table(path)
    assert list(table.columns) == ["shop", "month", "sum"]
    assert table.n_rows == 3
    (note,) = table.notes
    assert f"{n_lines} rows above the names in d.csv hold" in note or n_lines == 1
    assert "(skip_rows=0 keeps" in note
    assert list(read_table(path, skip_rows=n_lines).columns) == ["shop", "month", "sum"]
    assert read_table(path, skip_rows=n_lines).notes == ()


def test_text_files_without_a_title_are_as_before(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text(ROWS)
    assert read_table(path).notes == ()
    assert list(read_table(path, skip_rows=1).columns) == ["A", "3", "7.5"]
    with pytest.raises(InputError, match="is empty below its first 9 lines"):
        read_table(path, skip_rows=9)


@pytest.fixture
def book(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book, path = openpyxl.Workbook(), tmp_path / "book.xlsx"
    book.active.title = "first"
    for row in (["All shops"], [], ["shop", "sum"], ["A", 1], ["B", 2]):
        book.active.append(row)
    sheet = book.create_sheet("second")
    for row in (["region", "sum"], ["X", 1], ["Y", 2]):
        sheet.append(row)
    book.save(path)
    return path


def test_sheets_by_name_number_and_wanted_columns(book):
    assert list(read_table(book).columns) == ["shop", "sum"]
    assert "above the names" in read_table(book).notes[1]
    assert list(read_table(book, Roles(target="region")).columns) == ["sum"]
    for sheet in ("second", "2"):
        table = read_table(book, sheet=sheet)
        assert (list(table.columns), table.notes) == (["region", "sum"], ())


def test_places_that_a_file_does_not_have_are_refused(book, tmp_path):
    with pytest.raises(InputError, match="has no sheet 'secnd'; did you mean 'second'"):
        read_table(book, sheet="secnd")
    with pytest.raises(InputError, match="the sheet 'first' does not hold names and rows below its first 4 rows"):
        read_table(book, sheet="first", skip_rows=4)
    (tmp_path / "d.csv").write_text(ROWS)
    with pytest.raises(InputError, match="sheet='2' is for xlsx files"):
        read_table(tmp_path / "d.csv", sheet="2")
    (tmp_path / "d.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(InputError, match="skip_rows=1 is for text files and workbooks"):
        read_table(tmp_path / "d.jsonl", skip_rows=1)
