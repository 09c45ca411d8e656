"""`drift`: quiet on rows like the fitted ones, loud on new regions and other shares of the classes."""

import numpy as np
import pytest

from large_maps import count_as_large
from prismap.exceptions import InputError
from prismap.map import PrisMap
from prismap.map._drift import class_shift, real_shift
from prismap.mappings import VoteMap
from prismap.metrics import FisherMetric
from scale.conftest import make_rows


def test_rows_like_the_fitted_ones_call_for_nothing(model):
    found = model.drift(make_rows(400, 5)[0])
    assert not found.refit
    assert found.far_share < 0.06
    assert found.shift < 0.1
    assert str(found).endswith("no need to refit.")
    assert "of 400 rows are far from the map's (1% expected)" in str(found)


def test_a_new_region_and_other_shares_are_told_apart(model):
    X, y = make_rows(400, 5)
    moved = X.copy()
    moved[:80] += 30
    found = model.drift(moved)
    assert found.new_region
    assert found.far_share == pytest.approx(0.2, abs=0.05)
    assert "partial_refit adds them" in str(found)
    one_class = model.drift(X[y == 0])
    assert (one_class.new_region, one_class.moved) == (False, True)
    assert one_class.shift > 0.5
    assert "distributed otherwise; fit anew" in str(one_class)
    assert str(model.drift(X[y == 0] + 30)).endswith("fit anew.")


def test_real_targets_and_none():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    real = PrisMap(supervision=0.8, perplexity=8, random_state=0).fit(X, X[:, 0] + 0.1 * rng.normal(size=80))
    assert real.drift(rng.normal(size=(100, 3))).moved is False
    shifted = real.drift(X[X[:, 0] > 0.8])
    assert shifted.moved
    assert shifted.shift > 1
    none = PrisMap(perplexity=8, random_state=0).fit(X).drift(X)
    assert (none.shift, none.moved, none.far_share) == (None, False, 0.0)
    assert "posterior" not in str(none)


@pytest.mark.parametrize(
    "options",
    [
        {"supervision": 0.8}, {"metric": FisherMetric(posterior="parzen")}, {"metric": FisherMetric(posterior="trees")},
        {"supervision": 0.8, "mapping": VoteMap(metric="data")}, {"supervision": 0},
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*values are missing")
@pytest.mark.parametrize("case", ["complete", "missing values", "a large map"])
def test_distances_and_posteriors_are_those_of_placing_and_of_the_metric(options, case, monkeypatch):
    if case == "a large map":
        count_as_large(monkeypatch, 100, n_landmarks=60)
    X, y = make_rows(120, 0)
    new = np.vstack([make_rows(300, 5)[0], X[:20], X[:3] + 30])
    if case == "missing values":
        X[::7, 0] = new[::9, 2] = np.nan
    model = PrisMap(perplexity=8, random_state=0, **options).fit(X, y)
    found, (Y, distances) = model.drift(new), model.map_.place(new)
    assert np.array_equal(model.map_.distances(new)[0], distances)
    assert found.far_share == np.mean(distances > model.map_.far_threshold)
    assert np.isfinite(Y).all()
    if found.shift is not None:
        mean = model.metric_.class_probabilities(new).mean(axis=0, dtype=np.float64)
        fitted = model.metric_.class_probabilities().mean(axis=0, dtype=np.float64)
        assert found.shift == pytest.approx(0.5 * np.abs(mean - fitted).sum(), rel=1e-5, abs=1e-7)


def test_batches_are_looked_at_one_by_one(model):
    X, _ = make_rows(90, 5)
    asked = []

    def batches():
        for start in (0, 40, 50):
            asked.append(start)
            yield X[start : [40, 50, 90][len(asked) - 1]]

    streamed, whole = model.drift(batches()), model.drift(X)
    assert asked == [0, 40, 50]
    assert (streamed.n_rows, streamed.far_share) == (90, whole.far_share)
    assert streamed.shift == pytest.approx(whole.shift, rel=1e-9)
    assert streamed.shift_noise == whole.shift_noise
    with pytest.raises(InputError, match="there is none"):
        model.drift(iter([]))


def test_shifts_and_their_noise_by_hand():
    fitted = np.array([[1.0, 0.0], [0.0, 1.0]])
    shift, _ = class_shift(fitted, np.array([0.75, 0.25]), 1)
    assert shift == pytest.approx(0.25)
    assert real_shift(np.array([[0.0], [2.0]]), np.array([3.0]), 1)[0] == pytest.approx(2.0)
    rng = np.random.default_rng(0)
    draws = [rng.dirichlet([1, 2, 3], size=(2, 200)) for _ in range(200)]
    found = np.array([class_shift(fitted, new.mean(axis=0), len(new)) for fitted, new in draws])
    assert found[:, 0].mean() == pytest.approx(found[:, 1].mean(), rel=0.1)
