"""Several targets at once: against the plain formula, weighted by evidence, honest, and refused in one line."""

import numpy as np
import pytest

from prismap.exceptions import InputError
from prismap.metrics import FisherMetric, SeveralTargets
from prismap.metrics.posteriors._several_targets import explained_share, threshold_roots, weights_of
from prismap.target import RealTarget, SeveralTarget, make_target
from prismap.target._making import MOST_COLUMNS
from reference import several_reference as slow

KINDS = ["class", "ordered", "real"]


@pytest.fixture(scope="module")
def rows():
    """60 rows, a class, an ordered class and a quantity of them, and 8 new rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(68, 3))
    Y = np.column_stack([X[:60, 0] > 0, np.digitize(X[:60, 1], [-0.6, 0.6]), X[:60, 2] + 0.1 * rng.normal(size=60)])
    return X[:60], Y, X[60:]


@pytest.fixture(scope="module")
def metric(rows):
    X, Y, _ = rows
    return FisherMetric(KINDS, posterior="lssvm", supervision=0.7, perplexity=10, random_state=0).fit(X, Y)


def known_of(metric, rows=None):
    """What is known of rows for each target, as the reference takes it."""
    found = []
    for t, kind in enumerate(metric.target_):
        one = metric.posterior_.posteriors[t]
        state = one.rows if rows is None else one.new(rows)
        found.append(state.state[:, 0] if kind == "real" else metric.posterior_.probabilities_of(t, rows))
    return found


@pytest.mark.parametrize("supervision", [0.7, 1.0])
def test_squared_lengths_add_up_by_weight(rows, metric, supervision):
    X, Y, _ = rows
    if supervision == 1:
        metric = FisherMetric(KINDS, posterior="lssvm", perplexity=10, random_state=0).fit(X, Y)
    posterior = metric.posterior_
    D2 = slow.squared_lengths(metric.target_, known_of(metric), posterior.weights_, posterior.units_)
    steps = ((X[:, None] - X[None]) ** 2).sum(axis=2) / metric.bandwidth_**2
    expected = np.sqrt(supervision * D2 + (1 - supervision) * steps)
    np.testing.assert_allclose(metric.pairwise(), expected, atol=2e-5, rtol=1e-5)


def test_units_are_mean_squared_lengths(metric):
    for kind, known, unit in zip(metric.target_, known_of(metric), metric.posterior_.units_, strict=True):
        assert slow.squared_lengths([kind], [known], [1.0], [1.0]).mean() == pytest.approx(unit, rel=1e-6)


def test_new_rows_are_placed_by_the_same_lengths_alone_and_in_company(rows, metric):
    _, _, new = rows
    anchors, own = metric.to_anchors(np.arange(60)), metric.data_.to_anchors(np.arange(60))
    seen = anchors.see(new, own.see(new)).distances
    np.testing.assert_allclose(seen, metric.pairwise(new), rtol=2e-4)  # places on a grid
    alone = [anchors.see(new[i : i + 1], own.see(new[i : i + 1])).distances[0] for i in range(8)]
    np.testing.assert_array_equal(seen, np.stack(alone))
    candidates = np.tile([3, 5], (8, 1))
    np.testing.assert_array_equal(anchors.see(new, own.see(new)).among(candidates), seen[:, [3, 5]])


def test_an_ordered_class_is_farther_the_more_thresholds_lie_between():
    P = np.eye(4)
    roots = threshold_roots(np.sqrt(P))
    assert roots.shape == (4, 6)
    lengths = [slow.squared_length("ordered", P[0], P[c]) for c in range(4)]
    np.testing.assert_allclose(lengths, np.pi**2 * np.arange(4) / 3)
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(5), size=7)
    pairs = threshold_roots(np.sqrt(P)).reshape(7, 4, 2)
    np.testing.assert_allclose(np.square(pairs).sum(axis=2), 1.0)
    np.testing.assert_allclose(pairs[:, 1, 0] ** 2, P[:, 2:].sum(axis=1))


def test_one_target_alone_has_its_own_metric(rows):
    X, Y, _ = rows
    options = {"posterior": "lssvm", "supervision": 0.8, "perplexity": 10, "random_state": 0}
    one = FisherMetric(["class"], **options).fit(X, Y[:, :1]).pairwise()
    np.testing.assert_allclose(one, FisherMetric("class", **options).fit(X, Y[:, 0]).pairwise(), atol=1e-5)


def test_weights_follow_what_is_told_and_noise_gets_none(rows):
    X, Y, _ = rows
    noise = np.random.default_rng(1).integers(0, 2, size=60)
    posterior = FisherMetric(
        "class", posterior="lssvm", supervision=0.8, perplexity=10, random_state=0
    ).fit(X, np.column_stack([Y[:, 0], noise])).posterior_  # fmt: skip
    assert posterior.known_.tolist() == [True, False]
    np.testing.assert_array_equal(posterior.weights_, [1, 0])
    codes = Y[:, 0].astype(int)
    P = posterior.probabilities_of(0)
    losses = -np.log(P[np.arange(60), codes]), -np.log(np.bincount(codes)[codes] / 60)
    assert posterior.explained_[0] == pytest.approx(1 - losses[0].mean() / losses[1].mean(), abs=1e-6)


def test_permuted_targets_are_not_known(rows):
    X, Y, _ = rows
    for seed in range(3):
        shuffled = np.random.default_rng(seed).permutation(Y)
        found = FisherMetric(KINDS, posterior="lssvm", supervision=0.8, random_state=0, perplexity=10).fit(X, shuffled)
        assert not found.posterior_.known_.any()
        np.testing.assert_allclose(found.posterior_.weights_, 1 / 3)


def test_weights_as_they_are_given(rows):
    X, Y, _ = rows
    told, known = np.array([0.6, 0.2, 0.4]), np.array([True, False, True])
    np.testing.assert_allclose(weights_of("evidence", told, known), [0.6, 0, 0.4])
    np.testing.assert_allclose(weights_of("evidence", told, ~known & False), 1 / 3)
    np.testing.assert_allclose(weights_of("equal", told, known), 1 / 3)
    np.testing.assert_allclose(weights_of([3, 0, 1], told, known), [0.75, 0, 0.25])
    for wrong in ([1, 2], [0, 0, 0], [1, -1, 1], "told", [np.nan, 1, 1]):
        with pytest.raises(InputError, match="weights must be 'evidence', 'equal' or 3 numbers"):
            weights_of(wrong, told, known)
    given = FisherMetric(KINDS, posterior=SeveralTargets([1, 0, 0], classes="lssvm"), supervision=0.8, perplexity=10)
    posterior = given.fit(X, Y).posterior_
    assert (posterior.weights_.tolist(), len(posterior.terms)) == ([1, 0, 0], 1)


def test_what_is_told_is_a_share_beyond_chance():
    chance = np.ones(100)
    assert explained_share(0.5 * chance, chance) == (0.5, True)
    assert explained_share(2 * chance, chance) == (0.0, False)
    assert not explained_share(chance + np.where(np.arange(100) % 2, 1, -1.01), chance)[1]
    scatter = np.where(np.arange(100) % 2, 1.0, -1.0)  # whose mean has a standard error of 0.1
    assert not explained_share(5 - 0.28 - scatter, np.full(100, 5.0))[1]
    assert explained_share(5 - 0.32 - scatter, np.full(100, 5.0))[1]


def test_a_stored_metric_is_the_same(rows, metric):
    X, Y, new = rows
    again = FisherMetric(KINDS, posterior="lssvm", supervision=0.7, perplexity=10).restore(X, Y, metric.state())
    np.testing.assert_array_equal(again.pairwise(new), metric.pairwise(new))
    assert again.describe() == metric.describe()
    broken = {**metric.state(), "joint_weights": np.ones(2)}
    with pytest.raises(ValueError, match="weights do not go with its targets"):
        FisherMetric(KINDS, posterior="lssvm", supervision=0.7, perplexity=10).restore(X, Y, broken)


def test_trees_and_machines_by_evidence():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 6))
    signs = (X[:, 0] > 0) ^ (X[:, 1] > 0)
    line = X @ np.ones(6) > 0
    found = FisherMetric("class", supervision=0.8, random_state=0).fit(X, np.column_stack([signs, line]))
    assert [one.name for one in found.posterior_.posteriors] == ["trees", "lssvm"]


def test_kinds_are_decided_by_column():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "word": ["a", "b"] * 10,
            "size": pandas.Categorical(["M", "S", "L", "S"] * 5, ["S", "M", "L"], ordered=True),
            "price": np.linspace(0, 1, 20),
            "label": pandas.Categorical([3, 4] * 10),
        }
    )
    found = make_target(frame, 20)
    assert (found.kinds, found.names) == (("class", "ordered", "real", "class"), ("word", "size", "price", "label"))
    assert [None if one is None else one.tolist() for one in found.classes] == [["a", "b"], list("SML"), None, [3, 4]]
    assert found.values[:4, 1].tolist() == [1, 0, 2, 0]
    series = make_target(frame["size"], 20)
    assert (series.kinds, series.names) == (("ordered",), ("size",))
    assert make_target(frame["word"], 20).kind == "class"
    assert make_target(frame[["price", "price"]].to_numpy(), 20).kind == "real"
    assert make_target({"a": [0, 1] * 10, "b": [0, 1, 1, 0] * 5}, 20).names == ("a", "b")
    assert make_target([[0, 1], [1, 0]] * 10, 20).kind == ("class", "class")


def test_a_row_with_a_missing_entry_is_unlabelled(rows):
    X, Y, _ = rows
    gaps = Y.copy()
    gaps[0, 1], gaps[5, 2], gaps[7, 0] = np.nan, np.nan, np.nan
    found = make_target(gaps, 60, KINDS)
    assert np.flatnonzero(np.isnan(found.values).all(axis=1)).tolist() == [0, 5, 7]
    assert np.isnan(found.values).sum() == 9
    metric = FisherMetric(KINDS, posterior="lssvm", supervision=0.8, perplexity=10, random_state=0).fit(X, gaps)
    assert not set(metric.support_) & {0, 5, 7}


@pytest.mark.parametrize(
    ("Y", "target", "words"),
    [
        (np.zeros((20, 2)), "class", "the target 'target 1': y holds only one class"),
        (np.eye(20, 60), "class", f"y has 60 columns, and a map can be about {MOST_COLUMNS} targets at most"),
        (np.array([["a", "b"], ["b", "a"]] * 10), "ordered", "text has no order. Number the classes"),
        (np.array([["a", 1.5]] * 20, dtype=object), ["real", "class"], "target='real' needs numbers in y"),
        (np.arange(40).reshape(20, 2) % 3, ["class"], "target names 1 kinds, and y has 2 columns"),
        (np.arange(40).reshape(20, 2) % 3, ["class", "words"], "target names the kind 'words'"),
        (np.array([[1, np.nan], [np.nan, 1]] * 10), "class", "y holds only one class"),
        (np.array([[0, np.nan], [np.nan, 1], [1, np.nan], [np.nan, 0]] * 5), "class", "no row of y has a value in"),
        (np.array([[0, 0], [0, 1], [1, np.nan]] * 7)[:20], "class", "the target 'target 1' holds 1 different value in"),
        (np.arange(120.0), "ordered", "120 ordered classes are more than 50: take them as a quantity"),
        (np.array([[0, np.inf], [1, 2]] * 10), "auto", "y holds 10 infinite values"),
    ],
)  # fmt: skip
def test_targets_that_cannot_be_told_are_refused_in_one_line(Y, target, words):
    with pytest.raises(InputError, match=words.replace("(", r"\(")) as refused:
        make_target(Y, len(Y), target)
    assert "\n" not in str(refused.value)


def test_a_posterior_of_one_target_is_refused(rows):
    X, Y, _ = rows
    for posterior in ("parzen", "gp"):
        with pytest.raises(InputError, match="several targets, and ordered ones, take posterior='auto'"):
            FisherMetric(KINDS, posterior=posterior, perplexity=10).fit(X, Y)
    with pytest.raises(InputError, match="path must be 'chord' or 'graph'"):
        FisherMetric(KINDS, posterior="lssvm", path="tangent", perplexity=10).fit(X, Y)


def test_probabilities_are_asked_for_by_column(metric):
    with pytest.raises(InputError, match=r"posterior_.probabilities_of\(column, rows\)"):
        metric.class_probabilities()
    with pytest.raises(InputError, match=r"posterior_.moments_of\(column, rows\)"):
        metric.target_moments()
    means, variances = metric.posterior_.moments_of(2)
    assert means.shape == variances.shape == (60, 1)


def columns_of(values, kinds):
    classes = tuple(None if kind == "real" else np.arange(3) for kind in kinds)
    return SeveralTarget(values, kinds=tuple(kinds), column_names=("",) * len(kinds), column_classes=classes)


def test_groups_and_indicators():
    values = np.array([[0, 2, 0.5], [1, 0, 0.1], [1, 1, 0.2], [0, 2, 0.3], [np.nan] * 3] * 3)
    numbers = columns_of(values, KINDS).indicators().values
    assert numbers.shape == (15, 1 + 2 + 1)
    assert numbers[:4, :3].tolist() == [[0, 1, 1], [1, 0, 0], [1, 1, 0], [0, 1, 1]]
    assert np.isnan(numbers[4]).all()
    np.testing.assert_array_equal(numbers[:4, 3], values[:4, 2])
    assert columns_of(values, ["class", "class", "real"]).indicators().values.shape == (15, 1 + 3 + 1)
    groups = columns_of(values, KINDS).groups
    assert groups[:5].tolist() == [0, 1, 1, 0, -1]  # three combinations are too many for 12 rows
    assert columns_of(np.tile(values, (2, 1)), KINDS).groups[:5].tolist() == [0, 1, 2, 0, -1]
    assert columns_of(values[:, 2:], ["real"]).groups.max() == 1


def test_neighbours_are_judged_by_the_targets_that_count(rows):
    X, Y, _ = rows
    target = make_target(Y, 60, KINDS)
    posterior = SeveralTargets([1.0, 0.0, 2.0], classes="lssvm")
    metric = FisherMetric(KINDS, posterior=posterior, supervision=0.7, perplexity=10, random_state=0).fit(X, Y)
    numbers = metric.judged_target(target)
    assert isinstance(numbers, RealTarget)
    np.testing.assert_array_equal(numbers.values, target.indicators([True, False, True]).values)
