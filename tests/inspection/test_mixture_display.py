"""MixtureDisplay: the pictures hold the numbers that were learnt."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt

from prismap.embeddings import ElasticMDS
from prismap.exceptions import InputError, MissingExtraError
from prismap.inspection import MixtureDisplay
from prismap.inspection._mixture import uncovered
from prismap.metrics import AlternatingDescent, MixtureMetric

mpl.use("Agg")


@pytest.fixture(scope="module")
def metric():
    X = np.random.default_rng(0).random((20, 4))
    descent = AlternatingDescent(n_epochs=3)
    return MixtureMetric(("euclidean", "cosine", "max_norm"), descent=descent, random_state=0).fit(X)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_bars_are_the_weights(metric):
    display = MixtureDisplay.from_estimator(metric).plot_weights()
    assert [bar.get_height() for bar in display.ax_.patches] == metric.weights_.tolist()
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == metric.measures_
    np.testing.assert_array_equal(display.ax_.lines[0].get_ydata(), metric.start_weights_)


def test_points_are_the_positions(metric):
    display = MixtureDisplay.from_estimator(metric).plot_positions(c=np.arange(20))
    np.testing.assert_array_equal(display.ax_.collections[0].get_offsets(), metric.positions_)


def test_thumbnails_lie_on_their_positions(metric):
    images = np.random.default_rng(1).random((20, 6, 3))
    display = MixtureDisplay.from_estimator(metric).plot_positions(images=images, size=0.01)
    assert len(display.ax_.images) == 20
    for picture, image, position in zip(display.ax_.images, images, metric.positions_, strict=True):
        left, right, bottom, top = picture.get_extent()
        np.testing.assert_allclose([(left + right) / 2, (bottom + top) / 2], position)
        assert (top - bottom) / (right - left) == pytest.approx(2)
        np.testing.assert_array_equal(picture.get_array(), image)
        assert picture.get_clim() == (images.min(), images.max())  # dark pictures stay darker than light ones
    few = MixtureDisplay.from_estimator(metric).plot_positions(images=images, size=0.01, most=5)
    assert len(few.ax_.images) == 5


def test_crowded_thumbnails_give_way():
    assert uncovered(np.array([[0.0, 0.0], [0.5, 0.5], [0.0, 2.0], [0.1, 2.9]]), 1.0) == [0, 2]


def test_stress_by_epoch(metric):
    display = MixtureDisplay.from_estimator(metric).plot_stress()
    np.testing.assert_array_equal(display.ax_.lines[0].get_ydata(), metric.history_)


def test_all_in_one_figure_from_an_embedding(metric):
    short = MixtureMetric(n_components=1, descent=AlternatingDescent(n_epochs=1), random_state=0)
    model = ElasticMDS(metric=short).fit(np.eye(6))
    display = MixtureDisplay.from_estimator(model).plot()
    assert len(display.figure_.axes) == 3


def test_wrong_input_is_refused(metric):
    with pytest.raises(InputError, match="needs a fitted MixtureMetric; got MixtureMetric without weights_"):
        MixtureDisplay.from_estimator(MixtureMetric())
    with pytest.raises(InputError, match=r"images must hold one picture per row, shape \(20, .* got shape \(3, 2, 2\)"):
        MixtureDisplay.from_estimator(metric).plot_positions(images=np.zeros((3, 2, 2)))


def test_matplotlib_is_asked_for_by_its_extra(metric, monkeypatch):
    def no_module(name):
        raise ImportError(name)

    display = MixtureDisplay.from_estimator(metric)
    monkeypatch.setattr("importlib.import_module", no_module)
    with pytest.raises(MissingExtraError, match=r"MixtureDisplay needs the package 'matplotlib'.*prismap\[plot\]"):
        display.plot()
