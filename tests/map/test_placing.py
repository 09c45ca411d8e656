"""Placing: a row gets the same position wherever it stands, and a fitted row its own."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from threadpoolctl import threadpool_limits

from prismap import PrisMap
from prismap._util.blocks import row_blocks
from prismap.embeddings import TSNE
from prismap.map import FittedMap
from prismap.map import _fitted as fitted_maps
from prismap.map._exact_rows import KnownRows
from prismap.metrics import FisherMetric

ROWS, LABELS = load_iris(return_X_y=True)
ROWS = ROWS + np.random.default_rng(1).normal(scale=0.3, size=ROWS.shape)
NEW = np.random.default_rng(0).permutation(ROWS)[:70] + 0.02


@pytest.fixture(scope="module", params=["lssvm", "parzen", "none"])
def fitted(request):
    options = {"target": "none"}
    if request.param != "none":
        options = {"metric": FisherMetric(posterior=request.param, perplexity=10), "supervision": 0.8}
    return PrisMap(random_state=0, fit_rows=90, perplexity=10, mapping="fisher", **options).fit(ROWS, LABELS)


#: Posteriors along segments are measured in double precision: equal to this share of the map's spread.
BOUND = 1e-5


def assert_same(model, one, two):
    """The promise: the same bits, or the bound where the posterior is measured along segments."""
    if model.target_ != "none" and model.metric_.posterior_.name == "parzen":
        np.testing.assert_allclose(one, two, rtol=0, atol=BOUND * np.ptp(model.embedding_))
    else:
        np.testing.assert_array_equal(one, two)


def test_a_row_is_placed_alike_alone_and_among_others(fitted):
    together = fitted.transform(NEW)
    alone = np.vstack([fitted.transform(NEW[i : i + 1]) for i in range(70)])
    assert_same(fitted, alone, together)
    assert_same(fitted, fitted.transform(np.asfortranarray(NEW[5:40])), together[5:40])
    assert_same(fitted, fitted.transform(NEW[::-1])[::-1], together)
    with threadpool_limits(1):
        assert_same(fitted, fitted.transform(np.tile(NEW, (40, 1)))[-70:], together)


@pytest.mark.parametrize("mapping", ["vote", "direct", "elm", "svr", "cost", "euclidean"])
def test_other_mappings_place_a_row_alike_alone_and_among_others(mapping):
    # Rows on a lattice have many equal distances: a vote that rounding could turn would turn here.
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(120, 3)).astype(float)
    model = PrisMap(TSNE(max_iter=30, perplexity=10), mapping=mapping, perplexity=10, random_state=0).fit(
        X, X[:, 0] > 1
    )
    new = rng.integers(0, 4, size=(50, 3)) + 0.5
    alone = np.vstack([model.transform(new[i : i + 1]) for i in range(50)])
    np.testing.assert_array_equal(alone, model.transform(new))


@pytest.mark.parametrize("method", ["som", "gtm", "kpca", "kda"])
def test_methods_place_a_row_alike_alone_and_among_others(method):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(80, 6)), rng.normal(size=(33, 6))
    model = PrisMap(method, mapping="own", perplexity=8, random_state=0).fit(X, np.arange(80) % 3)
    alone = np.vstack([model.transform(new[i : i + 1]) for i in range(33)])
    np.testing.assert_array_equal(alone, model.transform(new))


def test_placing_is_the_mapping_of_the_metrics_own_distances(fitted):
    parts = fitted.map_
    D = parts.metric.pairwise(NEW)
    np.testing.assert_allclose(parts.place(NEW)[0], parts.mapping.place(D), atol=1e-4 * np.ptp(fitted.embedding_))


def test_fitted_rows_keep_their_positions(fitted):
    np.testing.assert_array_equal(fitted.transform(ROWS[fitted.fit_rows_]), fitted.embedding_)
    assert not fitted.distance_to_data(ROWS[fitted.fit_rows_]).any()


def as_similarity(A, B):
    return A @ B.T


def as_dissimilarity(A, B):
    return np.sqrt(((A[:, None] - B[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize("data", ["similarity", "dissimilarity", "sparse", "single"])
def test_a_row_that_equals_a_fitted_one_gets_exactly_its_position(data):
    kind = data if data in ("similarity", "dissimilarity") else "vectors"
    X = {
        "similarity": as_similarity(ROWS, ROWS), "dissimilarity": as_dissimilarity(ROWS, ROWS),
        "sparse": sp.csr_array(np.where(ROWS > 2, ROWS, 0)), "single": ROWS.astype(np.float32),
    }[data]  # fmt: skip
    model = PrisMap(data=kind, random_state=0, perplexity=10, method=TSNE(max_iter=30)).fit(X, LABELS)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    np.testing.assert_array_equal(model.transform(X[31:32]), model.embedding_[31:32])


def test_known_rows_are_found_by_their_values_and_others_are_not():
    X = np.array([[0.0, 1.0], [-0.0, 2.0], [3.0, 4.0], [3.0, 4.0]])
    new = np.array([[3.0, 4.0], [0.0, 2.0], [1.0, 0.0], [3.0, np.nextafter(4.0, 5)]])
    for form in (np.array, sp.csr_array):
        found, fitted = KnownRows(form(X)).find(form(new))
        assert found.tolist() == [0, 1]
        assert fitted.tolist() == [2, 1]


def test_far_apart_clusters_are_placed_as_exactly_as_near_ones():
    X = np.vstack([ROWS[:60], ROWS[60:120] + 1e5])
    m = PrisMap(random_state=0, target="none", perplexity=10).fit(X)
    np.testing.assert_array_equal(m.transform(X), m.embedding_)


def test_the_same_bits_where_products_of_few_rows_take_another_path():
    """Libraries sum small matrix products in another order; whole numbers do not feel it."""
    rng = np.random.default_rng(2)
    classes = np.arange(900) % 5
    X = rng.normal(size=(5, 20))[classes] + rng.normal(size=(900, 20))
    model = PrisMap(TSNE(max_iter=20, perplexity=10), metric=FisherMetric(posterior="lssvm"), random_state=0)
    model.fit(X, classes)
    new = X[:700] + 0.1
    alone = np.vstack([model.transform(new[i : i + 1]) for i in range(12)])
    np.testing.assert_array_equal(alone, model.transform(new)[:12])


def test_all_samples_are_placed_a_block_at_a_time(fitted, monkeypatch):
    sizes = []
    place = FittedMap.place
    monkeypatch.setattr(FittedMap, "place", lambda self, rows: sizes.append(rows.shape[0]) or place(self, rows))
    monkeypatch.setattr(fitted_maps, "row_blocks", partial(row_blocks, budget=16 * 4 * 25))
    others, given = np.setdiff1d(np.arange(len(ROWS)), fitted.fit_rows_), fitted.map_.given
    found, _ = fitted.map_.place_some(ROWS, others, given.entry_columns, given.target.levels)
    assert sizes == [25, 25, 10]
    assert_same(fitted, found, fitted.transform(ROWS[others]))
