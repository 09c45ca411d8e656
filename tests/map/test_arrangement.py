"""A map whose groups are arranged by its metric: how strongly, what is kept, and that nothing is invented."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr

from large_maps import count_as_large
from prismap import PrisMap
from prismap.embeddings import TSNE, GradientDescent
from prismap.map import _held, _methods
from prismap.quality import knn_error

GROUPS = np.repeat(np.arange(8), 30)


@pytest.fixture(scope="module")
def line():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(240, 6))
    X[:, 0] += 6.0 * GROUPS
    return X @ np.linalg.qr(rng.normal(size=(6, 6)))[0]


def a_map(arrangement, **options):
    method = TSNE(max_iter=100, perplexity=10, descent=GradientDescent(arrangement=arrangement))
    return PrisMap(method, perplexity=10, random_state=0, **options)


def agreement(X, Y, groups=GROUPS):
    X, Y = (np.stack([A[groups == g].mean(axis=0) for g in np.unique(groups)]) for A in (X, Y))
    return spearmanr(pdist(X), pdist(Y))[0]


def test_a_map_takes_what_its_neighbours_can_afford(line, tmp_path):
    m = a_map("auto").fit(line, GROUPS)
    taken = m.map_.story["arrangement"]
    assert taken > 0
    assert agreement(line, m.embedding_) > 0.95
    assert knn_error(m.embedding_, GROUPS, n_neighbors=10) < 0.05
    report = m.report(budget="quick")
    assert report.settings["arrangement taken"] == taken
    assert any(note.startswith(f"arrangement={taken:g}, which costs less than one") for note in report.notes)
    m.save(tmp_path / "map.prismap")
    again = PrisMap.load(tmp_path / "map.prismap")
    assert again.method.descent.arrangement == "auto"
    assert again.map_.story["arrangement"] == taken
    np.testing.assert_array_equal(again.transform(line), m.embedding_)


def test_a_strength_that_costs_too_much_is_not_taken(line, monkeypatch):
    costs = {0.0: 0.0, 0.1: 0.0, 0.3: 1.0, 0.6: 1.0, 1.0: 1.0}
    monkeypatch.setattr(_held, "arranged", lambda embedding, D, strength: strength)
    monkeypatch.setattr(_held, "predicted", lambda strength, *_: np.arange(240) / 240 + costs[strength])
    monkeypatch.setattr(_held, "kept_between", lambda D, strength, codes: strength)
    assert a_map("auto").fit(line, GROUPS).map_.story["arrangement"] == 0.1


def test_of_strengths_that_cost_nothing_the_one_best_for_the_classes_is_taken(line, monkeypatch):
    worth = {0.0: 0.1, 0.1: 0.5, 0.3: 0.9, 0.6: 0.89, 1.0: 0.87}
    monkeypatch.setattr(_held, "arranged", lambda embedding, D, strength: strength)
    monkeypatch.setattr(_held, "predicted", lambda *_: np.arange(240) / 240)
    monkeypatch.setattr(_held, "kept_between", lambda D, strength, codes: worth[strength])
    assert a_map("auto").fit(line, GROUPS).map_.story["arrangement"] == 0.6
    # Three classes have no arrangement, and numbers no classes: the strongest.
    assert a_map("auto").fit(line, GROUPS % 3).map_.story["arrangement"] == 1
    assert a_map("auto").fit(line, GROUPS + 0.5 * line[:, 0]).map_.story["arrangement"] == 1


def test_distances_between_classes_by_their_definition(line):
    Y = np.random.default_rng(0).normal(size=(240, 2)) + GROUPS[:, None] ** 1.5
    means = [np.stack([rows[g == GROUPS].mean(axis=0) for g in range(8)]) for rows in (line, Y)]
    expected = spearmanr(pdist(means[0]), pdist(means[1]))[0]
    D = squareform(pdist(line))
    assert _held.kept_between(D, Y, GROUPS) == pytest.approx(expected, abs=1e-9)
    assert _held.kept_between(D, np.zeros((240, 2)), GROUPS) == 0  # all classes at one place


def test_the_target_of_a_row_has_no_say_in_its_place(line):
    """Permuted labels are at chance on an arranged map, too."""
    y = np.random.default_rng(3).permutation(np.arange(240) % 2)
    m = a_map(1, supervision=0.8).fit(line, y)
    assert m.map_.story["arrangement"] == 1
    assert 0.35 < knn_error(m.embedding_, y, n_neighbors=10) < 0.65


def test_a_large_map_is_held_by_the_metric_of_the_map(line, monkeypatch):
    count_as_large(monkeypatch, 200, n_landmarks=100)
    seen, layout = [], _methods.coarse_layout
    monkeypatch.setattr(_methods, "coarse_layout", lambda m, *a, **k: seen.append(m) or layout(m, *a, **k))
    m = a_map(1.0, supervision=0.5).fit(line, GROUPS)
    assert seen == [m.metric_]
    assert m.map_.is_large
    assert m.map_.story["arrangement"] == 1
    assert agreement(line, m.embedding_) > 0.95
    assert a_map("auto", supervision=0.5).fit(line, GROUPS).map_.story["arrangement"] > 0
