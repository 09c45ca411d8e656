"""TransferDisplay: both clouds overlaid and apart, the same colour for the same class."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt

from prismap.exceptions import InputError
from prismap.inspection import TransferDisplay
from prismap.transfer import SharedEmbedding

mpl.use("Agg")

RNG = np.random.default_rng(0)
SOURCE, TARGET = RNG.normal(size=(12, 2)), RNG.normal(size=(9, 2))


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_overlaid_and_apart():
    both, left, right = TransferDisplay(SOURCE, TARGET, agreement=0.5, ambiguous=True).plot().axes_
    np.testing.assert_array_equal(both.collections[0].get_offsets(), SOURCE)
    np.testing.assert_array_equal(both.collections[1].get_offsets(), TARGET)
    np.testing.assert_array_equal(left.collections[0].get_offsets(), SOURCE)
    np.testing.assert_array_equal(right.collections[0].get_offsets(), TARGET)
    assert both.get_title() == "agreement 0.50, ambiguous"
    assert left.get_xlim() == right.get_xlim()


def test_a_class_has_one_colour():
    y, y_target = np.array(["b", "c", "a"] * 4), np.array(["c", "b", "c"] * 3)
    _, left, right = TransferDisplay(SOURCE, TARGET, y, y_target).plot().axes_
    colours = [{cloud.get_label(): tuple(cloud.get_facecolor()[0]) for cloud in ax.collections} for ax in (left, right)]
    assert set(colours[0]) == {"a", "b", "c"}
    assert set(colours[1]) == {"b", "c"}
    assert all(colours[0][name] == colours[1][name] for name in "bc")
    np.testing.assert_array_equal(left.collections[0].get_offsets(), SOURCE[y == "a"])


def test_from_a_fitted_estimator_in_one_dimension():
    clusters = np.repeat([0.0, 5.0, 20.0], [8, 3, 5])[:, None]
    X, Z = clusters + 0.1 * RNG.normal(size=(16, 2)), -3 * clusters + 0.1 * RNG.normal(size=(16, 3))
    model = SharedEmbedding(n_components=1, n_init=2, random_state=0).fit(X, Z)
    display = TransferDisplay.from_estimator(model).plot()
    np.testing.assert_array_equal(display.axes_[2].collections[0].get_offsets()[:, :1], model.target_positions_)
    assert f"{model.agreement_:.2f}" in display.axes_[0].get_title()


def test_bad_input():
    with pytest.raises(InputError, match="needs a fitted SharedEmbedding"):
        TransferDisplay.from_estimator(SharedEmbedding())
    with pytest.raises(InputError, match="y has 3 entries"):
        TransferDisplay(SOURCE, TARGET, y_source=[1, 2, 3])
    with pytest.raises(InputError, match="shape"):
        TransferDisplay(SOURCE[:, 0], TARGET)
