"""Trust in single rows: its evidence, rows that were placed, files; rare classes in the report of a `PrisMap`."""

import warnings

import numpy as np
import pytest
from experiments.tables_of_truth import noisy_half
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist
from scipy.stats import norm
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError

from prismap import PrisMap
from prismap.judging._trust import evidence_on, scatter
from prismap.map._judged import MadeMap


def evidence(model, Y, rows=None):
    return evidence_on(MadeMap(model.map_), Y, model.map_.target, rows)


def quietly(model, X, y=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y).report(n_permutations=1)
    return model


@pytest.fixture(scope="module")
def judged():
    X, y = make_blobs(600, 4, centers=5, cluster_std=4.0, random_state=1)
    return quietly(PrisMap(method="mds", fit_rows=250, perplexity=20, random_state=0), X[:550], y[:550]), X, y


def test_evidence_is_what_ten_neighbours_say_and_the_posterior_of_it(judged):
    model, X, _ = judged
    y, Y = model.map_.target.values, model.transform(X[550:])
    found = evidence(model, Y, X[550:])
    P = model.metric_.class_probabilities(X[550:])
    for i, d in enumerate(cdist(Y, model.embedding_)):
        votes = np.bincount(y[np.argsort(d)[:10]], minlength=5)
        assert found.vote[i] == votes.max() / 10
        assert votes[found.predicted[i]] == votes.max()
        assert found.told[i] == P[i, found.predicted[i]]


def test_no_fitted_row_votes_for_itself(judged):
    model, _, _ = judged
    y, D = model.map_.target.values, cdist(model.embedding_, model.embedding_)
    np.fill_diagonal(D, np.inf)
    votes = np.stack([np.bincount(y[np.argsort(d)[:10]], minlength=5) for d in D])
    np.testing.assert_array_equal(evidence(model, model.embedding_).vote, votes.max(axis=1) / 10)


def test_trust_says_how_often_neighbours_are_right(judged):
    model, X, _ = judged
    trust = model.trust_
    assert trust.value.shape == (550,)
    assert 0 < np.nanmin(trust.value) <= np.nanmax(trust.value) < 1
    assert trust.rule.n_judged == 300
    missing = {name: np.isnan(part).sum() for name, part in trust.parts.items()}
    left_out = 350  # a fifth of 250
    assert missing == {"vote": 0, "told": 0, "kept": 300, "plain": 300, "stays": left_out, "scatter": left_out}
    others = np.setdiff1d(np.arange(550), model.fit_rows_)
    np.testing.assert_array_equal(trust.value[others], model.trust(X[others]))
    np.testing.assert_array_equal(np.isnan(trust.value[others]), model.is_far(X[others]))
    assert np.isfinite(trust.value[model.fit_rows_]).all()
    assert "calibration error" in str(trust)
    assert "more likely wrong about them than right" in model.report().verdict
    assert model.trust_ is trust


def test_trust_is_the_same_after_saving(judged, tmp_path):
    model, X, _ = judged
    model.save(tmp_path / "m.prismap")
    loaded = PrisMap.load(tmp_path / "m.prismap")
    np.testing.assert_allclose(loaded.trust(X[550:]), model.trust(X[550:]), atol=1e-12)
    np.testing.assert_allclose(loaded.trust_.value, model.trust_.value[model.fit_rows_], atol=1e-12)
    assert set(loaded.trust_.parts) == {"vote", "told", "kept"}


def test_real_targets_have_trust_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    model = quietly(PrisMap(method="mds", perplexity=8, supervision=0.8, random_state=0), X[:120], X[:120, 0] * 10)
    y, Y = model.y_, model.transform(X[120:])
    found, (mean, variance) = evidence(model, Y, X[120:]), model.metric_.target_moments(X[120:])
    half, draws = 0.5 * y.std(), rng.normal(size=20_000)
    for i, d in enumerate(cdist(Y, model.embedding_)):
        near = y[np.argsort(d)[:10]]
        assert found.predicted[i] == pytest.approx(near.mean())
        assert found.vote[i] == np.mean(np.abs(near - near.mean()) <= half)
        inside = np.abs(mean[i] + np.sqrt(variance[i]) * draws - near.mean()) <= half
        assert found.told[i] == pytest.approx(inside.mean(), abs=0.02)
    assert np.isfinite(model.trust_.parts["stays"]).all()
    assert 0 < model.trust_.value.min() <= model.trust_.value.max() < 1


def test_without_a_target_rows_are_held_against_permuted_columns():
    rng = np.random.default_rng(0)
    curve = np.sort(rng.uniform(0, 6, 90))
    X = np.column_stack([np.cos(curve), np.sin(curve), curve, curve**2 / 6])
    line = quietly(PrisMap(method="mds", perplexity=8, random_state=0), X)
    noise = quietly(PrisMap(method="mds", perplexity=8, random_state=0), rng.normal(size=(90, 4)))
    assert np.median(line.trust_.value) > 0.9
    assert abs(noise.trust_.value.mean() - 0.45) < 0.15  # equal shares count half each for neither side
    assert "data without structure" in line.report().verdict
    assert np.isfinite(line.trust(X[:5] + 0.001)).any()


def test_a_metric_without_posterior_is_told_by_the_nearest_rows(judged):
    _, X, y = judged
    model = quietly(PrisMap(method="mds", metric="manhattan", perplexity=8, random_state=0), X[:80], y[:80])
    found = evidence(model, model.embedding_)
    D = cdist(X[:80], X[:80], "cityblock")
    np.fill_diagonal(D, np.inf)
    for i, d in enumerate(D):
        near = y[np.argsort(d)[:10]]
        k = min(10, (y[:80] == near[0]).sum() // 2)  # as many as vote
        assert found.told[i] == np.mean(near[:k] == found.predicted[i])
    assert model.trust(X[80:90]).shape == (10,)


def test_unlabelled_rows_do_not_vote():
    X, y = make_blobs(120, 3, centers=2, cluster_std=1.0, random_state=0)
    y[::3] = -1
    model = quietly(PrisMap(method="mds", perplexity=8, random_state=0), X, y)
    assert np.isfinite(model.trust_.value).all()
    assert set(np.unique(evidence(model, model.embedding_).predicted)) <= {0, 1}


def test_trust_needs_a_report_and_something_to_judge_by(judged):
    _, X, y = judged
    model = PrisMap(method="mds", perplexity=8, random_state=0).fit(X[:40], y[:40])
    with pytest.raises(NotFittedError, match=r"call it first"):
        model.trust_  # noqa: B018
    D = cdist(X[:40], X[:40])
    matrix = quietly(PrisMap(method="mds", data="dissimilarity", perplexity=8, random_state=0), D)
    with pytest.raises(NotFittedError, match="no columns"):
        matrix.trust_  # noqa: B018


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
    assert {score.name for score in report.scores} == {"vote error", "1-NN error", "balanced vote error"}
    assert {"trustworthiness", "label-trustworthiness", "label-continuity"} <= set(report.measures)


def test_scatter_is_what_the_best_rotation_and_scale_leave():
    rng = np.random.default_rng(0)
    Y, turn = rng.normal(size=(40, 2)), np.linalg.qr(rng.normal(size=(2, 2)))[0]
    some = np.arange(0, 40, 2)
    same = scatter(Y, [(np.arange(40), 3 * Y @ turn + 7), (some, -0.1 * Y[some])])
    np.testing.assert_allclose(same, 0, atol=1e-12)
    noisy = Y + 0.3 * rng.normal(size=Y.shape)
    found = scatter(Y, [(np.arange(40), noisy)])
    assert np.square(found).mean() == pytest.approx(procrustes(Y, noisy)[2])  # scipy's, of maps with unit spread
    alone = scatter(Y, [(some, noisy[some])])
    assert np.isnan(alone[1::2]).all()
    assert np.isfinite(alone[::2]).all()


def test_trust_in_new_rows_does_not_compute_that_of_all(judged, monkeypatch):
    model, X, _ = judged
    expected = model.trust(X[550:])
    monkeypatch.setattr(model, "_trust", None)
    monkeypatch.setattr("prismap.map._prismap.trust_in_given", None)
    np.testing.assert_array_equal(model.trust(X[550:]), expected)


def test_trust_knows_where_a_number_is_noisy():
    X, y, truth = noisy_half()
    trust = quietly(PrisMap(random_state=0), X, y).trust_
    noisy = truth["noisy"]
    assert trust.value[noisy].mean() < 0.5 < 0.75 < trust.value[~noisy].mean()
    assert np.median(trust.parts["told"][noisy]) < 0.5 < np.median(trust.parts["told"][~noisy])


def test_a_number_with_the_same_noise_everywhere_keeps_the_width_of_its_posterior():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    y = X[:, 1] + rng.normal(size=400)
    model = PrisMap(supervision=0.8, random_state=0).fit(X, y)
    made, mean = MadeMap(model.map_), model.metric_.target_moments()[0][:, 0]
    width = np.sqrt(model.metric_.target_moments()[1][:, 0])
    found = made.support(mean, None, model.map_.target)  # the chance of a value within half a deviation of the mean
    expected = 2 * norm.cdf(model.map_.target.tolerance / width) - 1
    np.testing.assert_allclose(found, expected, atol=0.12)
    assert np.abs(found - expected).mean() < 0.03
