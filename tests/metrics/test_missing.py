"""Missing values: distances over common columns and votes of trees, against plain loops."""

import numpy as np
import pytest
import scipy.sparse as sp
from experiments.tables_of_truth import nearly_empty_rows
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.metrics.pairwise import euclidean_distances

from prismap._util.missing import mean_filled
from prismap.exceptions import InputError
from prismap.map._exact_rows import KnownRows
from prismap.metrics import CosineMetric, FisherMetric, VectorMetric
from prismap.metrics._geometry import FittedIndex
from prismap.metrics.posteriors._trees import Forest
from reference.missing_reference import distances_reference


def gappy(n_rows, n_columns=6, share=0.3, seed=0, dtype=np.float64):
    """Rows of which a share of the values is missing; none is empty."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns)) + np.arange(n_columns)
    X[:, 1:][rng.random((n_rows, n_columns - 1)) < share] = np.nan
    return X.astype(dtype)


@pytest.mark.parametrize(("dtype", "precision"), [(np.float64, 1e-7), (np.float32, 1e-5)])
def test_distances_are_those_of_the_definition(dtype, precision):
    X, new = gappy(40, dtype=dtype), gappy(15, seed=1, dtype=dtype)
    metric = VectorMetric().fit(X)
    X, new = X.astype(np.float64), new.astype(np.float64)
    wanted, close = distances_reference(X, X, X), {"rtol": 0, "atol": precision * np.abs(X[~np.isnan(X)]).max()}
    np.fill_diagonal(wanted, 0)
    assert np.allclose(metric.pairwise(), wanted, **close)
    assert np.allclose(metric.pairwise(new), distances_reference(new, X, X), **close)
    assert np.allclose(metric.pairwise(new, new[::-1]), distances_reference(new, new[::-1], X), **close)
    assert np.allclose(metric.between([3, 5], [7, 0, 1]), wanted[np.ix_([3, 5], [7, 0, 1])], **close)


def test_new_rows_may_lack_values_where_no_fitted_one_does():
    X, new = gappy(30, share=0.0), gappy(8, seed=1)
    metric = VectorMetric().fit(X)
    assert metric.is_complete
    assert np.allclose(metric.pairwise(new), distances_reference(new, X, X), rtol=0, atol=1e-7)


def test_rows_with_all_columns_in_common_are_at_their_distance():
    X = gappy(40)
    whole = X[~np.isnan(X).any(axis=1)]
    D = VectorMetric().fit(X).pairwise(whole, whole[::-1])
    assert np.allclose(D, euclidean_distances(whole, whole[::-1]), rtol=0, atol=1e-6)


def test_rows_without_a_common_column_are_as_far_apart_as_rows_are_on_average():
    X = gappy(400, 3, share=0.0)
    X[:100, 0] = X[100:200, 1:] = np.nan
    D2 = VectorMetric().fit(X).pairwise() ** 2
    assert np.isclose(D2[:100, 100:200].mean(), 2 * np.nanvar(X, axis=0).sum(), rtol=0.1)
    assert np.isclose(D2[200:, 200:].mean(), D2[:100, 100:200].mean(), rtol=0.15)


@pytest.mark.parametrize("large", [False, True])
def test_nearly_empty_rows_are_nobodys_nearest(large):
    """Neither of rows like the others nor of rows that are far from all of them."""
    X, _, truth = nearly_empty_rows()
    far = X[:20, :] + 50 * np.r_[0, np.ones(X.shape[1] - 1)]  # as the others in the only column that the empty have
    metric = VectorMetric().fit(X)
    to_anchors = metric.to_anchors(np.arange(len(X)))
    for rows in (X[:50], far):
        D = to_anchors.see(rows).distances if large else metric.pairwise(rows)
        D = D + np.where(D < 1e-9, np.inf, 0.0)
        assert not np.isin(D.argsort(axis=1)[:, :10], truth["empty"]).any()
    assert D.min() > 50


def test_near_rows_far_from_the_origin_keep_their_digits():
    rng = np.random.default_rng(0)
    X = 1e6 * rng.normal(size=(20, 4))
    X[1] = X[0] + 1e-3
    X[1, 2] = np.nan
    X[2] = X[3] + 1e-3
    D = VectorMetric().fit(X).pairwise()
    assert D[2, 3] == pytest.approx(2e-3, rel=1e-4)
    assert D[0, 1] < D[0, 2:].min()


@pytest.mark.parametrize("scale", [1.0, 1e9])
@pytest.mark.parametrize("fitted", [gappy(30), gappy(30, share=0.0)], ids=["gaps", "complete"])
def test_placed_rows_get_the_same_bits_alone_and_among_others(fitted, scale):
    new = gappy(12, seed=2)
    new[0] = gappy(1, share=0.0, seed=3)[0]  # a row that is complete, among others that are not
    new[1] *= scale  # far out, with more digits than the others
    metric = VectorMetric().over(fitted)
    anchors = metric.to_anchors(np.arange(20))
    together = anchors.see(new)
    alone = [anchors.see(new[i : i + 1]) for i in range(len(new))]
    assert np.array_equal(together.squared, np.vstack([one.squared for one in alone]))
    wanted = metric.squared_to(new, np.arange(20))
    assert np.allclose(together.squared, wanted, rtol=1e-3, atol=1e-4)
    candidates = np.random.default_rng(0).integers(20, size=(len(new), 5))
    assert np.allclose(together.squared_among(candidates), np.take_along_axis(wanted, candidates, 1), rtol=1e-3)
    assert np.array_equal(anchors.of_fitted(np.arange(4)).squared, anchors.see(fitted[:4]).squared)


def test_raw_rows_and_fillings():
    X = gappy(20)
    metric = VectorMetric().over(X)
    assert np.allclose(metric.raw([2, 4]), X[[2, 4]], equal_nan=True)
    assert np.allclose(metric.raw(), X, equal_nan=True)
    wanted = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    assert np.allclose(mean_filled(X), wanted)
    empty = X.copy()
    empty[:, 2] = np.nan
    assert (mean_filled(empty)[:, 2] == 0).all()


def test_filled_rows_have_means_in_place_of_gaps():
    X, new = gappy(20), gappy(6, seed=1)
    metric = VectorMetric().over(X)
    filled, means = metric.filled(), np.nanmean(X, axis=0)
    wanted = euclidean_distances(np.where(np.isnan(new), means, new), mean_filled(X))
    assert filled.is_complete
    assert not metric.is_complete
    assert np.allclose(filled.pairwise(new), wanted, rtol=0, atol=1e-12)
    assert np.allclose(filled.raw(), mean_filled(X))
    assert np.allclose(filled.to_anchors(np.arange(20)).see(new).distances, wanted, rtol=1e-4)
    machine = FisherMetric("class", posterior="lssvm", supervision=0.8, perplexity=5, random_state=0)
    found = machine.fit(X, np.arange(20) % 2).class_probabilities(new)
    same = machine.fit(mean_filled(X), np.arange(20) % 2).class_probabilities(np.where(np.isnan(new), means, new))
    assert np.allclose(found, same)


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_votes_of_trees_are_those_of_scikit_learn(share):
    """Fitted with missing values, and without: then scikit-learn sends them to the larger child."""
    X, new = gappy(150, share=share), gappy(60, seed=1, share=0.4)
    y = (np.nan_to_num(X[:, 0]) > 0.0) + 1 * (np.nan_to_num(X[:, 1], nan=2.0) > 1.0)
    made = ExtraTreesClassifier(12, random_state=0).fit(X, y)
    votes = Forest.of(made.estimators_, made.classes_, 3).votes(new)
    assert np.allclose(votes, made.predict_proba(new), rtol=0, atol=1e-12)


@pytest.mark.parametrize("posterior", ["auto", "parzen", "lssvm", "trees"])
def test_every_posterior_takes_them(posterior):
    X, y = gappy(60), np.arange(60) % 3
    X[:, 0] += 3 * y
    options = {"supervision": 0.8, "n_segments": 1, "perplexity": 10, "random_state": 0}
    metric = FisherMetric("class", posterior=posterior, **options).fit(X, y)
    assert np.isfinite(metric.pairwise()).all()
    assert np.isfinite(metric.pairwise(gappy(5, seed=1))).all()
    assert (metric.class_probabilities().argmax(axis=1) == y).mean() > 0.7


def test_a_process_takes_them():
    X = gappy(80, share=0.15)
    y = X[:, 0] ** 2
    metric = FisherMetric("real", supervision=0.8, perplexity=10, random_state=0).fit(X, y)
    found, variance = metric.target_moments()
    assert np.corrcoef(found[:, 0], y)[0, 1] > 0.3
    assert np.isfinite(variance).all()
    assert np.isfinite(metric.pairwise(gappy(5, seed=1))).all()


def test_a_row_is_known_again_by_what_it_lacks():
    X = gappy(20)
    known = KnownRows(X)
    again = X[[4, 2]].copy()
    again[np.isnan(again)] = -np.float64("nan")  # another NaN
    rows, fitted = known.find(again)
    assert rows.tolist() == [0, 1]
    assert fitted.tolist() == [4, 2]
    assert len(known.find(mean_filled(X)[np.isnan(X).any(axis=1)])[0]) == 0


def test_what_cannot_do_without_a_value_says_so():
    X, y = gappy(40), np.arange(40) % 2
    empty = np.vstack([X, np.full((1, 6), np.nan)])
    with pytest.raises(InputError, match="1 of 41 rows of X hold no value at all, the first at index 40"):
        VectorMetric().fit(empty)
    with pytest.raises(InputError, match="missing or infinite values in"):
        CosineMetric().fit(X)
    with pytest.raises(InputError, match="contains NaN"):
        VectorMetric().fit(sp.csr_array(X))
    X[3, 1] = np.inf
    with pytest.raises(InputError, match=r"1 infinite values in 1 rows, by column: column 1 \(1\)"):
        VectorMetric().fit(X)
    X[3, 1] = np.nan
    metric = FisherMetric("class", posterior="parzen", n_segments=1, perplexity=5, random_state=0).fit(X, y)
    assert np.isfinite(metric.between(np.arange(3), np.arange(3))).all()
    with pytest.raises(InputError, match="the tensor needs rows without missing values; fill them"):
        metric.tensor_factor(None)


def test_squared_distances_of_fitted_rows_by_index():
    X = gappy(12)
    metric = VectorMetric().over(X)
    part = metric.squared_to(FittedIndex(np.array([1, 2])), slice(3, 6))
    assert np.allclose(part, distances_reference(X[[1, 2]], X[3:6], X) ** 2)
