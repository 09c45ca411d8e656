"""The order of rows and columns and the names of classes do not matter where no random numbers are drawn.

Distances and positions agree within the bound that the documentation promises, 1e-5 of their spread.
"""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from prismap import PrisMap
from prismap.embeddings import GTM, LLE, MDS, SOM, Isomap, KernelDiscriminant, NeRV
from prismap.map._methods import cost_settings
from prismap.mappings import DirectPlacement, KernelMap, VoteMap
from prismap.metrics import FisherMetric, PredictedLabels

BOUND = 1e-5
RNG = np.random.default_rng(0)
CLASSES = np.arange(60) % 3
X = RNG.normal(size=(60, 5)) + 2.0 * np.eye(3, 5)[CLASSES]
NUMBERS = X[:, 0] + 0.3 * X[:, 1] ** 2
NEW = X[:12] + 0.07
ROWS, COLUMNS = RNG.permutation(60), RNG.permutation(5)
NAMES = np.array(["wasp", "ant", "moth"])

#: Posteriors by the arguments of the metric, with their target. No folds: those are drawn.
POSTERIORS = {
    "parzen": ({"posterior": "parzen"}, CLASSES),
    "parzen, tangent": ({"posterior": "parzen", "path": "tangent"}, CLASSES),
    "parzen, graph": ({"posterior": "parzen", "path": "graph"}, CLASSES),
    "machine": ({"posterior": "lssvm"}, CLASSES),
    "auto": ({"supervision": 0.8}, CLASSES),
    "classifier": ({"posterior": LogisticRegression(max_iter=2000, tol=1e-12), "supervision": 0.5}, CLASSES),
    "predicted": ({"posterior": PredictedLabels(LogisticRegression(max_iter=2000, tol=1e-12))}, CLASSES),
    "process": ({}, NUMBERS),
    "process at the rows": ({"supervision": 0.5}, np.exp(2 * NUMBERS)),
    "regressor": ({"posterior": LinearRegression(), "supervision": 0.5}, NUMBERS),
}


def distances(options, rows, target):
    metric = FisherMetric(cross_fit=False, perplexity=8, random_state=0, **options).fit(rows, target)
    return metric.pairwise()


def assert_close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=BOUND * np.ptp(expected))


@pytest.mark.parametrize("name", POSTERIORS)
def test_distances_do_not_feel_order_or_names(name):
    options, target = POSTERIORS[name]
    D = distances(options, X, target)
    assert_close(distances(options, X[ROWS], target[ROWS]), D[np.ix_(ROWS, ROWS)])
    assert_close(distances(options, X[:, COLUMNS], target), D)
    if target is CLASSES:
        assert_close(distances(options, X, NAMES[target]), D)


#: Those that neither draw their start nor, like t-SNE, make much of every rounding; descents are run to their end.
EMBEDDINGS = [
    MDS(kind="classical"), MDS(tol=1e-12, max_iter=3000), Isomap(), LLE(), SOM(), GTM(), NeRV(perplexity=10),
]  # fmt: skip


@pytest.mark.parametrize("embedding", EMBEDDINGS, ids=repr)
def test_embeddings_do_not_feel_order(embedding):
    """Positions may be mirrored: their distances are compared."""

    def shape(rows):
        Y = embedding.set_params(random_state=0).fit_transform(rows)
        return np.linalg.norm(Y[:, None] - Y[None], axis=2)

    D = shape(X)
    assert_close(shape(X[ROWS]), D[np.ix_(ROWS, ROWS)])
    assert_close(shape(X[:, COLUMNS]), D)


@pytest.mark.parametrize(
    "mapping",
    [
        KernelMap(bandwidth=0.7, ridge=1e-3),
        KernelMap("elm", bandwidth=1.0, ridge=1e-3),
        VoteMap(),
        DirectPlacement("mds"),
    ],
    ids=repr,
)
def test_mappings_do_not_feel_order(mapping):
    Y = np.column_stack([X[:, 0] + X[:, 1], X[:, 2]])
    placed = mapping.fit(X, Y).transform(NEW)
    assert_close(mapping.fit(X[ROWS], Y[ROWS]).transform(NEW), placed)
    assert_close(mapping.fit(X[:, COLUMNS], Y).transform(NEW[:, COLUMNS]), placed)


def test_a_method_by_name_and_as_an_object_grow_alike():
    assert cost_settings("direct", "mds")["name"] == cost_settings("direct", MDS())["name"] == "mds"
    assert cost_settings("direct", "tsne")["name"] == "tsne"


def test_a_supervised_method_gets_the_target():
    model = PrisMap(KernelDiscriminant(), perplexity=8, random_state=0).fit(X, NAMES[CLASSES])
    assert model.embedding_.shape == (60, 2)
    assert model.transform(NEW).shape == (12, 2)
    assert model.report(n_permutations=1).scores
