import numpy as np
import pytest

from prismap.exceptions import InputError
from prismap.quality import chance_error, chance_nrmse, knn_error, knn_nrmse, permuted_null
from prismap.quality._null import NullResult


def test_permuted_labels_of_unrelated_rows_score_as_chance():
    rng = np.random.default_rng(0)
    Y, y = rng.normal(size=(600, 2)), rng.choice(3, size=600, p=[0.6, 0.3, 0.1])
    for k in (1, 7):
        null = permuted_null(
            lambda shuffled, k=k: knn_error(Y, shuffled, n_neighbors=k), y, n_permutations=8,
            chance=chance_error(y, k), random_state=0,
        )  # fmt: skip
        assert len(null.values) == 8
        assert abs(null.mean - null.chance) < 4 * null.spread / np.sqrt(8) + 0.005
    assert chance_error(y) == pytest.approx(1 - sum(np.mean(y == c) ** 2 for c in range(3)))


def test_chance_of_many_neighbours_is_the_smaller_classes_share():
    y = np.repeat([0, 1], [90, 10])
    assert chance_error(y, 1) == pytest.approx(0.18)
    assert chance_error(y, 51) == pytest.approx(0.1, abs=1e-3)
    assert chance_error(np.repeat([0, 1], 50), 4) == pytest.approx(0.5, abs=0.01)


def test_permuted_real_targets_score_near_their_chance_level():
    rng = np.random.default_rng(0)
    Y, y = rng.normal(size=(500, 2)), rng.normal(size=500)
    null = permuted_null(lambda shuffled: knn_nrmse(Y, shuffled), y, random_state=0)
    assert null.chance == chance_nrmse(5) == pytest.approx(np.sqrt(1.2))
    assert null.chance - 0.05 < null.mean < null.chance + 0.1


@pytest.mark.parametrize("mark", [-1, None, np.nan])
def test_labels_are_shuffled_among_labelled_rows_only(mark):
    y = np.array([0, 1, 2, 3] * 10, dtype=object)
    y[5:9] = mark
    seen = []
    permuted_null(lambda shuffled: seen.append(shuffled) or 0.0, y, n_permutations=3, random_state=0)
    for shuffled in seen:
        assert all(value is mark or value == mark for value in shuffled[5:9])
        rest = np.r_[0:5, 9:40]
        assert sorted(shuffled[rest]) == sorted(y[rest])
        assert (shuffled[rest] != y[rest]).any()
    assert (seen[0][rest] != seen[1][rest]).any()


def test_same_seed_same_permutations():
    y = np.arange(20) % 3
    first, again, other = (
        permuted_null(lambda s: float(s @ np.arange(20)), y, random_state=seed).values for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_result_sums_up_and_is_stored():
    null = NullResult((0.4, 0.5, 0.6), 0.5)
    assert null.mean == pytest.approx(0.5)
    assert null.spread == pytest.approx(0.1)
    assert NullResult.from_dict(null.to_dict()) == null
    assert str(null) == "0.500 +- 0.100 (chance 0.500)"
    assert NullResult((0.4,), 0.5).to_dict()["spread"] is None


def test_at_least_one_permutation():
    with pytest.raises(InputError, match="n_permutations must be at least 1"):
        permuted_null(lambda y: 0.0, [0, 1], n_permutations=0)
