"""A map shaped by hand: what the groups differ in counts, and nothing says that it was found."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from prismap import PrisMap
from prismap.exceptions import InputError
from prismap.learners import GMLVQ
from prismap.page import page_of
from prismap.page._live import live_compute, shaped_rows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
LOW, HIGH = np.argsort(X[:, 2])[:10], np.argsort(X[:, 2])[-10:]


def test_distances_are_the_mixture_of_the_learnt_metric_and_the_datas_own():
    Z, relevance = shaped_rows(X, [LOW, HIGH], weight=0.7)
    learner = GMLVQ(random_state=0).fit(X[np.r_[LOW, HIGH]], np.repeat([0, 1], 10))
    own, learnt = pdist(X, "sqeuclidean"), pdist(X @ learner.omega_.T, "sqeuclidean")
    expected = 0.7 * learnt / learnt.mean() + 0.3 * own / own.mean()
    found = pdist(Z, "sqeuclidean")
    np.testing.assert_allclose(found / found.mean(), expected / expected.mean(), rtol=1e-9)
    np.testing.assert_allclose(relevance.sum(), 1)
    assert relevance.argmax() == 2


def test_the_live_page_moves_the_fitted_rows_and_can_stop():
    model = PrisMap(perplexity=5, fit_rows=50, random_state=0, target="none").fit(X)
    page = page_of(model, judge=False)
    compute = live_compute(model, page)
    start = np.asarray(page.layers[0].positions, dtype=np.float32)
    heard = []
    Y, names, values = compute.shape(
        [LOW, HIGH], start=start, progress=lambda share, positions: heard.append(share), cancel=lambda: len(heard) > 1
    )
    assert Y.shape == (60, 2)
    np.testing.assert_array_equal(np.isnan(Y[:, 0]), ~np.isin(np.arange(60), model.fit_rows_))
    assert names == ["x0", "x1", "x2", "x3"]
    assert values.argmax() == 2
    assert len(heard) == 2


@pytest.mark.parametrize("groups", [[LOW], [LOW, HIGH[:1]], [LOW, LOW]])
def test_groups_that_teach_nothing_are_refused(groups):
    with pytest.raises(InputError, match="at least two groups"):
        shaped_rows(X, groups)
