"""Rows of others: fitted ones are known again whatever their numbers, sparse and dense ones may meet, odd ones are
refused in words."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

from hardening.cases import peak_of
from prismap import PrisMap
from prismap._util.arrays import columns_of
from prismap.embeddings import TSNE
from prismap.exceptions import InputError, PrismapWarning
from prismap.map._exact_rows import KnownRows
from prismap.metrics import DissimilarityMetric, SimilarityMetric
from prismap.target import make_target

rng = np.random.default_rng(0)


# Fitted rows are known again

DISTINCT = {
    "digits": load_digits().data,
    "0 and 1": np.unique(rng.integers(0, 2, size=(1500, 30)), axis=0).astype(float),
    "counts": np.unique(rng.poisson(2, size=(1500, 20)), axis=0).astype(float),
    "powers of two": 2.0 ** rng.permutation(600).reshape(-1, 2),
    "float32": rng.normal(size=(500, 5)).astype(np.float32),
}


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("kind", sorted(DISTINCT))
def test_every_distinct_row_is_known_again(kind, form):
    X = DISTINCT[kind]
    order = np.random.default_rng(1).permutation(len(X))
    rows, fitted = KnownRows(form(X)).find(form(X[order]))
    assert rows.tolist() == list(range(len(X)))
    assert fitted.tolist() == order.tolist()


def test_rows_of_one_mark_are_tried_one_after_the_other(monkeypatch):
    """The slow twin: every row has the same mark, and the comparison alone decides."""
    monkeypatch.setattr(KnownRows, "_marks", lambda self, rows: np.zeros(rows.shape[0], dtype=np.uint64))
    X = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [5.0, np.nan]])
    rows, fitted = KnownRows(X).find(np.array([[5.0, np.nan], [9.0, 9.0], [1.0, 2.0], [3.0, 4.0]]))
    assert rows.tolist() == [0, 2, 3]
    assert fitted.tolist() == [3, 0, 1]


@pytest.mark.parametrize("metric", [SimilarityMetric, DissimilarityMetric])
def test_rows_of_an_asymmetric_matrix_are_known_again(tmp_path, metric):
    X = rng.normal(size=(40, 3))
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    M = D if metric is DissimilarityMetric else np.exp(-D)
    M = M * np.where(np.triu(np.ones(M.shape), 1) > 0, 1.05, 0.95)
    np.fill_diagonal(M, np.diag(np.exp(-D) if metric is SimilarityMetric else D))
    options = {"data": metric.kind, "method": "mds", "perplexity": 8, "random_state": 0}
    with pytest.warns(PrismapWarning, match="Their mean is used"):
        model = PrisMap(**options).fit(M, np.arange(40) % 2)
    np.testing.assert_array_equal(model.transform(M), model.embedding_)
    model.save(tmp_path / "m.prismap")
    np.testing.assert_array_equal(PrisMap.load(tmp_path / "m.prismap").transform(M), model.embedding_)
    mean = PrisMap(**options).fit((M + M.T) / 2, np.arange(40) % 2)
    np.testing.assert_array_equal(model.embedding_, mean.embedding_)


def test_whole_numbers_that_double_precision_would_merge_are_refused():
    X = np.iinfo(np.int64).max - rng.integers(0, 5000, size=(40, 2))
    with pytest.raises(InputError, match=r"beyond 2\^53, and \d+ rows that differ would become equal"):
        PrisMap("mds", perplexity=8, random_state=0).fit(X)
    wide = rng.integers(np.iinfo(np.int64).min, np.iinfo(np.int64).max, size=(40, 2))
    model = PrisMap("mds", perplexity=8, random_state=0).fit(wide)
    np.testing.assert_array_equal(model.transform(wide), model.embedding_)


# Sparse and dense rows

COUNTS = np.where(rng.random((60, 6)) < 0.4, rng.integers(1, 9, size=(60, 6)), 0).astype(float)
COUNTS[:, 0] = 1 + rng.permutation(60) / 7
THIRDS = np.arange(60) % 3


@pytest.fixture(scope="module", params=["csr", "dense"])
def either(request):
    """A judged map of sparse or dense rows, and the same rows in the other form."""
    form, other = (sp.csr_array, np.asarray) if request.param == "csr" else (np.asarray, sp.csr_array)
    model = PrisMap("mds", perplexity=10, random_state=0).fit(form(COUNTS), THIRDS)
    model.report()
    return model, form, other


@pytest.mark.parametrize("ask", ["transform", "is_far", "distance_to_data", "trust", "drift", "score"])
def test_new_rows_may_be_sparse_or_dense(either, ask):
    model, form, other = either
    more = (THIRDS,) if ask == "score" else ()
    new = 1.1 * COUNTS
    found, wanted = (getattr(model, ask)(rows(new), *more) for rows in (other, form))
    if ask in ("trust", "drift"):
        assert str(found) == str(wanted)
    else:
        np.testing.assert_array_equal(found, wanted)
    if ask == "transform":
        np.testing.assert_array_equal(model.transform(other(COUNTS)), model.embedding_)


def test_a_map_grows_by_rows_of_the_other_form(either):
    _, form, other = either
    far = COUNTS[:9] + 200.0 * np.arange(1, 10)[:, None]
    grown = []
    for rows in (other, form):
        copy = PrisMap("mds", perplexity=10, random_state=0).fit(form(COUNTS), THIRDS)
        grown.append(copy.partial_refit(rows(far), THIRDS[:9]).embedding_)
    assert len(grown[0]) > 60
    np.testing.assert_array_equal(*grown)


def test_a_missing_value_beside_sparse_rows_is_refused():
    model = PrisMap("mds", perplexity=10, random_state=0).fit(sp.csr_array(COUNTS), THIRDS)
    new = COUNTS[:3].copy()
    new[1, 2] = np.nan
    with pytest.raises(InputError, match=r"1 missing or infinite values in 1 rows, by column: column 2 \(1\)"):
        model.transform(new)


def test_sparse_rows_with_long_indices_or_doubled_entries_are_the_same_rows():
    rows = sp.csr_array(COUNTS)
    long = sp.csr_array((rows.data, rows.indices, rows.indptr), shape=rows.shape)
    long.indices, long.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    doubled = sp.csr_array(  # every value in two halves
        (np.repeat(rows.data / 2, 2), np.repeat(rows.indices, 2), 2 * rows.indptr), shape=rows.shape
    )
    wanted = PrisMap(TSNE(max_iter=20, perplexity=10), perplexity=10, random_state=0).fit(rows, THIRDS)
    for other in (long, doubled):
        model = PrisMap(TSNE(max_iter=20, perplexity=10), perplexity=10, random_state=0).fit(other, THIRDS)
        np.testing.assert_array_equal(model.embedding_, wanted.embedding_)
        np.testing.assert_array_equal(model.transform(other), wanted.embedding_)


def test_some_columns_of_sparse_rows_are_what_scipy_gives():
    rows = sp.random_array((20, 50), density=0.2, rng=np.random.default_rng(3), format="csr")
    for columns in (np.arange(50), np.array([0, 7, 8, 49]), np.array([], dtype=int)):
        np.testing.assert_array_equal(columns_of(rows, columns).toarray(), rows[:, columns].toarray())


@pytest.mark.parametrize("method", ["tsne", "gtm", "som"])
@pytest.mark.parametrize(
    "rows", [sp.csr_array((24, 5)), sp.csr_array(np.tile([0.0, 2.0, 0.0], (24, 1)))], ids=["0", "="]
)
def test_sparse_rows_that_are_all_equal_have_a_map(method, rows):
    method = TSNE(max_iter=10, perplexity=5) if method == "tsne" else method
    model = PrisMap(method, perplexity=5, random_state=0).fit(rows)
    assert np.isfinite(model.embedding_).all()


def test_many_sparse_columns_cost_no_more_than_their_values():
    n_columns = 2 * 10**7
    places = np.arange(30) % 15, np.random.default_rng(0).integers(0, n_columns, 30)
    rows = sp.csr_array((np.ones(30), places), shape=(15, n_columns))
    model = PrisMap(TSNE(max_iter=10, perplexity=4), perplexity=4, random_state=0, target="none")
    peak = peak_of(lambda: model.fit(rows))
    assert np.isfinite(model.embedding_).all()
    assert peak < 14 * n_columns  # scipy lists where columns begin, in 12 bytes; nothing holds numbers for them


# What is no array

NO_ARRAYS = {
    "set": ({1, 2}, "is a set"),
    "dict": ({"a": [1.0]}, "is a dict"),
    "generator": ((row for row in COUNTS), "is a generator"),
    "records": (np.zeros(60, dtype=[("a", "f8")]), "is an array of records"),
}


@pytest.mark.parametrize("kind", sorted(NO_ARRAYS))
def test_what_is_no_array_of_rows_or_labels_is_refused(kind):
    value, words = NO_ARRAYS[kind]
    with pytest.raises(InputError, match=f"X {words}"):
        PrisMap("mds").fit(value)
    if kind != "dict":  # a mapping of names to columns is a target
        with pytest.raises(InputError, match=f"y {words}"):
            PrisMap("mds").fit(COUNTS, value)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([{"a": 1}] * 60, "y holds a dict"),
        ([{1}, {2}] * 30, "y holds a set"),
        ([[1, 2], [3]] * 30, "lists of different lengths"),
        (np.array(["a\0", "a", "b"] * 20, dtype=object), "only in NUL characters"),
        (dict.fromkeys("ab", 1), "no column"),
    ],
    ids=["dicts", "sets", "ragged", "nul", "numbers"],
)
def test_labels_that_are_none_are_refused(y, words):
    with pytest.raises(InputError, match=words):
        make_target(y, 60)


def test_a_target_in_half_precision_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert make_target(np.linspace(0, 6e4, 60).astype(np.float16), 60, X=COUNTS).kind == "real"
