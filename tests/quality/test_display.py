import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from matplotlib import pyplot as plt

from prismap.exceptions import InputError, MissingExtraError
from prismap.inspection import QualityDisplay
from prismap.quality import q_nx, r_nx


@pytest.fixture
def X():
    yield np.random.default_rng(0).normal(size=(80, 4))
    plt.close("all")


def test_curves_are_drawn_over_log_k_with_their_area(X):
    display = QualityDisplay.from_maps(X, {"good": X[:, :3], "poor": X[:, :1]}).plot()
    assert display.ax_.get_xscale() == "log"
    assert display.figure_ is display.ax_.figure
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == [f"{name} (area {curve.auc_log_k:.3f})" for name, curve in display.curves.items()]
    k, value = display.lines_[0].get_data()
    np.testing.assert_array_equal(value, r_nx(X, X[:, :3]).value[np.asarray(k, dtype=int) - 1])
    assert k[0] == 1
    assert k[-1] == 78


def test_it_draws_into_given_axes_and_thins_long_curves(X):
    _, ax = plt.subplots()
    display = QualityDisplay({"map": q_nx(X, X[:, :2])}).plot(ax, n_points=10)
    assert display.ax_ is ax
    assert len(display.lines_[0].get_xdata()) <= 10
    assert "Q_{NX}" in ax.get_ylabel()


def test_the_missing_package_is_named(X, monkeypatch):
    def fail(name):
        raise ImportError(name)

    monkeypatch.setattr("prismap._util.optional.importlib.import_module", fail)
    with pytest.raises(MissingExtraError, match=r"QualityDisplay.plot needs .*prismap\[plot\]"):
        QualityDisplay({"map": r_nx(X, X[:, :2])}).plot()


def test_curves_of_two_kinds_are_refused(X):
    with pytest.raises(InputError, match="of one kind .* got q_nx, r_nx"):
        QualityDisplay({"a": q_nx(X, X), "b": r_nx(X, X)})
    with pytest.raises(InputError, match="got none"):
        QualityDisplay({})
