"""A page's data, as a message and as a file, come back as they were."""

import json
from dataclasses import fields, replace

import numpy as np
import pytest

from prismap.bundle._json import seal_bytes
from prismap.exceptions import FileFormatError, InputError
from prismap.page import Layer, PageData, Target
from prismap.page import _message as message_module
from prismap.page._data import Curve, Neighbors, Raster, Relevance, Version
from prismap.page._message import pack_page, read_page_file, unpack_page, write_page_file
from prismap.page._packing import Packer


@pytest.fixture
def small_map():
    rng = np.random.default_rng(0)
    return PageData(
        title="twelve rows",
        layers=[Layer("fisher", "Fisher", rng.normal(size=(12, 2)).astype(np.float32), "a note")],
        target=Target("class", "kind", ["a", "b", "=c"], codes=np.arange(12) % 3),
        columns={"size": np.arange(12.0), "city": ["Ulm", None, "=1+1"] * 4},
        split=["fit"] * 8 + ["placed"] * 4,
        far=np.arange(12) == 5,
        report={"verdict": "The labels show."},
    )


def test_unpacking_undoes_packing(small_map):
    full = replace(
        small_map,
        quality=np.linspace(0, 1, 12, dtype=np.float32),
        misshown=np.arange(12) < 2,
        curves=[Curve("map", np.array([1.0, 2.0], np.float32), np.array([0.5, 0.25], np.float32))],
        images=np.zeros((12, 2, 2), np.uint8),
        raster=Raster(np.zeros((3, 4, 4), np.uint8), (0.0, 1.0, 2.0, 3.0), "model", "fisher"),
        relevance=Relevance(["size"], np.array([0.5], np.float32), 0.25, 0.125, 0.375),
        row_ids=[f"r{i}" for i in range(12)],
        keywords=["wheat, rain", None] * 6,
        notes=("a note",),
        versions=[Version("january", np.full((12, 2), 0.5, np.float32), np.zeros((3, 2), np.float32))],
        changes=("New: a.",),
        neighbors=Neighbors(np.arange(3, 12), np.zeros((9, 2), int), np.ones((9, 2), int), np.full((9, 2), 0.5)),
        layers=[
            *small_map.layers,
            replace(small_map.layers[0], id="p", own=Target("class", "q", codes=np.zeros(12, int)), own_note="why"),
        ],
    )
    again = unpack_page(pack_page(full))
    assert pack_page(again) == pack_page(full)
    for name in ("title", "report", "row_ids", "notes"):
        assert getattr(again, name) == getattr(full, name)
    assert (again.layers[1].own.name, again.layers[1].own_note, again.layers[0].own) == ("q", "why", None)
    assert again.columns["city"].tolist() == full.columns["city"]
    assert {field.name for field in fields(PageData) if getattr(again, field.name) is None} == set()


def test_real_targets_come_back(small_map):
    values = np.array([1.5, np.nan, *range(10)], np.float32)
    again = unpack_page(pack_page(replace(small_map, target=Target("real", "price", values=values))))
    np.testing.assert_array_equal(again.target.values, values)


def test_images_are_grey_or_have_three_colours(small_map):
    coloured = np.zeros((12, 2, 2, 3), np.uint8)
    assert unpack_page(pack_page(replace(small_map, images=coloured))).images.shape == (12, 2, 2, 3)
    for wrong in (coloured[..., :2], coloured[..., 0, 0, 0], coloured.astype(float)):
        with pytest.raises(InputError, match="images of PageData must be uint8"):
            pack_page(replace(small_map, images=wrong))


def test_a_file_keeps_what_a_page_has_no_room_for(small_map, tmp_path):
    images = np.arange(48, dtype=np.uint8).reshape(12, 2, 2)
    page = replace(small_map, images=images)
    assert list(unpack_page(pack_page(page, column_bytes=12, image_bytes=1)).columns) == ["size"]
    again = read_page_file(write_page_file(page, tmp_path / "map.page"))
    assert list(again.columns) == ["size", "city"]
    np.testing.assert_array_equal(again.images, images)


@pytest.mark.parametrize(
    "damage",
    [lambda raw: b"", lambda raw: raw[:100], lambda raw: raw[:-40], lambda raw: b"PK" + raw,
     lambda raw: raw.replace(b'"shape":[12,2]', b'"shape":[11,2]'), lambda raw: raw.replace(b'"f4"', b'"O8"'),
     lambda raw: raw.replace(b'"format":1', b'"format":7')],
    ids=["empty", "header cut", "arrays cut", "foreign", "rows missing", "objects", "other format"],
)  # fmt: skip
def test_damaged_files_are_refused_in_words(small_map, tmp_path, damage):
    path = write_page_file(small_map, tmp_path / "map.page")
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(FileFormatError, match="map.page cannot be read"):
        read_page_file(path)


def test_what_cannot_be_shown_is_not_written(small_map, tmp_path):
    with pytest.raises(InputError, match="far of PageData"):
        write_page_file(replace(small_map, far=[True]), tmp_path / "map.page")
    assert not list(tmp_path.iterdir())


def test_an_array_that_lies_about_its_rows_is_refused():
    packer = Packer()
    header = {"a": packer.add(np.zeros(3, np.float32))}
    header["a"]["shape"] = [300]
    with pytest.raises(ValueError, match="share bytes or are cut short"):
        message_module.unpack(packer.finish(header))


def forged(page, change):
    """The message of a page whose header was changed, under a digest that is right."""
    message = pack_page(page)
    length = int.from_bytes(message[4:8], "little")
    header = json.loads(message[8 : 8 + length])
    change(header)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return seal_bytes(message[:4] + len(text).to_bytes(4, "little") + text + message[8 + length : -32])


def put(value, *names):
    def change(header):
        for name in names[:-1]:
            header = header[name]
        header[names[-1]] = value

    return change


HEADERS = {
    "a half character": (put("\ud800", "title"), "surrogates"),
    "a title that is none": (put(["t"], "title"), "its header.title"),
    "a long number": (put(10**30, "columns_left_out"), "which no file of prismap does"),
    "infinite": (put(1e999, "relevance", "baseline"), "not JSON compliant"),
    "relevance of other names": (put(["size", "city"], "relevance", "names"), "other values than names"),
    "relevance of no names": (put(3, "relevance", "names"), "its header.relevance.names"),
    "a bare relevance": (put({}, "relevance"), "its header.relevance has no 'names'"),
    "notes": (put([None], "notes"), r"its header.notes\[0\]"),
    "more rows": (put(13, "n"), "does not go with its 13 rows"),
    "rows below none": (put(-1, "n"), "does not go with"),
    "a kind of target": (put("many", "target", "kind"), "its target is of kind 'many'"),
    "no codes": (lambda header: header["target"].pop("codes"), "without entries of this kind"),
    "a shape": (put([2.5, 2], "layers", 0, "positions", "shape"), "an array.shape"),
    "an offset": (put("x", "layers", 0, "positions", "offset"), "an array.offset"),
    "a shape below none": (put([-1, -2], "layers", 0, "positions", "shape"), "an array of shape"),
    "a huge shape": (put([2**40, 2**40], "layers", 0, "positions", "shape"), "share bytes or are cut short"),
}


@pytest.mark.parametrize("forgery", HEADERS)
def test_a_forged_header_is_refused_in_words(small_map, tmp_path, forgery):
    change, words = HEADERS[forgery]
    page = replace(small_map, relevance=Relevance(["size"], np.array([0.5], np.float32), 0.25, 0.125, 0.375))
    unpack_page(forged(page, lambda header: None))
    path = tmp_path / "map.page"
    path.write_bytes(forged(page, change))
    with pytest.raises(FileFormatError, match=rf"map.page cannot be read \(.*{words}"):
        read_page_file(path)


def test_columns_do_not_share_an_array(small_map, tmp_path):
    """A small file whose columns all refer to one array would take a multiple of its size."""

    def repeat(header):
        city = header["columns"][1]
        header["columns"] += [{**city, "name": f"city {k}"} for k in range(1000)]

    path = tmp_path / "map.page"
    path.write_bytes(forged(small_map, repeat))
    with pytest.raises(FileFormatError, match="its arrays share bytes"):
        read_page_file(path)


def test_a_page_is_refused_before_it_takes_too_much_memory(small_map, tmp_path, monkeypatch):
    path = write_page_file(small_map, tmp_path / "map.page")
    monkeypatch.setattr("prismap._util.blocks.available_bytes", lambda: 3000)
    with pytest.raises(FileFormatError, match="would need"):
        read_page_file(path)


def test_every_changed_byte_is_noticed(small_map, tmp_path):
    path = write_page_file(small_map, tmp_path / "map.page")
    whole = path.read_bytes()
    for place in range(0, len(whole), 97):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(FileFormatError, match="SHA-256"):
            read_page_file(path)


def test_empty_arrays_have_a_place_of_their_own():
    packer = Packer()
    header = {"arrays": [packer.add(np.zeros(n, np.float32)) for n in (0, 0, 3, 0)]}
    again, arrays = message_module.unpack(packer.finish(header))
    assert [len(arrays[one["offset"]]) for one in again["arrays"]] == [0, 0, 3, 0]
