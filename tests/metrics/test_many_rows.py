"""Posteriors of more rows than the support holds: a machine on landmarks, and local supports."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from large_maps import count_as_large
from prismap import PrisMap
from prismap.embeddings import TSNE
from prismap.exceptions import InputError
from prismap.map._cells import CellRules, nearest_of
from prismap.metrics import FisherMetric
from prismap.metrics._geometry import VectorMetric
from prismap.metrics.posteriors import _base as base
from prismap.metrics.posteriors import _local_parzen as local_parzen
from prismap.metrics.posteriors import _machine as machines
from prismap.metrics.posteriors._local_parzen import LabelledRows, best_perplexity, class_shares, local_probabilities
from prismap.metrics.posteriors._machine import fit_on_all_rows, fit_without_folds, solve
from prismap.metrics.posteriors._rowwise import log_loss, softmax
from prismap.neighbors import kneighbors
from prismap.target import ClassTarget

X, CLASSES = make_blobs(400, 4, centers=3, cluster_std=3.0, random_state=0)


def of_classes(codes):
    return ClassTarget(codes, names_of_classes=np.arange(3))


def squared(A, B):
    return ((A[:, None] - B[None]) ** 2).sum(axis=2)


def test_landmarks_that_are_all_rows_give_the_machine_itself():
    rows, codes = X[:120], CLASSES[:120]
    Q = squared(rows, rows)
    folds = np.arange(120) % machines.N_FOLDS
    gamma, ridge = 0.02, 0.1
    coefficients, mean, scores = solve(Q, codes, 3, folds, gamma, ridge)
    K = np.exp(-gamma * Q)
    whole, left_out = fit_without_folds(lambda index: K[index], np.eye(3)[codes] - mean, folds, ridge * K)
    np.testing.assert_allclose(K @ whole, K @ coefficients, atol=1e-6)
    # The machine without a fold has no kernels there either, this one has: alike, not equal.
    np.testing.assert_allclose(left_out + mean, scores, atol=0.02)


def without_each_fold(K, targets, folds, penalty):
    """The slow twin: one machine for each fold, solved anew from the rows outside it by elimination."""
    scores = np.full(targets.shape, np.nan)
    for fold in range(folds.max() + 1):
        seen, judged = (folds >= 0) & (folds != fold), folds == fold
        A = K[seen].T @ K[seen] + penalty
        A += 1e-10 * np.trace(A) / len(A) * np.eye(len(A))
        scores[judged] = K[judged] @ np.linalg.solve(A, K[seen].T @ targets[seen])
    return scores


@pytest.mark.parametrize("how", ["fit_small_folds", "fit_large_folds"])
def test_folds_left_out_together_equal_a_machine_for_each(how):
    """Folds of different sizes, and rows of no fold, which no machine sees."""
    rng = np.random.default_rng(0)
    folds = np.where(rng.random(400) < 0.1, -1, rng.choice(10, 400, p=np.arange(1, 11) / 55))
    K, targets = np.exp(-0.05 * squared(X, X[:90])), np.eye(3)[CLASSES] - 1 / 3
    penalty = 0.1 * K[:90]
    whole, scores = getattr(machines, how)(lambda index: K[index], targets, folds, penalty)
    slow = without_each_fold(K, targets, folds, penalty)
    known = folds >= 0
    np.testing.assert_allclose(scores[known], slow[known], atol=1e-7)
    product, moment = K[known].T @ K[known], K[known].T @ targets[known]
    np.testing.assert_allclose(K @ whole, K @ np.linalg.solve(product + penalty, moment), atol=1e-6)
    seen = fit_without_folds(lambda index: K[index], targets, folds, penalty, cross_fit=False)[0]
    np.testing.assert_allclose(K @ seen, K @ whole, atol=1e-9)


def test_a_penalty_that_no_points_have_is_solved_by_elimination():
    rng = np.random.default_rng(0)
    K, targets, folds = rng.normal(size=(200, 30)), rng.normal(size=(200, 2)), np.arange(200) % 20
    penalty = -500.0 * np.eye(30)
    whole, scores = fit_without_folds(lambda index: K[index], targets, folds, penalty)
    np.testing.assert_allclose(whole, np.linalg.solve(K.T @ K + penalty, K.T @ targets), rtol=1e-6)
    np.testing.assert_allclose(scores, without_each_fold(K, targets, folds, penalty), rtol=1e-5)


def test_no_row_is_judged_by_its_own_label(monkeypatch):
    monkeypatch.setattr(machines, "N_LANDMARKS", 60)
    noise = np.random.default_rng(0).permutation(CLASSES)
    _, honest = fit_on_all_rows(VectorMetric().over(X), of_classes(noise), np.random.default_rng(0))
    assert abs((honest.argmax(axis=1) == noise).mean() - 1 / 3) < 0.08
    machine, true = fit_on_all_rows(VectorMetric().over(X), of_classes(CLASSES), np.random.default_rng(0))
    assert log_loss(true, CLASSES) < 0.6
    Q = squared(X - X.mean(axis=0), (X - X.mean(axis=0))[machine.landmarks])
    _, in_sample = fit_on_all_rows(
        VectorMetric().over(X), of_classes(CLASSES), np.random.default_rng(0), cross_fit=False
    )
    np.testing.assert_allclose(in_sample, machine.probabilities(Q), atol=0.05)
    assert softmax(machine.scores(Q)).shape == (400, 3)


def test_rows_beyond_those_it_is_fitted_on_are_predicted(monkeypatch):
    monkeypatch.setattr(machines, "N_LANDMARKS", 60)
    monkeypatch.setattr(machines, "MOST_FITTED", 200)
    machine, P = fit_on_all_rows(VectorMetric().over(X), of_classes(CLASSES), np.random.default_rng(0))
    Q = squared(X - X.mean(axis=0), (X - X.mean(axis=0))[machine.landmarks])
    by_all = np.isclose(P, machine.probabilities(Q), atol=1e-8).all(axis=1)
    assert by_all.sum() >= 200
    assert log_loss(P, CLASSES) < 0.6
    noise = np.random.default_rng(0).permutation(CLASSES)
    _, honest = fit_on_all_rows(VectorMetric().over(X), of_classes(noise), np.random.default_rng(0))
    assert abs((honest.argmax(axis=1) == noise).mean() - 1 / 3) < 0.08


def test_local_probabilities_equal_a_loop_over_neighbours():
    geometry = VectorMetric().over(X)
    P, judging = local_probabilities(geometry, of_classes(CLASSES), 10, np.random.default_rng(0), cross_fit=False)
    D2 = squared(X, X)
    np.fill_diagonal(D2, np.inf)
    for i in (0, 57, 311):
        near = np.argsort(D2[i])[:30]
        expected = class_shares(D2[i, near][None], CLASSES[near][None], 3, judging)[0]
        np.testing.assert_allclose(P[i], expected, atol=1e-4)
        weights = np.exp(-(D2[i, near] - D2[i, near].min()) / (2 * width_of(D2[i, near], judging) ** 2))
        slow = [weights[CLASSES[near] == c].sum() / weights.sum() for c in range(3)]
        np.testing.assert_allclose(expected, slow, atol=1e-4)


def test_the_perplexity_of_the_judges_has_the_lowest_loss_out_of_fold():
    """Stripes that are finer than the map's perplexity want few judges; labels of chance want all there are."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(0, 10, size=(600, 1))
    stripes, noise = np.floor(2 * rows[:, 0]).astype(int) % 2, rng.integers(0, 2, size=600)
    D2 = squared(rows, rows)
    np.fill_diagonal(D2, np.inf)
    order = np.argsort(D2, axis=1)[:, :90]
    near2 = np.take_along_axis(D2, order, axis=1)
    for codes, expected in ((stripes, 10), (noise, 30)):
        losses = {
            judges: np.mean([
                -np.log(max(class_shares(near2[i : i + 1], codes[order[i : i + 1]], 2, judges)[0, codes[i]], 1e-12))
                for i in range(600)
            ])
            for judges in (30, 15, 10, 5)
        }  # fmt: skip
        assert min(losses, key=losses.get) == expected
        assert best_perplexity(near2, codes[order], codes, 2, 30, rng) == pytest.approx(expected)
    assert best_perplexity(near2, stripes[order], stripes, 2, 3, rng) == 3  # 1.5 would judge by one row alone


def test_the_perplexity_of_the_judges_is_kept(monkeypatch):
    monkeypatch.setattr(base, "MOST_SUPPORT", 100)
    rng = np.random.default_rng(0)
    rows = rng.uniform(0, 10, size=(600, 2))
    y = np.floor(2 * rows[:, 0]).astype(int) % 2
    metric = FisherMetric(posterior="parzen", supervision=0.8, random_state=0).fit(rows, y)
    new = rng.uniform(0, 10, size=(7, 2))
    state = metric.state()
    assert state["local_perplexity"] < 30
    assert f"perplexity {state['local_perplexity']:g}" in metric.describe()
    again = FisherMetric(**metric.get_params()).restore(rows, y, state)
    np.testing.assert_array_equal(again.class_probabilities(new), metric.class_probabilities(new))
    np.testing.assert_array_equal(metric.cheaper().class_probabilities(new), metric.class_probabilities(new))


def width_of(d2, perplexity):
    """The width by plain search."""
    widths = np.geomspace(1e-2, 1e2, 200_000)
    for low, high in [(0, len(widths) - 1)]:
        while high - low > 1:
            middle = (low + high) // 2
            p = np.exp(-(d2 - d2.min()) / (2 * widths[middle] ** 2))
            p /= p.sum()
            entropy = -(p[p > 0] * np.log(p[p > 0])).sum()
            low, high = (middle, high) if entropy < np.log(perplexity) else (low, middle)
    return widths[low]


def test_local_probabilities_of_noise_are_at_chance_and_unlabelled_rows_get_theirs():
    geometry = VectorMetric().over(X)
    noise = np.random.default_rng(1).permutation(CLASSES)
    P, judging = local_probabilities(geometry, of_classes(noise), 10, np.random.default_rng(0))
    assert judging == 10
    assert abs((P.argmax(axis=1) == noise).mean() - 1 / 3) < 0.08
    codes = np.where(np.arange(400) % 4 == 0, -1, CLASSES)
    P, judging = local_probabilities(geometry, of_classes(codes), 10, np.random.default_rng(0))
    new = LabelledRows(geometry, codes, 3, 10, judging).judge(X[::4])
    np.testing.assert_allclose(P[::4], new, atol=1e-6)
    assert (P[::4].argmax(axis=1) == CLASSES[::4]).mean() > 0.7


@pytest.mark.parametrize("posterior", ["parzen", "lssvm", "auto"])
def test_a_metric_beyond_its_support_sees_every_label(monkeypatch, posterior):
    monkeypatch.setattr(base, "MOST_SUPPORT", 100)
    monkeypatch.setattr(machines, "N_LANDMARKS", 100)
    metric = FisherMetric(posterior=posterior, supervision=0.8, random_state=0).fit(X, CLASSES)
    P = metric.class_probabilities()
    assert P.shape == (400, 3)
    assert log_loss(P, CLASSES) < 0.6
    np.testing.assert_allclose(metric.pairwise(), metric.pairwise().T)
    again = FisherMetric(**metric.get_params()).restore(X, CLASSES, metric.state())
    np.testing.assert_array_equal(again.pairwise(X[:5] + 0.1), metric.pairwise(X[:5] + 0.1))


@pytest.mark.parametrize("supervision", [0.8, 1.0])
def test_the_ends_alone_are_never_longer_and_find_the_neighbours(monkeypatch, supervision):
    monkeypatch.setattr(base, "MOST_SUPPORT", 100)
    metric = FisherMetric(posterior="parzen", supervision=supervision, random_state=0).fit(X, CLASSES)
    less = metric.cheaper()
    D, L = metric.pairwise(), less.pairwise()
    assert (L <= D * (1 + 1e-6)).all()
    assert (L < 0.9 * D).any()
    assert less.cheaper() is less
    found, exact = kneighbors(None, 10, metric=metric, method="partition", random_state=0), metric.kneighbors(None, 10)
    assert np.mean(found.distances <= exact[0] * (1 + 1e-4) + 1e-6) > 0.94
    assert found.recall > 0.94


def test_rows_outside_the_small_support_leave_out_no_fold_of_it(monkeypatch):
    monkeypatch.setattr(base, "MOST_SUPPORT", 100)
    monkeypatch.setattr(local_parzen, "PATH_SUPPORT", 60)
    metric = FisherMetric(posterior="parzen", supervision=1.0, random_state=0).fit(X, CLASSES)
    posterior = metric.posterior_
    folds = np.empty(len(X), dtype=int)
    folds[posterior.order] = posterior.rows.fold
    assert (folds[posterior.support] >= 0).all()
    assert (np.delete(folds, posterior.support) == -1).all()


def check_nearest_rows(model, new):
    """The rows that decide are the nearest of all fitted ones, when all cells are looked into."""
    parts = model.map_
    seen = parts.map_anchors.see(new, parts.data_anchors.see(new))
    candidates, real = parts.cells._in_cells(seen.distances)
    found = nearest_of(np.where(real, seen.among(candidates) ** 2, np.inf), candidates)
    exact = np.sort(model.metric_.pairwise(new), axis=1)[:, :5]
    np.testing.assert_allclose(np.sqrt(found[0]), exact, atol=1e-3)  # single precision


def test_a_large_map_is_made_from_neighbours_and_landmarks(monkeypatch, tmp_path):
    monkeypatch.setattr("prismap.map._cells.CELLS", CellRules(most_probed=80))
    count_as_large(monkeypatch, 200, n_landmarks=80)
    model = PrisMap(TSNE(max_iter=100, perplexity=10), random_state=0, perplexity=10).fit(X, CLASSES)
    assert model.embedding_.shape == (400, 2)
    assert len(model.map_.anchors) <= 80
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    new = X[:40] + 0.01
    np.testing.assert_array_equal(
        np.vstack([model.transform(new[i : i + 1]) for i in range(3)]), model.transform(new)[:3]
    )
    check_nearest_rows(model, new)
    report = model.report(n_permutations=1, budget="quick")
    assert any("placed by their nearest fitted rows" in note for note in report.notes)
    assert float(report.scores[0].value) < 0.45
    for mapping in ("fisher", "vote"):  # cells let the nearest rows decide, whatever the name
        named = PrisMap(random_state=0, perplexity=10, mapping=mapping).fit(X, CLASSES)
        assert "80 rows, by cross-validation with maps of 200 rows" in named.report(budget="quick").verdict
        named.save(tmp_path / "m.prismap")
        np.testing.assert_array_equal(PrisMap.load(tmp_path / "m.prismap").transform(new), named.transform(new))
    with pytest.raises(InputError, match="mapping='direct' needs all distances"):
        PrisMap(mapping="direct", random_state=0, perplexity=10).fit(X, CLASSES)
    with pytest.raises(ValueError, match="only method='tsne'"):
        PrisMap("mds", random_state=0).fit(X, CLASSES)


def test_no_row_of_the_own_fold_is_asked(monkeypatch):
    folds = np.arange(400) % 4
    monkeypatch.setattr(ClassTarget, "folds", lambda target, rows, n_folds, rng: folds)
    P, judging = local_probabilities(VectorMetric().over(X), of_classes(CLASSES), 10, np.random.default_rng(0))
    D2 = squared(X, X)
    np.fill_diagonal(D2, np.inf)
    for i in (3, 118, 260):
        near = np.argsort(D2[i])[:30]
        near = near[folds[near] != folds[i]]
        np.testing.assert_allclose(P[i], class_shares(D2[i, near][None], CLASSES[near][None], 3, judging)[0], atol=1e-4)
