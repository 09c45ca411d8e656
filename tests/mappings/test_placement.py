"""DirectPlacement: costs and gradients against the formulas, and the laws of a minimum."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.spatial.distance import cdist
from sklearn.utils.estimator_checks import parametrize_with_checks

from prismap.embeddings import MDS, Isomap
from prismap.exceptions import PrismapWarning
from prismap.mappings import DirectPlacement, MapCost
from prismap.mappings._placement import minimize_rows
from prismap.metrics import FisherMetric
from reference import mappings_reference as slow

COSTS = ["tsne", "nerv", "mds", "sammon", "elastic", "classical", "isomap", "lle", "mvu"]


@parametrize_with_checks([DirectPlacement(MapCost(perplexity=3)), DirectPlacement("mds"), DirectPlacement("lle")])
def test_is_a_scikit_learn_estimator(estimator, check):
    check(estimator)


@pytest.fixture
def plane():
    """Rows near a plane in four dimensions and their positions in it."""
    rng = np.random.default_rng(0)
    Y = rng.uniform(size=(90, 2)) * 3
    X = Y @ rng.normal(size=(2, 4)) + 0.01 * rng.normal(size=(90, 4))
    return X, Y


def test_the_tsne_cost_is_that_of_all_rows_up_to_a_constant(plane):
    """Moving the new row changes its placement cost as it changes (n + 1) KL(P || Q) of the whole embedding."""
    X, Y = plane
    fitted, new = slice(0, 40), slice(40, 41)
    model = DirectPlacement(MapCost("tsne", perplexity=8)).fit(X[fitted], Y[fitted])
    P = _joint_with_new_row(cdist(X[fitted], X[fitted]), cdist(X[new], X[fitted])[0], 8)
    here, there = np.array([[0.3, 1.0]]), np.array([[2.0, 0.1]])
    whole = [41 * slow.tsne_cost(np.vstack([Y[fitted], z]), P) for z in (here, there)]
    part = [model.placement_cost(X[new], z)[0] for z in (here, there)]
    assert part[1] - part[0] == pytest.approx(whole[1] - whole[0], rel=1e-4)


def _joint_with_new_row(D, d_new, perplexity):
    """p_ij of n + 1 rows, the bandwidths of the fitted ones as they were without the new row."""
    n = len(D)
    conditional = np.zeros((n + 1, n + 1))
    for i in range(n):
        others = np.delete(D[i], i)
        p = slow.conditional_affinities(others, perplexity)
        a, b = np.argsort(others)[[0, -1]]
        precision = np.log(p[a] / p[b]) / (others[b] ** 2 - others[a] ** 2)
        weights = np.exp(-precision * (np.append(D[i], d_new[i]) ** 2 - others.min() ** 2))
        weights[i] = 0
        conditional[i] = weights / weights.sum()
    conditional[n, :n] = slow.conditional_affinities(d_new, perplexity)
    return (conditional + conditional.T) / (2 * (n + 1))


def test_the_nerv_cost_is_the_formula(plane):
    X, Y = plane
    model = DirectPlacement(MapCost("nerv", perplexity=8, gamma=0.3)).fit(X[:40], Y[:40])
    d = cdist(X[40:41], X[:40])[0]
    p = slow.conditional_affinities(d, 8)
    a, b = np.argsort(d)[[0, -1]]
    sigma = np.sqrt((d[b] ** 2 - d[a] ** 2) / (2 * np.log(p[a] / p[b])))
    z = np.array([1.0, 0.5])
    expected = slow.nerv_row_cost(z, Y[:40], p, sigma, 0.3)
    assert model.placement_cost(X[40:41], z[None])[0] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("cost", "power"), [("mds", 0), ("sammon", 1), ("elastic", 2)])
def test_the_cost_of_scaling_is_the_stress(plane, cost, power):
    X, Y = plane
    d = cdist(X[40:41], X[:40])[0]
    z = np.array([1.0, 0.5])
    model = DirectPlacement(cost).fit(X[:40], Y[:40])
    expected = slow.stress_row_cost(z, Y[:40], d, power)
    assert model.placement_cost(X[40:41], z[None])[0] == pytest.approx(expected)


def test_isomap_places_a_row_by_the_lengths_of_paths(plane):
    X, _ = plane
    Y = Isomap(n_neighbors=6).fit_transform(X[:40])
    placed = DirectPlacement(MapCost("isomap", n_neighbors=6)).fit(X[:40], Y).transform(X[40:44])
    expected = np.array([slow.isomap_position(x, X[:40], 6) for x in X[40:44]])
    signs = np.sign((expected * placed).sum(axis=0))  # eigenvectors know no sign
    np.testing.assert_allclose(placed, expected * signs, rtol=1e-9)


@pytest.mark.parametrize(("cost", "embedding"), [("isomap", Isomap()), ("classical", MDS(kind="classical"))])
def test_fitted_rows_come_out_where_their_spectral_method_put_them(plane, cost, embedding):
    X, _ = plane
    Y = embedding.fit_transform(X)
    np.testing.assert_allclose(DirectPlacement(cost).fit(X, Y + 7).transform(X), Y + 7, atol=1e-9)


@pytest.mark.parametrize(("cost", "n_neighbors"), [("lle", 10), ("mvu", 6)])
def test_weights_of_neighbours_place_a_row(plane, cost, n_neighbors):
    X, Y = plane
    model = DirectPlacement(cost).fit(X[:80], Y[:80])
    expected = np.array([slow.rebuilt_position(x, X[:80], Y[:80], n_neighbors, 1e-3) for x in X[80:]])
    np.testing.assert_allclose(model.transform(X[80:]), expected, atol=1e-8)
    assert np.abs(expected - Y[80:]).max() < 0.5


@pytest.mark.parametrize("cost", COSTS)
def test_gradients_equal_finite_differences(plane, cost):
    X, Y = plane
    model = DirectPlacement(MapCost(cost, perplexity=8)).fit(X[:40], Y[:40])
    cost_of, _ = model._problem(cdist(X[40:43], X[:40]))
    Z = np.random.default_rng(1).normal(size=(3, 2))
    _, gradient = cost_of(Z, np.arange(3))
    for row in range(3):
        numeric = approx_fprime(Z[row], lambda z, row=row: cost_of(z[None], np.array([row]))[0][0], 1e-7)
        np.testing.assert_allclose(gradient[row], numeric, atol=1e-5 * max(1, np.abs(numeric).max()))


@pytest.mark.parametrize("cost", COSTS)
def test_placed_rows_are_at_a_minimum_below_every_start(plane, cost):
    X, Y = plane
    model = DirectPlacement(MapCost(cost, perplexity=8)).fit(X[:80], Y[:80])
    placed = model.transform(X[80:])
    lowest = model.placement_cost(X[80:], placed)
    nearest = Y[:80][cdist(X[80:], X[:80]).argmin(axis=1)]
    assert (lowest <= model.placement_cost(X[80:], nearest) + 1e-12).all()
    for shift in ([1e-3, 0], [-1e-3, 0], [0, 1e-3], [0, -1e-3]):
        assert (model.placement_cost(X[80:], placed + shift) > lowest).all()


def test_mds_finds_the_place_distances_determine(plane):
    _, Y = plane
    model = DirectPlacement("mds", metric="precomputed").fit(cdist(Y[:80], Y[:80]), Y[:80])
    np.testing.assert_allclose(model.transform(cdist(Y[80:], Y[:80])), Y[80:], atol=1e-5)


@pytest.mark.parametrize("cost", COSTS)
def test_a_row_does_not_depend_on_its_company(plane, cost):
    X, Y = plane
    model = DirectPlacement(MapCost(cost, perplexity=8)).fit(X[:70], Y[:70])
    together = model.transform(X[70:])
    alone = np.vstack([model.transform(X[i : i + 1]) for i in range(70, 90)])
    np.testing.assert_allclose(together, alone, atol=1e-6)


def test_the_best_of_all_starts_wins(plane):
    """Positions that have nothing to do with the rows: every start ends somewhere else."""
    X, Y = plane
    Y = 30 * np.random.default_rng(1).permutation(Y)
    few, many = (DirectPlacement(MapCost("tsne", perplexity=8), n_init=n).fit(X[:70], Y[:70]) for n in (1, 4))
    costs = [model.placement_cost(X[70:], model.transform(X[70:])) for model in (few, many)]
    assert (costs[1] <= costs[0] + 1e-9).all()
    assert (costs[1] < costs[0] - 1e-3).sum() > 3


def test_a_fitted_metric_is_used_as_it_is(plane):
    X, Y = plane
    metric = FisherMetric(random_state=0, perplexity=10).fit(X[:70], X[:70, 0] > 0)
    model = DirectPlacement(MapCost(perplexity=8), metric=metric).fit(X[:70], Y[:70])
    assert model.metric_ is metric
    assert np.isfinite(model.transform(X[70:])).all()


def test_a_perplexity_too_high_is_lowered_with_a_warning(plane):
    X, Y = plane
    with pytest.warns(PrismapWarning, match="perplexity=30 is too high for 40 rows; 13 is used"):
        DirectPlacement().fit(X[:40], Y[:40])


def test_side_by_side_minimisation_finds_what_scipy_finds():
    centers = np.random.default_rng(0).normal(size=(6, 2))

    def valley(z, c):
        u = z - c
        return (1 - u[0]) ** 2 + 20 * (u[1] - u[0] ** 2) ** 2

    def cost_of(Z, rows):
        u = Z - centers[rows]
        bend = u[:, 1] - u[:, 0] ** 2
        gradient = np.column_stack([-2 * (1 - u[:, 0]) - 80 * bend * u[:, 0], 40 * bend])
        return (1 - u[:, 0]) ** 2 + 20 * bend**2, gradient

    found, costs = minimize_rows(cost_of, np.zeros((6, 2)), length=0.5, max_iter=300, tol=1e-9)
    for row, center in enumerate(centers):
        expected = minimize(valley, np.zeros(2), args=(center,), options={"gtol": 1e-10})
        np.testing.assert_allclose(found[row], expected.x, atol=1e-4)
    assert (costs < 1e-12).all()
