"""`data="cosine"`: distances between directions, under the Fisher metric and without a target."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import cosine_distances

from prismap import PrisMap
from prismap.exceptions import InputError
from prismap.metrics import CosineMetric, FisherMetric


@pytest.fixture(scope="module")
def directions():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    return rng.normal(size=(60, 6)) + 2 * np.eye(3, 6)[y], y


def test_squared_distances_are_twice_the_cosine_distance(directions):
    X, _ = directions
    metric = CosineMetric().fit(X)
    np.testing.assert_allclose(metric.pairwise() ** 2, 2 * cosine_distances(X), atol=1e-12)
    np.testing.assert_allclose(metric.pairwise(3 * X[:5], X[5:9]) ** 2, 2 * cosine_distances(X[:5], X[5:9]), atol=1e-12)


def test_lengths_do_not_matter(directions):
    X, y = directions
    scale = 2.0 ** np.random.default_rng(1).integers(-3, 4, len(X))  # powers of two: no rounding
    one = PrisMap(data="cosine", random_state=0, method="mds", supervision=0.5, perplexity=8).fit(X, y)
    two = PrisMap(data="cosine", random_state=0, method="mds", supervision=0.5, perplexity=8).fit(X * scale[:, None], y)
    np.testing.assert_array_equal(one.embedding_, two.embedding_)
    np.testing.assert_array_equal(one.transform(X[:5] * 4), one.embedding_[:5])


def test_sparse_rows_and_the_fisher_metric(directions):
    X, y = directions
    X = np.where(np.abs(X) < 0.3, 0, X)
    # Linear discriminants, which "auto" may add, are of dense columns only.
    options = {"posterior": "lssvm", "supervision": 0.5, "perplexity": 8, "random_state": 0}
    dense = FisherMetric(data="cosine", **options).fit(X, y).pairwise()
    sparse = FisherMetric(data="cosine", **options).fit(sp.csr_matrix(X), y).pairwise()
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_allclose(dense, FisherMetric(**options).fit(unit, y).pairwise(), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sparse, dense, rtol=1e-4, atol=1e-5)


def test_saved_and_loaded(directions, tmp_path):
    X, y = directions
    m = PrisMap(data="cosine", random_state=0, method="mds", supervision=0.5, perplexity=8).fit(X, y)
    m.save(tmp_path / "m.prismap")
    new = X[:7] * 5 + 0.1
    np.testing.assert_array_equal(PrisMap.load(tmp_path / "m.prismap").transform(new), m.transform(new))


def test_a_row_of_zeros_has_no_direction(directions):
    X, y = directions
    X = X.copy()
    X[4] = 0
    with pytest.raises(InputError, match="1 of 60 are all zero, the first at index 4"):
        PrisMap(data="cosine").fit(X, y)


def test_single_precision_stays(directions):
    X, y = directions
    for kind in (np.float16, np.float32):
        m = PrisMap(data="cosine", random_state=0, method="mds", supervision=0.5, perplexity=8).fit(X.astype(kind), y)
        assert m.rows_.dtype == np.float32
        assert m.transform(X.astype(kind)).dtype == np.float32
