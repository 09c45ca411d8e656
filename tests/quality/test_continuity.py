"""The two scores of the leave-one-out map, against its cost written out, and on a map with a known gap."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, check_grad
from sklearn.datasets import make_blobs

from prismap.embeddings import TSNE, GradientDescent
from prismap.exceptions import InputError
from prismap.quality import perturbation_scores, singularity_scores
from prismap.quality._continuity import _both, leave_one_out_cost


@pytest.fixture(scope="module")
def two_groups():
    X, y = make_blobs([45, 45], 3, centers=[[0, 0, 0], [5, 0, 0]], cluster_std=1.0, random_state=0)
    method = TSNE(perplexity=12, max_iter=400, descent=GradientDescent(tol=0), random_state=0)
    return X, method.fit_transform(X), y


def whole_cost(y, i, Y, P):
    """KL(P || Q) with row i at y, but for the part that does not depend on y: all pairs, written out."""
    Y = Y.copy()
    Y[i] = y
    W = 1.0 / (1.0 + np.square(Y[:, None] - Y).sum(axis=2))
    np.fill_diagonal(W, 0.0)
    with np.errstate(divide="ignore"):
        return -2 * np.sum(P[i] * np.log(np.where(P[i] > 0, W[i], 1.0))) + np.log(W.sum())


def test_singularity_is_one_over_the_least_curvature_of_the_cost(two_groups):
    X, Y, _ = two_groups
    P, _ = _both(X, Y, 12, "euclidean")
    found = singularity_scores(X, Y, perplexity=12)
    for i in range(0, 90, 10):
        slope = lambda y, i=i: approx_fprime(y, whole_cost, 1e-6, i, Y, P)  # noqa: E731
        H = np.stack([(slope(Y[i] + e) - slope(Y[i] - e)) / 2e-3 for e in 1e-3 * np.eye(2)])
        least = np.linalg.eigvalsh((H + H.T) / 2)[0]
        assert found[i] == pytest.approx(1 / least, rel=0.05)
    assert np.isfinite(found).all()
    far = Y.copy()
    far[0] = Y.mean(axis=0) + 1e3  # no minimum there
    assert np.isinf(singularity_scores(X, far, perplexity=12)[0])


def test_the_cost_of_one_row_is_its_part_of_the_whole_and_has_its_gradient(two_groups):
    X, Y, _ = two_groups
    P, _ = _both(X, Y, 12, "euclidean")
    i, others = 7, np.delete(np.arange(90), 7)
    W = 1.0 / (1.0 + np.square(Y[others][:, None] - Y[others]).sum(axis=2))
    Z = W.sum() - len(others)
    for y in (Y[7], Y[50] + 0.3):
        cost, _ = leave_one_out_cost(y, Y[others], P[i, others], Z)
        assert cost == pytest.approx(whole_cost(y, i, Y, P))
        error = check_grad(*(lambda y, k=k: leave_one_out_cost(y, Y[others], P[i, others], Z)[k] for k in (0, 1)), y)
        assert error < 1e-6


def test_rows_between_two_groups_jump_when_they_are_moved(two_groups):
    X, Y, _ = two_groups
    small, rows = perturbation_scores(X, Y, length=1e-6, perplexity=12, n_samples=12)
    assert len(rows) == 12
    assert np.median(small) < 0.5  # a map that has settled: a row that stays where it was has its place there
    large, rows = perturbation_scores(X, Y, length=1.0, perplexity=12, n_samples=None)
    between = np.argsort(np.abs(X[:, 0] - 2.5))[:8]
    inside = np.argsort(-np.abs(X[:, 0] - 2.5))[:60]
    assert np.median(large[between]) > 2 * np.median(large[inside])


def test_bad_input_is_refused(two_groups):
    X, Y, _ = two_groups
    with pytest.raises(InputError, match="finite positions of the 90 rows"):
        singularity_scores(X, Y[:10])
    with pytest.raises(InputError, match="length must be above 0"):
        perturbation_scores(X, Y, length=0)
