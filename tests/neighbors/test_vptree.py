"""The vantage-point tree against all distances: what it finds, what it counts, what it says of itself."""

import numpy as np
import pytest

from prismap.embeddings import TSNE
from prismap.exceptions import InputError
from prismap.metrics import FisherMetric
from prismap.neighbors import kneighbors
from prismap.neighbors._search import build_tree, vptree_neighbors


class Counted:
    """Euclidean distances of rows by index, counted."""

    def __init__(self, X):
        self.X, self.n = X, 0

    def __call__(self, a, b):
        self.n += len(a) * len(b)
        return np.sqrt(((self.X[a][:, None] - self.X[b][None]) ** 2).sum(axis=2))


def brute_force(block, n_rows, k):
    D = block(np.arange(n_rows), np.arange(n_rows)) + np.diag(np.full(n_rows, np.inf))
    return np.sort(D, axis=1)[:, :k], np.argsort(D, axis=1, kind="stable")[:, :k]


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    return rng.normal(size=(600, 3)) + 12 * rng.integers(0, 3, size=(600, 1))


@pytest.mark.parametrize(("leaf_rows", "k"), [(16, 5), (16, 40), (64, 90), (1000, 3)])
def test_a_metric_loses_no_neighbour(blobs, leaf_rows, k):
    distances, indices, report = vptree_neighbors(Counted(blobs), 600, k, leaf_rows=leaf_rows, random_state=0)
    true_distances, true_indices = brute_force(Counted(blobs), 600, k)
    np.testing.assert_allclose(distances, true_distances)
    np.testing.assert_array_equal(np.sort(indices), np.sort(true_indices))
    assert report.recall == 1


def test_evaluations_are_counted_and_far_fewer_than_all_pairs(blobs):
    block = Counted(blobs)
    report = vptree_neighbors(block, 600, 5, leaf_rows=16, n_checked=0, random_state=0, n_jobs=1)[2]
    assert report.n_evaluations == block.n
    assert report.share == block.n / 600**2 < 0.25
    looser = vptree_neighbors(block, 600, 5, leaf_rows=16, slack=2.0, random_state=0)[2]
    assert looser.n_evaluations < report.n_evaluations
    assert f"{100 * report.share:.1f} % of n^2" in str(report)


def test_the_tree_is_balanced_and_its_limits_hold(blobs):
    block = Counted(blobs)
    tree = build_tree(block, 600, 16, np.random.default_rng(0))
    assert sorted(tree.order) == list(range(600))
    assert np.diff(tree.edges[-1]).max() <= 16
    for level in range(tree.depth):
        for node, vantage in enumerate(tree.vantages[level]):
            assert vantage in tree.rows(level, node)
            for child in (2 * node, 2 * node + 1):
                d = block(tree.rows(level + 1, child), [vantage])
                np.testing.assert_allclose((d.min(), d.max()), tree.limits[level + 1][child])


def test_recall_is_that_of_the_neighbours_found():
    """Squared distances break the triangle inequality, so that some neighbours are missed: the report must say so."""
    X = np.random.default_rng(1).normal(size=(400, 2))
    euclidean = Counted(X)

    def block(a, b):
        return euclidean(a, b) ** 4

    distances, indices, report = vptree_neighbors(block, 400, 10, leaf_rows=16, n_checked=400, random_state=0)
    _, true = brute_force(block, 400, 10)
    found = np.mean([len(set(one) & set(two)) / 10 for one, two in zip(indices, true, strict=True)])
    assert 0.1 < found < 0.999
    assert report.recall == pytest.approx(found)
    np.testing.assert_allclose(distances, np.take_along_axis(block(np.arange(400), np.arange(400)), indices, axis=1))


def test_duplicates_and_threads_change_nothing():
    X = np.repeat(np.random.default_rng(2).normal(size=(60, 2)), 5, axis=0)
    one = vptree_neighbors(Counted(X), 300, 4, leaf_rows=16, random_state=3, n_jobs=1)
    two = vptree_neighbors(Counted(X), 300, 4, leaf_rows=16, random_state=3, n_jobs=2)
    np.testing.assert_array_equal(one[1], two[1])
    assert one[2] == two[2]
    assert (one[0] == 0).all()
    assert (one[1] != np.arange(300)[:, None]).all()
    assert (one[1] // 5 == np.arange(300)[:, None] // 5).all()


@pytest.mark.parametrize("options", [{"cross_fit": False, "n_segments": 1}, {}])
def test_fisher_metric_of_similarities(options):
    X = np.random.default_rng(4).normal(size=(90, 4))
    y = (X[:, 0] > 0) + (X[:, 1] > 0)
    metric = FisherMetric(data="similarity", perplexity=10, random_state=0, **options).fit(X @ X.T, y)
    distances, _, report = vptree_neighbors(metric.between, 90, 8, leaf_rows=16, n_checked=90, random_state=0)
    exact, _ = metric.kneighbors(None, 8)
    if options:  # the angle between two posteriors is a true metric
        np.testing.assert_allclose(distances, exact, atol=1e-7)
    assert report.recall == pytest.approx(np.mean(distances <= exact[:, -1:] + 1e-9), abs=0.01)
    assert report.recall > 0.8


@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
def test_it_is_a_method_of_kneighbors(blobs, metric):
    rows = blobs if metric == "euclidean" else Counted(blobs)(np.arange(600), np.arange(600))
    found = kneighbors(rows, 5, metric=metric, method="vptree", random_state=0)
    np.testing.assert_allclose(found.distances, brute_force(Counted(blobs), 600, 5)[0], atol=1e-6)
    assert (found.method, found.recall) == ("vptree", 1.0)
    assert found.n_distances < 600**2


def test_impossible_numbers_are_refused(blobs):
    with pytest.raises(InputError, match="n_neighbors must lie between 1 and 599"):
        vptree_neighbors(Counted(blobs), 600, 600)


def test_barnes_hut_fisher_tsne_takes_its_neighbours(blobs):
    """Beyond 300 rows the gradient is Barnes and Hut's; neighbours that are all found make the same map."""
    X, y = blobs[:320], (blobs[:320, 0] > 12).astype(int)
    metric = FisherMetric(posterior="parzen", cross_fit=False, n_segments=1, supervision=0.8, random_state=0)
    options = {"metric": metric, "perplexity": 5, "max_iter": 20, "random_state": 0}
    maps = []
    for method in ("vptree", "exact"):
        found = kneighbors(X, 15, metric=metric, y=y, method=method, random_state=0)
        maps.append(TSNE(neighbors=found, **options).fit_transform(X, y))
    np.testing.assert_allclose(*maps, atol=1e-6)
    assert "vptree, recall 1.000" in TSNE(neighbors="vptree", **options).fit(X, y).neighbors_


@pytest.mark.parametrize(("neighbors", "asked"), [("vptree", ("vptree", 15)), ("auto", ("exact", 89))])
def test_the_tree_is_used_for_few_rows_too_where_it_is_asked_for(blobs, neighbors, asked, monkeypatch):
    searches = []

    def search(X, n_neighbors, *, method, **options):
        searches.append((method, n_neighbors))
        return kneighbors(X, n_neighbors, method=method, **options)

    monkeypatch.setattr("prismap.embeddings._tsne.kneighbors", search)
    model = TSNE(neighbors=neighbors, perplexity=5, max_iter=20, random_state=0).fit(blobs[:90])
    assert searches == [asked]
    assert asked[0] in model.neighbors_
