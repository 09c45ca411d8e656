"""The picture of a Fisher metric: ellipses by their definition, paths against Floyd's algorithm, what is refused."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression

from prismap.exceptions import InputError
from prismap.inspection import FisherDisplay
from prismap.inspection._fisher import ellipses, lattice, shortest_rows
from prismap.metrics import FisherMetric
from reference.fisher_reference import tensor
from reference.manifold_reference import shortest_paths_reference

X, CODES = make_blobs(40, 2, centers=[[0, 0], [3, 0], [0, 4]], cluster_std=0.9, random_state=0)
Y = np.array(["ash", "birch", "cedar"])[CODES]


@pytest.fixture(scope="module")
def metric():
    return FisherMetric(posterior="parzen", n_segments=4, perplexity=8, random_state=0).fit(X, Y)


@pytest.fixture(scope="module")
def display(metric):
    return FisherDisplay.from_estimator(metric, Y, paths=[(0, 7), (3, 30)], n_ellipses=5, grid_resolution=30)


def test_an_ellipse_is_as_far_everywhere():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 2, 2))
    J = A @ A.transpose(0, 2, 1) + 0.1 * np.eye(2)
    outlines = ellipses(J, reach=100.0, radius=0.7)
    lengths = np.sqrt(np.einsum("mpd,mde,mpe->mp", outlines, J, outlines))
    np.testing.assert_allclose(lengths, 0.7)
    short = ellipses(J, reach=0.3)
    assert np.linalg.norm(short, axis=2).max() == pytest.approx(0.3)
    assert np.isfinite(ellipses(np.zeros((2, 2, 2)), reach=1.0)).all()


def test_shortest_ways_are_those_of_floyd():
    D = np.random.default_rng(0).uniform(0.1, 1, size=(15, 15)) ** 3
    D = D + D.T
    np.fill_diagonal(D, 0)
    i, j = np.triu_indices(15, 1)
    shortest = shortest_paths_reference(i, j, D[i, j], 15)
    for a, b in [(0, 14), (3, 9), (12, 1)]:
        way, length = shortest_rows(D, a, b)
        assert length == pytest.approx(shortest[a, b])
        assert (way[0], way[-1]) == (a, b)
        assert sum(D[i, j] for i, j in pairwise(way)) == pytest.approx(length)
    joined = np.array([[0, 0, 5.0], [0, 0, 5.0], [5.0, 5.0, 0]])
    assert shortest_rows(joined, 0, 1)[1] < 1e-300


def test_the_arrays_are_the_metric_s(metric, display):
    assert display.places.shape == (25, 2)
    np.testing.assert_array_equal(display.target, CODES)
    support, codes = X[metric.support_], CODES[metric.support_]
    expected = [tensor(place, support, codes, 3, metric.bandwidth_) for place in display.places]
    np.testing.assert_allclose(display.tensors, expected, atol=1e-8)
    P = metric.class_probabilities(np.array([[display.grid.x[4], display.grid.y[9]]]))[0]
    assert display.grid.value[9, 4] == P.argmax()
    assert display.grid.certainty[9, 4] == pytest.approx((P.max() - 1 / 3) * 1.5)
    with pytest.raises(ValueError, match="read-only"):
        display.tensors[0] = 0


def test_paths_are_measured_by_one_posterior(metric, display):
    D = metric.pairwise(X, X)
    for path, (a, b) in zip(display.paths, [(0, 7), (3, 30)], strict=True):
        np.testing.assert_allclose(path.straight[[0, -1]], X[[a, b]])
        np.testing.assert_allclose(path.shortest[[0, -1]], X[[a, b]])
        assert path.straight_length == pytest.approx(D[a, b], rel=1e-5)
        assert path.shortest_length <= path.straight_length + 1e-12
        assert path.parts.sum() == pytest.approx(path.straight_length, rel=0.02)


def test_bent_paths_are_those_of_the_metric(metric, display):
    for path, (a, b) in zip(display.paths, [(0, 7), (3, 30)], strict=True):
        bent = metric.geodesic(display.rows[a], display.rows[b])
        np.testing.assert_array_equal(path.bent, bent.corners)
        assert path.bent_length == bent.length <= bent.straight_length
    pytest.importorskip("matplotlib.pyplot")
    ax = display.plot().ax_
    assert any(text.get_text().startswith("bent: ") for text in ax.get_legend().get_texts())
    real = FisherDisplay.from_estimator(
        FisherMetric("real", posterior="gp", perplexity=8).fit(X, X[:, 0]), paths=[(0, 7)], grid_resolution=20
    )
    assert real.paths[0].bent is None


def test_it_is_drawn(display):
    plt = pytest.importorskip("matplotlib.pyplot")
    ax = display.plot().ax_
    assert [one.get_text() for one in ax.get_legend().get_texts()][:3] == ["ash", "birch", "cedar"]
    assert len(ax.collections[-1].get_segments()) == 25
    other = display.plot(arrows=True).ax_
    assert len(other.collections) == 3 + 4
    assert display.plot_ellipses(radius=0.5).figure_ is not display.plot_arrows().figure_
    plt.close("all")


@pytest.mark.filterwarnings("ignore::prismap.exceptions.PrismapWarning")
def test_numbers_and_models_have_ellipses_too():
    plt = pytest.importorskip("matplotlib.pyplot")
    real = FisherMetric("real", random_state=0).fit(X, X[:, 0] ** 2)
    shown = FisherDisplay.from_estimator(real, n_ellipses=4, grid_resolution=12).plot()
    np.testing.assert_allclose(shown.target, real.target_moments()[0][:, 0])
    assert shown.grid.certainty is None
    np.testing.assert_allclose(
        FisherDisplay.from_estimator(real, X[:, 0] ** 2, n_ellipses=2, grid_resolution=5).target, X[:, 0] ** 2
    )
    model = FisherMetric(posterior=LogisticRegression(), random_state=0).fit(X, Y)
    assert FisherDisplay.from_estimator(model, n_ellipses=4, grid_resolution=12).plot().tensors.shape == (16, 2, 2)
    plt.close("all")


def test_places_lie_inside():
    places = lattice(np.array([0.0, 4.0]), np.array([0.0, 2.0]), 2)
    np.testing.assert_allclose(places, [[1, 0.5], [3, 0.5], [1, 1.5], [3, 1.5]])


@pytest.mark.filterwarnings("ignore::prismap.exceptions.PrismapWarning")
@pytest.mark.parametrize(
    ("made", "options", "words"),
    [
        (FisherMetric, {}, "needs a fitted FisherMetric; got FisherMetric"),
        (lambda: LogisticRegression().fit(X, Y), {}, "got LogisticRegression"),
        (lambda: FisherMetric().fit(np.c_[X, X], Y), {}, "fitted on 4 columns"),
        (lambda: FisherMetric(data="similarity").fit(X @ X.T, Y), {}, "a matrix between rows"),
        (lambda: FisherMetric(supervision=0).fit(X), {}, "needs a metric with a target"),
        (lambda: FisherMetric(posterior="lssvm").fit(X, Y), {}, "has no tensor"),
        (lambda: FisherMetric(posterior="parzen").fit(X, Y), {"paths": [(0, 40)]}, "different rows from 0 to 39"),
        (lambda: FisherMetric(posterior="parzen").fit(X, Y), {"paths": [(3, 3)]}, "got \\(3, 3\\)"),
        (lambda: FisherMetric(posterior="parzen", path="graph").fit(X, Y), {"paths": [(0, 3)]}, "straight segments"),
        (lambda: FisherMetric(posterior="parzen").fit(X, Y), {"y": Y[:5]}, "5"),
    ],
)
def test_what_has_no_picture_is_refused(made, options, words):
    with pytest.raises(InputError, match=words):
        FisherDisplay.from_estimator(made(), n_ellipses=3, grid_resolution=5, **options)
