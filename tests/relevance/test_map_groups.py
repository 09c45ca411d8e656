"""Islands of a map, and the columns that make them."""

import numpy as np
import pytest

from prismap.relevance.map_groups import drawn_in, explained_islands, map_islands, narrowness


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def islands(rng, sizes, gap=8.0):
    codes = np.repeat(np.arange(len(sizes)), sizes)
    return rng.uniform(-2, 2, size=(len(codes), 2)) + gap * np.array([[c % 3, c // 3] for c in codes]), codes


def test_islands_are_found_in_any_order_and_at_any_scale(rng):
    Y, codes = islands(rng, (120, 80, 60, 40))
    order = rng.permutation(len(Y))
    for scale in (1e-3, 1.0, 1e4):
        found = map_islands(scale * Y[order])
        assert len(found) == 4
        for rows in found:
            assert len(set(codes[order][rows])) == 1
        assert [len(rows) for rows in found] == sorted((len(rows) for rows in found), reverse=True)


def test_one_cloud_is_no_island(rng):
    for Y in (rng.normal(size=(400, 2)), rng.uniform(size=(400, 2)), np.zeros((50, 2)), rng.normal(size=(5, 2))):
        assert map_islands(Y) == []
        assert explained_islands(Y, {"x": Y[:, 0]}) == []


def test_a_few_rows_between_two_islands_make_no_bridge(rng):
    Y, _ = islands(rng, (150, 150), gap=9.0)
    bridge = np.column_stack([np.linspace(2, 7, 8), np.zeros(8)])
    assert len(map_islands(np.vstack([Y, bridge]))) == 2


def test_the_column_that_makes_islands_is_named_and_noise_is_not(rng):
    Y, codes = islands(rng, (150, 100, 80))
    columns = {"site": np.eye(3)[codes], "size": codes + 0.05 * rng.normal(size=330), "constant": np.ones(330)}
    columns |= {f"noise {j}": rng.normal(size=330) for j in range(30)}
    columns |= {f"random {j}": np.eye(4)[rng.integers(4, size=330)] for j in range(10)}
    found = explained_islands(Y, columns)
    assert [set(island.columns) for island in found] == [{"site", "size"}] * 3
    assert found[0].columns["site"] == pytest.approx(1.0)
    assert sum(island.share for island in found) == pytest.approx(1.0)


def test_many_rows_are_judged_by_a_sample(rng):
    Y, codes = islands(rng, (3000, 2000), gap=12.0)
    first, second = explained_islands(Y, {"site": np.eye(2)[codes]})
    assert (first.share, second.share) == (pytest.approx(0.6, abs=0.03), pytest.approx(0.4, abs=0.03))
    assert set(codes[first.rows]) == {0}


def test_a_column_with_a_few_extreme_values_makes_no_island(rng):
    """Its variance is that of two rows: a group a little narrower than others would seem to have none."""
    Y, codes = islands(rng, (150, 150))
    price = np.where(codes == 0, 0.65, 1.0) * np.tile(rng.permutation(np.linspace(-1, 1, 150)), 2)
    price[[200, 250]] = 1e6, 5e6
    for rows in explained_islands(Y, {"site": np.eye(2)[codes], "price": price, "flag": (codes == 0) * 1.0}):
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
