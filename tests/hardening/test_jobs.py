"""The same seed gives the same bits at one thread and at two.

(Neighbours by partition and by tree: tests/neighbors; the metric with a small support: tests/metrics/test_fisher.py;
t-SNE: tests/embeddings/test_tsne.py.)
"""

import numpy as np
import pytest

from prismap import PrisMap
from prismap._util.threads import limit_threads
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
    found = []
    for most in (1, 2):
        with limit_threads(most):
            model = PrisMap(TSNE(max_iter=30, random_state=0), metric=FisherMetric(**options), random_state=0)
            found.append((model.fit(X.astype(dtype), y).embedding_, model.transform(NEW.astype(dtype))))
    (one, placed), (two, also) = found
    np.testing.assert_array_equal(one, two)
    np.testing.assert_allclose(placed, also, rtol=0, atol=1e-5 * np.ptp(one))


@TARGETS
def test_metrics(options, y):
    metric, found = FisherMetric(random_state=0, **options).fit(X, y), []
    for most in (1, 2):
        with limit_threads(most):
            found.append((metric.pairwise(), *metric.kneighbors(None, 20)))
    for first, second in zip(*found, strict=True):
        np.testing.assert_array_equal(first, second)
