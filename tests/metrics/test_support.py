"""Support, folds, bandwidths and the repair of similarities."""

import numpy as np
import pytest

from prismap._util.affinities import bandwidths, mean_bandwidth
from prismap.exceptions import InputError
from prismap.metrics import repair_similarity
from prismap.target import deal_folds, draw_rows, shares


def test_support_keeps_class_shares_and_never_takes_unlabelled_rows():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2, -1], [60, 30, 3, 50])
    support = draw_rows(codes, 31, rng)
    assert np.bincount(codes[support]).tolist() == [20, 10, 1]
    assert (np.diff(support) > 0).all()
    np.testing.assert_array_equal(draw_rows(codes, None, rng), np.arange(93))
    assert set(codes[draw_rows(codes, 2, rng)]) == {0, 1, 2}


def test_shares_add_up():
    for sizes, total in [([5, 5, 5], 7), ([1, 1, 100], 3), ([7], 4), ([2, 0, 9], 5)]:
        wanted = shares(np.array(sizes), total)
        assert wanted.sum() == total
        assert (wanted <= sizes).all()
        assert (wanted[np.array(sizes) > 0] >= 1).all()


def test_folds_have_equal_class_shares():
    codes = np.repeat([0, 1, 2], [40, 25, 7])
    folds = deal_folds(codes, 5, np.random.default_rng(1))
    for code in range(3):
        counts = np.bincount(folds[codes == code], minlength=5)
        assert counts.max() - counts.min() <= 1
    counts = np.bincount(folds)
    assert counts.max() - counts.min() <= 1


def test_calibrated_bandwidths_have_the_perplexity():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    D2 = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.fill_diagonal(D2, np.inf)
    for perplexity in (2, 10, 30):
        sigma = bandwidths(D2, perplexity)
        P = np.exp(-D2 / (2 * sigma[:, None] ** 2))
        P /= P.sum(axis=1, keepdims=True)
        entropy = -np.sum(np.where(P > 0, P * np.log(np.where(P > 0, P, 1)), 0), axis=1)
        np.testing.assert_allclose(np.exp(entropy), perplexity, rtol=1e-4)


def test_bandwidth_scales_with_the_data_and_survives_duplicates():
    rng = np.random.default_rng(0)
    D2 = rng.random((20, 20)) + 0.1
    assert mean_bandwidth(9 * D2, 5) == pytest.approx(3 * mean_bandwidth(D2, 5), rel=1e-4)
    assert mean_bandwidth(np.zeros((5, 5)), 3) == 1.0
    assert np.isfinite(bandwidths(np.where(rng.random((20, 20)) < 0.5, 0.0, D2), 3)).all()
    np.testing.assert_array_equal(bandwidths([[0.0, 0.0, np.inf], [8.0, 8.0, 8.0]], 2), [0, 2])
    few = bandwidths([[1.0, 2.0, np.inf]], 30)  # two candidates cannot be thirty
    assert 1 < few[0] < 100


def indefinite(n=12, seed=0):
    S = np.random.default_rng(seed).normal(size=(n, n))
    return (S + S.T) / 2


@pytest.mark.parametrize("method", ["clip", "flip", "shift"])
def test_repair_makes_similarities_positive(method):
    S = indefinite()
    repaired = repair_similarity(S, method)
    assert np.linalg.eigvalsh(repaired.matrix).min() > -1e-10
    values = np.linalg.eigvalsh(S)
    assert repaired.negative_mass == pytest.approx(-values[values < 0].sum() / np.abs(values).sum())


def test_repair_leaves_good_similarities_alone():
    X = np.random.default_rng(0).normal(size=(10, 4))
    for method in ("clip", "flip", "shift", "none"):
        np.testing.assert_allclose(repair_similarity(X @ X.T, method).matrix, X @ X.T, atol=1e-10)


@pytest.mark.parametrize("method", ["clip", "flip"])
def test_repair_takes_fitted_rows_to_their_repaired_rows(method):
    S = indefinite()
    repaired = repair_similarity(S, method)
    rows, own = repaired.apply(S)
    np.testing.assert_allclose(rows, repaired.matrix, atol=1e-10)
    np.testing.assert_allclose(own, np.diag(repaired.matrix), atol=1e-10)


def test_unknown_repair_is_refused():
    with pytest.raises(InputError, match="repair must be 'clip', 'flip', 'shift' or 'none'"):
        repair_similarity(np.eye(2), "glue")
