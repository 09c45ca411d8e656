"""VoteMap: against the formula said row by row, and its laws."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.utils.estimator_checks import parametrize_with_checks

from prismap.exceptions import InputError
from prismap.mappings import VoteMap
from prismap.mappings._vote_map import spread_out, vote, vote_cost, vote_weights
from prismap.metrics import FisherMetric


@parametrize_with_checks([VoteMap(3)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def islands():
    """Rows of a square, torn by the map: its right half lies far away from its left half."""
    X = np.random.default_rng(0).uniform(size=(300, 2))
    return X, X + np.where(X[:, :1] > 0.5, 20.0, 0.0)


def slow_place(x, X, Y, k, scale):
    d2 = ((x - X) ** 2).sum(axis=1)
    near = sorted(range(len(X)), key=lambda j: d2[j])[:k]
    w = [np.exp(-2 * (d2[j] - d2[near[0]]) / (d2[near[-1]] - d2[near[0]])) for j in near]

    def cost(y):
        r2 = [((y - Y[j]) ** 2).sum() / scale**2 for j in near]
        return sum(a * b / (1 + b) for a, b in zip(w, r2, strict=True))

    start = min((Y[j] for j in near), key=cost)
    return minimize(cost, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 4000}).x, cost


def test_equals_the_formula_minimised_row_by_row(islands):
    X, Y = islands
    new = np.random.default_rng(1).uniform(size=(25, 2))
    model = VoteMap(8, spread=0).fit(X, Y)
    for x, y in zip(new, model.transform(new), strict=True):
        expected, cost = slow_place(x, X, Y, 8, model.scale_)
        assert cost(y) <= cost(expected) + 1e-5
        np.testing.assert_allclose(y, expected, atol=0.05 * model.scale_)


def test_no_row_falls_between_islands(islands):
    X, Y = islands
    new = np.column_stack([np.linspace(0.45, 0.55, 40), np.full(40, 0.5)])
    placed = VoteMap().fit(X, Y).transform(new)[:, 0]
    assert ((placed < 1) | (placed > 20)).all()
    assert (placed[:5] < 1).all()
    assert (placed[-5:] > 20).all()


def test_steps_never_go_up():
    rng = np.random.default_rng(2)
    D2, Y = np.sort(rng.uniform(size=(50, 7)), axis=1), rng.normal(size=(50, 7, 2))
    weights, voters = vote_weights(D2).T, Y.transpose(1, 2, 0) / 0.8
    best = np.min([vote_cost(place, voters, weights) for place in voters], axis=0)
    assert (vote_cost(vote(D2, Y, 0.8).T / 0.8, voters, weights) <= best + 1e-12).all()


def test_a_row_has_the_same_bits_alone_and_in_company():
    rng = np.random.default_rng(4)
    D2, Y = np.sort(rng.uniform(size=(40, 12)), axis=1), rng.normal(size=(40, 12, 2))
    together = vote(D2, Y, 0.8, 1.4)
    for row in range(len(D2)):
        np.testing.assert_array_equal(vote(D2[[row]], Y[[row]], 0.8, 1.4)[0], together[row])


def test_blocks_settled_together_are_those_settled_alone(islands):
    X, Y = islands
    model, new = VoteMap().fit(X, Y), np.random.default_rng(9).uniform(size=(5000, 2))
    D = model.metric_.pairwise(new)
    blocks = [D[:1], D[1:300], D[300:]]
    together = model.settled([model.seen(block) for block in blocks])
    np.testing.assert_array_equal(together, np.concatenate([model.place(block) for block in blocks]))


def test_a_row_at_its_voters_stays_there():
    Y = np.ones((3, 5, 2))
    np.testing.assert_allclose(vote(np.ones((3, 5)), Y, 0.8, 1.4), Y[:, 0], rtol=1e-12)


def stress(y, Y, u, wanted):
    return sum(a * (np.linalg.norm(y - b) - w) ** 2 for a, b, w in zip(u, Y, wanted, strict=True))


def test_spread_keeps_distances_as_the_formula_says(islands, monkeypatch):
    """A few steps lead near to the minimum, as one row after another does; many steps reach it."""
    X, Y = islands
    new = np.random.default_rng(7).uniform(size=(25, 2))
    model, votes = VoteMap(8).fit(X, Y), VoteMap(8, spread=0).fit(X, Y).transform(new)
    few = model.transform(new)
    monkeypatch.setattr("prismap.mappings._vote_map.N_SPREAD_STEPS", 2000)
    for x, v, y, end in zip(new, votes, few, model.transform(new), strict=True):
        d = np.linalg.norm(x - X, axis=1)
        near = np.argsort(d)[:8]
        gap2 = np.square(v - Y[near]).sum(axis=1)
        u = vote_weights(d[None, near] ** 2)[0] / (1 + gap2 / model.scale_**2) ** 2
        wanted = 1.4 * (u @ np.sqrt(gap2)) / (u @ d[near]) * d[near]
        by_hand = v
        for _ in range(8):
            ends = [b + w * (by_hand - b) / np.linalg.norm(by_hand - b) for b, w in zip(Y[near], wanted, strict=True)]
            by_hand = sum(a * e for a, e in zip(u, ends, strict=True)) / u.sum()
        np.testing.assert_allclose(y, by_hand, rtol=1e-9)
        best = minimize(stress, end, (Y[near], u, wanted), method="Nelder-Mead")
        assert stress(end, Y[near], u, wanted) <= best.fun + 1e-6 * stress(v, Y[near], u, wanted)


def test_spread_never_raises_the_stress_and_leaves_one_voter_alone():
    rng = np.random.default_rng(8)
    voters, agree, distances = rng.normal(size=(6, 2, 30)), rng.random((6, 30)), rng.random((6, 30))
    agree /= agree.sum(axis=0)
    votes = rng.normal(size=(2, 30))
    placed = spread_out(votes, voters, agree, distances, 1.4)
    for row in range(30):
        wanted = 1.4 * agree[:, row] @ np.linalg.norm(votes[:, row] - voters[:, :, row], axis=1)
        wanted = wanted / (agree[:, row] @ distances[:, row]) * distances[:, row]
        before, after = (stress(y[:, row], voters[:, :, row], agree[:, row], wanted) for y in (votes, placed))
        assert after <= before + 1e-12
    alone = spread_out(voters[0], voters[:1], np.ones((1, 30)), distances[:1], 1.4)
    np.testing.assert_array_equal(alone, voters[0])


def test_spread_rows_are_as_dense_as_the_fitted_ones_and_still_beside_their_neighbours():
    """Votes alone string new rows along few fitted ones; distances to these are known and tell where they belong."""
    rng = np.random.default_rng(9)
    X = rng.uniform(size=(2000, 2))
    fitted, new = X[:250], X[250:]
    spacing = {}
    for spread in (0, 1.4):
        placed = VoteMap(spread=spread).fit(fitted, fitted).transform(new)
        some = placed[:250]
        D = cdist(some, some) + np.diag(np.full(250, np.inf))
        spacing[spread] = np.median(D.min(axis=1)), np.linalg.norm(placed - new, axis=1).mean()
    wanted = np.median((cdist(fitted, fitted) + np.diag(np.full(250, np.inf))).min(axis=1))
    assert spacing[0][0] < 0.85 * wanted
    assert 0.9 * wanted < spacing[1.4][0] < 1.1 * wanted
    assert spacing[1.4][1] < 0.7 * spacing[0][1]  # nearer to where the rows really are


def test_a_map_saved_before_votes_were_spread_places_as_it_did(islands):
    X, Y = islands
    new = cdist(np.random.default_rng(10).uniform(size=(20, 2)), X)
    plain, model = VoteMap(spread=0).fit(X, Y), VoteMap().fit(X, Y)
    old = VoteMap().restore(None, Y, {"scale": model.state()["scale"]})
    np.testing.assert_array_equal(old.place(new), plain.place(new))
    np.testing.assert_array_equal(VoteMap(spread=0).restore(None, Y, model.state()).place(new), model.place(new))


def test_one_voter_decides_alone_and_voters_of_one_mind_agree(islands):
    X, Y = islands
    new = np.random.default_rng(3).uniform(size=(20, 2))
    np.testing.assert_array_equal(VoteMap(1).fit(X, Y).transform(new), Y[cdist(new, X).argmin(axis=1)])
    far = VoteMap(10, reach=1e6, spread=0).fit(X, Y)  # everything is beside everything: the weighted mean
    D2, near = np.sort(cdist(new, X) ** 2, axis=1)[:, :10], np.argsort(cdist(new, X), axis=1)[:, :10]
    weights = vote_weights(D2)
    mean = (weights[:, :, None] * Y[near]).sum(axis=1) / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(far.transform(new), mean, rtol=1e-6)


def test_follows_a_turn_and_a_stretch_of_the_map(islands):
    X, Y = islands
    turn = 3.0 * np.array([[0.8, -0.6], [0.6, 0.8]])
    new = np.random.default_rng(4).uniform(size=(20, 2))
    np.testing.assert_allclose(VoteMap().fit(X, Y @ turn).transform(new), VoteMap().fit(X, Y).transform(new) @ turn)


def test_a_row_is_placed_alike_alone_and_among_others(islands):
    X, Y = islands
    model, new = VoteMap().fit(X, Y), np.random.default_rng(5).uniform(size=(30, 2))
    together = model.transform(new)
    np.testing.assert_allclose(np.vstack([model.transform(new[i : i + 1]) for i in range(30)]), together, rtol=1e-12)


def test_measures_by_any_metric(islands):
    X, Y = islands
    new, labels = np.random.default_rng(6).uniform(size=(15, 2)), (islands[0][:, 0] > 0.5).astype(int)
    expected = VoteMap().fit(X, Y).transform(new)
    given = VoteMap(metric="precomputed").fit(cdist(X, X), Y).transform(cdist(new, X))
    np.testing.assert_allclose(given, expected, rtol=1e-9)
    fisher = FisherMetric(random_state=0).fit(X, labels)
    near = np.sort(np.argsort(fisher.pairwise(new), axis=1)[:, :10], axis=1)
    placed = VoteMap(metric=fisher, spread=0).fit(X, Y).transform(new)
    low, high = Y[near].min(axis=1), Y[near].max(axis=1)
    assert ((placed >= low - 1e-9) & (placed <= high + 1e-9)).all()


def test_equal_rows_and_bad_input(islands):
    X, Y = islands
    same = np.zeros((12, 2))
    assert np.isfinite(VoteMap().fit(same, Y[:12]).transform(same)).all()
    assert np.isfinite(VoteMap().fit(X[:12], same).transform(X)).all()
    with pytest.raises(InputError, match="at least 2 rows"):
        VoteMap().fit(X[:1], Y[:1])
    with pytest.raises(ValueError, match="reach"):
        VoteMap(reach=0.0).fit(X, Y)
    with pytest.raises(ValueError, match="spread"):
        VoteMap(spread=-1).fit(X, Y)
    with pytest.raises(InputError, match="positions"):
        VoteMap().fit(X, Y[:5])
