"""New rows as rows of the page."""

import numpy as np

from prismap.page import Layer, PageData, Placed, Target
from prismap.page._data import Version
from prismap.page._message import pack_page
from prismap.page._rows import with_new_rows

Y = np.arange(6.0).reshape(3, 2)
PLACED = Placed(
    np.array([[7.0, 8.0], [9.0, 9.0]]), np.array([True, False]), None, (),
    {"size": np.array([1.5, np.nan]), "city": np.array(["Ulm", None], dtype=object)},
    np.array(["b", "unknown"], dtype=object), {"class of neighbours": np.array(["a", "b"], dtype=object)},
)  # fmt: skip


def page(**changes):
    columns = {
        "size": np.array([1, 2, 3]),
        "city": np.array(["Bonn", "Ulm", "Kiel"], dtype=object),
        "day": np.array(["2020-01-01", "2020-01-02", "NaT"], dtype="datetime64[D]"),
    }
    own = Target("class", "shuffled", codes=np.array([1, 1, 0]))
    layers = [Layer("map", "map", Y), Layer("other", "other", Y, own=own)]
    target = Target("class", "kind", ["a", "b"], codes=np.array([0, -1, 1]))
    return PageData(**{"layers": layers, "target": target, "columns": columns, **changes})


def test_every_array_grows_and_the_page_can_be_packed():
    before = Version("january", Y, Y)
    grown = with_new_rows(
        page(quality=np.ones(3), images=np.ones((3, 2, 2), dtype=np.uint8), versions=[before]), PLACED
    )
    assert np.isnan(grown.versions[0].positions[3:]).all()
    assert grown.n_rows == 5
    np.testing.assert_array_equal(grown.layers[0].positions[3:], PLACED.positions)
    assert np.isnan(grown.layers[1].positions[3:]).all()
    assert grown.layers[1].own.codes.tolist() == [1, 1, 0, -1, -1]
    assert grown.target.codes.tolist() == [0, -1, 1, 1, -1]
    assert grown.split.tolist() == ["fitted"] * 3 + ["new"] * 2
    assert grown.far.tolist() == [False, False, False, True, False]
    assert grown.row_ids == ["row 0", "row 1", "row 2", "new row 1", "new row 2"]
    assert grown.images.shape == (5, 2, 2)
    pack_page(grown)


def test_columns_keep_their_kind_and_are_missing_where_the_file_lacks_them():
    columns = with_new_rows(page(), PLACED).columns
    np.testing.assert_array_equal(columns["size"], [1, 2, 3, 1.5, np.nan])
    assert columns["city"].tolist() == ["Bonn", "Ulm", "Kiel", "Ulm", None]
    assert columns["day"].dtype == object or columns["day"].dtype.kind == "M"
    assert columns["class of neighbours"].tolist()[3:] == ["a", "b"]


def test_a_real_target_takes_the_numbers_of_the_file():
    real = Target("real", "price", values=np.array([1.0, 2.0, 3.0]))
    layers = [Layer("map", "map", Y)]
    placed = Placed(PLACED.positions, PLACED.far, ["u", "v"], target=np.array([4.0, np.nan]))
    grown = with_new_rows(page(target=real, layers=layers, row_ids=list("abc")), placed)
    np.testing.assert_array_equal(grown.target.values, [1, 2, 3, 4, np.nan])
    assert grown.row_ids == list("abcuv")
    unlabelled = with_new_rows(page(target=real, layers=layers), Placed(PLACED.positions, PLACED.far))
    assert np.isnan(unlabelled.target.values[3:]).all()
