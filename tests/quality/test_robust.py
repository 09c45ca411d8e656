"""Real targets judged by ranks: what a few rows cannot turn."""

import numpy as np
import pytest
from scipy.stats import rankdata, spearmanr

from prismap.exceptions import InputError
from prismap.quality import knn_nrmse, knn_rank_correlation, knn_rank_error
from prismap.quality._errors import rank_shares


@pytest.fixture
def gradient():
    rng = np.random.default_rng(0)
    Y = rng.uniform(size=(300, 2))
    return Y, Y[:, 0] + 0.05 * rng.normal(size=300)


def test_ranks_are_shares_of_the_values_below(gradient):
    _, y = gradient
    y = np.round(y, 1)  # many ties
    ranks, _ = rank_shares(y)
    np.testing.assert_allclose(ranks, (rankdata(y) - 0.5) / len(y))
    new, fitted = rank_shares([-5.0, 5.0, np.nan], y)
    np.testing.assert_allclose(fitted, ranks)
    np.testing.assert_array_equal(new, [0.0, 1.0, np.nan])


def test_the_rank_error_is_the_error_of_the_ranks(gradient):
    Y, y = gradient
    assert float(knn_rank_error(Y, y)) == pytest.approx(float(knn_nrmse(Y, rankdata(y))), rel=1e-9)


def test_no_increasing_transform_changes_it(gradient):
    Y, y = gradient
    for transform in (np.exp, np.cbrt, lambda v: np.exp(np.exp(3 * v))):
        for measure in (knn_rank_error, knn_rank_correlation):
            assert float(measure(Y, transform(y))) == pytest.approx(float(measure(Y, y)), rel=1e-9)


def test_two_extreme_values_do_not_turn_it(gradient):
    Y, y = gradient
    spoilt = y.copy()
    spoilt[[7, 70]] = 1e4, -1e4
    assert float(knn_nrmse(Y, y)) < 0.3 < 0.9 < float(knn_nrmse(Y, spoilt))
    assert abs(knn_rank_error(Y, spoilt) - knn_rank_error(Y, y)) < 0.1
    assert knn_rank_correlation(Y, spoilt) > 0.95


def test_the_correlation_is_spearmans(gradient):
    Y, y = gradient
    order = np.argsort(np.linalg.norm(Y[:200, None] - Y[None, 200:], axis=2), axis=1)[:, :1]
    wanted = spearmanr(y[:200], y[200:][order[:, 0]]).statistic
    found = knn_rank_correlation(Y[:200], y[:200], Y_fit=Y[200:], y_fit=y[200:], n_neighbors=1)
    assert float(found) == pytest.approx(wanted, abs=1e-9)
    assert 0 < found.spread < 0.05


def test_unrelated_targets_are_at_chance():
    rng = np.random.default_rng(1)
    Y, y = rng.normal(size=(2000, 2)), rng.lognormal(sigma=3, size=2000)
    assert abs(knn_rank_correlation(Y, y)) < 0.1
    assert float(knn_rank_error(Y, y)) > 1.05


def test_constant_answers_have_no_order():
    assert float(knn_rank_correlation(np.zeros((9, 2)), np.arange(9.0), n_neighbors=8)) == pytest.approx(-1.0)
    Y = np.arange(8.0)[:, None]
    assert float(knn_rank_correlation(Y, [0.0, 1.0] * 4, n_neighbors=1, Y_fit=Y[:1], y_fit=[3.0])) == 0.0


def test_bad_input_is_named(gradient):
    Y, y = gradient
    with pytest.raises(InputError, match="y_fit holds no value"):
        knn_rank_error(Y, y, Y_fit=Y, y_fit=np.full(300, np.nan))
    with pytest.raises(InputError, match="must hold numbers"):
        knn_rank_error(Y, ["a"] * 300)
