"""A folder is shown as long as something in it can be."""

import base64
import gzip
from dataclasses import replace

import numpy as np
import pytest

from prismap.exceptions import FileFormatError, InputError
from prismap.page import _folder as folder_module
from prismap.page._folder import load_folder, read_page
from prismap.page._message import write_page_file


def test_a_folder_carries_the_data_of_its_page(folder, small_map, monkeypatch):
    columns = {**small_map.columns, "more": np.arange(12.0)}
    write_page_file(replace(small_map, columns=columns), folder / "map.page")
    monkeypatch.setattr(folder_module, "read_page", None)  # nobody looks into the HTML
    shown = load_folder(folder)
    assert [layer.id for layer in shown.layers] == ["fisher", "permuted"]
    assert list(shown.columns) == ["size", "city", "more"]
    assert shown.notes == ()


def test_folders_without_that_file_still_open(folder):
    shown = load_folder(folder)
    assert [layer.id for layer in shown.layers] == ["fisher", "permuted"]
    assert list(shown.columns) == ["size", "city"]
    assert shown.notes == ()


def test_the_html_stands_in_for_damaged_data(folder, small_map):
    path = write_page_file(small_map, folder / "map.page")
    path.write_bytes(path.read_bytes()[:-100])
    shown = load_folder(folder)
    assert [layer.id for layer in shown.layers] == ["fisher", "permuted"]
    assert "map.page cannot be read" in shown.notes[0]


def test_rows_and_report_stand_in_for_a_damaged_page(folder):
    path = folder / "map.html"
    path.write_bytes(path.read_bytes()[:4000])
    shown = load_folder(folder)
    assert [layer.id for layer in shown.layers] == ["map"]
    assert shown.target.classes == ["=c", "a", "b"]
    assert shown.target.codes[:3].tolist() == [1, 2, 0]
    assert shown.report == {"verdict": "The labels show."}
    assert shown.row_ids is None
    assert list(shown.columns) == ["extra"]
    assert "map.html cannot be read" in shown.notes[0]


def test_a_folder_of_which_nothing_can_be_read_says_so(folder):
    (folder / "map.html").unlink()
    (folder / "map.parquet").write_bytes(b"PAR1 and then nonsense")
    with pytest.raises(FileFormatError, match="holds no map that can be shown: .*map.parquet"):
        load_folder(folder)


def test_a_damaged_report_is_a_note(folder):
    (folder / "map.html").unlink()
    (folder / "report.json").write_text("{")
    shown = load_folder(folder)
    assert shown.report is None
    assert "report.json" in shown.notes[0]


def test_numbers_as_target_are_classes_when_few_and_whole():
    assert folder_module._target_of(np.array([1.0, 2.0, np.nan])).classes == ["1", "2"]
    assert folder_module._target_of(np.array([1.0, 2.0, np.nan])).codes.tolist() == [0, 1, -1]
    assert folder_module._target_of(np.linspace(0, 1, 5)).kind == "real"
    assert folder_module._target_of(np.arange(100.0)).kind == "real"
    assert folder_module._target_of(None).kind == "none"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html>nothing</html>", "no data of prismap inside"),
        (b'<script type="text/plain" id="prismap-data">AAAA</script>', "map.html cannot be read"),
        (b'<script type="text/plain" id="prismap-data">%s</script>' % base64.b64encode(gzip.compress(b"PRSM\xff\xff")),
         "map.html cannot be read"),
    ],
    ids=["no data", "no gzip", "cut short"],
)  # fmt: skip
def test_foreign_pages_are_refused_in_words(tmp_path, content, message):
    path = tmp_path / "map.html"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=message):
        read_page(path)


def test_a_page_that_would_unpack_to_gigabytes_is_refused(tmp_path, monkeypatch, small_map):
    monkeypatch.setattr(folder_module, "PAGE_BYTES", 10_000)
    data = base64.b64encode(gzip.compress(b"PRSM" + bytes(1_000_000)))
    path = tmp_path / "map.html"
    path.write_bytes(b'<script type="text/plain" id="prismap-data">%s</script>' % data)
    assert path.stat().st_size < 10_000
    with pytest.raises(FileFormatError, match="cut short or too large"):
        read_page(path)


def test_an_empty_folder_and_none_at_all(tmp_path):
    with pytest.raises(FileFormatError, match="neither map.page nor map.html nor map.parquet"):
        load_folder(tmp_path)
    with pytest.raises(InputError, match="there is no folder"):
        load_folder(tmp_path / "nowhere")
