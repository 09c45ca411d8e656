"""Csv that stays data: the same cases as in the page's own test."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from prismap.page import Target
from prismap.page._rows import csv_chunks, safe_cell


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "  =1", "＝1+1"])
def test_formulas_are_defused(text):
    assert safe_cell(text) == f"'{text}"


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (-3.5, -3.5),
        ("-3.5", "-3.5"),
        ("+1e-5", "+1e-5"),
        ("word", "word"),
        (float("nan"), ""),
        (None, ""),
        (np.inf, ""),
    ],
)
def test_everything_else_stays(value, cell):
    assert safe_cell(value) == cell


def test_rows_come_in_the_order_asked_with_all_the_page_knows(small_map):
    small_map = replace(
        small_map, target=Target("real", "=price", values=np.arange(12) / 4, predicted=np.arange(12) / 2)
    )
    small_map = replace(small_map, columns={**small_map.columns, "x": np.ones(12)}, quality=np.ones(12))
    text = "".join(csv_chunks(small_map, small_map.layers[0], np.array([3, 1])))
    rows = list(csv.reader(io.StringIO(text, newline="")))
    names = ["row", "x", "y", "'=price", "predicted =price", "split", "far", "quality", "size", "city", "x (column)"]
    assert rows[0] == names
    assert [row[0] for row in rows[1:]] == ["3", "1"]
    assert rows[1][3:5] == ["0.75", "1.5"]
    assert rows[2][9] == ""


def test_numbers_and_dates_are_written_as_they_were_given(small_map):
    days = np.array(["2024-05-01"] * 11 + ["NaT"], dtype="datetime64[ns]")
    columns = {"price": np.full(12, 5.1, np.float32), "year": np.full(12, 2042), "day": days}
    text = "".join(csv_chunks(replace(small_map, columns=columns), small_map.layers[0], np.array([0, 11])))
    assert [row[-3:] for row in csv.reader(io.StringIO(text, newline=""))][1:] == [
        ["5.1", "2042", "2024-05-01"],
        ["5.1", "2042", ""],
    ]


def test_many_rows_come_in_pieces(small_map):
    rows = np.tile(np.arange(12), 500)
    chunks = list(csv_chunks(small_map, small_map.layers[0], rows))
    assert len(chunks) > 2
    assert "".join(chunks).count("\r\n") == len(rows) + 1
