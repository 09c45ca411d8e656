"""Columns come back as they were, in the least room that keeps them."""

import numpy as np
import pytest

from prismap.page._columns import column_array, compact, describe_column, pack_column, time_texts, unpack_column
from prismap.page._packing import Packer, unpack


def there_and_back(values):
    packer = Packer()
    header, arrays = unpack(packer.finish({"c": pack_column("c", values, packer)}))
    return unpack_column(header["c"], lambda reference: arrays[reference["offset"]])


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([True, False], "u1"), ([0, 255], "u1"), ([-1, 127], "i1"), ([0, 256], "u2"), ([-300, 300], "i2"),
        ([0, 2**32 - 1], "u4"), ([-1, 2**31 - 1], "i4"), ([0, 2**40], "f8"), ([0.5, 1.5], "f4"), ([1.0, np.nan], "f4"),
        ([float(2**30), np.nan], "f8"), ([1.6e9 + 0.5, 1.6e9 + 1], "f8"), ([np.inf, 1.0], "f4"), ([], "f4"),
        ([1e300, -1e300], "f8"),
    ],
)  # fmt: skip
def test_numbers_take_the_least_room_that_keeps_them(values, dtype):
    packed = compact(np.array(values))
    assert packed.dtype == dtype
    np.testing.assert_array_equal(packed.astype(np.float64), np.array(values, dtype=np.float64))


def test_other_numbers_are_moved_by_less_than_can_be_seen():
    rng = np.random.default_rng(0)
    for scale, shift in ((1, 0), (1e-3, 5), (1e4, 1e9), (1, 1e6)):
        values = rng.normal(size=500) * scale + shift
        assert np.abs(compact(values) - values).max() <= 1e-6 * np.ptp(values)


def test_points_in_time_come_back_as_such():
    days = np.array(["2024-05-01", "NaT", "1969-02-28"], dtype="datetime64[D]")
    np.testing.assert_array_equal(there_and_back(days), days)
    times = np.array(["2024-05-01T13:45:00.125", "NaT"], dtype="datetime64[ns]")
    np.testing.assert_array_equal(there_and_back(times), times)
    assert describe_column("c", days).about["unit"] == "date"
    assert describe_column("c", times).about["unit"] == "time"


def test_dates_written_as_text_are_points_in_time_and_other_texts_are_not():
    assert column_array(["2024-05-01", None, "2023-01-31"]).dtype.kind == "M"
    assert column_array(["2024-05-01 10:00", "2024-05-01T11:00:05.5"]).dtype.kind == "M"
    for texts in (["2024-05-01", "soon"], ["2024-02-31"], ["1", "2"], [None], ["12-05-2024"]):
        assert column_array(texts).dtype.kind != "M"


def test_points_in_time_are_written_as_people_do():
    times = np.array(["2024-05-01T13:45:00", "NaT"], dtype="datetime64[ns]")
    assert time_texts(times).tolist() == ["2024-05-01 13:45:00", None]
    assert time_texts(times.astype("datetime64[D]")).tolist() == ["2024-05-01", None]
    assert describe_column("c", times, as_text=True).about["texts"] == ["2024-05-01 13:45:00"]


def test_texts_come_back():
    assert there_and_back(["b", None, "a", "b"]).tolist() == ["b", None, "a", "b"]
    many = [f"t{i}" for i in range(300)]
    assert there_and_back(many).tolist() == many
