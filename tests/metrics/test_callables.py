"""Similarities of arbitrary objects by a Python function, and matrices that are not quite symmetric."""

import numpy as np
import pytest

from prismap import PrisMap
from prismap.comparisons import _running as running
from prismap.exceptions import InputError, PrismapWarning
from prismap.metrics import FisherMetric, pairwise_similarity, similarity_to

WORDS = ["ab", "abc", "xyz", "xy", "abz", "zz"]


def shared(a, b):
    """Letters two words share."""
    return len(set(a) & set(b))


class Counted:
    """Calls by pair of words."""

    def __init__(self, function):
        self.function, self.calls = function, []

    def __call__(self, a, b):
        self.calls.append((a, b))
        return self.function(a, b)


def test_every_pair_is_evaluated_once():
    count = Counted(shared)
    S = pairwise_similarity(WORDS, count)
    np.testing.assert_array_equal(S, [[shared(a, b) for b in WORDS] for a in WORDS])
    assert len(count.calls) == len({frozenset(pair) for pair in count.calls}) == 21


def test_asymmetric_functions_are_evaluated_both_ways():
    count = Counted(lambda a, b: len(set(a) - set(b)))
    S = pairwise_similarity(WORDS, count, symmetric=False)
    np.testing.assert_array_equal(S, [[len(set(a) - set(b)) for b in WORDS] for a in WORDS])
    assert len(count.calls) == 36


def test_new_objects_give_a_rectangle():
    np.testing.assert_array_equal(
        similarity_to(["ax", "b"], WORDS, shared), [[shared(a, b) for b in WORDS] for a in ("ax", "b")]
    )


@pytest.mark.parametrize("prefer", ["threads", "processes"])
def test_parallel_work_gives_the_same_and_reports_progress(prefer, monkeypatch):
    monkeypatch.setattr(running, "FIRST_PAIRS", 4)
    monkeypatch.setattr(running, "MOST_PAIRS", 4)
    monkeypatch.setattr(running, "WORTH_WORKERS", -1.0)
    seen = []
    S = pairwise_similarity(
        WORDS, lambda a, b: len(set(a) & set(b)), n_jobs=2, prefer=prefer, progress=lambda *step: seen.append(step)
    )
    np.testing.assert_array_equal(S, [[shared(a, b) for b in WORDS] for a in WORDS])
    assert seen == [(4, 21), (8, 21), (12, 21), (16, 21), (20, 21), (21, 21)]


def test_bad_values_name_their_pair():
    with pytest.raises(InputError, match="failed for objects 0 and 0: it gave None, which is no number"):
        pairwise_similarity(WORDS, lambda a, b: None)
    with pytest.raises(InputError, match="failed for objects 0 and 2: it gave nan, which is no finite number"):
        pairwise_similarity(WORDS, lambda a, b: float("nan") if b == "xyz" else 1.0)
    with pytest.raises(InputError, match="failed for objects 0 and 2: ZeroDivisionError: division by zero"):
        pairwise_similarity(WORDS, lambda a, b: 1 / (b != "xyz"))
    with pytest.raises(InputError, match="prefer must be"):
        pairwise_similarity(WORDS, shared, prefer="magic")


def test_words_become_a_map():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list(letters), 5)) for letters in ("abcd", "bcdefg") for _ in range(20)]
    y = np.repeat(["first", "second"], 20)
    S = pairwise_similarity(words, shared)
    m = PrisMap(data="similarity", method="mds", perplexity=8, random_state=0).fit(S, y)
    assert m.embedding_.shape == (40, 2)
    np.testing.assert_allclose(m.transform(similarity_to(words[:3], words, shared)), m.embedding_[:3], atol=1e-6)


def test_an_asymmetric_matrix_is_made_symmetric_with_a_warning_that_says_how_much():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3))
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    skewed = D * np.where(np.triu(np.ones((40, 40))) > 0, 1.1, 0.9)
    y = (X[:, 0] > 0).astype(int)
    options = {"data": "dissimilarity", "perplexity": 8, "random_state": 0}
    with pytest.warns(PrismapWarning, match="differ by 20 % on average and"):
        metric = FisherMetric(**options).fit(skewed, y)
    np.testing.assert_allclose(metric.pairwise(), FisherMetric(**options).fit(D, y).pairwise(), atol=1e-9)
    with pytest.warns(PrismapWarning, match="Their mean is used") as caught:
        PrisMap(method="mds", **options).fit(skewed, y)
    assert len(caught) == 1
    with pytest.raises(InputError, match="must be symmetric"):
        FisherMetric(**options).fit(np.triu(D), y)
