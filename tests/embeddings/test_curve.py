"""Rows in the order of a curve through the map: near in memory, and otherwise the same descent."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from prismap.bundle import _checkpoint
from prismap.embeddings import TSNE, GradientDescent, _descent
from prismap.embeddings._descent import curve_order, permuted
from prismap.embeddings._mesh import MeshEngine


@pytest.fixture
def sorted_rows(monkeypatch):
    """Few rows are sorted, too."""
    monkeypatch.setattr(_descent, "SORTED_ROWS", 50)


def test_rows_that_follow_each_other_are_near():
    Y = np.random.default_rng(0).normal(size=(4000, 2))
    order = curve_order(Y)
    assert sorted(order) == list(range(4000))
    steps = np.linalg.norm(np.diff(Y[order], axis=0), axis=1)
    assert np.median(steps) < 0.1  # of rows in any order 1.7
    np.testing.assert_array_equal(curve_order(np.full((5, 2), 3.0)), np.arange(5))


def test_the_curve_goes_through_the_quarters_one_after_another():
    Y = np.array([[x, y] for x in range(8) for y in range(8)], dtype=float)
    quarters = [{(x // 4, y // 4) for x, y in Y[part]} for part in np.array_split(curve_order(Y), 4)]
    assert [len(quarter) for quarter in quarters] == [1, 1, 1, 1]


def test_a_matrix_in_another_order():
    rng = np.random.default_rng(0)
    P = sp.random_array((30, 30), density=0.2, rng=rng, format="csr")
    order = rng.permutation(30)
    np.testing.assert_array_equal(permuted(P, order).toarray(), P.toarray()[np.ix_(order, order)])


@pytest.mark.parametrize("n_rows", [60, 350])
def test_the_map_is_that_of_unsorted_rows_but_for_rounding(sorted_rows, monkeypatch, n_rows):
    """Both engines that do not depend on an order of the rows: all pairs, and the mesh, in double precision."""
    monkeypatch.setattr(MeshEngine, "precise_to", np.inf)
    X, _ = make_blobs(n_rows, 5, centers=4, cluster_std=2.0, random_state=0)
    seen = []
    options = {"perplexity": 10, "max_iter": 50, "descent": GradientDescent(tol=0), "random_state": 0}
    ours = TSNE(callback=lambda i, error, Y: seen.append((error, Y)), **options).fit(X)
    monkeypatch.setattr(_descent, "SORTED_ROWS", 10**9)
    theirs = TSNE(callback=lambda i, error, Y: seen.append((error, Y)), **options).fit(X)
    (error, Y), (other, Z) = seen
    assert error == pytest.approx(other, rel=1e-6)
    np.testing.assert_allclose(Y, Z, atol=1e-6 * np.ptp(Z))  # every row where it was
    np.testing.assert_allclose(ours.embedding_, theirs.embedding_, atol=1e-3 * np.ptp(theirs.embedding_))


@pytest.mark.parametrize("last", [50, 100, 250])
def test_a_sorted_run_goes_on_to_the_same_bits(sorted_rows, monkeypatch, tmp_path, last):
    monkeypatch.setattr(_checkpoint, "SECONDS_BETWEEN", 0.0)
    X, _ = make_blobs(120, 5, centers=4, cluster_std=2.0, random_state=0)
    options = {"perplexity": 10, "max_iter": 200, "random_state": 0}
    kept = GradientDescent(tol=0.001, checkpoint=tmp_path / "kept")
    whole = TSNE(**options, descent=GradientDescent(tol=0.001)).fit(X)

    def stop(iteration, *_):
        if iteration >= last:
            raise KeyError

    with pytest.raises(KeyError):
        TSNE(**options, callback=stop, descent=kept).fit(X)
    again = TSNE(**options, descent=kept).fit(X)
    np.testing.assert_array_equal(again.embedding_, whole.embedding_)
    assert again.n_iter_ == whole.n_iter_
