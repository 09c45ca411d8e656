"""The binary form of a page: what goes in comes out, on any machine."""

import json

import numpy as np
import pytest

from prismap.page._columns import dictionary_codes
from prismap.page._packing import ALIGNMENT, Packer, plain, unpack


def test_arrays_come_back_with_their_shape_and_order():
    packer = Packer()
    arrays = [np.arange(6, dtype=np.float32).reshape(3, 2), np.array([-1, 7], np.int16), np.array([], np.uint8)]
    references = [packer.add(array) for array in arrays]
    header, found = unpack(packer.finish({"arrays": references, "words": "Zürich ✓"}))
    assert header["words"] == "Zürich ✓"
    for array, reference in zip(arrays, references, strict=True):
        np.testing.assert_array_equal(found[reference["offset"]], array)
        assert reference["offset"] % ALIGNMENT == 0


def test_arrays_are_little_endian_and_aligned_whatever_came_in():
    packer = Packer()
    reference = packer.add(np.array([1.5, -2], dtype=">f4")[::-1])
    message = packer.finish({"x": reference})
    start = 8 + int.from_bytes(message[4:8], "little")
    assert start % ALIGNMENT == 0
    assert message[start : start + 8] == np.array([-2, 1.5], "<f4").tobytes()


def test_types_that_the_page_does_not_know_are_refused():
    with pytest.raises(TypeError, match="int64"):
        Packer().add(np.zeros(2, np.int64))


def test_plain_makes_json_of_what_reports_hold():
    value = {1: np.float32(0.5), "nan": float("nan"), "inf": np.inf, "list": (np.int64(3), None, True), "a": np.eye(2)}
    assert json.loads(json.dumps(plain(value), allow_nan=False)) == {
        "1": 0.5,
        "nan": None,
        "inf": None,
        "list": [3, None, True],
        "a": [[1, 0], [0, 1]],
    }


def test_text_is_coded_by_its_sorted_values_and_missing_is_minus_one():
    texts, codes = dictionary_codes(["b", "a", None, float("nan"), "b", ""])
    assert texts == ["", "a", "b"]
    assert codes.tolist() == [2, 1, -1, -1, 2, 0]
