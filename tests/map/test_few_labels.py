"""Rare classes and few labels: the map is made, and its report says what could not be judged."""

import numpy as np
import pytest

from prismap import PrisMap
from prismap.embeddings import TSNE
from prismap.page import page_of

# A perplexity that few labels do not allow is lowered with a warning; that is not the subject.
pytestmark = pytest.mark.filterwarnings("ignore:perplexity")
X = np.random.default_rng(0).normal(size=(36, 4))


def fitted(y, **options):
    options = {"perplexity": 8, "random_state": 0, **options}
    return PrisMap(TSNE(max_iter=30, perplexity=8, random_state=0), **options).fit(X, y)


def labelled(n):
    """Two classes for the first rows; nobody knows the others."""
    y = np.full(len(X), None, dtype=object)
    y[:n] = np.where(np.arange(n) % 2, "b", "a")
    return y


@pytest.mark.parametrize(
    "y", [np.arange(36) == 3, *map(labelled, (2, 3, 5, 9, 14))], ids=["rare", "2", "3", "5", "9", "14"]
)
def test_what_cannot_be_judged_is_said_and_the_map_is_there(y):
    model = fitted(y, target="class", supervision=0.8)
    report = model.report()
    assert report.scores == ()
    assert report.target_shows is None
    headlines = [one for one in report.statements if one.level == "headline"]
    assert [one.answer for one in headlines] == ["cannot tell"] * 3
    assert headlines[0].words == f"Cannot tell whether the target shows: {report.unjudged}"
    # The twin without a target is made all the same, and is not the map itself.
    assert not np.array_equal(model.judgement_.comparison.plain.positions, model.embedding_)
    assert [layer.id for layer in page_of(model).layers] == ["map", "unsupervised"]


def test_real_targets_of_few_rows():
    y = np.full(len(X), np.nan)
    y[:6] = X[:6, 0]
    assert "6 rows have a target, and at least 15 are needed" in fitted(y, target="real").report().unjudged


def test_enough_labels_are_judged():
    report = fitted(labelled(15), target="class").report()
    assert report.n_judged == 15
    assert report.notes == ()


@pytest.mark.parametrize("seed", range(4))
def test_a_class_of_two_rows_is_judged_or_said_to_be_lost(seed):
    """Both rows of the class may be among those left out, or in one fold of a permuted target."""
    report = fitted(np.arange(36) < 2, random_state=seed).report()
    assert report.scores or "cannot be made: y holds only one class" in report.unjudged


def test_other_errors_are_not_hidden(monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("a fault of ours")

    model = fitted(labelled(36))
    monkeypatch.setattr("prismap.map._judged.MapMaker.run", broken)
    with pytest.raises(RuntimeError, match="a fault of ours"):
        model.report()
