"""The mixture of similarities that separates classes: what tells gets the weight, and the error is that of new rows."""

import numpy as np
import pytest

from prismap.exceptions import InputError
from prismap.metrics._object_mixture import aligned, mixture_for_classes, scaled


def similarities(seed=0, n=60):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    telling = rng.normal(size=(n, 3)) + 4 * np.eye(3)[y]
    weak = rng.normal(size=(n, 3)) + 1 * np.eye(3)[y]
    noise = rng.normal(size=(n, 3))
    return {"telling": telling @ telling.T, "weak": 50 * weak @ weak.T, "noise": noise @ noise.T}, y


def test_what_tells_classes_apart_gets_the_weight():
    S, y = similarities()
    found = mixture_for_classes(S, y, random_state=0)
    assert found.weights["telling"] > found.weights["weak"] > found.weights["noise"]
    assert sum(found.weights.values()) == pytest.approx(1)
    assert found.error <= found.equal
    assert found.error < min(found.alone["weak"], found.alone["noise"])
    assert found.permuted_error > 0.4


def test_units_of_a_similarity_do_not_count():
    S, y = similarities()
    found = mixture_for_classes(S, y, random_state=0)
    other = mixture_for_classes({name: 1000 * (K + 7) for name, K in S.items()}, y, random_state=0)
    assert list(other.weights.values()) == pytest.approx(list(found.weights.values()))
    assert other.mix({name: 1000 * (K + 7) for name, K in S.items()}) == pytest.approx(found.mix(S))


def test_weights_are_the_best_of_a_grid():
    S, y = similarities()
    kernels = scaled(np.stack(list(S.values())))
    ideal = np.eye(3)[y] - 1 / 3
    target = (ideal @ ideal.T).ravel()

    def cosine(weights):
        mixed = np.tensordot(weights, kernels, 1).ravel()
        return mixed @ target / np.linalg.norm(mixed)

    grid = [np.array([a, b, 20 - a - b]) / 20 for a in range(21) for b in range(21 - a)]
    assert cosine(aligned(kernels, y)) >= max(cosine(weights) for weights in grid if weights.any())


def test_rows_without_a_class_are_left_out():
    S, y = similarities()
    part = np.arange(48)
    labels = [str(code) if k < 48 else None for k, code in enumerate(y)]
    known = scaled(np.stack(list(S.values())))[:, part[:, None], part]
    found = mixture_for_classes(S, labels, random_state=0)
    assert list(found.weights.values()) == pytest.approx(aligned(known, y[part]).tolist())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda S, y: ([], y), "dictionary of matrices"),
        (lambda S, y: ({**S, "other": np.eye(3)}, y), r"similarities\['other'\] has shape \(3, 3\)"),
        (lambda S, y: ({"bad": np.full((60, 60), np.nan)}, y), "not finite"),
        (lambda S, y: (S, np.zeros(60, dtype=int)), "at least two classes"),
        (lambda S, y: (S, np.where(np.arange(60) == 0, 9, y % 2)), "has 1. Use fewer n_folds"),
    ],
)
def test_what_cannot_be_mixed_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        mixture_for_classes(*change(*similarities()))
