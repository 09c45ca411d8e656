"""Pages and reports of objects: each as text, and the most typical of every class and cluster."""

import json

import numpy as np
import pytest

from prismap import PrisMap
from prismap.comparisons import Objects
from prismap.embeddings import MDS
from prismap.map._refit import medoids_of
from prismap.page import page_of
from prismap.page._of_map import object_columns
from prismap.quality import MapReport

WORDS = [stem + end for stem in ("house", "garden", "winter", "summer") for end in ("", "s", "y", "er", "ed", "ing")]
KIND = np.repeat(["place", "season"], 12)


@pytest.fixture(scope="module")
def fitted():
    options = {"supervision": 0.8, "perplexity": 5, "random_state": 0}
    return PrisMap(MDS(kind="classical"), data=Objects("edit"), **options).fit(WORDS, KIND)


def test_medoids_are_nearest_to_all_others_of_their_group(fitted):
    found = medoids_of(fitted.map_)
    D = Objects("edit").over(WORDS).block()
    for one in found[:2]:
        group = np.flatnonzero(one["of"].removeprefix("class ") == KIND)
        assert one["row"] == group[D[np.ix_(group, group)].sum(axis=1).argmin()]
        assert (one["n_rows"], one["text"]) == (12, WORDS[one["row"]])
    assert [one["of"] for one in found] == ["class place", "class season", "cluster 1", "cluster 2"]
    before = fitted.map_.data.n_evaluations
    medoids_of(fitted.map_)
    assert fitted.map_.data.n_evaluations == before


def test_the_page_shows_objects_as_text_and_the_most_typical(fitted):
    page = page_of(fitted, judge=False, columns={"length": [len(word) for word in WORDS]})
    assert list(page.columns["object"]) == WORDS
    typical = page.columns["most typical of"]
    assert {row: text for row, text in enumerate(typical) if text} == {
        one["row"]: ", ".join(other["of"] for other in medoids_of(fitted.map_) if other["row"] == one["row"])
        for one in medoids_of(fitted.map_)
    }
    assert "object" not in (page.relevance.names if page.relevance else [])
    assert list(page_of(fitted, judge=False, columns={"object": list(KIND)}).columns["object"]) == list(KIND)


def test_medoids_travel_with_the_report(fitted):
    report = MapReport("class", 24, medoids=tuple(medoids_of(fitted.map_)))
    again = MapReport.from_dict(json.loads(json.dumps(report.to_dict())))
    assert again.medoids == report.medoids
    assert "most typical of class place: row 6, garden" in report.details


def test_rows_of_numbers_have_neither():
    X = np.random.default_rng(0).normal(size=(30, 3))
    m = PrisMap(MDS(kind="classical"), perplexity=5, random_state=0).fit(X)
    assert object_columns(m.map_) == {}
    assert medoids_of(m.map_) == []
