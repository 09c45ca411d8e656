"""Trust in single rows, calibrated on held-out ones; rare classes in the report of a `PrisMap`."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError

from prismap import PrisMap
from prismap.map.trust import agreement, calibrated, calibration_error, worst_tenth


@pytest.fixture(scope="module")
def judged():
    X, y = make_blobs(600, 4, centers=5, cluster_std=4.0, random_state=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PrisMap(method="mds", fit_rows=250, perplexity=20, random_state=0).fit(X[:550], y[:550])
        model.report(n_permutations=1)
    return model, X, y


def test_votes_are_those_of_the_ten_nearest_other_rows():
    rng = np.random.default_rng(0)
    Y, y = rng.normal(size=(60, 2)), rng.integers(0, 3, 60)
    found, said = agreement(Y, Y, y, np.arange(60))
    for i in range(60):
        order = np.argsort(np.linalg.norm(Y - Y[i], axis=1))
        votes = np.bincount(y[order[order != i][:10]], minlength=3)
        assert found[i] == votes.max() / 10
        assert votes[said[i]] == votes.max()
    new, _ = agreement(Y[:5] + 0.01, Y[5:], y[5:])
    assert new.shape == (5,)


def test_trust_says_how_often_neighbours_are_right(judged):
    model, X, _ = judged
    trust = model.trust_
    assert trust.value.shape == (550,)
    assert 0 < trust.value.min() <= trust.value.max() < 1
    assert trust.n_judged == 300
    assert {name: np.isnan(part).sum() for name, part in trust.parts.items()} == {"vote": 0, "kept": 300, "stays": 300}
    steps = trust.value[np.argsort(trust.parts["vote"])]
    assert (np.diff(steps) >= 0).all()  # more agreement is never less trust
    Y = model.transform(X[550:])
    np.testing.assert_array_equal(trust.at(Y), trust.levels.predict(agreement(Y, trust.positions, trust.codes)[0]))
    assert "calibration error" in str(trust)
    assert model.trust_ is trust


def test_calibration_finds_the_truth():
    rng = np.random.default_rng(0)
    vote = rng.integers(3, 11, 4000) / 10
    right = (rng.uniform(size=4000) < vote**2).astype(float)
    levels = calibrated(vote, right)
    np.testing.assert_allclose(levels.predict([0.3, 0.6, 1.0]), [0.09, 0.36, 1.0], atol=0.04)
    assert calibration_error(levels.predict(vote), right) < 0.02
    assert calibration_error(np.full(4000, 0.99), right) > 0.3


def test_the_worst_tenth_is_counted_whatever_the_ties():
    right = np.ones(100)
    right[:10] = 0.0
    assert worst_tenth(np.arange(100.0), right) == 1.0
    assert worst_tenth(np.zeros(100), right) == pytest.approx(0.1)
    assert np.isnan(worst_tenth(np.zeros(100), np.ones(100)))


def test_trust_needs_classes_and_a_report(judged):
    _, X, y = judged
    model = PrisMap(method="mds", perplexity=8, random_state=0).fit(X[:40], y[:40])
    with pytest.raises(NotFittedError, match=r"call it first"):
        model.trust_  # noqa: B018
    plain = PrisMap(method="mds", perplexity=8, random_state=0).fit(X[:40])
    with pytest.raises(NotFittedError, match="needs classes"):
        plain.trust_  # noqa: B018


def test_a_report_lists_rare_classes_and_names_no_overlap_with_them(judged):
    _, X, y = judged
    names = np.array(["a", "b", "c", "d", "e"], dtype=object)[y[:80]]
    names[:3] = "odd"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = PrisMap(method="mds", perplexity=8, random_state=0).fit(X[:80], names).report(n_permutations=1)
    assert report.rare == ("odd",)
    assert report.n_judged == 77
    assert "odd" not in {name for pair in report.overlaps for name in (pair.of, pair.into)}
    assert {score.name for score in report.scores} == {"10-NN error", "1-NN error"}
    assert {"trustworthiness", "label-trustworthiness", "label-continuity"} <= set(report.measures)
