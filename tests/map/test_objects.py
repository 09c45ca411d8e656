"""Maps of objects: the same bits as the matrix of all their values, with no value evaluated twice."""

import copy
import json
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from large_maps import count_as_large
from prismap import PrisMap
from prismap.bundle import read_bundle, write_bundle
from prismap.comparisons import Objects, get_comparison
from prismap.exceptions import FileFormatError, InputError
from prismap.metrics import DissimilarityMetric, FisherMetric, ObjectDissimilarity, ObjectSimilarity, SimilarityMetric
from prismap.metrics import _objects as objects_room
from prismap.metrics._anchors import FittedIndex
from prismap.neighbors import _search as search
from prismap.neighbors import kneighbors

#: Similarities here are indefinite, and say so.
pytestmark = pytest.mark.filterwarnings("ignore:.*mass is negative:prismap.exceptions.PrismapWarning")
N, NEW = 60, 12


def points():
    X = np.random.default_rng(3).normal(size=(N + NEW, 3))
    X[::2] += 1.5
    return X


def dissimilarities():
    X = points()
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=-1))
    return (D + D.T) / 2


def similarities():
    S = np.tanh(points() @ points().T / 3)  # indefinite
    return (S + S.T) / 2


LABELS = np.array(["even", "odd"] * ((N + NEW) // 2))


class LookUp:
    """A matrix as a function of two objects, which counts how often it is asked for which pair."""

    def __init__(self, matrix):
        self.matrix, self.asked = matrix, []

    def __call__(self, a, b):
        self.asked.append((min(a, b), max(a, b)))
        return self.matrix[a, b]


def settings(**params):
    return {"perplexity": 8, "random_state": 0, **params}


def fitted(look, kind, **params):
    return PrisMap(data=Objects(look, kind, n_jobs=1), **settings(**params)).fit(list(range(N)), LABELS[:N])


@pytest.mark.parametrize("params", [{}, {"supervision": 1.0}, {"target": "none"}, {"mapping": "vote"}])
def test_a_look_up_gives_the_bits_of_the_matrix(params):
    D = dissimilarities()
    by_matrix = PrisMap(data="dissimilarity", **settings(**params)).fit(D[:N, :N], LABELS[:N])
    by_objects = fitted(LookUp(D), "dissimilarity", **params)
    assert np.array_equal(by_objects.embedding_, by_matrix.embedding_)
    new = list(range(N, N + NEW))
    for A, B in zip(by_objects.place(new), by_matrix.place(D[N:, :N]), strict=True):
        assert np.array_equal(A, B)
    assert str(by_objects.drift(new)) == str(by_matrix.drift(D[N:, :N]))


@pytest.mark.parametrize("repair", ["clip", "flip"])
def test_similarities_are_repaired_as_those_of_a_matrix(repair):
    S = similarities()
    by_matrix = PrisMap(data=SimilarityMetric(repair), **settings()).fit(S[:N, :N], LABELS[:N])
    how = Objects(LookUp(S), "similarity", n_jobs=1)
    by_objects = PrisMap(data=ObjectSimilarity(how, repair), **settings()).fit(list(range(N)), LABELS[:N])
    assert np.array_equal(by_objects.embedding_, by_matrix.embedding_)
    assert np.array_equal(by_objects.transform(list(range(N, N + NEW))), by_matrix.transform(S[N:, :N]))


@pytest.mark.parametrize("repair", ["shift", "none"])
def test_new_objects_are_compared_with_themselves_where_that_does_not_follow(repair):
    S = similarities()
    metric = ObjectSimilarity(Objects(LookUp(S), "similarity", n_jobs=1), repair).fit(list(range(N)))
    own = np.diag(metric.repaired_.matrix)
    shift = own[0] - S[0, 0]
    D2 = (np.diag(S)[N:] + shift)[:, None] + own - 2 * S[N:, :N]
    assert np.array_equal(metric.pairwise(list(range(N, N + NEW))), np.sqrt(np.maximum(D2, 0)))


def test_a_real_target_gives_the_bits_of_the_matrix():
    D, y = dissimilarities(), points()[:, 0]
    by_matrix = PrisMap(data="dissimilarity", **settings()).fit(D[:N, :N], y[:N])
    how = Objects(LookUp(D), "dissimilarity", n_jobs=1)
    by_objects = PrisMap(data=how, **settings()).fit(list(range(N)), y[:N])
    assert np.array_equal(by_objects.embedding_, by_matrix.embedding_)


def test_no_pair_is_evaluated_twice_by_fit_and_report():
    look = LookUp(dissimilarities())
    m = fitted(look, "dissimilarity")
    checks = m.map_.rows.table.evaluator.n_checks
    assert m.map_.data.n_evaluations == N * (N - 1) // 2 == len(look.asked) - checks
    m.report()
    assert m.map_.data.n_evaluations == N * (N - 1) // 2
    m.transform(list(range(N, N + NEW)))
    assert m.map_.data.n_evaluations == N * (N - 1) // 2 + NEW * N


def test_rows_that_are_not_fitted_are_compared_with_the_fitted_ones_only():
    m = PrisMap(
        data=Objects(LookUp(dissimilarities()), "dissimilarity", n_jobs=1), **settings(fit_rows=20, perplexity=4)
    )
    Y = m.fit_transform(list(range(N)), LABELS[:N])
    assert Y.shape == (N, 2)
    assert m.map_.data.n_evaluations == 20 * 19 // 2 + (N - 20) * 20


def test_a_fisher_metric_takes_objects():
    D = dissimilarities()
    how = Objects(LookUp(D), "dissimilarity", n_jobs=1)
    ours = FisherMetric(data=how, perplexity=8, random_state=0).fit(list(range(N)), LABELS[:N])
    theirs = FisherMetric(data="dissimilarity", perplexity=8, random_state=0).fit(D[:N, :N], LABELS[:N])
    assert np.array_equal(ours.pairwise(), theirs.pairwise())
    assert np.array_equal(ours.pairwise([N, N + 1]), theirs.pairwise(D[N : N + 2, :N]))
    assert not ours.__sklearn_tags__().input_tags.pairwise


@pytest.mark.parametrize("kind", ["dissimilarity", "similarity"])
def test_blocks_lie_in_memory_as_those_of_a_matrix(kind):
    """Products of blocks that lie otherwise are added in another order, which shows in the bits of large ones."""
    matrix = dissimilarities() if kind == "dissimilarity" else similarities()
    how = Objects(LookUp(matrix), kind, n_jobs=1)
    ours = (ObjectDissimilarity(how) if kind == "dissimilarity" else ObjectSimilarity(how)).fit(list(range(N)))
    theirs = (DissimilarityMetric() if kind == "dissimilarity" else SimilarityMetric()).fit(matrix[:N, :N])
    rows, columns = np.arange(5, 40), np.arange(3, 30)
    for A, B, wanted in (
        (None, None, slice(None)), (FittedIndex(rows), FittedIndex(rows), columns),
        (ours.read(ours, [N, N + 1, N + 2], reset=False), matrix[N : N + 3, :N], columns),
    ):  # fmt: skip
        mine, other = ours.squared_to(A, wanted), theirs.squared_to(B, wanted)
        assert np.array_equal(mine, other)
        assert mine.strides == other.strides


# --- named comparisons, equal objects, files --------------------------------------------------------------------------

WORDS = [stem + end for stem in ("house", "garden", "winter", "summer") for end in ("", "s", "y", "er", "ed", "ing")]
KINDS = np.repeat(["place", "season"], 12)


def words_map(how=None):
    return PrisMap(data=how or Objects("edit"), **settings(perplexity=5)).fit(WORDS, KINDS)


def hamming(a, b):
    return sum(x != y for x, y in zip(a, b, strict=False)) + abs(len(a) - len(b))


def test_an_equal_object_gets_the_position_of_the_fitted_one():
    m = words_map()
    Y, far = m.place(["winters", "x" * 40])
    assert np.array_equal(Y[0], m.embedding_[WORDS.index("winters")])
    assert far.tolist() == [False, True]
    series = [np.sin(np.arange(20) / k) for k in range(1, 11)]
    m = PrisMap(data=Objects("dtw"), **settings(perplexity=3, target="none")).fit(series)
    assert np.array_equal(m.transform([series[4].tolist()]), m.embedding_[4:5])


def test_a_map_and_its_comparison_can_be_cloned():
    how = Objects(lambda a, b: hamming(a, b), "dissimilarity")
    m = clone(PrisMap(data=how))
    assert m.data is how
    assert clone(ObjectDissimilarity(how)).how is how
    assert not m.__sklearn_tags__().input_tags.pairwise


def test_a_saved_map_places_alike_and_compares_nothing_it_knows(tmp_path):
    path = tmp_path / "words.prismap"
    m = words_map(Objects(get_comparison("alignment", mode="global", scoring="match")))
    m.save(path)
    loaded = PrisMap.load(path)
    assert loaded.map_.data.n_evaluations == 0  # one comparison of long objects may take hours
    new = ["wintery", "gardeners"]
    assert np.array_equal(loaded.transform(new), m.transform(new))
    assert loaded.map_.data.n_evaluations == len(new) * len(WORDS)
    assert repr(loaded.data) == repr(m.data)
    assert loaded.map_.rows.tolist() == WORDS


def test_a_function_is_asked_for_again(tmp_path):
    path = tmp_path / "words.prismap"
    m = words_map(Objects(hamming, "dissimilarity"))
    m.save(path)
    with pytest.raises(InputError, match=r"function 'hamming', which a file cannot hold.*compare="):
        PrisMap.load(path)
    assert np.array_equal(PrisMap.load(path, compare=hamming).transform(["wintered"]), m.transform(["wintered"]))
    words_map().save(path)
    with pytest.raises(InputError, match="knows its comparison by name: leave compare out"):
        PrisMap.load(path, compare=hamming)


def test_objects_of_other_types_come_back_as_they_were(tmp_path):
    sets = [{"milk", str(k % 4), str(k % 7)} for k in range(20)]
    m = PrisMap(data=Objects("jaccard"), **settings(perplexity=4, target="none")).fit(sets)
    m.save(tmp_path / "sets.prismap")
    assert PrisMap.load(tmp_path / "sets.prismap").map_.rows.tolist() == sets
    m = PrisMap(data=Objects(lambda a, b: abs(a.real - b.real), "dissimilarity"), **settings(perplexity=4))
    m.fit([complex(k, 0) for k in range(20)])
    with pytest.raises(InputError, match=r"object 0 cannot be saved: 0j \(complex\)"):
        m.save(tmp_path / "complex.prismap")


def test_loading_compares_no_similar_objects_either(tmp_path):
    sets = [{"milk", str(k % 4), str(k % 7)} for k in range(20)]
    m = PrisMap(data=Objects("intersection"), **settings(perplexity=4, target="none")).fit(sets)
    m.save(tmp_path / "sets.prismap")
    loaded = PrisMap.load(tmp_path / "sets.prismap")
    assert loaded.map_.data.n_evaluations == 0
    assert np.array_equal(loaded.transform([{"milk", "3"}]), m.transform([{"milk", "3"}]))


@pytest.mark.parametrize("damage", ["version", "name", "objects", "values", "no values"])
def test_a_damaged_file_is_refused(tmp_path, damage):
    path = tmp_path / "words.prismap"
    words_map().save(path)
    bundle = read_bundle(path)
    arrays, header = dict(bundle.arrays), json.loads(json.dumps(bundle.header))
    if damage == "objects":
        arrays["objects"] = arrays["objects"][:-3]
    elif damage == "values":
        arrays["values"] = arrays["values"][:-3]
    elif damage == "no values":  # all pairs would have to be compared
        del arrays["values"]
    else:
        header["params"]["data"]["objects"][damage] = {"version": 99, "name": "nothing"}[damage]
    write_bundle(path, arrays, header)
    with pytest.raises(FileFormatError):
        PrisMap.load(path)


def gap(a, b):
    return abs(a - b)


# --- many objects -----------------------------------------------------------------------------------------------------


def test_many_objects_are_searched_by_pivots_and_placed_by_landmarks(monkeypatch, tmp_path):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(search, "PARTITION_ROWS", 100)
    count_as_large(monkeypatch, 200)
    monkeypatch.setattr(objects_room, "MOST_IN_MATRIX", 100)
    monkeypatch.setattr(objects_room.ObjectData, "most_anchors", 60)
    values = np.concatenate([rng.normal(k * 20, 1, size=40) for k in range(10)])
    how = Objects(gap, "dissimilarity", n_jobs=1)
    m = PrisMap(data=how, **settings(target="none", fit_rows=400)).fit(values.tolist())
    assert "pivots" in m.map_.story["neighbors"]
    assert len(m.map_.anchors) == 60
    m.transform([0.0])  # fitted objects are laid into the cells of the landmarks
    before = m.map_.data.n_evaluations
    new = [20.05, 120.05, 179.5]
    Y, far = m.place(new)
    assert m.map_.data.n_evaluations - before < 3 * 400
    nearest_object = [int(np.abs(values - one).argmin()) for one in new]
    # The nearest fitted objects decide, those that the map shows beside the very nearest one.
    assert (np.linalg.norm(Y - m.embedding_[nearest_object], axis=1) <= m.map_.cells.radius).all()
    assert not far.any()
    assert m.is_far([5000.0]).all()
    m.save(tmp_path / "many.prismap")
    assert np.array_equal(PrisMap.load(tmp_path / "many.prismap", compare=gap).transform(new), Y)


def test_neighbours_by_pivots_are_those_of_all_pairs(monkeypatch):
    monkeypatch.setattr(search, "PARTITION_ROWS", 100)
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.normal(k * 20, 1, size=20) for k in range(10)])
    metric = ObjectDissimilarity(Objects(lambda a, b: abs(a - b), "dissimilarity", n_jobs=1)).fit(values.tolist())
    found = kneighbors(None, 5, metric=metric, random_state=0)
    exact = kneighbors(None, 5, metric=metric, method="exact")
    assert found.method == "pivots"
    assert found.recall > 0.99
    assert (found.indices == exact.indices).mean() > 0.98


def test_a_similarity_of_too_many_objects_says_what_to_do(monkeypatch):
    monkeypatch.setattr(objects_room, "MOST_IN_MATRIX", 10)
    with pytest.raises(InputError, match=r"24 objects needs all pairs.*fit_rows=10"):
        PrisMap(data=Objects(get_comparison("alignment", scoring="match"))).fit(WORDS, KINDS)


# --- bad input --------------------------------------------------------------------------------------------------------


def one_that_fails(a, b):
    if 4711 in (a, b):
        raise ZeroDivisionError("no such thing")
    return float(abs(a - b))


def test_an_exception_names_the_pair_and_loses_nothing():
    m = PrisMap(data=Objects(one_that_fails, "dissimilarity", n_jobs=1), **settings(target="none"))
    things = [*range(30), 4711, *range(30, 40)]
    with pytest.raises(InputError, match=r"object 30 \(4711, int\): ZeroDivisionError: no such thing.*are kept"):
        m.fit(things)


@pytest.mark.parametrize("kind", ["dissimilarity", "similarity"])
def test_the_next_attempt_goes_on_where_the_last_one_failed(kind):
    failing, asked = [4711], []

    def compare(a, b):
        if failing and len(asked) > 200 and 4711 in (a, b):
            raise ConnectionError("the server is away")
        asked.append((a, b))
        return float(abs(a - b)) if kind == "dissimilarity" else float(np.exp(-abs(a - b) / 100))

    things = [*range(30), 4711, *range(30, 40)]
    m = PrisMap(data=Objects(compare, kind, n_jobs=1), **settings(target="none"))
    with pytest.raises(InputError, match=r"object 30 \(4711, int\): ConnectionError: the server is away"):
        m.fit(things)
    n_before = len(asked)
    assert n_before > 200
    failing.clear()
    m.fit(things)
    n_pairs = 41 * 40 // 2 + (41 if kind == "similarity" else 0)
    assert len(asked) == n_pairs + m.map_.rows.table.evaluator.n_checks
    assert m.map_.data.n_evaluations == n_pairs
    assert not hasattr(m.data, "unfinished")


def test_a_new_object_that_fails_is_named_by_its_own_number():
    m = PrisMap(data=Objects(one_that_fails, "dissimilarity", n_jobs=1), **settings(target="none")).fit(range(40))
    with pytest.raises(InputError, match=r"new object 1,300 \(4711, int\)"):
        m.transform([*range(1300), 4711, 5])


@pytest.mark.parametrize(
    ("compare", "message"),
    [
        (lambda a, b: a - b, r"compare must be symmetric: object 0 \(0, int\)"),
        (lambda a, b: float("nan"), "which is no finite number"),
        (lambda a, b: 0.0 if a == b else -1.0, "a dissimilarity must not be negative"),
        (lambda a, b: 1.0 / (1 + abs(a - b)), "a dissimilarity must give 0"),
    ],
)
def test_functions_that_are_no_comparison_are_refused(compare, message):
    with pytest.raises(InputError, match=message):
        PrisMap(data=Objects(compare, "dissimilarity", n_jobs=1), **settings()).fit(range(20), [0, 1] * 10)


def test_objects_of_mixed_types_are_named():
    with pytest.raises(InputError, match=r"object 2 \(17, int\) is none"):
        PrisMap(data=Objects("edit")).fit(["a", "b", 17, "c"])


@pytest.mark.parametrize("X", ["kitten", {"a": 1}, 17, None])
def test_what_is_no_list_of_objects_is_refused(X):
    with pytest.raises(InputError, match="X must be a list of objects"):
        PrisMap(data=Objects("edit")).fit(X)


def test_one_object_is_too_few():
    with pytest.raises(InputError, match="X has 1 objects; at least 2 are needed"):
        PrisMap(data=Objects("edit")).fit(["a"])


def test_what_needs_vectors_says_so():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m = words_map()
    with pytest.raises(InputError, match="needs data='vectors'"):
        m.partial_refit(["wintered"])
    with pytest.raises(InputError, match="needs data='vectors'"):
        m.inverse_transform([[0.0, 0.0]])


def test_a_fitted_map_of_objects_can_be_pickled_and_copied():
    m = words_map()
    new = ["wintered", "housings"]
    for again in (pickle.loads(pickle.dumps(m)), copy.deepcopy(m)):
        before = again.map_.data.n_evaluations
        assert np.array_equal(again.transform(new), m.transform(new))
        assert again.map_.data.n_evaluations == before + len(new) * len(WORDS)
