"""The same seed gives the same bits at one thread and at two.

(Neighbours by partition and by tree: tests/neighbors; the metric with a small support: tests/metrics/test_fisher.py;
t-SNE: tests/embeddings/test_tsne.py.)
"""

import numpy as np
import pytest

from prismap import PrisMap
from prismap.embeddings import TSNE
from prismap.metrics import FisherMetric

rng = np.random.default_rng(0)
# Enough rows for several tiles a thread.
X = rng.normal(size=(130, 6))
CLASSES, QUANTITY = (X[:, 0] > 0) + 2 * (X[:, 1] > 0), X[:, 0] + X[:, 1] ** 2
NEW = rng.normal(size=(1500, 6))

TARGETS = pytest.mark.parametrize(
    ("options", "y"),
    [({"posterior": "parzen"}, CLASSES), ({"posterior": "lssvm"}, CLASSES), ({"target": "real"}, QUANTITY)],
    ids=["parzen", "lssvm", "real"],
)


@TARGETS
def test_maps(options, y):
    dtype = np.float32 if y is CLASSES else np.float64
    one, two = (
        PrisMap(TSNE(n_iter=30, random_state=0, n_jobs=n_jobs), metric=FisherMetric(n_jobs=n_jobs, **options),
                random_state=0).fit(X.astype(dtype), y)
        for n_jobs in (1, 2)
    )  # fmt: skip
    np.testing.assert_array_equal(one.embedding_, two.embedding_)
    np.testing.assert_array_equal(one.transform(NEW.astype(dtype)), two.transform(NEW.astype(dtype)))


@TARGETS
def test_metrics(options, y):
    one, two = (FisherMetric(random_state=0, **options).fit(X, y) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.pairwise(), two.pairwise())
    np.testing.assert_array_equal(one.pairwise(NEW[:100]), two.pairwise(NEW[:100]))
    for first, second in zip(one.kneighbors(None, 20), two.kneighbors(None, 20), strict=True):
        np.testing.assert_array_equal(first, second)
