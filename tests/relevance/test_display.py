"""Pictures of relevance say what the arrays say."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from prismap.exceptions import InputError
from prismap.inspection import RelevanceDisplay
from prismap.relevance import FeatureRelevance, RelevanceBounds


@pytest.fixture(autouse=True)
def _no_window():
    mpl.use("Agg")
    yield
    from matplotlib import pyplot as plt

    plt.close("all")


@pytest.fixture
def shown():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 4)), columns=["age", "height", "noise", "more noise"])
    return X, X[["age", "height"]].to_numpy()


def test_bound_bars(shown):
    X, _ = shown
    X["copy"] = X["age"]
    model = RelevanceBounds(slack=0.0).fit(X, [1.0, 2.0, 0.0, 0.0, 0.0])
    ax = RelevanceDisplay.from_estimator(model).plot().ax_
    heights = [[bar.get_height() for bar in group] for group in ax.containers]
    np.testing.assert_allclose(heights[0], model.interval_[:, 1])
    np.testing.assert_allclose(heights[1], model.interval_[:, 0])
    assert ax.containers[1][0].get_facecolor() == (1.0, 1.0, 1.0, 1.0)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == list(X.columns)
    assert ax.get_ylabel() == "absolute weight"


def test_relevance_bars_with_threshold_and_top(shown):
    X, Y = shown
    model = FeatureRelevance(random_state=0).fit(X, Y)
    display = RelevanceDisplay.from_estimator(model).plot(top=2)
    assert {tick.get_text() for tick in display.ax_.get_xticklabels()} == {"age", "height"}
    np.testing.assert_allclose(display.ax_.lines[0].get_ydata(), model.threshold_)
    assert set(display.strongest[:2]) == {0, 1}


def test_curves_over_k(shown):
    X, Y = shown
    model = FeatureRelevance("weights", n_permuted=0).fit(X, Y)
    display = RelevanceDisplay.from_estimator(model, X, Y, n_neighbors=[3, 6, 12]).plot_curve(top=2)
    named = [line for line in display.ax_.lines if not line.get_label().startswith("_")]
    assert {line.get_label() for line in named} == {"age", "height"}
    assert len(display.ax_.lines) == 4
    np.testing.assert_allclose(named[0].get_xdata(), [3, 6, 12])


def test_map_coloured_by_features(shown):
    X, Y = shown
    display = RelevanceDisplay([0.1, 0.9, 0.0, 0.5], names=X.columns).plot_map(X, Y, top=2)
    axes = [ax for ax in display.ax_.flat if ax.get_title()]
    assert [ax.get_title() for ax in axes] == ["height", "more noise"]
    np.testing.assert_allclose(axes[0].collections[0].get_array(), X["height"])


def test_wrong_shapes_are_refused(shown):
    X, Y = shown
    with pytest.raises(InputError, match=r"values must have shape"):
        RelevanceDisplay(np.zeros((3, 3)))
    with pytest.raises(InputError, match="names has 2 entries for 3 features"):
        RelevanceDisplay(np.zeros(3), names=["a", "b"])
    with pytest.raises(InputError, match=r"curve has shape \(2, 3\)"):
        RelevanceDisplay(np.zeros(3), curve=np.zeros((2, 3)), n_neighbors=[1, 2, 3])
    with pytest.raises(InputError, match="there is no curve"):
        RelevanceDisplay(np.zeros(3)).plot_curve()
    with pytest.raises(InputError, match="X must have 3 columns"):
        RelevanceDisplay(np.zeros(3)).plot_map(X, Y)
