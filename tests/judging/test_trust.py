"""Trust in the rows of maps that other methods made."""

import json

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA

from judging.stand_ins import LikePaCMAP, LikeUMAP
from prismap import MapReport, judge
from prismap.judging._makers import OtherMade
from prismap.judging._trust import evidence_on
from prismap.target import make_target


@pytest.fixture(scope="module")
def mixed():
    """Three groups, two of which overlap."""
    return make_blobs(300, 5, centers=[[0] * 5, [1.5] * 5, [-9, 9, -9, 9, -9]], cluster_std=1.5, random_state=0)


def evidence(X, Y, y, metric="euclidean", kind="auto"):
    return evidence_on(OtherMade(Y, X, metric), Y, make_target(y, len(y), kind))


def named(lists):
    """The class that most of each row's neighbours have, nearest first; of equally many that of the nearest."""
    return np.array([max(row, key=lambda c: (list(row).count(c), -list(row).index(c))) for row in lists])


def neighbors(A, k=10):
    D = cdist(A, A)
    np.fill_diagonal(D, np.inf)
    return np.argsort(D, axis=1)[:, :k]


def test_evidence_is_what_neighbours_on_map_and_in_data_say(mixed):
    X, y = mixed
    Y = PCA(2).fit_transform(X)
    found = evidence(X, Y, y)
    on_map, in_data = y[neighbors(Y)], y[neighbors(X)]
    np.testing.assert_array_equal(found.predicted, named(on_map))
    np.testing.assert_allclose(found.vote, (on_map == found.predicted[:, None]).mean(axis=1))
    np.testing.assert_allclose(found.told, (in_data == found.predicted[:, None]).mean(axis=1))
    by_distances = evidence(cdist(X, X), Y, y, "precomputed")
    np.testing.assert_allclose(by_distances.told, found.told)
    value = X[:, 0]
    half = 0.5 * value.std()
    real = evidence(X, Y, value, kind="real")
    np.testing.assert_allclose(real.predicted, value[neighbors(Y)].mean(axis=1))
    np.testing.assert_allclose(real.told, (np.abs(value[neighbors(X)] - real.predicted[:, None]) <= half).mean(axis=1))


@pytest.mark.parametrize("subject", [LikeUMAP(random_state=0), LikePaCMAP(), "coordinates"])
def test_rows_of_any_map_get_a_calibrated_trust(mixed, subject):
    X, y = mixed
    Y = PCA(2).fit_transform(X)
    report = judge(X, Y, y) if subject == "coordinates" else judge(subject, X, y)
    trust = report.row_trust
    assert trust.value.shape == (300,)
    assert trust.rule is report.trust
    assert trust.rule.n_judged == 300
    assert trust.rule.calibration_error < 0.06
    truth = named(y[neighbors(Y)]) == y
    assert abs(trust.value.mean() - truth.mean()) < 0.03
    assert trust.value[y == 2].min() > 0.95 > trust.value[y < 2].mean()
    parts = {"vote", "told", "kept"} if subject == "coordinates" else {"vote", "told", "kept", "stays", "scatter"}
    assert set(trust.parts) == parts
    assert "more likely wrong about them than right" in report.verdict
    stored = MapReport.from_dict(json.loads(json.dumps(report.to_dict())))
    assert stored.row_trust is None
    assert stored.trust.weights == pytest.approx(report.trust.weights)


def test_rows_without_a_label_get_trust_too(mixed):
    X, y = mixed
    hidden = np.array([None if j < 40 else str(label) for j, label in enumerate(y)], dtype=object)
    report = judge(X, X[:, :2], hidden)
    assert report.trust.n_judged == 260
    assert np.isfinite(report.row_trust.value).all()


def test_without_a_target_rows_are_held_against_a_map_of_one_gaussian(mixed):
    X, _ = mixed
    report = judge(LikeUMAP(random_state=0), X)
    assert report.row_trust.rule.kind == "none"
    kept = report.row_trust.parts["kept"]
    order = np.argsort(kept)
    assert (np.diff(report.row_trust.value[order]) >= 0).all()
    assert judge(X, X[:, :2]).row_trust is None
    assert any("how far single rows can be trusted" in limit for limit in judge(X, X[:, :2]).limits)


def test_too_few_rows_make_no_rule():
    X = np.random.default_rng(0).normal(size=(24, 3))
    assert judge(X, X[:, :2], np.arange(24) % 2).trust is None


def test_real_targets_too(mixed):
    X, _ = mixed
    report = judge(LikeUMAP(random_state=0), X, X[:, 1] + 0.25, target="real")
    assert report.trust.kind == "real"
    assert report.row_trust.value.mean() > 0.6
