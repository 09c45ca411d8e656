"""Keywords of the clusters of a map of texts: what its rows are about, where no class says so.

The words of a cluster are weighted by how much more often they stand in it than elsewhere, as class-based tf-idf does
(Grootendorst 2022, BERTopic, sec. 3.3): ``w(t, c) = tf(t, c) log(1 + A / f(t))``, where tf is the share of the texts of
cluster c that hold the word t, f the sum of these shares over the clusters, and A the mean number of words per cluster
in the same unit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from prismap.page._columns import is_missing
from prismap.quality._clusters import find_clusters


@dataclass(frozen=True)
class KeywordRules:
    """Which texts are read for keywords, and how many words a cluster is called by.

    Attributes
    ----------
    words : words that a cluster is called by.
    own_values : a column is read as text if so large a share of the rows has a value of its own,
    fewest_words : of so many words on average.
    least_share : a keyword stands in so large a share of the texts of its cluster at least.
    most_texts : texts of a cluster that are read.
    """

    words: int = 3
    own_values: float = 0.5
    fewest_words: float = 3.0
    least_share: float = 0.05
    most_texts: int = 2000


WORDS = KeywordRules()

_WORD = re.compile(r"[^\W\d_]{3,}")


def cluster_keywords(columns: Mapping[str, Any], Y: NDArray[Any], *, random_state: int = 0) -> list[str | None] | None:
    """The keywords of the cluster of each row, None for rows between clusters; None without text or without clusters.

    columns : of a table, by name; the longest texts are read.
    """
    texts = prose(columns)
    if texts is None:
        return None
    labels = find_clusters(Y, random_state=random_state)
    n_clusters = int(labels.max()) + 1
    if n_clusters < 2:
        return None
    shares = [
        word_shares([texts[row] for row in np.flatnonzero(labels == c)[: WORDS.most_texts]]) for c in range(n_clusters)
    ]
    names = [", ".join(words) or None for words in keywords(shares)]
    return [names[label] if label >= 0 else None for label in labels.tolist()]


def prose(columns: Mapping[str, Any]) -> list[str] | None:
    """The column of texts with the most words per row, as texts; None if no column is to be read."""
    best: tuple[float, list[str]] | None = None
    for values in columns.values():
        array = np.asarray(values)
        if array.dtype.kind not in "OU":
            continue
        texts = ["" if is_missing(value) else str(value) for value in array.tolist()]
        known = [text for text in texts if text]
        if len(set(known)) <= WORDS.own_values * len(texts):
            continue
        n_words = float(np.mean([len(_WORD.findall(text)) for text in known[: WORDS.most_texts]]))
        if n_words >= WORDS.fewest_words and (best is None or n_words > best[0]):
            best = n_words, texts
    return None if best is None else best[1]


def word_shares(texts: list[str]) -> dict[str, float]:
    """The share of some texts that hold each word."""
    counts = Counter(word for text in texts for word in set(_WORD.findall(text.lower())))
    return {word: count / len(texts) for word, count in counts.items() if word not in ENGLISH_STOP_WORDS}


def keywords(shares: list[dict[str, float]]) -> list[list[str]]:
    """The words of each cluster with the largest weights, the first by name where they are equal."""
    total: Counter[str] = Counter()
    for one in shares:
        total.update(one)
    mean = sum(total.values()) / len(shares)
    chosen = []
    for one in shares:
        weight = {
            word: share * float(np.log1p(mean / total[word]))
            for word, share in one.items()
            if share >= WORDS.least_share
        }
        chosen.append(sorted(weight, key=lambda word: (-weight[word], word))[: WORDS.words])
    return chosen
