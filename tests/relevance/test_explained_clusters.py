"""Columns that set the clusters of a map apart."""

import numpy as np
import pytest

from prismap.relevance._columns import drawn_in, explained_clusters, narrowness


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_one_cluster_alone_is_not_explained(rng):
    x = rng.normal(size=60)
    assert explained_clusters(np.zeros(60, dtype=int), {"x": x}) == []
    assert explained_clusters(np.full(60, -1), {"x": x}) == []
    assert explained_clusters(np.repeat([0, 1], 30), {}) == []


def test_the_column_that_makes_clusters_is_named_and_noise_is_not(rng):
    codes = np.repeat([0, 1, 2], [150, 100, 80])
    columns = {"site": np.eye(3)[codes], "size": codes + 0.05 * rng.normal(size=330), "constant": np.ones(330)}
    columns |= {f"noise {j}": rng.normal(size=330) for j in range(30)}
    columns |= {f"random {j}": np.eye(4)[rng.integers(4, size=330)] for j in range(10)}
    found = explained_clusters(codes, columns)
    assert [set(cluster.columns) for cluster in found] == [{"site", "size"}] * 3
    assert found[0].columns["site"] == pytest.approx(1.0)
    assert sum(cluster.share for cluster in found) == pytest.approx(1.0)


def test_many_rows_are_judged_by_a_sample(rng):
    codes = rng.permutation(np.repeat([-1, 0, 1], [500, 2700, 1800]))
    first, second = explained_clusters(codes, {"site": np.eye(2)[codes], "noise": rng.normal(size=5000)})
    assert (first.share, second.share) == (0.54, 0.36)
    np.testing.assert_array_equal(first.rows, np.flatnonzero(codes == 0))
    assert list(first.columns) == list(second.columns) == ["site"]


def test_a_column_with_a_few_extreme_values_sets_no_cluster_apart(rng):
    """Its variance is that of two rows: a group a little narrower than others would seem to have none."""
    codes = np.repeat([0, 1], 150)
    price = np.where(codes == 0, 0.65, 1.0) * np.tile(rng.permutation(np.linspace(-1, 1, 150)), 2)
    price[[200, 250]] = 1e6, 5e6
    for rows in explained_clusters(codes, {"site": np.eye(2)[codes], "price": price, "flag": (codes == 0) * 1.0}):
        assert set(rows.columns) == {"site", "flag"}
    rare = (np.arange(300) < 3).astype(float)
    assert (drawn_in(rare[:, None])[:, 0] == rare).all()


def test_narrowness_is_one_less_the_share_of_the_variance_inside(rng):
    X = rng.normal(size=(60, 5)) * [1.0, 100.0, 1e-3, 1.0, 0.0]
    X -= X.mean(axis=0)
    groups, first = np.stack([rng.choice(60, 12, replace=False) for _ in range(4)]), np.array([0, 1, 3, 4])
    inside = np.stack([np.add.reduceat(X[rows].var(axis=0), first) for rows in groups])[:, :3]
    expected = 1 - inside / np.add.reduceat(X.var(axis=0), first)[:3]
    found = narrowness(X, groups, first)
    np.testing.assert_allclose(found[:, :3], expected, rtol=1e-9, atol=1e-9)
    assert (found[:, 3] == 0).all()
