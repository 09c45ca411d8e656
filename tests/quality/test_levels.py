"""Between units and inside them: each level is found where it is, and not where it is not."""

from dataclasses import replace

import numpy as np
import pytest
from experiments.tables_of_truth import states_of_units

from prismap.quality._agreement import Levels, levels, mean_of_units
from prismap.quality._votes import poll
from prismap.target import make_target


def table(seed, between, inside, n_units=40, n_each=8):
    """Votes that know the part of a target that units have, or the part that varies inside them."""
    rng = np.random.default_rng(seed)
    units = np.repeat(np.arange(n_units), n_each)
    of_unit, of_row = np.repeat(rng.normal(size=n_units), n_each), rng.normal(size=n_units * n_each)
    truth = of_unit + of_row
    votes = (
        between * of_unit + inside * of_row + np.repeat(rng.normal(size=n_units), n_each) + rng.normal(size=len(units))
    )
    target = replace(make_target(truth, len(truth), "real"), units=units)
    return votes[:, None], truth[:, None], target


@pytest.mark.parametrize(("between", "inside"), [(1, 0), (0, 1), (1, 1)])
def test_each_level_is_found_where_it_is(between, inside):
    found = [levels(*table(seed, between, inside), np.random.default_rng(0)) for seed in range(8)]
    for part, there in (("between", between), ("inside", inside)):
        low = np.mean([getattr(one, part).p_value < 0.01 for one in found])
        assert low > 0.8 if there else low < 0.2
    assert found[0].n_units == 40
    assert Levels.from_dict(found[0].to_dict()) == found[0]


def test_noise_has_no_level():
    found = [levels(*table(seed, 0, 0), np.random.default_rng(0)) for seed in range(60)]
    for part in ("between", "inside"):
        assert np.mean([getattr(one, part).p_value < 0.05 for one in found]) <= 0.15


def test_means_of_units_and_targets_that_do_not_vary_inside():
    V, T, target = table(0, 1, 1)
    assert mean_of_units(V, target.units)[:8] == pytest.approx(np.full((8, 1), V[:8].mean()))
    constant = target.with_values(np.repeat(np.arange(40.0), 8))
    assert levels(V, T, constant, np.random.default_rng(0)) is None
    assert levels(V, T, replace(target, units=np.arange(320)), np.random.default_rng(0)) is None


def test_what_a_batch_tells_of_units_is_not_told_by_the_map():
    rng = np.random.default_rng(0)
    unit = np.repeat(np.arange(40), 8)
    batch = (unit % 2).astype(int)
    truth = 2.0 * batch + np.repeat(rng.normal(size=40), 8) + rng.normal(size=320)
    votes = 2.0 * batch + np.repeat(rng.normal(size=40), 8) + rng.normal(size=320)
    target = replace(make_target(truth, 320, "real"), units=unit)
    found = [levels(votes[:, None], truth[:, None], one, rng) for one in (target, target.inside(batch, 2))]
    assert found[0].between.p_value < 0.01
    assert found[1].between.p_value > 0.05
    more = levels(votes[:, None] + truth[:, None], truth[:, None], target.inside(batch, 2), rng)
    assert max(more.between.p_value, more.inside.p_value) < 0.01


def test_targets_that_go_with_the_size_of_units_do_not_tell_them_apart():
    """Units exchange their targets with those of their size, so that chance goes with the size as well."""
    rng = np.random.default_rng(0)
    unit = np.repeat(np.arange(40), np.repeat([3, 24], 20))
    large = (unit >= 20).astype(float)
    truth, votes = (
        3 * large + np.repeat(rng.normal(size=40), np.repeat([3, 24], 20)) + rng.normal(size=540) for _ in "TV"
    )
    target = replace(make_target(truth, 540, "real"), units=unit)
    assert levels(votes[:, None], truth[:, None], target, rng).between.p_value > 0.05


KINDS = [
    {}, {"share": "centre"}, {"share": "half"}, {"share": "half", "state": 3.0}, {"state": 3.0}, {"uneven": True},
    {"share": "centre", "state": 3.0}, {"numbers": True}, {"numbers": True, "share": "centre"},
    {"numbers": True, "state": 2.0},
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_neighbours_in_the_data_tell_units_or_states_apart_where_they_can(kind):
    X, y, truth = states_of_units(1, **kind)
    target = replace(make_target(y, len(y), "real" if kind.get("numbers") else "class"), units=truth["unit"])
    votes = poll(X, X, target, same=True)
    if kind.get("numbers"):
        V, T = votes.mean[:, None], y[:, None]
    else:
        V, T = votes.seats / votes.seats.sum(axis=1, keepdims=True), np.eye(2)[y]
    found = levels(V, T, target, np.random.default_rng(0), doubled=2.0)
    told = {"units_told_apart": found.between.p_value, "samples_told_apart": found.inside.p_value}
    for name, p_value in told.items():
        assert truth[name] or p_value > 0.01, name
    if truth["samples_told_apart"]:
        assert found.inside.p_value < 0.01
    if kind.get("share") == "centre":
        assert found.between.p_value < 0.05
