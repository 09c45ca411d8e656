"""Indefinite similarities: the four repairs for fitted and new objects alike, said aloud and side by side."""

import warnings

import numpy as np
import pytest

from prismap import PrisMap
from prismap._util.random import as_generator
from prismap.comparisons import Objects
from prismap.embeddings import MDS
from prismap.exceptions import InputError, PrismapWarning
from prismap.judging import Judgement
from prismap.judging._refits import judged_folds, place_fold
from prismap.map import _repairs as repairs
from prismap.map._judged import MapMaker
from prismap.map._repairs import compare_repairs
from prismap.metrics import FisherMetric, ObjectSimilarity, SimilarityMetric
from prismap.metrics._geometry import REPAIRS
from prismap.quality import MapReport, knn_error

N, NEW = 40, 8
Y = np.array(["even", "odd"] * 24)


def similarities(constant):
    """An indefinite similarity, its diagonal constant or not."""
    X = np.random.default_rng(3).normal(size=(N + NEW, 3))
    X[::2] += 1.5
    S = np.tanh(X @ X.T / 3)
    S = (S + S.T) / 2
    if constant:
        np.fill_diagonal(S, 1.0)
    return S


def plane(data):
    metric = FisherMetric(posterior="parzen", n_segments=1)
    return PrisMap(MDS(kind="classical"), data=data, metric=metric, perplexity=8, random_state=0)


def by_look_up(S, repair="clip"):
    return ObjectSimilarity(Objects(lambda a, b: S[a, b], "similarity", n_jobs=1), repair)


@pytest.mark.parametrize("repair", REPAIRS)
def test_new_objects_get_the_bits_of_rows_of_a_matrix(repair):
    S = similarities(constant=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrismapWarning)
        by_matrix = plane(SimilarityMetric(repair)).fit(S[:N, :N], Y[:N])
        by_objects = plane(by_look_up(S, repair)).fit(list(range(N)), Y[:N])
    assert np.array_equal(by_objects.embedding_, by_matrix.embedding_)
    assert np.array_equal(by_objects.transform(list(range(N, N + NEW))), by_matrix.transform(S[N:, :N]))


@pytest.mark.parametrize("repair", REPAIRS)
def test_an_object_is_as_far_from_the_others_new_as_fitted(repair):
    S = similarities(constant=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrismapWarning)
        metric = by_look_up(S, repair).fit(list(range(N)))
    D, again = metric.pairwise(), metric.pairwise(list(range(N)))
    others = ~np.eye(N, dtype=bool)
    if repair in ("shift", "none"):  # element by element: the same bits
        assert np.array_equal(again[others], D[others])
    else:
        np.testing.assert_allclose(again[others], D[others], rtol=1e-9)


def test_negative_mass_is_said_and_rounding_is_not():
    S = similarities(constant=False)[:N, :N]
    values = np.linalg.eigvalsh(S)
    mass = 100 * -values[values < 0].sum() / np.abs(values).sum()
    with pytest.warns(PrismapWarning, match=rf"{mass:.1f} % of the similarity's mass is negative.*'flip' takes its"):
        SimilarityMetric("flip").fit(S)
    SimilarityMetric().fit(S @ S)  # positive up to rounding: warnings are errors here


@pytest.mark.filterwarnings("ignore:.*mass is negative:prismap.exceptions.PrismapWarning")
def test_the_report_sets_the_repairs_side_by_side(monkeypatch):
    monkeypatch.setattr(repairs, "judged_folds", lambda *args: judged_folds(*args)[:2])
    S = similarities(constant=False)[:N, :N]
    m = plane("similarity").fit(S, Y[:N])
    figures = compare_repairs(m.map_)
    assert [one.repair for one in figures] == ["clip", "flip", "shift", "none"]
    # Clip as its own map in the same folds: the figure of a plain loop.
    target, wrong = m.map_.target, []
    maker = MapMaker(m.map_)  # of the matrix, not of objects
    maker.again = m.map_.recipe.but(data=SimilarityMetric("clip"))
    for kept, out in judged_folds(target, as_generator(m.seed_))[:2]:
        case = place_fold(maker, target, kept, out, None)
        options = {"Y_fit": case.fitted_positions, "y_fit": case.fitted_target.values, "n_neighbors": 5}
        wrong.append(float(knn_error(case.positions, case.target.values, **options)) * len(out))
    assert float(figures[0].error) == pytest.approx(sum(wrong) / 16)
    assert all(float(one.permuted) > 0.2 for one in figures)
    m.judgement_ = Judgement(MapReport("class", N))
    report = m.report(repairs=True)
    notes = [note for note in report.notes if note.startswith("Repairs side by side")]
    assert len(notes) == 1
    assert all(f"{one} " in notes[0] for one in REPAIRS)
    assert m.report(repairs=True).notes == report.notes


def test_what_has_no_repairs_is_told():
    X = np.random.default_rng(0).normal(size=(30, 3))
    m = PrisMap(MDS(kind="classical"), perplexity=5, random_state=0).fit(X, [0, 1] * 15)
    with pytest.raises(InputError, match="repairs=True is for similarities"):
        compare_repairs(m.map_)
    m = PrisMap(MDS(kind="classical"), data="similarity", perplexity=5, random_state=0).fit(X @ X.T)
    with pytest.raises(InputError, match="this map has none"):
        compare_repairs(m.map_)
