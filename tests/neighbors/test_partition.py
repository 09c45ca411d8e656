"""Neighbours by partition: nearly all of the exact ones, from few of the pairs, the same for any number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from prismap._util.search import NeighborLists, partition_neighbors, random_groups
from prismap.embeddings import TSNE
from prismap.exceptions import InputError
from prismap.metrics import FisherMetric, Parzen
from prismap.neighbors import kneighbors

X, CLASSES = make_blobs(3000, 8, centers=6, cluster_std=3.0, random_state=0)


def euclidean(a, b):
    return np.sqrt(((X[a][:, None] - X[b][None]) ** 2).sum(axis=2))


@pytest.fixture(scope="module")
def exact():
    return kneighbors(X, 20, method="exact")


@pytest.fixture(scope="module")
def found():
    return kneighbors(X, 20, method="partition", recall=0.99, random_state=0)


def test_finds_nearly_all_neighbours_and_says_how_many(found, exact):
    shares = [len(np.intersect1d(a, b)) / 20 for a, b in zip(found.indices, exact.indices, strict=True)]
    assert np.mean(shares) > 0.98
    assert found.recall == pytest.approx(np.mean(shares), abs=0.01)
    assert found.method == "partition"
    assert "recall" in repr(found)


def test_what_it_found_is_sorted_true_and_never_the_row_itself(found):
    rows = np.arange(len(X))[:, None]
    assert not (found.indices == rows).any()
    assert (np.diff(found.distances, axis=1) >= 0).all()
    assert all(len(set(row)) == 20 for row in found.indices.tolist())
    true = np.linalg.norm(X[:, None] - X[found.indices], axis=2)
    np.testing.assert_allclose(found.distances, true, rtol=1e-4)


def test_measures_few_of_the_pairs():
    measured = []

    def counting(a, b):
        measured.append(len(a) * len(b))
        return euclidean(a, b)

    found = partition_neighbors(counting, len(X), 10, recall=0.9, random_state=0)
    assert found.n_distances == sum(measured)
    assert sum(measured) < 0.6 * len(X) ** 2


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_same_seed_same_neighbours_at_any_number_of_threads(n_jobs):
    one = kneighbors(X, 20, method="partition", random_state=3, n_jobs=n_jobs)
    two = kneighbors(X, 20, method="partition", random_state=3, n_jobs=1)
    np.testing.assert_array_equal(one.indices, two.indices)
    np.testing.assert_array_equal(one.distances, two.distances)


def test_a_cheaper_metric_finds_the_candidates_and_they_are_measured(exact):
    measured = []

    def counting(a, b):
        measured.append(len(a) * len(b))
        return euclidean(a, b)

    def shorter(a, b):  # the last column counts for half
        return np.sqrt((((X[a][:, None] - X[b][None]) * [1, 1, 1, 1, 1, 1, 1, 0.5]) ** 2).sum(axis=2))

    found = partition_neighbors(counting, len(X), 20, random_state=0, at_least=shorter)
    shares = [len(np.intersect1d(a, b)) / 20 for a, b in zip(found.indices, exact.indices, strict=True)]
    assert found.recall == pytest.approx(np.mean(shares), abs=0.02)
    assert np.mean(shares) > 0.93
    assert not (found.indices == np.arange(len(X))[:, None]).any()
    np.testing.assert_allclose(found.distances, np.linalg.norm(X[:, None] - X[found.indices], axis=2), rtol=1e-4)
    assert sum(measured) < 0.3 * len(X) ** 2


def test_where_the_cheaper_metric_knows_nothing_all_is_measured(exact):
    found = partition_neighbors(euclidean, len(X), 20, random_state=0, at_least=lambda a, b: np.zeros((len(a), len(b))))
    shares = [len(np.intersect1d(a, b)) / 20 for a, b in zip(found.indices, exact.indices, strict=True)]
    assert np.mean(shares) > 0.95
    assert found.recall == pytest.approx(np.mean(shares), abs=0.02)


def test_groups_are_a_partition_of_near_rows():
    groups = random_groups(euclidean, np.arange(len(X)), 200, np.random.default_rng(0), lambda n: None)
    assert sorted(np.concatenate(groups).tolist()) == list(range(len(X)))
    assert max(map(len, groups)) <= 200
    inside = np.mean([euclidean(g, g).mean() for g in groups])
    assert inside < 0.7 * euclidean(np.arange(300), np.arange(300)).mean()


def test_lists_keep_the_nearest_of_all_they_were_told():
    lists = NeighborLists(euclidean, len(X), 5)
    rows = np.arange(40)
    for columns in (np.arange(100), np.arange(50, 300), np.arange(20, 120)):
        lists.measure(rows, columns)
    D = euclidean(rows, np.arange(300))
    D[rows, rows] = np.inf
    np.testing.assert_array_equal(np.sort(lists.indices[rows]), np.sort(np.argsort(D, axis=1)[:, :5]))


@pytest.mark.parametrize("options", [{"posterior": Parzen(300)}, {"posterior": "lssvm", "supervision": 0.8}], ids=str)
def test_works_under_every_fisher_metric(options):
    metric = FisherMetric(random_state=0, **options).fit(X[:500], CLASSES[:500])
    found = kneighbors(metric=metric, n_neighbors=10, method="partition", random_state=0)
    true = kneighbors(metric=metric, n_neighbors=10, method="exact")
    # Ties (rows deep inside a class are all equally near) make indices ambiguous; distances are not.
    assert (found.distances <= true.distances[:, -1:] * 1.0001 + 1e-6).mean() > 0.95


def test_works_on_similarities():
    S = X[:500] @ X[:500].T
    metric = FisherMetric(data="similarity", random_state=0, posterior=Parzen(200)).fit(S, CLASSES[:500])
    found = kneighbors(metric=metric, n_neighbors=10, method="partition", random_state=0)
    true = metric.pairwise()
    np.testing.assert_allclose(found.distances, np.take_along_axis(true, found.indices, axis=1), atol=1e-3 * true.max())


def test_duplicates_do_no_harm():
    rows = np.repeat(X[:150], 6, axis=0)
    found = kneighbors(rows, 5, method="partition", random_state=0)
    assert (found.distances < 1e-3).mean() > 0.97


def test_tsne_takes_them():
    model = TSNE(perplexity=5, max_iter=50, neighbors="partition", random_state=0).fit(X[:600])
    assert "partition" in model.neighbors_


def test_new_rows_and_metrics_without_blocks_are_refused():
    with pytest.raises(InputError, match="queries are new rows"):
        kneighbors(X, 5, queries=X[:3], method="partition")
    with pytest.raises(InputError, match="method must be one of"):
        kneighbors(X, 5, method="guess")
