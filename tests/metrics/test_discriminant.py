"""Linear discriminants as a posterior, and means of posteriors: against refits, honest, and in files."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_wine, make_classification

from prismap import PrisMap
from prismap.metrics import FisherMetric
from prismap.metrics.posteriors import _discriminant as discriminant
from prismap.metrics.posteriors._choice import Blend, blend_weights, blended
from prismap.metrics.posteriors._discriminant import SPHERES, fit_discriminant, leading_directions, likelihoods
from prismap.metrics.posteriors._machine import LeastSquaresMachine
from prismap.metrics.posteriors._rowwise import best_temperature, log_loss, softmax
from reference.linear_discriminant_reference import scores_by_formula, spreads_by_formula


@pytest.fixture(scope="module")
def rows():
    """Rows of four classes, one of which is in a single fold, in columns of different units."""
    X, codes = make_classification(90, 7, n_informative=5, n_classes=3, class_sep=0.8, random_state=1)
    folds, codes = np.arange(90) % 6, codes.copy()
    codes[[3, 9, 15]] = 3
    return X * np.array([1, 10, 0.1, 3, 1, 1, 5]), codes, folds


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))[:110]
    noise = np.random.default_rng(1).normal(size=(110, 13))
    return ((X - X.mean(axis=0)) / X.std(axis=0))[order] + 1.5 * noise, y[order]


@pytest.fixture(scope="module")
def mean_metric(wine):
    return FisherMetric(supervision=0.8, random_state=0).fit(*wine)


@pytest.mark.parametrize("most", [7, 300])
def test_folds_are_judged_by_refits_without_them(rows, monkeypatch, most):
    """With all directions kept, turned or not, the answer is the same."""
    X, codes, folds = rows
    X = X - X.mean(axis=0)
    monkeypatch.setattr(discriminant, "MOST_DIRECTIONS", most)
    if most == 7:
        monkeypatch.setattr(discriminant, "leading_directions", turned)
    slopes, offsets, temperature, P = fit_discriminant(X, codes, 4, folds)
    scales, tried = spreads_by_formula(X, codes, 0.01), []
    for sphere in SPHERES:
        scores = np.empty((90, 4))
        for fold in range(6):
            out = folds == fold
            scores[out] = likelihoods(scores_by_formula(X[~out], codes[~out], X[out], 4, sphere, scales))
        t = best_temperature(scores, codes)
        tried.append((log_loss(softmax(t * scores), codes), t, softmax(t * scores), sphere))
    _, t, wanted, sphere = min(tried, key=lambda one: one[0])
    np.testing.assert_allclose(temperature, t, rtol=1e-5)
    np.testing.assert_allclose(P, wanted, atol=1e-6)
    whole = scores_by_formula(X, codes, X[:5], 4, sphere, scales)
    np.testing.assert_allclose(X[:5] @ slopes + offsets, whole, atol=1e-8)


def turned(Z):
    """All directions of the rows, as if there were too many columns."""
    vectors = np.linalg.eigh(Z.T @ Z)[1]
    return Z @ vectors, vectors


def test_few_directions_are_the_principal_ones(rows, monkeypatch):
    X, _, _ = rows
    monkeypatch.setattr(discriminant, "MOST_DIRECTIONS", 3)
    coordinates, directions = leading_directions(X - X.mean(axis=0))
    assert directions.shape == (7, 3)
    np.testing.assert_allclose(directions.T @ directions, np.eye(3), atol=1e-10)
    np.testing.assert_allclose((X - X.mean(axis=0)) @ directions, coordinates, atol=1e-8)
    lengths = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[:3]
    np.testing.assert_allclose(np.linalg.norm(coordinates, axis=0), lengths, rtol=1e-8)


def test_units_of_columns_do_not_matter(rows):
    X, codes, folds = rows
    one, other = (fit_discriminant(A, codes, 4, folds)[3] for A in (X, X * np.arange(1, 8.0)))
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_a_class_of_one_fold_and_constant_columns_are_no_trouble(rows):
    X, codes, _ = rows
    X, folds = np.column_stack([X, np.ones(90), codes == 1]), np.where(codes == 3, 0, np.arange(90) % 6)
    P = fit_discriminant(X, codes, 4, folds)[3]
    assert np.isfinite(P).all()
    assert np.allclose(P.sum(axis=1), 1)
    scores = likelihoods(np.array([[0.0, -np.inf, -1e9]]))
    assert np.array_equal(scores, [[0, -30, -30]])


def test_permuted_labels_are_not_known(rows):
    X, codes, folds = rows
    codes = np.random.default_rng(2).permutation(codes % 3)
    P = fit_discriminant(X, codes, 3, folds)[3]
    assert log_loss(P, codes) > 0.97 * np.log(3)
    assert (P.argmax(axis=1) == codes).mean() < 0.5


# --- means of posteriors ----------------------------------------------------------------------------------------------


def test_weights_have_the_smallest_loss():
    rng, codes = np.random.default_rng(0), np.random.default_rng(1).integers(3, size=2000)
    parts = [softmax(strength * np.eye(3)[codes] + rng.normal(size=(2000, 3))) for strength in (2.0, 1.5, 0.0)]
    weights = blend_weights(parts, codes)
    best = log_loss(np.tensordot(weights, parts, axes=1), codes)
    assert np.isclose(weights.sum(), 1)
    assert weights[0] > weights[1] > 0.1
    for _ in range(200):
        other = rng.dirichlet(np.ones(3))
        assert log_loss(np.tensordot(other, parts, axes=1), codes) > best - 1e-3


def test_a_posterior_that_says_nothing_more_is_left_out(wine):
    X, y = wine
    parts = [
        FisherMetric(posterior=LeastSquaresMachine(), supervision=0.8, random_state=0).fit(X, y).posterior_
        for _ in range(2)
    ]
    parts[1].fitted_probabilities = np.random.default_rng(0).dirichlet(np.ones(3), size=len(y))
    assert blended(parts, y) is parts[0]


def test_a_mean_of_means_is_of_their_parts(mean_metric, wine):
    _, y = wine
    mean = mean_metric.posterior_
    again = blended([mean, mean.parts[0]], np.where(np.arange(len(y)) < 5, -1, y))
    assert [part.name for part in again.parts] == ["lssvm", "discriminant", "lssvm"]


def test_auto_is_a_mean_of_machine_and_discriminants(mean_metric, wine):
    X, _ = wine
    mean, losses = mean_metric.posterior_, mean_metric.log_losses_
    assert isinstance(mean, Blend)
    assert mean.name == "lssvm+discriminant"
    assert losses[mean.name] < min(losses["parzen"], losses["lssvm"])
    assert np.isclose(mean.weights.sum(), 1)
    parts = [part.fitted_probabilities for part in mean.parts]
    np.testing.assert_allclose(mean_metric.class_probabilities(), np.tensordot(mean.weights, parts, axes=1))
    new = [part.predict(X[:9] + 0.1) for part in mean.parts]
    np.testing.assert_allclose(mean_metric.class_probabilities(X[:9] + 0.1), np.tensordot(mean.weights, new, axes=1))
    assert "lssvm+discriminant" in repr(mean_metric)


def test_where_there_are_no_columns_the_machine_is_alone(wine):
    X, y = wine
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    for data, rows in (("dissimilarity", D), ("vectors", sp.csr_array(X))):
        metric = FisherMetric(supervision=0.8, data=data, random_state=0).fit(rows, y)
        assert metric.posterior_.name in ("lssvm", "parzen")


def test_gaps_are_filled(wine):
    X, y = wine
    gaps = np.where(np.random.default_rng(3).random(X.shape) < 0.1, np.nan, X)
    P = FisherMetric(supervision=0.8, random_state=0).fit(gaps, y).class_probabilities(gaps[:20])
    assert np.isfinite(P).all()


def test_the_stored_metric_is_the_same(mean_metric, wine):
    X, y = wine
    again = FisherMetric(supervision=0.8).restore(X, y, mean_metric.state())
    assert np.array_equal(again.pairwise(), mean_metric.pairwise())
    assert np.array_equal(again.pairwise(X[:9] + 0.1), mean_metric.pairwise(X[:9] + 0.1))


@pytest.mark.parametrize("name", ["blend_weights", "part1_discriminant_slopes", "part1_discriminant_offsets"])
def test_damaged_means_are_refused(mean_metric, wine, name):
    state = mean_metric.state()
    with pytest.raises(ValueError, match="its"):
        FisherMetric(supervision=0.8).restore(*wine, {**state, name: state[name][..., None]})


def test_a_row_is_placed_alike_alone_and_among_others(wine, tmp_path):
    X, y = wine
    model = PrisMap(supervision=0.8, random_state=0).fit(X, y)
    assert model.metric_.posterior_.name == "lssvm+discriminant"
    among = model.transform(X[:20] + 0.1)
    assert np.array_equal(among, np.vstack([model.transform(row[None]) for row in X[:20] + 0.1]))
    model.save(tmp_path / "map.prismap")
    assert np.array_equal(PrisMap.load(tmp_path / "map.prismap").transform(X[:20] + 0.1), among)


def test_a_map_of_a_mean_takes_more_rows(wine):
    X, y = wine
    far = X[80:] + 8
    model = PrisMap(supervision=0.8, perplexity=20, random_state=0).fit(X[:80], y[:80])
    before, metric = model.embedding_.copy(), model.metric_
    assert "discriminant" in metric.posterior_.name
    model.partial_refit(far)
    assert len(model.embedding_) > 80
    assert np.array_equal(model.embedding_[:80], before)
    # The columns are counted from another place now, and the same is known of every row.
    for rows in (X[:80], far):
        wanted = metric.class_probabilities(rows)
        np.testing.assert_allclose(model.metric_.class_probabilities(rows), wanted, atol=1e-6)
