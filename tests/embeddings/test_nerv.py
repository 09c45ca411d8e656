"""NeRV and t-NeRV: recall against precision, limits, duplicates, tiny data, callbacks."""

from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs, make_swiss_roll
from sklearn.manifold import trustworthiness
from sklearn.metrics import pairwise_distances
from sklearn.utils.estimator_checks import parametrize_with_checks

import reference.embedding_costs_reference as slow
from prismap._util.affinities import calibrate
from prismap._util.costs import SMALLEST_AFFINITY, gaussian_cost
from prismap._util.optimise import minimize
from prismap.embeddings import TSNE, GradientDescent, NeRV
from prismap.embeddings._nerv import ANNEALING_ITER, ANNEALING_STAGES, stages, student_cost
from prismap.exceptions import InputError, PrismapWarning
from prismap.metrics import FisherMetric
from prismap.metrics._base import NamedMetric

KERNELS = ["gaussian", "student"]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:150], y[:150]


@pytest.fixture(scope="module")
def roll():
    return make_swiss_roll(150, random_state=0)[0]


@pytest.mark.filterwarnings("ignore:perplexity=:prismap.exceptions.PrismapWarning")
@parametrize_with_checks([NeRV(kernel=kernel, max_iter=3) for kernel in KERNELS])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("init", ["classical", "random"])
def test_neighbours_are_kept_from_every_start(digits, kernel, init):
    X, y = digits
    model = NeRV(kernel=kernel, init=init, max_iter=150, random_state=0).fit(X)
    D = pairwise_distances(model.embedding_)
    np.fill_diagonal(D, np.inf)
    assert np.mean(y[D.argmin(axis=1)] != y) < 0.08
    assert trustworthiness(X, model.embedding_, n_neighbors=10) > 0.97
    assert model.n_iter_ <= ANNEALING_STAGES * ANNEALING_ITER + 150


def retrieval(X, Y, k=20):
    """(mean precision, mean recall) of the smooth neighbourhoods, as the two divergences of eq. 4.3."""
    P, Q = (calibrate(squared_distances(Z), k)[0] + 1e-12 for Z in (X, Y))
    return float((Q * np.log(Q / P)).sum()), float((P * np.log(P / Q)).sum())


def test_gamma_trades_precision_for_recall(roll):
    """On a rolled sheet gamma = 1 keeps neighbours by gluing sheets together, gamma = 0.1 tears it instead."""
    precise = NeRV(gamma=0.1, random_state=0).fit_transform(roll)
    complete = NeRV(gamma=1.0, random_state=0).fit_transform(roll)
    assert trustworthiness(roll, precise, n_neighbors=10) > trustworthiness(roll, complete, n_neighbors=10)
    assert trustworthiness(complete, roll, n_neighbors=10) > trustworthiness(precise, roll, n_neighbors=10)
    assert retrieval(roll, precise)[0] < retrieval(roll, complete)[0]


@pytest.mark.parametrize("gamma", [0.2, 1.0])
def test_planar_rows_are_recovered(gamma, monkeypatch):
    """In the plane p = q is within reach: the cost vanishes and distances are those of the data."""
    monkeypatch.setattr("prismap.embeddings._nerv.minimize", partial(minimize, tol=1e-13))
    X = np.random.default_rng(0).normal(size=(50, 2))
    model = NeRV(gamma=gamma, perplexity=12, max_iter=2000, random_state=0).fit(X)
    assert model.objective_ < 1e-5
    D, E = pairwise_distances(X), pairwise_distances(model.embedding_)
    near = np.median(D) > D
    np.testing.assert_allclose(E[near], D[near], atol=0.01)


def test_gaussian_objective_is_equation_4_3(digits):
    X = digits[0][:30]
    model = NeRV(gamma=0.3, perplexity=6, max_iter=20, random_state=0).fit(X)
    P, sigma = slow.row_affinities(pairwise_distances(X), 6)
    assert model.objective_ == pytest.approx(slow.nerv_cost(model.embedding_, P, sigma, 0.3), rel=1e-4)


def test_student_objective_is_without_the_pull(digits):
    X = digits[0][:30]
    model = NeRV(gamma=0.3, kernel="student", perplexity=6, max_iter=20, random_state=0).fit(X)
    P = slow.row_affinities(pairwise_distances(X), 6)[0]
    floored = np.maximum((P + P.T) / 60, SMALLEST_AFFINITY)
    assert model.objective_ == pytest.approx(slow.tnerv_cost(model.embedding_, floored, 0.3), rel=1e-4)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("smallest", [1e-3, 1e-6])
def test_smallest_affinity_is_the_floor_of_log_p(digits, kernel, smallest):
    """Eq. 4.3 with p raised to the floor; with precision alone, where p has no other part in the cost."""
    X = digits[0][:30]
    model = NeRV(gamma=0.0, kernel=kernel, smallest_affinity=smallest, perplexity=6, max_iter=20, random_state=0).fit(X)
    P, sigma = slow.row_affinities(pairwise_distances(X), 6)
    if kernel == "gaussian":
        expected = slow.nerv_cost(model.embedding_, np.maximum(P, smallest), sigma, 0.0)
    else:
        expected = slow.tnerv_cost(model.embedding_, np.maximum((P + P.T) / 60, smallest), 0.0)
    assert model.objective_ == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("make_cost", [gaussian_cost, student_cost])
def test_smallest_affinity_bounds_the_price_of_false_neighbours(digits, make_cost):
    """KL(q || p) is at most log(1 / floor) per distribution, falls with the floor, and recall does not feel it."""
    D2 = squared_distances(digits[0][:40])
    Y = 10 * np.random.default_rng(0).normal(size=(40, 2))
    floors = (1e-12, 1e-6, 1e-3)
    prices = [make_cost(D2, 5.0, gamma=0.0, smallest=floor, pull=0.0)(Y)[0] for floor in floors]
    assert prices[0] > prices[1] > prices[2]
    n_distributions = 40 if make_cost is gaussian_cost else 1
    assert all(price <= n_distributions * -np.log(floor) for price, floor in zip(prices, floors, strict=True))
    pulls = [make_cost(D2, 5.0, gamma=1.0, smallest=floor)(Y)[1] for floor in floors]
    np.testing.assert_allclose(pulls[2], pulls[0], atol=1e-12 * np.abs(pulls[0]).max())


def test_tnerv_for_recall_alone_is_tsne(digits):
    """With gamma = 1 both minimise one divergence: they reach values alike, at the same perplexity."""
    X = digits[0]
    ours = NeRV(gamma=1.0, kernel="student", random_state=0).fit(X)
    peer = TSNE(perplexity=10, descent=GradientDescent(tol=0), random_state=0).fit(X)
    assert ours.objective_ == pytest.approx(peer.kl_divergence_, rel=0.1)


@pytest.mark.parametrize("make_cost", [gaussian_cost, student_cost])
def test_cost_of_the_class_has_its_gradient(digits, make_cost):
    cost = make_cost(squared_distances(digits[0][:15]), 4.0, gamma=0.4, smallest=1e-3, pull=0.5)
    Y = 10 * np.random.default_rng(0).normal(size=(15, 2))
    expected = slow.numeric_gradient(lambda Y: cost(Y)[0], Y, 1e-5)
    np.testing.assert_allclose(cost(Y)[1], expected, atol=1e-6 * np.abs(expected).max())


def test_annealing_goes_from_half_of_the_rows_to_the_perplexity():
    path = stages(200, 10.0)
    assert path[0] == 100
    assert path[-1] == 10.0
    assert len(path) == ANNEALING_STAGES + 1
    assert (np.diff(path) < 0).all()
    assert stages(6, 3.0) == [3.0]


def test_annealing_finds_better_maps(roll):
    """Without it, from a random start, the sheet folds over itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("prismap.embeddings._nerv.stages", lambda n_rows, perplexity: [perplexity])
        direct = [NeRV(init="random", random_state=s).fit(roll).objective_ for s in (0, 1)]
    annealed = [NeRV(init="random", random_state=s).fit(roll).objective_ for s in (0, 1)]
    assert max(annealed) < min(direct)


@pytest.mark.parametrize("kernel", KERNELS)
def test_precomputed_and_metric_objects_equal_the_named_metric(digits, kernel):
    X = digits[0][:60]
    options = {"kernel": kernel, "max_iter": 5, "random_state": 0}
    named = NeRV(metric="manhattan", **options).fit_transform(X)
    given = NeRV(metric="precomputed", **options).fit_transform(pairwise_distances(X, metric="manhattan"))
    np.testing.assert_array_equal(NeRV(metric=NamedMetric("manhattan"), **options).fit_transform(X), named)
    np.testing.assert_allclose(given, named, atol=1e-4 * np.abs(named).max())


def test_a_metric_with_a_target_makes_the_fisher_form():
    """The same as its distances passed ready-made; the labels count."""
    X, y = make_blobs(60, 3, centers=3, cluster_std=3.0, random_state=0)
    options = {"max_iter": 3, "random_state": 0}
    model = NeRV(metric=FisherMetric(perplexity=8, random_state=0), **options).fit(X, y)
    given = NeRV(metric="precomputed", **options).fit_transform(np.array(model.metric_.pairwise(), dtype=float))
    np.testing.assert_allclose(model.embedding_, given, atol=1e-4 * np.abs(given).max())
    other = NeRV(metric=FisherMetric(perplexity=8, random_state=0), **options).fit_transform(X, np.roll(y, 7))
    assert np.abs(other - given).max() > 0.1 * np.abs(given).max()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("noise", [0.0, 1e-9])
def test_duplicates_keep_their_classes_apart(kernel, noise):
    """Distances that all but vanish inside a class, as the Fisher metric gives them."""
    y = np.arange(80) % 4
    D = np.where(y[:, None] == y, noise * np.random.default_rng(0).random((80, 80)), 3.0)
    D = np.triu(D, 1) + np.triu(D, 1).T
    model = NeRV(kernel=kernel, perplexity=8, metric="precomputed", random_state=0).fit(D)
    Y = model.embedding_
    assert np.isfinite(model.objective_)
    centres = np.array([Y[y == c].mean(axis=0) for c in range(4)])
    spread = max(Y[y == c].std(axis=0).max() for c in range(4))
    assert pairwise_distances(centres)[np.triu_indices(4, 1)].min() > 5 * spread


def test_near_duplicates_do_not_crush_the_rest(digits):
    """A quarter of the rows all but equal: the others keep the room they have without them."""
    X = digits[0][:90]
    plain = NeRV(random_state=0).fit_transform(X)
    crowd = X[0] + 1e-7 * np.random.default_rng(0).normal(size=(30, X.shape[1]))
    Y = NeRV(random_state=0).fit_transform(np.vstack([X, crowd]))
    assert Y[1:90].std() > 0.8 * plain[1:].std()
    assert Y[90:].std(axis=0).max() < 0.1 * plain.std()


def test_bandwidths_have_a_floor_that_both_sides_share(digits):
    """p and q of a row keep one bandwidth (eq. 4.1 and 4.2), also where it was raised."""
    X = digits[0][:30].copy()
    X[20:] = X[0] + 1e-7 * np.random.default_rng(0).normal(size=(10, X.shape[1]))
    D2 = squared_distances(X)
    cost = gaussian_cost(D2, 5.0, gamma=0.5)
    P, sigma = cost.keywords["P"], cost.keywords["sigma"]
    assert sigma[25] == pytest.approx(0.01 * np.sqrt(D2[np.isfinite(D2)].mean()))
    assert np.mean(sigma[1:20] > sigma[25]) > 0.5
    expected = np.exp((D2.min(axis=1, keepdims=True) - D2) / (2 * sigma[:, None] ** 2))
    np.testing.assert_allclose(P, expected / expected.sum(axis=1, keepdims=True), atol=1e-9)


@pytest.mark.parametrize("gamma", [0.1, 1.0])
def test_tnerv_does_not_throw_rows_out_of_the_map(digits, gamma):
    """Clusters without common neighbours lower the cost by going apart for ever; the pull ends that."""
    X = digits[0]
    X = np.vstack([X[:75], X[75:] + 200])
    Y = NeRV(gamma=gamma, kernel="student", random_state=0).fit_transform(X)
    assert np.abs(Y).max() < 10 * np.sqrt(len(X))


def squared_distances(X):
    D2 = pairwise_distances(X) ** 2
    np.fill_diagonal(D2, np.inf)
    return D2


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_rows", [2, 3, 5])
def test_tiny_data(kernel, n_rows):
    with pytest.warns(PrismapWarning, match="perplexity=10 is too high"):
        model = NeRV(kernel=kernel, random_state=0).fit(np.random.default_rng(0).normal(size=(n_rows, 3)))
    assert model.embedding_.shape == (n_rows, 2)
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.objective_)


@pytest.mark.parametrize("kernel", KERNELS)
def test_all_rows_equal(kernel):
    assert np.isfinite(NeRV(kernel=kernel, random_state=0).fit_transform(np.ones((40, 3)))).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_same_seed_same_bits_and_callback_stops(digits, kernel):
    X = digits[0][:60]
    seen = []

    def stop(iteration, error, embedding):
        seen.append((iteration, embedding))
        return iteration == 45

    first = NeRV(kernel=kernel, init="random", callback=stop, random_state=3).fit(X)
    assert [iteration for iteration, _ in seen] == list(range(1, 46))
    assert (first.stop_reason_, first.n_iter_) == ("callback", 45)
    np.testing.assert_array_equal(first.embedding_, seen[-1][1])
    again = NeRV(kernel=kernel, init="random", callback=stop, random_state=3).fit(X)
    np.testing.assert_array_equal(first.embedding_, again.embedding_)


def test_bad_input(digits, monkeypatch):
    X = digits[0]
    with pytest.raises(InputError, match="n_components=151 is more than the 150 rows"):
        NeRV(151).fit(X)
    with pytest.raises(ValueError, match="'gamma' parameter of NeRV must be a float in the range"):
        NeRV(gamma=1.5).fit(X)
    with pytest.raises(ValueError, match="'smallest_affinity' parameter of NeRV must be a float in the range"):
        NeRV(smallest_affinity=0).fit(X)
    with pytest.raises(InputError, match="init must have one position per row"):
        NeRV(init=np.zeros((5, 2))).fit(X)
    monkeypatch.setattr("prismap._util.blocks.available_bytes", lambda: 1000)
    with pytest.raises(InputError, match="NeRV of 150 rows, which looks at all pairs, would need .* GiB"):
        NeRV().fit(X)
