"""Placing: one product a block, the same position for a row wherever it stands."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from prismap import PrisMap
from prismap.embeddings import TSNE
from prismap.map.placing import precision
from prismap.metrics.geometry import VectorGeometry

ROWS, LABELS = load_iris(return_X_y=True)
ROWS = ROWS + np.random.default_rng(1).normal(scale=0.3, size=ROWS.shape)
NEW = np.random.default_rng(0).permutation(ROWS)[:70] + 0.02


@pytest.fixture(scope="module", params=["lssvm", "parzen", "none"])
def fitted(request):
    options = {"target": "none"} if request.param == "none" else {"posterior": request.param}
    return PrisMap(random_state=0, fit_rows=90, perplexity=10, **options).fit(ROWS, LABELS)


def test_a_row_gets_the_same_bits_alone_and_among_others(fitted):
    together = fitted.transform(NEW)
    alone = np.vstack([fitted.transform(NEW[i : i + 1]) for i in (0, 13, 69)])
    np.testing.assert_array_equal(alone, together[[0, 13, 69]])
    np.testing.assert_array_equal(fitted.transform(np.asfortranarray(NEW[5:40])), together[5:40])


def test_placing_is_the_mapping_of_the_metrics_own_distances(fitted):
    built = fitted._built
    D = built.metric.pairwise(NEW)
    if fitted.target_ == "none":
        D = D * built.metric.bandwidth_
    np.testing.assert_allclose(built.place(NEW)[0], built.mapping.transform(D), atol=1e-4 * np.ptp(fitted.embedding_))


def test_fitted_rows_keep_their_positions(fitted):
    np.testing.assert_array_equal(fitted.transform(ROWS[fitted.fit_rows_]), fitted.embedding_)


def test_single_precision_only_where_it_can_tell_neighbours_apart():
    typical = 0.5
    assert precision(VectorGeometry(ROWS), typical) == np.float32
    split = np.vstack([ROWS[:75], ROWS[75:] + 1e3])
    assert precision(VectorGeometry(split), typical) == np.float64


def test_far_apart_clusters_are_placed_as_exactly_as_near_ones():
    X = np.vstack([ROWS[:60], ROWS[60:120] + 1e5])
    m = PrisMap(random_state=0, target="none", perplexity=10).fit(X)
    np.testing.assert_array_equal(m.transform(X), m.embedding_)


def test_the_same_bits_where_products_of_few_rows_take_another_path():
    """Libraries sum small matrix products in another order; blocks of one size are what keeps a row's bits."""
    rng = np.random.default_rng(2)
    classes = np.arange(900) % 5
    X = rng.normal(size=(5, 20))[classes] + rng.normal(size=(900, 20))
    model = PrisMap(TSNE(n_iter=20, perplexity=10), posterior="lssvm", random_state=0).fit(X, classes)
    new = X[:700] + 0.1
    alone = np.vstack([model.transform(new[i : i + 1]) for i in range(12)])
    np.testing.assert_array_equal(alone, model.transform(new)[:12])
