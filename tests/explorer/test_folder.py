"""A folder is shown as long as something in it can be."""

import base64
import gzip
from dataclasses import fields, replace

import numpy as np
import pytest

from prismap.exceptions import FileFormatError, InputError
from prismap.explorer import folder as folder_module
from prismap.explorer.folder import load_folder, read_page, unpack_page
from prismap.explorer.page import Curve, PageData, Raster, Target, pack_page


def test_unpacking_undoes_packing(small_map):
    full = replace(
        small_map,
        quality=np.linspace(0, 1, 12, dtype=np.float32),
        misshown=np.arange(12) < 2,
        curves=[Curve("map", np.array([1.0, 2.0], np.float32), np.array([0.5, 0.25], np.float32))],
        images=np.zeros((12, 2, 2), np.uint8),
        raster=Raster(np.zeros((3, 4, 4), np.uint8), (0.0, 1.0, 2.0, 3.0), "model", "fisher"),
        relevance=(["size"], np.array([0.5], np.float32)),
        row_ids=[f"r{i}" for i in range(12)],
        notes=("a note",),
    )
    again = unpack_page(pack_page(full))
    assert pack_page(again) == pack_page(full)
    for name in ("title", "report", "row_ids", "notes"):
        assert getattr(again, name) == getattr(full, name)
    assert again.columns["city"].tolist() == full.columns["city"]
    assert {field.name for field in fields(PageData) if getattr(again, field.name) is None} == set()


def test_real_targets_come_back(small_map):
    values = np.array([1.5, np.nan, *range(10)], np.float32)
    again = unpack_page(pack_page(replace(small_map, target=Target("real", "price", values=values))))
    np.testing.assert_array_equal(again.target.values, values)


def test_a_whole_folder_gives_the_page_and_the_columns_it_had_no_room_for(folder, small_map):
    shown = load_folder(folder)
    assert [layer.id for layer in shown.layers] == ["fisher", "permuted"]
    assert list(shown.columns) == ["size", "city", "extra"]
    assert shown.notes == ()


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


def test_the_page_stands_in_for_damaged_rows(folder):
    (folder / "map.parquet").write_bytes(b"PAR1 and then nonsense")
    shown = load_folder(folder)
    assert len(shown.layers) == 2
    assert "map.parquet" in shown.notes[0]


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
    with pytest.raises(FileFormatError, match="neither map.html nor map.parquet"):
        load_folder(tmp_path)
    with pytest.raises(InputError, match="there is no folder"):
        load_folder(tmp_path / "nowhere")
