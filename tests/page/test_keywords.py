"""Keywords of clusters of texts, against the formula written word by word."""

import numpy as np
import pytest

from prismap.page import Layer, PageData
from prismap.page._keywords import cluster_keywords, keywords, prose, word_shares
from prismap.page._message import pack_page, unpack_page

RNG = np.random.default_rng(0)
WORDS = [["invoice", "refund", "card"], ["parcel", "courier", "late"], ["password", "login", "code"]]
TOPICS = np.arange(120) % 3
TEXTS = np.array(
    [f"The {' '.join(RNG.permutation(WORDS[t]))} was again with us, number {i}" for i, t in enumerate(TOPICS)],
    dtype=object,
)
Y = np.array([[-20.0, 0.0], [20.0, 0.0], [0.0, 30.0]])[TOPICS] + RNG.normal(size=(120, 2))


def test_clusters_are_called_by_their_own_words():
    found = cluster_keywords({"text": TEXTS, "stars": np.arange(120)}, Y)
    for topic in range(3):
        names = {found[row] for row in np.flatnonzero(topic == TOPICS)}
        assert len(names) == 1
        assert set(names.pop().split(", ")) == set(WORDS[topic])


def test_weights_are_those_of_the_formula():
    shares = [word_shares(["alpha beta", "alpha gamma"]), word_shares(["beta beta gamma", "delta"])]
    assert shares[0] == {"alpha": 1.0, "beta": 0.5, "gamma": 0.5}
    mean = (2.0 + 1.5) / 2
    total = {"alpha": 1.0, "beta": 1.0, "gamma": 1.0, "delta": 0.5}
    for one, chosen in zip(shares, keywords(shares), strict=True):
        weight = {word: share * np.log(1 + mean / total[word]) for word, share in one.items()}
        assert chosen == sorted(weight, key=lambda word: (-weight[word], word))[:3]


@pytest.mark.parametrize(
    "columns",
    [
        {"stars": np.arange(120.0)},
        {"city": np.array(["Ulm", "Bonn"], dtype=object)[TOPICS % 2]},
        {"id": np.array([f"C{i:04d}" for i in range(120)], dtype=object)},
    ],
)
def test_numbers_categories_and_ids_are_no_texts(columns):
    assert prose(columns) is None
    assert cluster_keywords(columns, Y) is None


def test_a_map_without_clusters_has_no_keywords_and_missing_texts_are_empty():
    assert cluster_keywords({"text": TEXTS}, RNG.normal(size=(120, 2))) is None
    some = TEXTS.copy()
    some[:3] = None
    assert prose({"text": some})[:3] == ["", "", ""]
    assert cluster_keywords({"text": some}, Y) is not None


def test_keywords_travel_with_the_page():
    names = [None, "a, b", "a, b", "c"]
    page = PageData([Layer("map", "map", np.zeros((4, 2)))], keywords=names)
    assert list(unpack_page(pack_page(page)).keywords) == names
