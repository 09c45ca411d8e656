"""Whatever rows come in: a finite result, or a refusal in words. Small data, fixed examples."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prismap import PrisMap
from prismap.embeddings import TSNE
from prismap.exceptions import InputError
from prismap.mappings import KernelMap
from prismap.metrics import FisherMetric
from prismap.neighbors import kneighbors
from prismap.quality import knn_error, knn_nrmse, q_nx

pytestmark = pytest.mark.filterwarnings("ignore::prismap.exceptions.PrismapWarning")

few = settings(max_examples=12, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
seeds = st.integers(0, 10**6)


def rows_of(seed, n_rows=24, n_features=3):
    return np.random.default_rng(seed).normal(size=(n_rows, n_features))


def classes_of(n_rows):
    return np.arange(n_rows) % 2


def quick_map(**options):
    return PrisMap(TSNE(max_iter=10, perplexity=5, random_state=0), perplexity=5, random_state=0, **options)


def mapped(X, y, **options):
    model = quick_map(**options).fit(X, y)
    return [model.embedding_, model.transform(X), model.distance_to_data(X)]


def measured(X, y, **options):
    metric = FisherMetric(perplexity=5, random_state=0, **options).fit(X, y)
    return [metric.pairwise(), metric.pairwise(X), metric.kneighbors(None, 1)[0]]


def positions(n_rows):
    return np.random.default_rng(1).normal(size=(n_rows, 2))


#: What is asked of rows: a list of arrays.
USES = {
    "map of classes": lambda X: mapped(X, classes_of(len(X))),
    "map of a quantity": lambda X: mapped(X, np.linspace(0, 1, len(X)) ** 2, target="real"),
    "map without a target": lambda X: mapped(X, None),
    "auto metric": lambda X: measured(X, classes_of(len(X))),
    "parzen tangent metric": lambda X: measured(X, classes_of(len(X)), posterior="parzen", path="tangent"),
    "kernel map": lambda X: [KernelMap().fit(X, positions(len(X))).transform(X)],
    "tsne": lambda X: [TSNE(max_iter=10, perplexity=5, random_state=0, n_jobs=1).fit_transform(X)],
    "exact neighbours": lambda X: [kneighbors(X, 2)[0]],
    "partition neighbours": lambda X: [kneighbors(X, 2, method="partition", random_state=0, n_jobs=1)[0]],
    "tree neighbours": lambda X: [kneighbors(X, 2, method="vptree", random_state=0, n_jobs=1)[0]],
    "ranks": lambda X: [q_nx(X, positions(len(X))).value],
    "class error": lambda X: [float(knn_error(X, classes_of(len(X))))],
    "real error": lambda X: [float(knn_nrmse(X, np.arange(len(X)) ** 0.5))],
}
use = st.sampled_from(sorted(USES))
#: Uses that leave missing values out.
TAKE_MISSING = ("map of classes", "map of a quantity", "map without a target", "auto metric", "parzen tangent metric")


def served(use, X):
    """What came of it: results and no refusal, or no results and the words of the refusal."""
    try:
        return USES[use](X), None
    except InputError as error:
        return [], str(error)


def read_only(X):
    X = X.copy()
    X.setflags(write=False)
    return X


#: The same rows as another kind of array; the result must be the same.
SAME = {
    "Fortran order": np.asfortranarray,
    "read-only": read_only,
    "objects": lambda X: X.astype(object),
    "lists": lambda X: X.tolist(),
    "big endian": lambda X: X.astype(">f8"),
    "backwards strides": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "long doubles": lambda X: X.astype(np.longdouble),
    "numbers as text": lambda X: np.array([[repr(float(value)) for value in row] for row in X], dtype=object),
}
#: Other rows, odd and valid.
ODD = {
    "half precision": lambda X: X.astype(np.float16),
    "single precision": lambda X: X.astype(np.float32),
    "whole numbers": lambda X: np.round(10 * X).astype(np.int32),
    "bytes": lambda X: np.abs(10 * X).astype(np.uint8),
    "booleans": lambda X: X > 0,
    "one value": lambda X: np.full_like(X, 3.5),
    "half the rows equal": lambda X: np.where(np.arange(len(X))[:, None] % 2, X, X[0]),
    "one column varies": lambda X: X * [1.0, 0, 0],
    "one column": lambda X: X[:, :1],
    "an outlier": lambda X: np.vstack([X[:-1], np.full((1, 3), 1e12)]),
    "a large offset": lambda X: X + 1e8,
    "many features": lambda X: np.tile(X, 20),
}


@few
@given(seed=seeds, use=use, kind=st.sampled_from(sorted(SAME)))
def test_the_kind_of_array_changes_nothing(seed, use, kind):
    X = rows_of(seed)
    for found, wanted in zip(USES[use](SAME[kind](X)), USES[use](X), strict=True):
        # Sums over another memory order round otherwise.
        np.testing.assert_allclose(found, wanted, atol=1e-7 * np.abs(wanted).max())


@few
@given(seed=seeds, use=use, kind=st.sampled_from(sorted(ODD)))
def test_odd_but_valid_rows_give_finite_results(seed, use, kind):
    for found in USES[use](ODD[kind](rows_of(seed))):
        assert np.isfinite(found).all()


@few
@given(
    seed=seeds,
    use=use,
    scale=st.sampled_from([1e-300, 1e-100, 1e-30, 1e-6, 1e6, 1e30, 1e100, 1e160, 1e300]),
    dtype=st.sampled_from([np.float64, np.float32]),
)
def test_any_scale_is_finite_or_refused(seed, use, scale, dtype):
    with np.errstate(under="ignore"):
        X = (rows_of(seed) * (scale if dtype is np.float64 else np.clip(scale, 1e-38, 1e37))).astype(dtype)
    found, refusal = served(use, X)
    if scale in (1e-6, 1e6):
        assert refusal is None
    assert refusal is None or "Rescale" in refusal
    assert all(np.isfinite(result).all() for result in found)


@few
@given(seed=seeds, use=use, n_rows=st.integers(0, 6), n_features=st.integers(0, 2))
def test_few_rows_and_columns_are_served_or_refused(seed, use, n_rows, n_features):
    found, refusal = served(use, rows_of(seed, n_rows, n_features))
    assert refusal is None or 10 < len(refusal) < 600
    assert all(np.isfinite(result).all() for result in found)


@few
@given(
    use=use,
    bad=st.sampled_from([np.nan, np.inf, -np.inf]),
    row=st.integers(0, 23),
    dtype=st.sampled_from([np.float64, np.float32, np.float16, object]),
)
def test_values_that_are_none_are_counted_and_named(use, bad, row, dtype):
    X = rows_of(0)
    X[row, 1] = bad
    if np.isnan(bad) and use in TAKE_MISSING:
        assert all(np.isfinite(found).all() for found in USES[use](X.astype(dtype)))
        return
    with pytest.raises(InputError, match=r"1 (missing or )?infinite values in 1 rows, by column: column 1 \(1\)"):
        USES[use](X.astype(dtype))


NO_ROWS = {
    "one dimension": rows_of(0)[:, 0],
    "three dimensions": rows_of(0)[:, :, None],
    "complex": rows_of(0).astype(complex),
    "words": np.full((24, 2), "a"),
    "word objects": np.full((24, 2), "a", dtype=object),
    "dates": np.full((24, 2), np.datetime64("2020-01-01")).astype(object),
    "ragged": [[1.0, 2.0], [3.0]] * 12,
    "missing objects": np.full((24, 2), None),
}


@pytest.mark.parametrize("kind", sorted(NO_ROWS))
@few
@given(use=use)
def test_what_are_no_rows_is_refused(kind, use):
    with pytest.raises((ValueError, TypeError)) as refusal:
        USES[use](NO_ROWS[kind])
    assert len(str(refusal.value)) > 10


# Laws


@few
@given(seed=seeds, path=st.sampled_from(["chord", "tangent"]), supervision=st.sampled_from([0.0, 0.5, 1.0]))
def test_the_order_of_rows_is_only_an_order(seed, path, supervision):
    X = rows_of(seed)
    y, order = (X[:, 0] > 0).astype(int), np.random.default_rng(seed).permutation(len(X))
    metric = FisherMetric(
        perplexity=5, cross_fit=False, posterior="parzen", path=path, supervision=supervision, random_state=0
    )
    D = metric.fit(X, y).pairwise()
    shuffled = metric.fit(X[order], y[order]).pairwise()
    np.testing.assert_allclose(shuffled, D[np.ix_(order, order)], atol=1e-9 * D.max())


@few
@given(seed=seeds, power=st.sampled_from([-20, 20]), posterior=st.sampled_from(["parzen", "lssvm"]))
def test_units_do_not_matter(seed, power, posterior):
    """Powers of two are exact, and 2^20 is about a million: the map is the same, bit by bit or nearly so."""
    X = rows_of(seed)
    y = (X[:, 0] > 0).astype(int)
    model, other = (
        quick_map(metric=FisherMetric(posterior=posterior, perplexity=5), supervision=0.8).fit(rows, y)
        for rows in (X, X * 2.0**power)
    )
    D = model.metric_.pairwise()
    np.testing.assert_allclose(other.metric_.pairwise(), D, atol=1e-9 * D.max())
    spread = np.abs(model.embedding_).max()
    np.testing.assert_allclose(other.embedding_, model.embedding_, atol=1e-6 * spread)
    np.testing.assert_allclose(other.transform(X * 2.0**power), model.transform(X), atol=1e-6 * spread)


@few
@given(seed=seeds, times=st.integers(2, 4))
def test_repeated_rows_lie_together(seed, times):
    X = np.repeat(rows_of(seed, 10), times, axis=0)
    D = FisherMetric(perplexity=5, cross_fit=False, random_state=0).fit(X, X[:, 0] > 0).pairwise()
    same = np.repeat(np.eye(10, dtype=bool), times, axis=0).repeat(times, axis=1)
    assert D[same].max() <= 1e-6 * D.max()
    assert D[~same].min() > D[same].max()


@pytest.mark.parametrize("posterior", ["parzen", "lssvm", "auto"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_new_rows_at_any_distance_get_a_finite_position(posterior, dtype):
    X = rows_of(0)
    target = X[:, 0] if posterior == "auto" else classes_of(len(X))
    model = quick_map(metric=FisherMetric(posterior=posterior, perplexity=5)).fit(X.astype(dtype), target)
    for scale in (1e-40, 1e6, 1e18, 1e30):
        with np.errstate(under="ignore"):
            new = (X * scale).astype(dtype)
        assert np.isfinite(model.transform(new)).all()
        assert np.isfinite(model.distance_to_data(new)).all()
        assert model.is_far(new).all() == (scale > 1)


def test_two_labelled_rows_are_too_few_for_cross_fitting():
    with pytest.raises(InputError, match="2 labelled rows leave none: at least 3 are needed. Set cross_fit=False"):
        FisherMetric(posterior="parzen", random_state=0).fit(rows_of(0, 2), [0, 1])


@pytest.mark.parametrize("scale", [1e-200, 1e-300])
def test_a_target_too_small_for_its_square_is_refused(scale):
    with pytest.raises(InputError, match="the values of y reach up to .*Rescale"):
        quick_map(target="real").fit(rows_of(0), scale * rows_of(0)[:, 0])


@pytest.mark.parametrize("far", [1e3, 1e6, 1e9, 1e12])
def test_one_row_far_from_all_others_has_a_place_on_a_sheet(far):
    """Nodes without rows make the sheet's equations singular."""
    X = rows_of(0, 40)
    X[0] = far
    assert np.isfinite(PrisMap("gtm", random_state=0, perplexity=8).fit(X, np.arange(40) % 3).embedding_).all()


@pytest.mark.parametrize(
    ("method", "mapping", "y"),
    [
        ("elastic", "fisher", np.arange(24) % 3), ("som", "fisher", np.arange(24) % 3),
        ("tsne", "cost", np.arange(24) % 3), ("mds", "parametric", np.arange(24) % 3),
        ("mds", "auto", np.arange(24.0) ** 1.5),
    ],
)  # fmt: skip
def test_equal_rows_and_an_identity_have_a_map(method, mapping, y):
    for rows, data in ((np.ones((24, 3)), "vectors"), (np.eye(24), "similarity")):
        model = PrisMap(method, mapping=mapping, data=data, perplexity=5, random_state=0).fit(rows, y)
        assert np.isfinite(model.embedding_).all()
        assert np.isfinite(model.transform(rows[:3] * 1.5)).all()


def test_a_target_too_large_for_its_square_is_refused():
    with pytest.raises(InputError, match="the values of y reach up to .*Rescale"):
        quick_map(target="real").fit(rows_of(0), 1e200 * rows_of(0)[:, 0])


@pytest.mark.parametrize(
    ("method", "mapping", "rows", "rows_later"),
    [
        ("isomap", "elm", lambda X: np.where(np.arange(72).reshape(24, 3) == 0, 1e35, X), rows_of(1)),
        ("mds", "direct", lambda X: (1e-30 * X).astype(np.float32), rows_of(1)),
        ("mds", "auto", lambda X: X * [1e30, 1e-300, 1.0], rows_of(1)),
        ("gtm", "auto", lambda X: np.full_like(X, 1e35), rows_of(1)),
    ],
    ids=["squares beyond single precision", "positions of other rows", "a column whose squares are 0", "one place"],
)
def test_rows_at_the_ends_of_the_scale_warn_of_nothing(method, mapping, rows, rows_later):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = PrisMap(method, mapping=mapping, perplexity=5, random_state=0).fit(rows(rows_of(0)), classes_of(24))
        assert np.isfinite(model.transform(rows_later)).all()


def test_rows_whose_sum_is_beyond_numbers_are_refused_and_warn_of_nothing():
    X = rows_of(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(InputError, match="the values of X reach up to 1.7e[+]308"):
            quick_map().fit(X / np.abs(X).max() * 1.7e308)
