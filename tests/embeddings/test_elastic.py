"""ElasticMDS: exact cases, limits, agreement with scikit-learn's SMACOF, and bad input."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from sklearn.manifold import smacof
from sklearn.utils.estimator_checks import parametrize_with_checks

from prismap.embeddings import ElasticMDS
from prismap.exceptions import InputError
from prismap.metrics import AlternatingDescent, MixtureMetric
from reference.dissimilarities_reference import elastic_stress


@parametrize_with_checks([ElasticMDS(max_iter=20)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(40, 6))


@pytest.mark.parametrize("solver", ["lbfgs", "scg"])
@pytest.mark.parametrize("weights", ["elastic", "uniform"])
@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_recovers_points_that_fit(solver, weights, n_components):
    X = np.random.default_rng(1).normal(size=(25, n_components))
    model = ElasticMDS(n_components, solver=solver, weights=weights, random_state=0).fit(X)
    np.testing.assert_allclose(pdist(model.embedding_), pdist(X), rtol=1e-5)
    assert model.stress_ < 1e-8
    assert model.stop_reason_ == "converged"


def test_stress_is_that_of_the_formula(rows):
    model = ElasticMDS(random_state=0).fit(rows)
    assert model.stress_ == pytest.approx(elastic_stress(model.embedding_, cdist(rows, rows)), rel=1e-9)
    assert model.objective_ == model.stress_
    np.testing.assert_array_equal(model.start_stress_, [model.stress_])


def test_both_solvers_reach_the_same_stress(rows):
    by_lbfgs = ElasticMDS(solver="lbfgs", random_state=0).fit(rows)
    by_scg = ElasticMDS(solver="scg", random_state=0).fit(rows)
    assert by_scg.stress_ == pytest.approx(by_lbfgs.stress_, rel=1e-3)


def test_unit_weights_are_metric_mds(rows):
    D = cdist(rows, rows)
    start = np.random.default_rng(2).normal(size=(40, 2))
    ours = ElasticMDS(weights="uniform", init=start, tol=0, max_iter=2000).fit(rows)
    positions, theirs = smacof(
        D, init=ours.embedding_, n_init=1, max_iter=500, eps=1e-12, normalized_stress=False, metric=True
    )
    assert ours.stress_ == pytest.approx(theirs, rel=1e-6)
    np.testing.assert_allclose(pdist(positions), pdist(ours.embedding_), atol=1e-3)


def test_given_weights_equal_named_ones(rows):
    D = cdist(rows, rows)
    np.fill_diagonal(D, 1.0)
    np.testing.assert_allclose(
        ElasticMDS(weights=np.ones_like(D), random_state=0).fit(rows).embedding_,
        ElasticMDS(weights="uniform", random_state=0).fit(rows).embedding_,
    )
    given = ElasticMDS(weights=D**-2.0, tol=1e-12, random_state=0).fit(rows)
    assert given.stress_ == pytest.approx(ElasticMDS(tol=1e-12, random_state=0).fit(rows).stress_, rel=1e-6)


def test_pairs_of_weight_zero_are_left_out():
    X = np.random.default_rng(3).normal(size=(20, 2))
    D = cdist(X, X)
    D[0, 5] = D[5, 0] = 100.0
    W = np.ones_like(D)
    W[0, 5] = W[5, 0] = 0.0
    model = ElasticMDS(metric="precomputed", weights=W, init=X).fit(D)
    np.testing.assert_allclose(pdist(model.embedding_), pdist(X), rtol=1e-6)


def test_scale_of_the_data_scales_the_map(rows):
    small, large = (ElasticMDS(random_state=0).fit(scale * rows) for scale in (1, 1e6))
    np.testing.assert_allclose(large.embedding_, 1e6 * small.embedding_, rtol=1e-6)
    assert large.stress_ == pytest.approx(small.stress_)
    uniform = [ElasticMDS(weights="uniform", random_state=0).fit(s * rows).stress_ for s in (1, 1e3)]
    assert uniform[1] == pytest.approx(1e6 * uniform[0])


def test_equal_rows_are_placed_together(rows):
    X = np.vstack([rows, rows[:3]])
    model = ElasticMDS(random_state=0).fit(X)
    assert np.isfinite(model.embedding_).all()
    gaps = np.linalg.norm(model.embedding_[:3] - model.embedding_[40:], axis=1)
    assert gaps.max() < 0.02 * pdist(model.embedding_).mean()


def test_rows_that_are_all_equal_are_one_point():
    np.testing.assert_allclose(ElasticMDS(random_state=0).fit_transform(np.ones((5, 3))), 0, atol=1e-6)


def test_a_start_on_a_line_does_not_bind_the_positions_to_it():
    # Distances that break the triangle inequality: classical scaling has one axis, and its gradient knows no other, so
    # that points could not pass each other.
    D = cdist(np.arange(30.0)[:, None], np.arange(30.0)[:, None]) ** 1.5
    model = ElasticMDS(metric="precomputed", random_state=0).fit(D)
    best = ElasticMDS(metric="precomputed", init="random", n_init=5, random_state=0).fit(D)
    assert model.stress_ < 1.01 * best.stress_


def test_more_starts_never_end_higher(rows):
    one, many = ElasticMDS(random_state=0).fit(rows), ElasticMDS(n_init=4, random_state=0).fit(rows)
    assert many.start_stress_.shape == (4,)
    assert many.stress_ == many.start_stress_.min() <= one.stress_
    again = ElasticMDS(n_init=4, random_state=0).fit(rows)
    np.testing.assert_array_equal(many.embedding_, again.embedding_)


def test_random_and_given_starts(rows):
    a, b = (ElasticMDS(init="random", random_state=seed, max_iter=1).fit(rows).embedding_ for seed in (0, 1))
    assert not np.allclose(a, b)
    best = ElasticMDS(random_state=0).fit(rows)
    stayed = ElasticMDS(init=best.embedding_, max_iter=1).fit(rows)
    np.testing.assert_allclose(stayed.embedding_, best.embedding_, atol=1e-2)


def test_callback_sees_positions_and_can_stop(rows):
    seen = []

    def callback(iteration, error, embedding):
        seen.append((iteration, error, embedding.copy()))
        return iteration == 4

    model = ElasticMDS(callback=callback, weights="uniform").fit(rows)
    assert (model.n_iter_, model.stop_reason_) == (4, "callback")
    assert seen[-1][1] == model.stress_
    np.testing.assert_allclose(pdist(seen[-1][2]), pdist(model.embedding_))
    assert [error for _, error, _ in seen] == sorted((error for _, error, _ in seen), reverse=True)


def test_mixture_hands_over_its_positions(rows):
    model = ElasticMDS(metric=MixtureMetric(descent=AlternatingDescent(n_epochs=3), random_state=0)).fit(rows)
    metric = model.metric_
    assert model.stress_ <= metric.stress_ * (1 + 1e-9)
    assert model.stress_ == pytest.approx(elastic_stress(model.embedding_, metric.pairwise()), rel=1e-6)
    short = MixtureMetric(descent=AlternatingDescent(n_epochs=1))
    assert ElasticMDS(3, metric=short).fit(rows).embedding_.shape == (40, 3)  # of another width: starts anew


@pytest.mark.parametrize(
    ("D", "message"),
    [
        ([[0.0, 1.0], [2.0, 0.0]], "must be symmetric"),
        ([[0.0, -1.0], [-1.0, 0.0]], "must not be negative"),
        ([[1.0, 2.0], [2.0, 1.0]], "zero diagonal"),
        ([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0]], "square"),
    ],
)
def test_matrices_that_are_no_distances_are_refused(D, message):
    with pytest.raises(InputError, match=message):
        ElasticMDS(metric="precomputed").fit(np.array(D))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"weights": np.ones((3, 3))}, r"weights must hold one number per pair, shape \(40, 40\); got shape \(3, 3\)"),
        ({"weights": -np.ones((40, 40))}, "weights must be finite and not negative"),
        ({"weights": np.triu(np.ones((40, 40)))}, "weights must be symmetric"),
        ({"init": np.zeros((40, 3))}, r"init .* shape \(40, 2\); got shape \(40, 3\)"),
        ({"solver": "newton"}, "'solver' parameter"),
        ({"n_components": 0}, "'n_components' parameter"),
    ],
)
def test_wrong_parameters_are_refused(rows, parameters, message):
    with pytest.raises(ValueError, match=message):
        ElasticMDS(**parameters).fit(rows)
