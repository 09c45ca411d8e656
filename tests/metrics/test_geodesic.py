"""Geodesics by their energy: where they are known, against a lattice of places, and laws."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from prismap.exceptions import InputError
from prismap.metrics import FisherMetric, Parzen
from prismap.metrics._geodesic import energy, interpolation
from reference import embedding_costs_reference, fisher_reference


class Sphere(ClassifierMixin, BaseEstimator):
    """Three classes whose roots are a point of the unit sphere, given by its latitude and longitude."""

    def fit(self, X, y):
        self.classes_, self.n_features_in_ = np.unique(y), 2
        return self

    def roots(self, X):
        theta, phi = np.asarray(X, dtype=np.float64).T
        return np.column_stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)])

    def predict_proba(self, X):
        return self.roots(X) ** 2

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_log_proba_gradient(self, X):
        theta, phi = np.asarray(X, dtype=np.float64).T
        zero = np.zeros_like(theta)
        by_theta = np.column_stack([1 / np.tan(theta), 1 / np.tan(theta), -np.tan(theta)])
        by_phi = np.column_stack([-np.tan(phi), 1 / np.tan(phi), zero])
        return 2 * np.stack([by_theta, by_phi], axis=2)


@pytest.fixture(scope="module")
def sphere():
    rng = np.random.default_rng(0)
    X = rng.uniform(0.1, 1.4, size=(60, 2))
    model = Sphere().fit(X, rng.permutation(np.arange(60) % 3))
    return FisherMetric(posterior=model, path="tangent", cross_fit=False, perplexity=10).fit(X, model.predict(X))


@pytest.fixture(scope="module")
def hill():
    """Two classes: one in the middle, the other around it, so that the straight way leads over a hill."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 150)
    ring = 2.5 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.3 * rng.normal(size=(150, 2))
    X = np.vstack([0.5 * rng.normal(size=(60, 2)), ring])
    return X, np.repeat([0, 1], [60, 150])


def metric_of(hill, supervision):
    posterior = Parzen(bandwidth="published")
    return FisherMetric(posterior=posterior, supervision=supervision, cross_fit=False, random_state=0).fit(*hill)


def test_geodesics_of_the_sphere_are_great_circles(sphere):
    """A straight line of latitude and longitude is none; the length is twice the angle between the ends."""
    a, b = np.array([0.3, 0.1]), np.array([0.4, 1.4])
    path = sphere.geodesic(a, b)
    ends = Sphere().roots(np.array([a, b]))
    angle = 2 * np.arccos(ends[0] @ ends[1])
    assert path.least_length == pytest.approx(angle, rel=1e-6)
    assert path.length == pytest.approx(angle, rel=2e-3)
    assert path.straight_length > 1.05 * angle
    plane = np.cross(*ends) / np.linalg.norm(np.cross(*ends))
    assert np.abs(Sphere().roots(path.corners) @ plane).max() < 0.01


def test_one_direction_that_matters_leaves_nothing_to_bend():
    """A posterior that rises along the segment: straight, bent and least length are one."""
    X = np.column_stack([np.linspace(-3, 3, 80), np.tile([0.0, 1.0], 40)])
    metric = FisherMetric(posterior=Parzen(bandwidth="published"), cross_fit=False, perplexity=10).fit(
        X, (X[:, 0] > 0).astype(int)
    )
    path = metric.geodesic([-2.0, 0.5], [2.0, 0.5])
    assert path.length == pytest.approx(path.least_length, rel=1e-4)
    assert path.straight_length == pytest.approx(path.least_length, rel=1e-4)


@pytest.mark.parametrize("supervision", [0.5, 0.9])
def test_paths_are_as_short_as_those_over_a_lattice(hill, supervision):
    """The slow version knows no derivative: the shortest way over a fine lattice, which is a little longer."""
    metric = metric_of(hill, supervision)
    a, b = np.array([-2.5, 0.1]), np.array([2.5, 0.1])
    path = metric.geodesic(a, b)
    slow = fisher_reference.lattice_path(a, b, *hill, 2, metric.bandwidth_, supervision, n=61)
    assert 0.93 * slow < path.length < 1.005 * slow
    assert path.length < (0.9 if supervision == 0.9 else 1.0) * path.straight_length


@pytest.mark.parametrize("supervision", [0.3, 1.0])
def test_never_longer_than_straight_and_never_shorter_than_the_bound(hill, supervision):
    metric = metric_of(hill, supervision)
    X = hill[0]
    for i, j in np.random.default_rng(1).integers(0, len(X), (6, 2)):
        path = metric.geodesic(X[i], X[j])
        assert path.least_length * (1 - 1e-9) <= path.length <= path.straight_length
        np.testing.assert_array_equal(path.corners[[0, -1]], X[[i, j]])


def test_no_path_is_made_worse(hill):
    """A run that is stopped at once gives the straight segment."""
    path = metric_of(hill, 0.9).geodesic([-2.5, 0.1], [2.5, 0.1], max_iter=1)
    assert path.length <= path.straight_length


def test_energy_is_the_formula_and_has_its_gradient(hill):
    metric = metric_of(hill, 0.7)
    X = interpolation(5, 3) @ np.random.default_rng(0).normal(size=(5, 2))
    sigma = metric.bandwidth_
    roots = [2 * np.sqrt(fisher_reference.posterior(x, *hill, 2, sigma)) for x in X]
    parts = [
        0.7 * np.sum((roots[t + 1] - roots[t]) ** 2) + 0.3 * np.sum((X[t + 1] - X[t]) ** 2) / sigma**2
        for t in range(len(X) - 1)
    ]
    assert energy(metric, X)[0] == pytest.approx(len(parts) * sum(parts), rel=1e-5)
    expected = embedding_costs_reference.numeric_gradient(lambda X: energy(metric, X)[0], X, 1e-5)
    np.testing.assert_allclose(energy(metric, X)[1], expected, atol=1e-5 * np.abs(expected).max())


def test_only_metrics_of_classes_have_geodesics(hill):
    X, y = hill
    with pytest.raises(InputError, match="a real target has no class probabilities"):
        FisherMetric("real").fit(X, X[:, 0]).geodesic(X[0], X[1])
    with pytest.raises(InputError, match="geodesics are bent by a target"):
        FisherMetric(supervision=0.0).fit(X, y).geodesic(X[0], X[1])
