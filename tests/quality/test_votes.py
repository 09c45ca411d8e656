"""The vote: against its slow twin, and its laws."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from prismap.exceptions import InputError
from prismap.metrics import NamedMetric
from prismap.quality import chance_error
from prismap.quality._votes import VOTERS, Vote, mean_on, vote_of_lists, vote_on
from reference.votes_reference import vote_reference


def cloud(n=60, seed=0):
    """Classes that overlap, so that many votes are close."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, size=n)
    return rng.normal(size=(n, 2)) + 0.5 * codes[:, None], codes


def lattice(n=60, seed=0):
    """Positions on few nodes: nearly every distance is tied."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, size=(n, 2)).astype(float), rng.integers(0, 3, size=n)


def expected_vote(D, codes, n_classes, k, barred):
    """Arrays of the slow twin."""
    seats, winners = np.zeros((len(D), n_classes)), np.zeros((len(D), n_classes), dtype=bool)
    for i, row in enumerate(np.round(D, 9)):
        by_class, winning = vote_reference(row, codes, k, barred[i])
        for code, share in by_class.items():
            seats[i, code] = float(share)
        winners[i, winning] = True
    return seats, winners


def same_vote(vote, seats, winners):
    np.testing.assert_allclose(vote.seats, seats, atol=1e-12)
    np.testing.assert_array_equal(vote.winners, winners)


def unequal(n=60, seed=0):
    """Classes of 40, 14 and 6 rows on few nodes."""
    Y, _ = lattice(n, seed)
    return Y + 0.5 * (np.arange(n) % 3 == 0)[:, None], np.repeat([0, 1, 2], [n - 20, 14, 6])


@pytest.mark.parametrize("make", [cloud, lattice, unequal])
@pytest.mark.parametrize("k", [1, 2, 4, VOTERS, None])
def test_vote_equals_its_slow_twin(make, k):
    Y, codes = make()
    codes = np.where(np.arange(60) % 7 == 0, -1, codes)
    own = np.arange(60)
    expected = expected_vote(cdist(Y, Y), codes, 3, k, [(i,) for i in own])
    same_vote(vote_on(Y, Y, codes, 3, n_neighbors=k, own=own), *expected)
    wide = np.hstack([Y, np.zeros((60, 9))])  # too many columns for the tree
    same_vote(vote_on(wide, wide, codes, 3, n_neighbors=k, own=own), *expected)
    same_vote(vote_on(cdist(Y, Y), None, codes, 3, n_neighbors=k, own=own, metric="precomputed"), *expected)
    same_vote(vote_on(None, None, codes, 3, n_neighbors=k, metric=NamedMetric().fit(Y)), *expected)


@pytest.mark.parametrize("make", [cloud, lattice])
def test_vote_on_new_rows_and_some_fitted_ones(make):
    Y, codes = make(80)
    own = np.concatenate([np.full(30, -1), np.arange(10)])
    judged = np.concatenate([Y[50:], Y[:10]])
    barred = [() if number < 0 else (number,) for number in own]
    expected = expected_vote(cdist(judged, Y[:50]), codes[:50], 3, 5, barred)
    same_vote(vote_on(judged, Y[:50], codes[:50], 3, n_neighbors=5, own=own), *expected)
    metric = NamedMetric().fit(Y[:50])
    same_vote(vote_on(judged, None, codes[:50], 3, n_neighbors=5, own=own, metric=metric), *expected)


@pytest.mark.parametrize("make", [cloud, lattice])
@pytest.mark.parametrize("n_units", [2, 12])
def test_rows_of_the_same_unit_have_no_vote(make, n_units):
    Y, codes = make()
    units = np.arange(60) % n_units
    barred = [tuple(np.flatnonzero(units == unit)) for unit in units]
    expected = expected_vote(cdist(Y, Y), codes, 3, None, barred)
    how = {"units": units, "fitted_units": units}
    same_vote(vote_on(Y, Y, codes, 3, **how), *expected)
    same_vote(vote_on(cdist(Y, Y), None, codes, 3, metric="precomputed", **how), *expected)
    same_vote(vote_on(None, None, codes, 3, metric=NamedMetric().fit(Y), **how), *expected)


@pytest.mark.parametrize("make", [cloud, lattice])
def test_rows_that_are_units_of_their_own_give_the_same_bits_as_own(make):
    Y, codes = make()
    wide = np.hstack([Y, np.zeros((60, 9))])
    rows, number = np.arange(60), np.random.default_rng(0).permutation(60)
    for P in (Y, wide):
        by_own = vote_on(P, P, codes, 3, own=rows)
        by_unit = vote_on(P, P, codes, 3, units=number, fitted_units=number)
        assert by_own.seats.tobytes() == by_unit.seats.tobytes()
        assert by_own.winners.tobytes() == by_unit.winners.tobytes()


def test_a_row_without_voters_is_a_draw_of_all_classes():
    Y, codes = cloud(20)
    units = np.zeros(20, dtype=int)
    units[:3] = 1
    vote = vote_on(Y, Y, np.where(units == 1, codes, -1), 3, n_neighbors=10, units=units, fitted_units=units)
    np.testing.assert_array_equal(vote.seats[:3], 0.0)
    np.testing.assert_allclose(vote.right(codes)[:3], 1 / 3)
    np.testing.assert_array_equal(vote.share[:3], 0.0)
    np.testing.assert_array_equal(vote.seats[3:].sum(axis=1), 3.0)


@pytest.mark.parametrize("make", [cloud, lattice])
def test_order_of_rows_does_not_matter(make):
    Y, codes = make(100)
    order = np.random.default_rng(1).permutation(100)
    vote = vote_on(Y, Y, codes, 3, own=np.arange(100))
    again = vote_on(Y[order], Y[order], codes[order], 3, own=np.arange(100))
    np.testing.assert_allclose(again.seats, vote.seats[order], atol=1e-12)
    np.testing.assert_array_equal(again.named, vote.named[order])
    np.testing.assert_array_equal(again.right(codes[order]), vote.right(codes)[order])


@pytest.mark.parametrize("make", [cloud, lattice])
def test_copies_and_rotations_change_nothing(make):
    Y, codes = make(100)
    new = make(30, seed=5)[0]
    once = vote_on(new, Y, codes, 3, n_neighbors=5)
    twice = vote_on(new, np.concatenate([Y, Y]), np.concatenate([codes, codes]), 3, n_neighbors=10)
    np.testing.assert_allclose(twice.seats, 2 * once.seats, atol=1e-12)
    np.testing.assert_array_equal(twice.winners, once.winners)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 2)))[0]
    turned = vote_on(new @ turn, Y @ turn, codes, 3, n_neighbors=5)
    np.testing.assert_allclose(turned.seats, once.seats, atol=1e-12)
    np.testing.assert_array_equal(turned.winners, once.winners)


def test_small_classes_are_not_outvoted_by_the_number_of_neighbours():
    """Every class in two islands of four rows, far apart: the nearest are of its class, the ten nearest are not."""
    rng = np.random.default_rng(0)
    codes = np.tile(np.repeat(np.arange(15), 4), 2)
    Y = np.repeat(100 * rng.normal(size=(30, 2)), 4, axis=0) + rng.normal(size=(120, 2))
    own = np.arange(120)
    assert vote_on(Y, Y, codes, 15, own=own).right(codes).mean() > 0.95
    assert vote_on(Y, Y, codes, 15, own=own, n_neighbors=VOTERS).right(codes).mean() < 0.6


@pytest.mark.parametrize("make", [cloud, lattice])
def test_ten_equal_votes_are_cast_where_classes_have_twenty_rows(make):
    Y, codes = make(90)
    assert np.bincount(codes).min() >= 20
    vote, ten = (vote_on(Y, Y, codes, 3, own=np.arange(90), **how) for how in ({}, {"n_neighbors": VOTERS}))
    assert vote.seats.tobytes() == ten.seats.tobytes()
    assert vote.winners.tobytes() == ten.winners.tobytes()
    lists = np.random.default_rng(0).integers(0, 3, size=(50, 10))
    assert vote_of_lists(lists, 3, np.bincount(codes)).seats.tobytes() == vote_of_lists(lists, 3).seats.tobytes()
    assert chance_error(codes, None) == chance_error(codes, VOTERS)


def test_ties_fall_by_seats_then_nearness_then_a_fair_draw():
    fitted = np.array([[1.0], [2.0], [3.0], [4.0]])
    new = np.array([[0.0]])
    draw = vote_on(new, fitted, np.array([1, 0, 0, 1]), 2, n_neighbors=4)
    assert draw.seats.tolist() == [[2.0, 2.0]]
    assert draw.named.tolist() == [1]  # its nearest voter is nearer
    assert (draw.right(np.array([0])), draw.right(np.array([1]))) == (0.0, 1.0)
    assert not draw.beaten(np.array([0]))[0]
    even = vote_on(new, np.array([[1.0], [-1.0], [5.0]]), np.array([2, 1, 0]), 3, n_neighbors=2)
    assert even.named.tolist() == [1]
    assert even.right(np.array([1])) == even.right(np.array([2])) == 0.5
    assert even.right(np.array([0])) == even.right(np.array([-1])) == 0.0
    assert even.beaten(np.array([0]))[0]
    shared = vote_on(new, np.array([[1.0], [2.0], [-2.0], [2.0]]), np.array([0, 1, 1, 1]), 2, n_neighbors=2)
    assert shared.seats.tolist() == [[1.0, 1.0]]  # three rows share the second seat
    assert shared.share.tolist() == [0.5]


def test_lists_are_counted_like_positions_without_ties():
    Y, codes = cloud(200)
    near = np.argsort(np.where(np.eye(200), np.inf, cdist(Y, Y)), axis=1)[:, :VOTERS]
    expected, vote = vote_on(Y, Y, codes, 3, own=np.arange(200)), vote_of_lists(codes[near], 3)
    same_vote(vote, expected.seats, expected.winners)
    assert ((expected.seats == expected.seats.max(axis=1, keepdims=True)).sum(axis=1) > 1).any()
    np.testing.assert_array_equal(vote_of_lists([[-1, 2, 0, -1]], 3).named, [2])


def test_lists_are_counted_like_positions_where_classes_are_small():
    Y, _ = cloud()
    codes = np.repeat([0, 1, 2], [40, 14, 6])
    D = cdist(Y, Y)
    np.fill_diagonal(D, np.inf)
    lists = codes[np.argsort(D, axis=1)[:, :VOTERS]]
    lists = np.column_stack([np.full(60, -1), lists])  # one without a vote
    vote = vote_of_lists(lists, 3, np.bincount(codes))
    same_vote(vote_on(Y, Y, codes, 3, own=np.arange(60)), vote.seats, vote.winners)


def test_shares_are_those_of_the_voters():
    vote = Vote(np.array([[3.0, 7.0], [4.0, 1.0]]), np.array([[False, True], [True, False]]))
    np.testing.assert_allclose(vote.share, [0.7, 0.8])
    np.testing.assert_allclose(vote.share_of(np.array([0, 0])), [0.3, 0.8])


def test_numbers_are_the_plain_mean_of_the_voters():
    rng = np.random.default_rng(0)
    Y, new, values = rng.normal(size=(50, 2)), rng.normal(size=(9, 2)), rng.normal(size=50)
    values[::6] = np.nan
    known = np.flatnonzero(~np.isnan(values))
    near = values[known[np.argsort(cdist(new, Y[known]), axis=1)[:, :VOTERS]]]
    vote = mean_on(new, Y, values)
    np.testing.assert_allclose(vote.mean, near.mean(axis=1))
    np.testing.assert_allclose(vote.std, near.std(axis=1))
    centre = near.mean(axis=1)
    np.testing.assert_allclose(vote.share_within(centre, 0.5), (np.abs(near - centre[:, None]) <= 0.5).mean(axis=1))
    same_place = mean_on(new[:1], np.zeros((4, 2)), np.array([0.0, 1.0, 2.0, 5.0]), n_neighbors=3)
    assert same_place.mean.tolist() == [2.0]  # four rows share three seats


def test_chance_is_the_error_of_random_votes():
    rng = np.random.default_rng(0)
    shares = np.array([0.5, 0.3, 0.2])
    y = np.repeat([0, 1, 2], (1000 * shares).astype(int))
    for k in (2, 5, 10):
        vote = vote_of_lists(rng.choice(3, p=shares, size=(40_000, k)), 3)
        wrong = 1 - vote.right(rng.choice(3, p=shares, size=40_000)).mean()
        assert wrong == pytest.approx(chance_error(y, k), abs=0.01)
    small = np.repeat([0, 1, 2], [10, 6, 4])
    vote = vote_of_lists(rng.choice(3, p=shares, size=(40_000, 10)), 3, np.array([10, 6, 4]))
    wrong = 1 - vote.right(rng.choice(3, p=shares, size=40_000)).mean()
    assert wrong == pytest.approx(chance_error(small, None), abs=0.01)
    assert abs(wrong - chance_error(small, 10)) > 0.02


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda Y, codes: vote_on(Y, Y, np.full(60, -1), 3), "no row has a vote"),
        (lambda Y, codes: vote_on(Y, Y, codes, 3, own=codes, units=codes, fitted_units=codes), "give one of them"),
        (lambda Y, codes: vote_on(Y, Y, codes, 3, units=codes), "given together"),
        (lambda Y, codes: vote_on(Y, Y[:9], codes, 3), "y_fit has 60 entries for 9 rows"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(InputError, match=message):
        call(*cloud())
