"""Which features change the target, against the tensors themselves."""

import numpy as np
import pytest

from prismap.exceptions import InputError
from prismap.metrics import FisherMetric
from prismap.relevance import fisher_relevance

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)) * [1, 2, 1]
Y = (X[:, 1] > 0).astype(int)
PARZEN = {"class": {"posterior": "parzen"}, "real": {}}


@pytest.mark.parametrize("target", ["class", "real"])
def test_it_is_the_diagonal_of_the_mean_tensor_in_standard_deviations(target):
    y = Y if target == "class" else X[:, 1] + 0.1 * X[:, 0]
    metric = FisherMetric(target=target, supervision=1.0, perplexity=10, **PARZEN[target], random_state=0).fit(X, y)
    rows = np.array([3, 5, 40])
    J = metric.tensor()[rows].mean(axis=0)
    expected = np.diag(J) * X.var(axis=0)
    np.testing.assert_allclose(fisher_relevance(metric, rows), expected / expected.sum(), rtol=1e-6)
    assert fisher_relevance(metric).argmax() == 1


def test_it_depends_on_the_place():
    """The class is told by the first column on the left and by the second on the right."""
    left = X[:, 2] < 0
    y = np.where(left, X[:, 0] > 0, X[:, 1] > 0).astype(int)
    apart = X + np.where(left, -6.0, 6.0)[:, None] * [0, 0, 1]
    metric = FisherMetric(posterior="parzen", perplexity=10, random_state=0).fit(apart, y)
    here, there = (fisher_relevance(metric, np.flatnonzero(side)) for side in (left, ~left))
    assert here[0] > 2 * here[1]
    assert there[1] > 2 * there[0]


def test_what_has_no_tensor_is_refused():
    with pytest.raises(InputError, match="needs data='vectors'"):
        fisher_relevance(FisherMetric(data="similarity", perplexity=10, random_state=0).fit(X @ X.T, Y))
    with pytest.raises(InputError, match="needs a FisherMetric"):
        fisher_relevance(object())
