"""A Gaussian process at the rows: against the plain formulas, honest, robust, and the same in any company."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal, norm, spearmanr

from prismap import PrisMap
from prismap.metrics import FisherMetric, RowProcess
from prismap.metrics.posteriors import _evidence as evidence
from prismap.metrics.posteriors import _row_process as row_process
from prismap.metrics.posteriors._evidence import (
    REACH,
    Kernel,
    Warp,
    candidate_warps,
    cost_and_slope,
    find_kernel,
    inner_products,
    spread_of,
)
from prismap.metrics.posteriors._gaussian_process import fisher_rao
from prismap.metrics.posteriors._row_process import fit_rows
from reference import gaussian_process_reference as slow

KERNELS = {
    "smooth": (np.array([0.2, 0.2, 0.2]), 2.0, 0.0, 0.1),
    "linear part": (np.array([0.1, 0.1, 0.1]), 0.5, 3.0, 0.2),
    "a scale per column": (np.array([0.5, 0.05, 1e-4]), 1.0, 0.5, 0.05),
}


@pytest.fixture(scope="module")
def rows():
    """40 rows of which the first two columns matter, a noisy number, and 10 new rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    return X[:40], np.sin(X[:40, 0]) + X[:40, 1] + 0.1 * rng.normal(size=40), X[40:]


def squared(A, B, scales):
    return np.einsum("ijd,d->ij", (A[:, None] - B[None]) ** 2, scales)


# --- formulas ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KERNELS)
def test_moments_are_those_of_the_plain_formulas(rows, name):
    """With every row a pivot nothing is approximated: new rows, and the rows of each fold without it."""
    X, g, new = rows
    scales, *numbers = KERNELS[name]
    folds = np.arange(40) % 4
    Q = squared(X, X, scales)
    made, m, v = fit_rows(Kernel(scales, *numbers), Warp(), Q, Q, g, folds)
    for found, wanted in zip(
        made.moments(squared(new, X, scales)), slow.moments_of_two_parts(new, X, g, scales, *numbers, X), strict=True
    ):
        # directions of which next to nothing is known are left out: the variance is a trace larger
        assert np.allclose(found, wanted, rtol=1e-3)
    for fold in range(4):
        out, kept = folds == fold, folds != fold
        wanted = slow.moments_of_two_parts(X[out], X[kept], g[kept], scales, *numbers, X)
        assert np.allclose(m[out], wanted[0], rtol=1e-5, atol=1e-6)
        assert np.allclose(v[out], wanted[1], rtol=1e-5)


def test_few_pivots_say_nearly_the_same_and_are_never_surer(rows, monkeypatch):
    X, g, new = rows
    kernel = Kernel(np.full(3, 0.02), 2.0, 0.0, 0.1)
    Q = squared(X, X, kernel.scales)
    pivots = row_process.choose_pivots(kernel.of_profiles(Q, Q.mean(axis=1)), kernel.noise)
    assert 3 < len(pivots) < 40
    all_rows, *_ = fit_rows(kernel, Warp(), Q, Q, g, None)
    few, *_ = fit_rows(kernel, Warp(), Q[np.ix_(pivots, pivots)], Q[:, pivots], g, None)
    m, v = all_rows.moments(squared(new, X, kernel.scales))
    m_few, v_few = few.moments(squared(new, X[pivots], kernel.scales))
    assert np.allclose(m, m_few, atol=0.02)
    assert np.allclose(v, v_few, rtol=0.02)
    monkeypatch.setattr(row_process, "MOST_PIVOTS", 2)
    assert len(row_process.choose_pivots(kernel.of_profiles(Q, Q.mean(axis=1)), kernel.noise)) == 2


def test_inner_products_need_no_coordinates(rows):
    X, _, new = rows
    c = X.mean(axis=0)
    means = squared(X, X, np.ones(3)).mean(axis=1)
    assert np.allclose(
        inner_products(squared(new, X, np.ones(3)), means), (new - c) @ (X - c).T + np.square(X - c).sum(axis=1).mean()
    )


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("by_column", [False, True])
def test_evidence_is_the_gaussian_density_and_its_slope(rows, linear, by_column):
    X, g, _ = rows
    g = g - g.mean()
    Q, columns = squared(X, X, np.ones(3)), X if by_column else None
    step = np.log(np.r_[[0.3, 0.2, 0.1] if by_column else [0.2], 1.5, 0.1, *([0.7] if linear else [])])

    def cost(t):
        return cost_and_slope(t, Q, columns, g, linear=linear)[0]

    kernel = evidence.unpack(step, 3 if by_column else 1, linear=linear)
    scales = np.broadcast_to(kernel.scales, 3)
    K = slow.kernel_of_two_parts(X, X, scales, kernel.signal, kernel.linear, X)
    density = multivariate_normal(np.zeros(40), K + kernel.noise * np.eye(40)).logpdf(g)
    assert np.isclose(cost(step), -density)
    found = cost_and_slope(step, Q, columns, g, linear=linear)[1]
    assert np.allclose(found, approx_fprime(step, cost, 1e-7), rtol=1e-3, atol=1e-3)


# --- kernels and warps by evidence ------------------------------------------------------------------------------------


def test_columns_that_do_not_matter_are_told_from_those_that_do():
    X = np.random.default_rng(1).normal(size=(120, 6))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2
    _, kernel = find_kernel(squared(X, X, np.ones(6)), y, X)
    assert len(kernel.scales) == 6
    assert min(kernel.scales[:2]) > 20 * max(kernel.scales[2:])


def test_a_line_in_one_column_needs_no_other_rows_than_its_pivots():
    """Centred on its pivots alone, a line was lost: one pivot has no distance to itself."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = 5 + X[:, 0] + 0.1 * rng.normal(size=80)
    metric = FisherMetric(posterior=RowProcess(), supervision=0.8, perplexity=8, random_state=0).fit(X, y)
    assert np.corrcoef(metric.target_moments()[0][:, 0], y)[0, 1] > 0.98  # out of fold
    new = rng.normal(size=(50, 3))
    assert np.allclose(metric.target_moments(new)[0][:, 0], 5 + new[:, 0], atol=0.2)


def test_a_line_is_found_as_a_line_and_noise_has_one_scale():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 5))
    _, kernel = find_kernel(squared(X, X, np.ones(5)), X @ np.array([1.0, 2, 0.5, 1, 1]), None)
    assert kernel.linear > 0
    _, kernel = find_kernel(squared(X, X, np.ones(5)), rng.normal(size=100), X)
    assert len(kernel.scales) == 1


@pytest.mark.parametrize(
    ("skewed", "logarithm", "sign"),
    [(lambda f: f, False, 1), (lambda f: np.exp(2 * f), True, 1), (lambda f: -np.exp(2 * f), True, -1)],
)
def test_a_skewed_target_is_straightened(skewed, logarithm, sign):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(120, 3))
    y = skewed(X[:, 0] + 0.2 * rng.normal(size=120))
    warp, _ = find_kernel(squared(X, X, np.ones(3)), y, X)
    assert warp.is_logarithm == logarithm
    assert warp.sign == sign
    assert (np.diff(warp(np.sort(y))) >= 0).all()


def test_counts_of_none_are_not_torn_from_the_others():
    y = np.array([0.0] * 50 + [1.0] * 30 + [2.0] * 20 + [40.0])
    assert all(warp.shift >= 1 / spread_of(y) for warp in candidate_warps(y) if warp.is_logarithm and warp.sign > 0)


def test_extreme_values_are_drawn_in_whatever_their_size():
    y = np.random.default_rng(0).normal(size=100)
    near, far = y.copy(), y.copy()
    near[:2], far[:2] = [50, -70], [1e9, -1e12]
    near, far = (candidate_warps(values)[0](values) for values in (near, far))
    assert np.allclose(near, far)
    assert np.ptp(near) <= 2 * REACH * spread_of(y) * 1.1
    assert np.array_equal(near[2:], y[2:])


@pytest.mark.parametrize("warp", [Warp(0.1, 1.0, -2.0, 3.0), Warp(0.5, -1.0, 1.0, 2.0)])
def test_slope_and_moments_of_a_logarithm(warp):
    y = warp.sign * (warp.least + np.array([0.5, 2.0, 7.0]))
    slope = (warp(y + 1e-6) - warp(y - 1e-6)) / 2e-6
    assert np.allclose(warp.log_slope(y), np.log(slope), atol=1e-6)
    # moments of y where g is Gaussian, by quadrature
    g = np.linspace(-1 - 8 * 0.4, -1 + 8 * 0.4, 20001)
    back = warp.sign * ((np.exp(warp.sign * g) - warp.shift) * warp.spread + warp.least)
    weight = norm(-1, 0.4).pdf(g) * (g[1] - g[0])
    mean, variance = warp.moments(np.array([-1.0]), np.array([0.16]))
    assert np.isclose(mean[0], (weight * back).sum(), rtol=1e-6)
    assert np.isclose(variance[0], (weight * (back - mean[0]) ** 2).sum(), rtol=1e-5)


# --- the posterior in the metric and the map --------------------------------------------------------------------------


def metric_of(X, y, **options):
    return FisherMetric(**{"supervision": 0.8, "perplexity": 8, "random_state": 0, **options}).fit(X, y)


def test_distances_are_fisher_and_raos(rows):
    X, y, new = rows
    metric = metric_of(X, y)
    assert isinstance(metric.posterior_, RowProcess)
    m, v = (part[:, 0] for part in np.moveaxis(metric.posterior_.rows.state, -1, 0))
    steps = squared(X, X, np.ones(3)) / metric.bandwidth_**2
    wanted = np.sqrt(0.8 * fisher_rao(m[:, None], v[:, None], m, v) ** 2 + 0.2 * steps)
    assert np.allclose(metric.pairwise(), wanted, atol=1e-6)
    anchors = metric.to_anchors(np.arange(40))
    own = metric.data_.to_anchors(np.arange(40)).see(new)
    # where rows are placed, a grid moves them by a trace
    assert np.allclose(anchors.see(new, own).distances, metric.pairwise(new), atol=5e-3)


def test_segments_are_looked_into_where_that_is_asked(rows):
    X, y, _ = rows
    for options in ({"supervision": 1.0}, {"n_segments": 3}, {"path": "tangent"}, {"posterior": "gp"}):
        assert not isinstance(metric_of(X, y, **options).posterior_, RowProcess)


@pytest.mark.parametrize("n_targets", [1, 2])
def test_permuted_targets_are_not_learnt(n_targets):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 4))
    Y = rng.permutation(np.column_stack([X[:, 0], np.exp(X[:, 1])]))[:, :n_targets]
    means, variances = metric_of(X, Y, target="real").target_moments()
    assert means.shape == variances.shape == (120, n_targets)
    assert max(spearmanr(means[:, t], Y[:, t])[0] for t in range(n_targets)) < 0.25


def test_four_extreme_rows_do_not_spoil_the_process():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    f = np.sin(X[:, 0]) + X[:, 1]
    y = f + 0.1 * rng.normal(size=150)
    y[:4] += [200, -300, 500, 100]
    robust, plain = (
        spearmanr(metric_of(X, y, **options).target_moments()[0][:, 0], f)[0]
        for options in ({}, {"posterior": "gp", "n_segments": 1})
    )
    assert robust > 0.95
    assert plain < 0.7


def test_a_row_gets_the_same_bits_alone_and_among_others(rows):
    X, y, new = rows
    made = PrisMap(perplexity=8, supervision=0.8, random_state=0).fit(X, y)
    alone = np.vstack([made.transform(new[i : i + 1]) for i in range(len(new))])
    assert np.array_equal(made.transform(new), alone)


def test_a_file_holds_the_process(rows, tmp_path):
    X, y, new = rows
    made = PrisMap(perplexity=8, supervision=0.8, random_state=0).fit(X, np.column_stack([y, np.exp(2 * y)]))
    made.save(tmp_path / "map.prismap")
    again = PrisMap.load(tmp_path / "map.prismap")
    assert np.array_equal(made.transform(new), again.transform(new))
    for found, wanted in zip(again.metric_.target_moments(new), made.metric_.target_moments(new), strict=True):
        assert np.array_equal(found, wanted)
    assert again.metric_.posterior_.warps[1].is_logarithm


@pytest.mark.parametrize("kind", ["sparse", "dissimilarity", "similarity"])
def test_rows_without_scales_of_their_own(rows, kind):
    X, y, _ = rows
    if kind == "sparse":
        metric = metric_of(sp.csr_array(np.maximum(X, 0)), y)
    else:
        matrix = X @ X.T if kind == "similarity" else np.sqrt(squared(X, X, np.ones(3)))
        metric = metric_of(matrix, y, data=kind)
        assert spearmanr(metric.target_moments()[0][:, 0], y)[0] > 0.8
    assert len(metric.posterior_.regressions[0].kernel.scales) == 1
    D = metric.pairwise()
    assert np.isfinite(D).all()
    assert np.allclose(D, D.T)


def test_missing_targets_and_a_small_support(rows):
    X, y, new = rows
    y = y.copy()
    y[:5] = np.nan
    metric = metric_of(X, y, posterior=RowProcess(n_support=20), perplexity=5)
    assert len(metric.support_) == 20
    assert np.isfinite(metric.pairwise(new)).all()
    assert np.isfinite(metric.target_moments()[0]).all()


def test_distances_that_are_not_euclidean(rows):
    """Their kernel matrices are indefinite."""
    _, y, _ = rows
    D = np.random.default_rng(0).uniform(0.1, 3, size=(40, 40))
    D = D + D.T
    np.fill_diagonal(D, 0)
    metric = metric_of(D, y, data="dissimilarity")
    assert np.isfinite(metric.pairwise()).all()
    assert np.isfinite(metric.pairwise(D[:5] + 0.1)).all()
    K = np.array([[1.0, 2.0], [2.0, 1.0]])
    L = row_process.steady_cholesky(K)
    assert np.allclose(L @ L.T - K, (1 + 1e-4) * np.eye(2))
