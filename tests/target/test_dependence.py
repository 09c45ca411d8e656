"""Copies, near copies, columns and orders that make rows dependent are found, and ordinary tables are left alone."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine

from prismap.target import (
    exact_copies,
    join_units,
    make_target,
    near_copies,
    number_units,
    order_dependence,
    suspicious_columns,
    time_blocks,
)
from prismap.target._copies import answers, gaps, hashed, n_pairs, pairs_by_chance
from prismap.target._order import (
    autocorrelation,
    block_length,
    cheapest_runs,
    comes_in_runs,
    residuals,
    runs,
    sorted_columns,
)
from prismap.target._suspicions import Difference, nearest_rows, repeated_levels

BUNDLED = [load_iris, load_wine, load_digits, load_breast_cancer, load_diabetes]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def pairs_of(units):
    return {(i, j) for i, j in combinations(range(len(units)), 2) if units[i] == units[j]}


def people(rng, n_people, n_rows, noise=0.6, n_columns=8):
    """Features of people with several rows each, the person of each row, and a coin for each person."""
    person = np.repeat(np.arange(n_people), n_rows)
    X = rng.normal(size=(n_people, n_columns))[person] + noise * rng.normal(size=(len(person), n_columns))
    return X, person, rng.integers(2, size=n_people)[person]


# --- units ------------------------------------------------------------------------------------------------------------


def test_joined_units_are_the_transitive_closure(rng):
    a, b = rng.integers(20, size=40), rng.integers(30, size=40)
    together = (a[:, None] == a) | (b[:, None] == b)
    for middle in range(40):  # Warshall's closure
        together |= together[:, [middle]] & together[[middle]]
    units = join_units(a, b)
    np.testing.assert_array_equal(units[:, None] == units, together)
    np.testing.assert_array_equal(units, number_units(units))


def test_joining_with_single_rows_changes_nothing(rng):
    a = rng.integers(9, size=30)
    np.testing.assert_array_equal(join_units(a, np.arange(30)), number_units(a))
    np.testing.assert_array_equal(join_units(a), number_units(a))


# --- exact copies -----------------------------------------------------------------------------------------------------


def test_copies_of_measurements_are_units(rng):
    X = np.repeat(rng.normal(size=(150, 5)), 4, axis=0)
    order = rng.permutation(600)
    copies = exact_copies(X[order])
    np.testing.assert_array_equal(copies.units, number_units(np.repeat(np.arange(150), 4)[order]))
    assert copies.n_rows == 600
    assert len(copies.sizes) == 150


def test_bootstrapped_measurements_are_units(rng):
    drawn = rng.integers(200, size=200)
    np.testing.assert_array_equal(exact_copies(rng.normal(size=(200, 3))[drawn]).units, number_units(drawn))


def test_missing_values_are_equal_and_zero_has_no_sign():
    X = np.array([[1.5, np.nan, 0.0], [1.5, np.nan, -0.0], [1.5, 2.5, 0.0], [np.nan, 1.5, 0.0]] * 2)
    assert exact_copies(X).units.tolist() == [0, 0, 1, 2, 0, 0, 1, 2]


def test_equal_answers_are_no_copies(rng):
    for X in (
        rng.integers(2, size=(500, 3)),  # eight different rows
        rng.integers(4, size=(500, 5)),
        (rng.normal(size=(400, 1)) + rng.normal(size=(400, 6)) > 0.5).astype(
            float
        ),  # answers that depend on each other
        rng.integers(10, size=(300, 1)),
    ):
        copies = exact_copies(X)
        assert not copies
        assert copies.by_chance > 0
        assert not near_copies(X, rng=rng)


def test_encoded_categories_are_one_answer_each(rng):
    levels = rng.integers(3, size=(600, 4))
    X = np.concatenate([np.eye(3)[column] for column in levels.T], axis=1) / np.tile([1, 2, 3], 4)
    assert answers(X).tolist() == [0, 3, 6, 9]
    assert not exact_copies(X)


def test_copies_of_answers_are_units_if_each_is_there_equally_often(rng):
    X = np.unique(rng.integers(3, size=(300, 5)), axis=0)
    assert len(exact_copies(np.repeat(X, 2, axis=0)).sizes) == len(X)


def test_a_measurement_among_answers_shows_copies(rng):
    X = np.c_[rng.normal(size=200), rng.integers(2, size=(200, 2))]
    assert exact_copies(np.repeat(X, 2, axis=0)[:350]).n_rows == 350


def test_near_misses_are_counted_as_pairs_of_rows_are(rng):
    X = rng.integers(3, size=(60, 4)).astype(float)
    differing = np.array([X[i] != X[j] for i, j in combinations(range(60), 2)])
    count = differing.sum(axis=1)
    single = {j: int(((count == 1) & differing[:, j]).sum()) for j in range(4)}
    expected = sum(single[j] * single[k] for j, k in combinations(range(4), 2)) / (count == 2).sum()
    keys = hashed(X).sum(axis=1, dtype=np.uint64)
    assert n_pairs(keys) == (count == 0).sum()
    assert pairs_by_chance(X, keys) == pytest.approx(expected)


def test_sparse_rows_matrices_and_objects_have_copies(rng):
    S = sp.random(40, 30, density=0.3, random_state=0, format="csr")
    drawn = rng.integers(40, size=60)
    np.testing.assert_array_equal(exact_copies(S[drawn]).units, number_units(drawn))
    Z = rng.normal(size=(40, 2))[drawn]
    D = np.linalg.norm(Z[:, None] - Z, axis=2)
    np.testing.assert_array_equal(exact_copies(D, "dissimilarity").units, number_units(drawn))
    words = [f"word {number}" for number in drawn]
    np.testing.assert_array_equal(exact_copies(words, "objects").units, number_units(drawn))


# --- near copies ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.01, 0.05, 0.1])
@pytest.mark.parametrize("n_copies", [2, 4])
def test_near_copies_are_units(rng, noise, n_copies):
    first = np.repeat(np.arange(120), n_copies)
    X = rng.normal(size=(120, 10))[first] + noise * rng.normal(size=(len(first), 10))
    order = rng.permutation(len(X))
    scales = 10.0 ** np.arange(10)  # columns have units of their own
    copies = near_copies(X[order] * scales, rng=rng)
    same, true = pairs_of(copies.units), pairs_of(first[order])
    assert len(same & true) >= 0.95 * len(true)
    assert len(same - true) <= 0.02 * len(true)
    assert copies.ratio > 1.5


def test_few_near_copies_among_many_rows_are_units(rng):
    X = rng.normal(size=(400, 8))
    X[:5] = X[100:105] + 0.01 * rng.normal(size=(5, 8))
    assert pairs_of(near_copies(X, rng=rng).units) == {(i, i + 100) for i in range(5)}


def test_a_table_made_of_copies_has_shorter_gaps_than_single_copies_need(rng):
    first = np.repeat(np.arange(300), 2)
    X = rng.normal(size=(300, 5))[first] + 0.1 * rng.normal(size=(600, 5))
    same, true = pairs_of(near_copies(X, rng=rng).units), pairs_of(first)
    assert len(same & true) >= 0.75 * len(true)
    assert len(same - true) <= 0.1 * len(true)


def test_a_row_beside_two_copies_is_not_one_of_them(rng):
    X = rng.normal(size=(200, 8))
    X[:3] = 8.0
    X[1] += 1e-4
    X[2] += rng.normal(size=8)
    assert pairs_of(near_copies(X, rng=rng).units) == {(0, 1)}


def test_near_copies_by_distances(rng):
    first = np.repeat(np.arange(60), 2)
    X = rng.normal(size=(60, 8))[first] + 0.02 * rng.normal(size=(120, 8))
    D = np.linalg.norm(X[:, None] - X, axis=2)
    np.testing.assert_array_equal(near_copies(D, "dissimilarity").units, first)
    np.testing.assert_array_equal(near_copies(X @ X.T, "similarity").units, first)


def test_near_copies_of_sparse_rows(rng):
    S = sp.random(100, 40, density=0.3, random_state=0, format="csr")
    doubled = sp.vstack([S, 1.01 * S]).tocsr()
    np.testing.assert_array_equal(near_copies(doubled).units, np.tile(np.arange(100), 2))


@pytest.mark.parametrize("load", BUNDLED)
def test_bundled_sets_have_no_near_copies(load, rng):
    X, y = load(return_X_y=True)
    assert not near_copies(X, rng=rng)
    assert exact_copies(X).n_rows == 0
    assert order_dependence(X, make_target(y, len(X)), rng) is None


def test_curves_grids_clusters_and_rare_categories_are_no_near_copies(rng):
    t = np.linspace(0, 20, 400)
    curve = np.c_[np.sin(t), np.cos(t), t / 10]
    grid = np.stack(np.meshgrid(*[np.arange(7)] * 3), axis=-1).reshape(-1, 3).astype(float)
    clusters = 10 * rng.normal(size=(12, 5))[rng.integers(12, size=400)] + rng.normal(size=(400, 5))
    rare = np.c_[rng.normal(size=(400, 3)), np.eye(60)[rng.integers(60, size=400)] * 10]
    for X in (curve, grid, clusters, rare, rng.lognormal(size=(400, 4)), rng.normal(size=(20, 4))):
        assert not near_copies(X, rng=rng)


def test_gaps_of_independent_rows_are_exponential(rng):
    """The law that near copies are held against: k log(r_{k+1} / r_k) has the same mean for every k."""
    X = rng.uniform(size=(4000, 3))
    distances = np.sort(np.linalg.norm(X[:300, None] - X, axis=2), axis=1)[:, 1:26]
    lengths = 3 * np.arange(1, 25) * np.log(distances[:, 1:] / distances[:, :-1])
    np.testing.assert_allclose(lengths.mean(axis=0), 1, atol=0.3)
    assert gaps(distances)[1].sum() <= 1


def test_many_rows_are_sampled_and_searched_approximately(rng):
    X = rng.normal(size=(6000, 6))
    assert near_copies(np.repeat(X, 2, axis=0) + 0.01 * rng.normal(size=(12000, 6)), rng=rng).n_rows > 11_900
    copies = near_copies(rng.normal(size=(12000, 6)), rng=rng)
    assert not copies
    assert copies.sampled


# --- columns ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_people", "n_rows"), [(12, 20), (80, 10), (200, 2)])
def test_a_column_of_people_is_beyond_doubt(rng, n_people, n_rows):
    X, person, y = people(rng, n_people, n_rows)
    order = rng.permutation(len(X))
    names = np.char.add("P", person[order].astype(str))
    (one,) = suspicious_columns({"patient": names}, X[order], make_target(y[order], len(y)), rng)
    assert one.sure
    assert one.n_units == n_people
    assert one.difference.by_rows + 0.05 < one.difference.by_units
    np.testing.assert_array_equal(one.units, number_units(person[order]))


def test_people_are_a_suspicion_where_few_neighbours_show_no_harm(rng):
    person = np.repeat(np.arange(60), 6)
    own, effect = rng.normal(size=(60, 4)), rng.normal(size=60)
    X = np.c_[own[person] + 0.7 * rng.normal(size=(360, 4)), effect[person] + rng.normal(size=360)]
    target = make_target(effect[person] + rng.normal(size=360) > 0, 360)
    (one,) = suspicious_columns({"patient": person, "shop": person}, X, target, rng)
    assert one.name == "patient"
    assert not one.sure
    assert not one.difference.matters


def test_a_feature_is_a_suspicion_at_most(rng):
    X, person, y = people(rng, 30, 10)
    wide = np.c_[np.eye(30)[person], X]
    (one,) = suspicious_columns({"p": person}, wide, make_target(y, 300), rng, encoded={"p": np.arange(30)})
    assert not one.sure
    words = np.array([chr(97 + code % 26) * (1 + code // 26) for code in person])
    (one,) = suspicious_columns({"breed": words}, X, make_target(y, 300), rng)
    assert not one.sure
    (one,) = suspicious_columns({"subjectName": words}, X, make_target(y, 300), rng)
    assert one.sure


def test_a_feature_is_tested_without_its_own_columns(rng):
    colour = rng.integers(12, size=600)
    X = np.c_[np.eye(12)[colour], rng.normal(size=(600, 4))]
    target = make_target(rng.permutation(12)[colour] % 2, 600)
    assert suspicious_columns({"colour": colour}, X, target, rng, encoded={"colour": np.arange(12)}) == []
    assert suspicious_columns({"colour": colour}, X, target, rng)


@pytest.mark.parametrize(
    "values", [np.arange(300) % 3, np.arange(300), np.repeat(np.linspace(0, 1, 30), 10), np.full(300, None)]
)
def test_few_levels_single_rows_and_measurements_name_no_units(values):
    assert repeated_levels(values) is None


def test_ordinary_columns_are_no_suspicion(rng):
    n = 600
    area, product = rng.integers(50, size=n), rng.integers(30, size=n)
    place = rng.normal(size=(50, 2))[area] + 0.05 * rng.normal(size=(n, 2))
    price = rng.lognormal(size=30)[product] * (1 + 0.2 * rng.normal(size=n))
    income, age = rng.normal(size=n) + place[:, 0], rng.integers(18, 90, size=n)
    X = np.c_[place, price, income, age]
    columns = {
        "zip": area, "product": np.char.add("item ", product.astype(str)), "day": rng.integers(28, size=n), "age": age,
        "income": income, "row": np.arange(n), "empty": np.full(n, np.nan),
    }  # fmt: skip
    score = income + 0.5 * price + rng.normal(size=n)
    for y in (score, score > 0.5):
        assert suspicious_columns(columns, X, make_target(y, n), rng, encoded={"age": [4]}) == []


def test_a_column_that_follows_the_target_is_no_suspicion(rng):
    """Levels that go with the classes are alike because the classes are."""
    y = rng.integers(3, size=600)
    X = 4 * np.eye(3)[y] + rng.normal(size=(600, 3))
    assert suspicious_columns({"ward": 10 * y + rng.integers(10, size=600)}, X, make_target(y, 600), rng) == []


def test_nothing_is_suspicious_without_a_target(rng):
    X, person, _ = people(rng, 30, 10)
    target = make_target(None, 300)
    assert suspicious_columns({"patient": person}, X, target, rng) == []
    assert order_dependence(X, target, rng) is None


def test_a_difference_matters_if_it_is_certain_or_large():
    assert Difference(0.5, 0.6, 0.03).matters
    assert not Difference(0.5, 0.6, 0.04).matters
    assert not Difference(0.5, 0.54, 0.001).matters
    assert Difference(0.2, 0.6, 0.3).matters


def test_neighbours_outside_a_unit_are_those_of_a_search_without_it(rng):
    Z, units = rng.normal(size=(50, 3)), rng.integers(8, size=50)
    rows = np.arange(50)
    near, outside = nearest_rows(Z, units, rows, rows)
    for row in rows:
        order = np.argsort(np.linalg.norm(Z - Z[row], axis=1))
        np.testing.assert_array_equal(near[row], order[order != row][:5])
        np.testing.assert_array_equal(outside[row], order[units[order] != units[row]][:5])


# --- order ------------------------------------------------------------------------------------------------------------


def test_people_one_after_another_are_found_by_their_jumps(rng):
    X, person, y = people(rng, 32, 6)
    one = order_dependence(X, make_target(y, len(y)), rng)
    assert one.sure
    assert not one.in_order
    assert abs(one.n_units - 32) <= 2
    jumps, true = np.flatnonzero(np.diff(one.units)), np.flatnonzero(np.diff(person))
    assert len(np.intersect1d(jumps, true)) >= 28


def test_random_walks_are_found(rng):
    X = rng.normal(size=(600, 8)).cumsum(axis=0)
    one = order_dependence(X, make_target(np.repeat(rng.integers(2, size=20), 30), 600), rng)
    assert one.sure
    assert one.in_order
    assert one.n_units < 20
    assert (np.diff(one.units) >= 0).all()


def test_order_by_a_column_of_dates(rng):
    X, _, y = people(rng, 32, 6)
    order = rng.permutation(len(y))
    target = make_target(y[order], len(y))
    assert order_dependence(X[order], target, rng) is None
    one = order_dependence(X[order], target, rng, order=np.arange(len(y))[order])
    in_order = order_dependence(X, make_target(y, len(y)), np.random.default_rng(0))
    np.testing.assert_array_equal(one.units, in_order.units[order])


def test_sorted_files_are_no_order(rng):
    y = np.repeat(np.arange(3), 100)
    by_class = 4 * np.eye(3)[y] + rng.normal(size=(300, 3))
    assert order_dependence(by_class, make_target(y, 300), rng) is None
    by_feature = np.sort(rng.normal(size=(300, 2)), axis=0)
    by_feature[:, 1] = rng.permutation(by_feature[:, 1])
    target = make_target((np.sin(4 * by_feature[:, 0]) > 0).astype(int), 300)
    assert order_dependence(by_feature, target, rng) is None
    assert order_dependence(by_feature[:, :1], target, rng) is None
    within = np.lexsort((by_feature[:, 0], target.codes))
    for rows in (np.arange(300), within, within[::-1]):
        assert sorted_columns(by_feature[rows], target.groups[rows]).tolist() == [True, False]
    turns = np.arange(300) % 30
    in_turn = np.c_[np.arange(300) - 1000.0 * turns, rng.normal(size=300)]
    assert sorted_columns(in_turn, turns).tolist() == [True, False]
    cases = np.stack(np.meshgrid(*[np.arange(3)] * 5, indexing="ij"), axis=-1).reshape(-1, 5)
    assert order_dependence(cases, make_target((cases[:, 0] > cases[:, 1]).astype(int), 243), rng) is None


def test_what_the_target_explains_is_no_correlation(rng):
    y = np.repeat(np.arange(3), 100)
    features = 4 * np.eye(3)[y] + rng.normal(size=(300, 3))
    assert autocorrelation(features - features.mean(axis=0))[0][0] > 0.5
    assert abs(autocorrelation(residuals(features, make_target(y, 300)))[0][0]) < 0.15


def test_a_slow_drift_has_blocks_and_no_jumps(rng):
    X = rng.normal(size=(600, 4))
    for row in range(1, 600):
        X[row] += 0.9 * X[row - 1]
    correlations, deviation = autocorrelation(X)
    assert runs(X, block_length(correlations, deviation)) is None


def test_a_target_in_runs_is_not_one_that_is_sorted(rng):
    walk = rng.normal(size=300).cumsum()
    assert comes_in_runs(make_target(walk, 300))
    assert not comes_in_runs(make_target(np.sort(walk), 300))
    assert not comes_in_runs(make_target(rng.permutation(walk), 300))
    labels = np.repeat(rng.integers(2, size=30), 10)
    assert comes_in_runs(make_target(labels, 300))
    assert not comes_in_runs(make_target(np.sort(labels), 300))
    assert not comes_in_runs(make_target(rng.permutation(labels), 300))


def test_autocorrelation_is_its_definition(rng):
    R = rng.normal(size=(40, 3)).cumsum(axis=0)
    correlations, _ = autocorrelation(R)
    expected = [(R[:-lag] * R[lag:]).sum() / (R * R).sum() for lag in range(1, 20)]
    np.testing.assert_allclose(correlations, expected)
    _, deviation = autocorrelation(R := rng.normal(size=(200, 3)))
    shuffled = [autocorrelation(rng.permutation(R))[0][0] for _ in range(300)]
    assert np.std(shuffled) == pytest.approx(deviation, rel=0.2)


def test_runs_are_the_cheapest_of_all(rng):
    X, penalty = rng.normal(size=(9, 2)), 2.0

    def cost(ends):
        parts = np.split(X, ends)
        return sum(((part - part.mean(axis=0)) ** 2).sum() + penalty for part in parts)

    best = min((cost(ends), ends) for size in range(9) for ends in combinations(range(1, 9), size))
    found = np.flatnonzero(np.diff(cheapest_runs(X, penalty, 9))) + 1
    assert tuple(found) == best[1]


def test_time_blocks_are_as_long_as_the_correlation_lives(rng):
    X = np.repeat(rng.normal(size=(60, 6)), 5, axis=0) + 0.3 * rng.normal(size=(300, 6))
    order = rng.permutation(300)
    units, length = time_blocks(order, X[order])
    assert 4 <= length <= 7
    assert (np.diff(units[np.argsort(order)]) >= 0).all()
    assert np.bincount(units).min() >= length
    alone, length = time_blocks(np.arange(300), rng.normal(size=(300, 6)))
    assert length <= 2
    assert alone.max() + 1 >= 150


def test_rows_of_one_moment_stay_together(rng):
    X = rng.normal(size=(100, 3)).cumsum(axis=0)
    moments = np.sort(rng.integers(25, size=100))
    units, _ = time_blocks(moments, X)
    assert all(len(np.unique(units[moments == moment])) == 1 for moment in np.unique(moments))
