"""Mixtures of comparisons of objects: for maps, with starts and a baseline, and for classes, out of fold."""

import matplotlib as mpl
import numpy as np
import pytest

from prismap.comparisons import Objects
from prismap.exceptions import InputError
from prismap.inspection import ComparisonDisplay
from prismap.metrics import AlternatingDescent, MixtureMetric, comparison_weights, comparison_weights_for_classes

QUICK = {"descent": AlternatingDescent(n_epochs=2, max_iter=20)}


def points():
    rng = np.random.default_rng(0)
    y = np.arange(36) % 3
    plane = rng.normal(size=(36, 2)) + 3 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    return [(*row, *noise) for row, noise in zip(plane.tolist(), rng.normal(size=(36, 6)).tolist(), strict=True)], y


def flat(a, b):
    return float(np.linalg.norm(np.subtract(a[:2], b[:2])))


def noise(a, b):
    return float(np.linalg.norm(np.subtract(a[2:], b[2:])))


def product(a, b):
    return float(np.dot(a[:2], b[:2]))


HOWS = {"flat": Objects(flat, "dissimilarity", n_jobs=1), "noise": Objects(noise, "dissimilarity", n_jobs=1)}


def test_weights_are_those_of_the_mixture_of_the_matrices():
    things, _ = points()
    found = comparison_weights(HOWS, things, n_starts=3, n_permutations=2, random_state=0, **QUICK)
    assert found.weights["flat"] > 0.9  # two dimensions fit into a map, six do not
    assert sum(found.weights.values()) == pytest.approx(1)
    assert len(found.costs) == 3
    D = [np.array([[compare(a, b) for b in things] for a in things]) for compare in (flat, noise)]
    seed = int(np.random.default_rng(0).integers(2**31))
    options = {"init": "random", "n_init": 1, "allow_negative": False, **QUICK}
    one = MixtureMetric(D, random_state=seed, **options).fit(np.arange(36))
    assert one.stress_ == pytest.approx(found.costs[0])
    assert found.scales["noise"] == pytest.approx(D[1].sum() / (36 * 35))
    mixed = sum(found.weights[name] / found.scales[name] * part for name, part in zip(HOWS, D, strict=True))
    assert found(things[3], things[8]) == pytest.approx(mixed[3, 8])
    assert Objects(found, "dissimilarity", n_jobs=1).over(things).block([3], [8])[0, 0] == found(things[3], things[8])


def test_a_similarity_counts_by_its_distance():
    things, _ = points()
    hows = {"product": Objects(product, "similarity", n_jobs=1), "noise": HOWS["noise"]}
    found = comparison_weights(hows, things, n_starts=1, n_permutations=1, random_state=0, **QUICK)
    same = comparison_weights(HOWS, things, n_starts=1, n_permutations=1, random_state=0, **QUICK)
    assert found.costs == pytest.approx(same.costs, rel=1e-6)
    assert found(things[0], things[1]) == pytest.approx(same(things[0], things[1]), rel=1e-4)


def test_named_comparisons_mix_and_meet_new_objects():
    words = ["house", "houses", "winter", "winters", "summer", "summers"]
    lengths = Objects(lambda a, b: abs(len(a) - len(b)), "dissimilarity")
    found = comparison_weights(
        {"edit": "edit", "length": lengths}, words, n_starts=1, n_permutations=1, random_state=0, **QUICK
    )
    parts = found.weights["edit"] / found.scales["edit"] * 4 + found.weights["length"] / found.scales["length"]
    assert found("house", "winter") == pytest.approx(parts + found.weights["edit"] / found.scales["edit"])


def test_classes_get_their_weights_out_of_fold():
    things, y = points()
    found = comparison_weights_for_classes(
        {**HOWS, "product": Objects(product, "similarity", n_jobs=1)}, things, y, random_state=0
    )
    assert found.weights["noise"] < min(found.weights["flat"], 0.1)
    assert found.error < 0.2 < 0.4 < found.permuted_error
    assert set(found.spread) == {"flat", "noise", "product"}


def test_bars_show_weights_spread_and_baseline():
    mpl.use("Agg")
    display = ComparisonDisplay({"a": 0.2, "b": 0.8}, {"a": 0.1, "b": 0.05}, {"a": 0.5, "b": 0.5}).plot()
    assert [bar.get_height() for bar in display.ax_.patches] == [0.8, 0.2]
    assert [label.get_text() for label in display.ax_.get_xticklabels()] == ["b", "a"]
    mpl.pyplot.close(display.figure_)
    with pytest.raises(InputError, match="of the same comparisons"):
        ComparisonDisplay({"a": 1.0}, {"b": 1.0}, {"a": 1.0})


def test_one_comparison_is_no_mixture():
    with pytest.raises(InputError, match="at least two"):
        comparison_weights({"edit": "edit"}, ["a", "b"])
