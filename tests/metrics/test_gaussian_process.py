"""Real-valued targets: the Gaussian process against the thesis' formulas and scikit-learn, and the laws it keeps."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from prismap._util.threads import limit_threads
from prismap.exceptions import InputError
from prismap.metrics import FisherMetric, SimilarityMetric
from prismap.metrics.posteriors import _evidence as evidence
from prismap.metrics.posteriors import _gaussian_process as gaussian_process
from prismap.metrics.posteriors._gaussian_process import GaussianProcess, fisher_rao
from prismap.target import RealTarget, make_target
from reference import gaussian_process_reference as slow

PAIRS = [(0, 5), (3, 17), (24, 2), (11, 12), (8, 20)]


@pytest.fixture(scope="module")
def toy():
    """25 rows in 3 dimensions, the last of which does not matter, and a curved target with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25, 3))
    return X, 3.0 + X[:, 0] ** 2 + np.sin(X[:, 1]) + 0.3 * rng.normal(size=25)


def metric_of(toy, **options):
    return FisherMetric(**{"perplexity": 4, "random_state": 0, "n_segments": 2, **options}).fit(*toy)


def hyper_of(metric):
    return tuple(metric.state()["process"][0])


def squared(A, B):
    return ((A[:, None] - B[None]) ** 2).sum(axis=2)


def sklearn_process(signal, beta, noise, optimizer=None):
    kernel = ConstantKernel(signal, (1e-6, 1e6)) * RBF(1 / np.sqrt(2 * beta), (1e-3, 1e3))
    return GaussianProcessRegressor(kernel + WhiteKernel(noise, (1e-8, 1e4)), alpha=0.0, optimizer=optimizer)


# --- the formulas -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cross_fit", [True, False])
@pytest.mark.parametrize(
    "options",
    [
        {"n_segments": 1},
        {},
        {"n_segments": 3, "supervision": 0.6},
        {"path": "tangent", "n_segments": 4},
        {"path": "tangent", "n_segments": 3, "supervision": 0.3},
        {"path": "tangent-left", "n_segments": 2},
        {"posterior": GaussianProcess(n_support=15)},
    ],
)
def test_lengths_equal_the_slow_twin(toy, options, cross_fit):
    X, y = toy
    metric = metric_of(toy, cross_fit=cross_fit, **options)
    D, hyper, T = metric.pairwise(), hyper_of(metric), metric.n_segments_
    more = {"w": metric.supervision, "sigma": metric.bandwidth_}
    for i, j in PAIRS:
        kept = slow.seen_support(metric, i, j)
        if metric.path == "chord":
            expected = slow.chord_length(X[i], X[j], X[kept], y[kept], hyper, T, **more)
        else:
            expected = slow.tangent_length(
                X[i], X[j], X[kept], y[kept], hyper, T, symmetric=metric.path == "tangent", **more
            )  # fmt: skip
        assert D[i, j] == pytest.approx(expected, rel=1e-8)


def test_speeds_equal_finite_differences_of_the_log_density_and_the_thesis_tensor(toy):
    X, y = toy
    metric = metric_of(toy, path="tangent", n_segments=1)
    D, J = metric.pairwise(), metric.tensor()
    for i, j in PAIRS:
        kept, middle = slow.seen_support(metric, i, j), (X[i] + X[j]) / 2
        expected = slow.log_density_speed(middle, X[j] - X[i], X[kept], y[kept], hyper_of(metric), step=1e-3)
        assert D[i, j] == pytest.approx(expected, rel=1e-8)
        own = slow.seen_support(metric, i, i)
        np.testing.assert_allclose(J[i], slow.tensor(X[i], X[own], y[own], *hyper_of(metric)), rtol=1e-8, atol=1e-10)
    new = X[:3] + 0.2
    np.testing.assert_allclose(
        metric.tensor(new), [slow.tensor(x, X, y, *hyper_of(metric)) for x in new], rtol=1e-8, atol=1e-10
    )


def test_moments_equal_those_of_scikit_learn(toy):
    X, y = toy
    metric = metric_of(toy)
    new = np.vstack([X + 0.1, 4 * X])
    theirs = sklearn_process(*hyper_of(metric)).fit(X, y - y.mean())
    mean, deviation = theirs.predict(new, return_std=True)
    m, v = metric.target_moments(new)
    np.testing.assert_allclose(m[:, 0], mean + y.mean(), atol=1e-8)
    np.testing.assert_allclose(v[:, 0], deviation**2, atol=1e-8)
    m, v = metric.target_moments()
    for fold in range(3):
        kept, out = metric.folds_ != fold, metric.folds_ == fold
        mean = sklearn_process(*hyper_of(metric)).fit(X[kept], y[kept] - y[kept].mean()).predict(X[out])
        np.testing.assert_allclose(m[out, 0], mean + y[kept].mean(), atol=1e-8)


def test_marginal_likelihood_is_at_least_that_of_scikit_learn(toy):
    X, y = toy
    z = y - y.mean()
    signal, beta, noise = evidence.plain_kernel(squared(X, X), y)
    ours = sklearn_process(signal, beta, noise).fit(X, z).log_marginal_likelihood_value_
    theirs = sklearn_process(1.0, 0.5, 0.1, "fmin_l_bfgs_b").fit(X, z)
    assert ours >= theirs.log_marginal_likelihood_value_ - 1e-4
    found = -evidence.noise_of_width(squared(X, X), z, beta)[0]
    assert found == pytest.approx(ours, abs=1e-8)
    assert 0.1 < np.sqrt(noise) < 0.8


def test_fewer_rows_of_a_smooth_kernel_are_enough():
    """Where pivots are left out, mean and variance are those of all rows all the same."""
    rng = np.random.default_rng(8)
    X = rng.uniform(size=(120, 2))
    K = 2.0 * np.exp(-3.0 * squared(X, X))
    y = np.sin(5 * X[:, 0]) + rng.normal(size=120)
    rows, T, w, mean = gaussian_process.solve(K, y, 2.0, 0.5)
    assert len(rows) < 100
    np.testing.assert_array_equal(T, np.tril(T))
    inverse = np.linalg.inv(K + 0.5 * np.eye(120))
    # Among the rows to rounding; far outside to the root of what was left out, which is a double's rounding.
    for low, high, tolerance in ((0, 1, 1e-9), (-0.5, 1.5, 1e-6)):
        k = 2.0 * np.exp(-3.0 * squared(rng.uniform(low, high, size=(40, 2)), X))
        explained = ((k[:, rows] @ T.T) ** 2).sum(axis=1)
        np.testing.assert_allclose(explained, np.einsum("ij,jk,ik->i", k, inverse, k), rtol=0, atol=tolerance)
        np.testing.assert_allclose(k[:, rows] @ w, k @ inverse @ (y - mean), rtol=0, atol=tolerance)


def test_fisher_rao_distance():
    rng = np.random.default_rng(1)
    m1, m2, v1, v2 = rng.normal(size=6), rng.normal(size=6), *rng.uniform(0.1, 5, size=(2, 6))
    np.testing.assert_allclose(fisher_rao(m1, v1, m2, v2), slow.fisher_rao(m1, v1, m2, v2), rtol=1e-12)
    # Nearly equal Gaussians, where the arccosh form has no digits left.
    assert fisher_rao(0.0, 1.0, 1e-10, 1.0) == pytest.approx(1e-10, rel=1e-9)


def test_chords_and_tangents_meet_in_the_limit(toy):
    chord = metric_of(toy, n_segments=50).pairwise()
    tangent = metric_of(toy, path="tangent", n_segments=50).pairwise()
    np.testing.assert_allclose(chord, tangent, rtol=0.05, atol=1e-3)
    assert (metric_of(toy, n_segments=1).pairwise() <= chord + 1e-9).all()


# --- three kinds of data, new rows ------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"supervision": 0.4}, {"path": "tangent", "n_segments": 3}, {"path": "graph"}])
def test_three_kinds_of_data_agree(toy, options):
    X, y = toy
    vectors = metric_of(toy, **options)
    similarity = metric_of((X @ X.T, y), data=SimilarityMetric("none"), **options)
    clipped = metric_of((X @ X.T, y), data="similarity", **options)
    dissimilarity = metric_of((np.sqrt(squared(X, X)), y), data="dissimilarity", **options)
    for other in (similarity, clipped, dissimilarity):
        np.testing.assert_allclose(other.pairwise(), vectors.pairwise(), atol=1e-7)
    new = X[:6] + 0.1
    expected = vectors.pairwise(new)
    np.testing.assert_allclose(dissimilarity.pairwise(np.sqrt(squared(new, X))), expected, atol=1e-7)
    np.testing.assert_allclose(clipped.pairwise(new @ X.T), expected, atol=1e-7)
    if options.get("path") != "graph":
        own = (new**2).sum(axis=1)
        np.testing.assert_allclose(similarity.pairwise(new @ X.T, self_similarity=own), expected, atol=1e-7)
        np.testing.assert_allclose(vectors.pairwise(None, new), expected.T, atol=1e-9)
        with pytest.raises(InputError, match="pass self_similarity="):
            similarity.pairwise(new @ X.T)
        with pytest.raises(InputError, match="two new rows"):
            metric_of((X @ X.T, y), data="similarity").pairwise(new @ X.T, new @ X.T)


def test_new_rows_equal_the_slow_twin(toy):
    X, y = toy
    metric = metric_of(toy)
    new = X[:4] + 0.3
    D, among = metric.pairwise(new), metric.pairwise(new, new)
    for i in range(4):
        kept = metric.support_[metric.folds_[metric.support_] != metric.folds_[9]]
        expected = slow.chord_length(new[i], X[9], X[kept], y[kept], hyper_of(metric), 2)
        assert D[i, 9] == pytest.approx(expected, rel=1e-8)
        assert among[i, 2] == pytest.approx(slow.chord_length(new[i], new[2], X, y, hyper_of(metric), 2), abs=1e-8)


def test_data_that_are_not_euclidean_stay_finite_and_positive(toy):
    _, y = toy
    rng = np.random.default_rng(2)
    D = rng.uniform(0.1, 5, size=(25, 25)) ** 2
    D = np.triu(D, 1) + np.triu(D, 1).T
    for path in ("chord", "tangent"):
        found = metric_of((D, y), data="dissimilarity", path=path).pairwise()
        assert np.isfinite(found).all()
        assert (found >= 0).all()
        metric = metric_of((D, y), data="dissimilarity", path=path, posterior=GaussianProcess(3.0, noise=1e-3))
        assert np.isfinite(metric.pairwise()).all()
        assert (metric.target_moments()[1] >= 1e-3).all()


def test_targets_are_still_predicted_where_distances_are_not_euclidean():
    """A target of the positions behind a disturbed distance matrix, whose kernel is far from positive definite."""
    rng = np.random.default_rng(7)
    X, E = rng.normal(size=(80, 2)), rng.normal(scale=0.3, size=(80, 80))
    D2 = np.abs(squared(X, X) + np.triu(E, 1) + np.triu(E, 1).T)
    np.fill_diagonal(D2, 0)
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=80)
    metric = FisherMetric(data="dissimilarity", perplexity=10, random_state=0).fit(np.sqrt(D2), y)
    signal, beta, _ = hyper_of(metric)
    assert np.linalg.eigvalsh(signal * np.exp(-beta * D2))[0] < -0.01 * signal
    error = np.sqrt(np.mean((metric.target_moments()[0][:, 0] - y) ** 2)) / y.std()
    assert error < 0.5
    D = metric.pairwise()
    assert np.corrcoef(D.ravel(), np.abs(y[:, None] - y).ravel())[0, 1] > 0.7


def test_far_pairs_equal_the_slow_twin(toy):
    """Beyond what products of exponentials can hold: the middle of a long segment may be near the support."""
    X, y = toy
    X = np.vstack([X, [[60.0, 0, 0], [-60.0, 0.1, 0]]])
    y = np.append(y, [1.0, 2.0])
    given = {"posterior": GaussianProcess(0.5), "cross_fit": False, "n_segments": 4}
    chord, tangent = (metric_of((X, y), path=path, **given) for path in ("chord", "tangent"))
    for metric, length in ((chord, slow.chord_length), (tangent, slow.tangent_length)):
        more = {} if metric is chord else {"symmetric": True}
        for i, j in ((25, 26), (25, 3), (26, 11)):
            expected = length(X[i], X[j], X, y, hyper_of(metric), 4, **more)
            assert metric.pairwise()[i, j] == pytest.approx(expected, rel=1e-8, abs=1e-12)
    assert chord.pairwise()[25, 26] > 1


# --- laws -------------------------------------------------------------------------------------------------------------


def test_symmetric_not_negative_and_zero_on_the_diagonal(toy):
    for options in ({}, {"path": "tangent", "n_segments": 3}, {"path": "graph"}):
        D = metric_of(toy, **options).pairwise()
        np.testing.assert_allclose(D, D.T, rtol=1e-14)  # sums along a graph may be taken from either end
        np.testing.assert_array_equal(np.diag(D), 0)
        assert (D >= 0).all()
        assert D.max() > 0.1


def test_row_order_does_not_matter(toy):
    X, y = toy
    order = np.random.default_rng(3).permutation(25)
    one = metric_of(toy, cross_fit=False).pairwise()
    other = metric_of((X[order], y[order]), cross_fit=False).pairwise()
    np.testing.assert_allclose(other, one[np.ix_(order, order)], rtol=1e-5, atol=1e-8)
    metric = metric_of(toy)
    D, (distances, indices) = metric.pairwise(), metric.kneighbors(n_neighbors=5)
    np.testing.assert_allclose(distances, np.take_along_axis(D, indices, axis=1), atol=1e-10)


def test_scale_and_offset_of_the_target_do_not_matter(toy):
    X, y = toy
    np.testing.assert_allclose(metric_of((X, 1000 * y - 7)).pairwise(), metric_of(toy).pairwise(), rtol=1e-4, atol=1e-6)


def test_rows_of_left_out_folds_do_not_matter(toy):
    """A pair's distance does not see the targets of its own folds, and does see others."""
    X, y = toy
    given = GaussianProcess(0.3, signal=2.0, noise=0.1)
    metric = metric_of(toy, posterior=given)
    i, j = 4, 15
    folds = metric.folds_
    assert folds[i] != folds[j]
    own, other = np.isin(folds, [folds[i], folds[j]]), y.copy()
    other[own] += 5.0
    state = metric.state()
    options = {"perplexity": 4, "random_state": 0, "posterior": given}
    changed = FisherMetric(**options).restore(X, other, state).pairwise()
    assert changed[i, j] == pytest.approx(metric.pairwise()[i, j], rel=1e-9)
    assert abs(changed - metric.pairwise()).max() > 0.01
    other = y.copy()
    other[np.flatnonzero(~own)[0]] += 5.0
    assert abs(FisherMetric(**options).restore(X, other, state).pairwise()[i, j] - metric.pairwise()[i, j]) > 1e-4


def test_irrelevant_directions_cost_little(toy):
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, size=(150, 3))
    metric = FisherMetric(random_state=0).fit(X, X[:, 0] + X[:, 1] ** 2)
    F = metric.tensor_factor()
    weight = (F**2).sum(axis=(0, 1))
    assert F.shape == (150, 2, 3)
    assert weight[2] < 0.05 * min(weight[:2])


def test_targets_that_are_noise_move_nothing():
    """Marginal likelihood sees that nothing depends on the rows, and the distances are next to nothing."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 2))
    signal = FisherMetric(random_state=0).fit(X, X[:, 0] + 0.3 * rng.normal(size=200)).pairwise()
    noise = FisherMetric(random_state=0).fit(X, rng.normal(size=200)).pairwise()
    assert np.median(noise) < 0.3 * np.median(signal)


def test_unlabelled_rows_are_mapped_and_never_support(toy):
    X, y = toy
    y = y.copy()
    y[[3, 9]] = np.nan
    metric = metric_of((X, y))
    assert metric.target_ == "real"
    assert not np.isin([3, 9], metric.support_).any()
    assert (metric.folds_[[3, 9]] == -1).all()
    D = metric.pairwise()
    assert np.isfinite(D).all()
    kept = slow.seen_support(metric, 3, 7)
    assert D[3, 7] == pytest.approx(slow.chord_length(X[3], X[7], X[kept], y[kept], hyper_of(metric), 2), rel=1e-8)


def test_several_targets_add_their_squared_lengths(toy):
    X, y = toy
    Y = np.column_stack([y, np.cos(X[:, 2]) + 0.1 * y])
    given = GaussianProcess(0.3, signal=2.0, noise=0.1)
    both = metric_of((X, Y), posterior=given, n_segments=1, cross_fit=False)
    one, two = (metric_of((X, c), posterior=given, n_segments=1, cross_fit=False).pairwise() for c in Y.T)
    np.testing.assert_allclose(both.pairwise(), np.hypot(one, two), atol=1e-10)
    assert both.target_moments()[0].shape == (25, 2)
    assert both.tensor_factor().shape == (25, 4, 3)
    Y[2, 1] = np.nan
    assert 2 not in metric_of((X, Y)).support_
    assert len(metric_of((X, Y)).state()["process"]) == 2


def test_float32_is_close_to_float64(toy):
    X, y = toy
    single = metric_of((X.astype(np.float32), y)).pairwise()
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, metric_of(toy).pairwise(), atol=2e-3)


def test_state_restores_the_metric(toy):
    X, y = toy
    options = {"perplexity": 4, "random_state": 0, "supervision": 0.7, "target": "real"}
    metric = FisherMetric(**options).fit(X, y)
    again = FisherMetric(**options).restore(X, y, metric.state())
    np.testing.assert_array_equal(again.pairwise(), metric.pairwise())
    np.testing.assert_array_equal(again.pairwise(X[:4] + 0.1), metric.pairwise(X[:4] + 0.1))
    assert (again.target_, again.describe()) == ("real", metric.describe())


def test_support_is_capped_and_spread_over_the_target(monkeypatch):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(300, 2))
    monkeypatch.setattr(gaussian_process, "SUPPORT", (30, 60))
    monkeypatch.setattr(evidence, "EVIDENCE_ROWS", 40)
    metric = FisherMetric(perplexity=10, random_state=0).fit(X, X[:, 0])
    assert len(metric.support_) == 60
    codes = RealTarget(X[:, 0]).groups
    np.testing.assert_array_equal(np.bincount(codes), 15)
    np.testing.assert_array_equal(np.bincount(codes[metric.support_]), 3)
    assert np.bincount(metric.folds_[metric.support_]).tolist() == [6] * 10


def test_the_result_does_not_depend_on_tiles_and_threads(toy, monkeypatch):
    with limit_threads(1):
        D = metric_of(toy).pairwise()
    monkeypatch.setattr(gaussian_process, "KERNEL_BYTES", 2000)
    np.testing.assert_allclose(metric_of(toy).pairwise(), D, atol=1e-12)


# --- bad input --------------------------------------------------------------------------------------------------------


def test_bad_input_is_refused(toy):
    X, y = toy
    for target, message in (
        (np.full(25, 1.5), "one constant value"),
        (np.where(y > 3, 0.5, 1.5), "only two distinct values"),
        (np.append(y[:-1], np.inf), "infinite"),
        (np.full(25, np.nan), "no value"),
    ):
        with pytest.raises(InputError, match=message):
            metric_of((X, target), target="real")
    with pytest.raises(InputError, match="numbers in y"):
        metric_of((X, ["a"] * 25), target="real")
    with pytest.raises(InputError, match="is for classes and y is a real target"):
        metric_of(toy, posterior="parzen")
    with pytest.raises(InputError, match="is for a real target and y holds classes"):
        metric_of((X, np.arange(25) % 3), posterior="gp")
    with pytest.raises(InputError, match="must be positive numbers"):
        metric_of(toy, posterior=GaussianProcess(0.1, noise=0.0))
    with pytest.raises(InputError, match="target_moments"):
        metric_of(toy).class_probabilities()
    with pytest.raises(InputError, match="class_probabilities"):
        metric_of((X, np.arange(25) % 3)).target_moments()


def test_real_targets_are_columns():
    assert make_target([1.0, 2.5, 4.0], 3, "real").matrix.shape == (3, 1)
    target = make_target([[1.0, 2.0], [2.5, np.nan], [4.0, 1.0], [5.0, 7.5]], 4, "real")
    assert np.isnan(target.values).all(axis=1).tolist() == [False, True, False, False]
    assert target.labelled.tolist() == [True, False, True, True]
    assert [column.values.shape for column in target.columns] == [(4,), (4,)]
    with pytest.raises(InputError, match="y has 4 entries and X has 5 rows"):
        make_target([[1, 2], [2, 3], [4, 1], [5, 7]], 5, "real")
