"""Every named comparison against its slow twin, and the laws that all of them obey."""

import bz2
import copy
import lzma
import pickle
import sys
import zlib
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest

from prismap.comparisons import COMPARISONS, Objects, get_comparison
from prismap.comparisons import _edit as edit
from prismap.comparisons._alignment import AMINO_ACIDS, alignment_score, blosum62
from prismap.comparisons._counts import Counts, intersection, jaccard, ochiai, prepare_graph, weisfeiler_lehman
from prismap.comparisons._edit import bit_parallel_distance, compression_distance, edit_distance, tree_edit_distance
from prismap.comparisons._transport import earth_mover, transport
from prismap.comparisons._warping import band_width, dtw
from prismap.exceptions import InputError, MissingExtraError
from reference.comparisons_reference import (
    alignment_by_rows,
    alignment_reference,
    dtw_by_diagonals,
    dtw_reference,
    edit_distance_reference,
    transport_reference,
    tree_edit_reference,
    weisfeiler_lehman_reference,
)


def words(rng, n, letters="abc", longest=9):
    return ["".join(rng.choice(list(letters), rng.integers(0, longest + 1))) for _ in range(n)]


def proteins(rng, n):
    return ["".join(rng.choice(list(AMINO_ACIDS + "X"), rng.integers(1, 14))) + "A" for _ in range(n)]


def series(rng, n, channels=2):
    return [rng.normal(size=(rng.integers(1, 9), channels)) for _ in range(n)]


def tree(rng, size):
    children = [[] for _ in range(size)]
    for node in range(1, size):
        children[rng.integers(node)].append(node)

    def nested(node):
        label = "abc"[rng.integers(3)]
        return [label, *(nested(child) for child in children[node])] if children[node] or not node else label

    return nested(0)


def trees(rng, n):
    return [tree(rng, int(rng.integers(1, 8))) for _ in range(n)]


def graphs(rng, n):
    every = []
    for _ in range(n):
        size = int(rng.integers(1, 7))
        edges = [[int(i), int(j)] for i in range(size) for j in range(i + 1) if rng.random() < 0.4]
        every.append({"nodes": [str(x) for x in rng.choice(list("CNO"), size)], "edges": edges})
    return every


def sets(rng, n):
    return [set(rng.integers(0, 9, rng.integers(0, 7)).tolist()) for _ in range(n)]


def histograms(rng, n):
    return [rng.integers(0, 4, 6) + np.eye(6)[0] for _ in range(n)]


def clouds(rng, n):
    return [
        {"points": rng.normal(size=(m, 2)).tolist(), "weights": rng.integers(1, 4, m).tolist()}
        for m in rng.integers(1, 5, n)
    ]


SAMPLES = {
    "edit": words, "compression": words, "alignment": proteins, "dtw": series, "tree_edit": trees,
    "weisfeiler_lehman": graphs, "jaccard": sets, "intersection": sets, "ochiai": sets, "earth_mover": histograms,
    "transport": clouds,
}  # fmt: skip


def test_every_comparison_has_samples_here():
    assert SAMPLES.keys() == COMPARISONS.keys()


@pytest.mark.parametrize("name", COMPARISONS)
def test_values_are_finite_symmetric_and_the_same_in_every_form(name):
    comparison, things = COMPARISONS[name], SAMPLES[name](np.random.default_rng(1), 9)
    one_by_one = np.array([[comparison(a, b) for b in things] for a in things])
    assert np.isfinite(one_by_one).all()
    np.testing.assert_allclose(one_by_one, one_by_one.T, rtol=1e-12, atol=1e-12)
    evaluator = Objects(name).over(things)
    np.testing.assert_allclose(evaluator.block(), one_by_one, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(evaluator.new(things[:2], [5, 3, 3]), one_by_one[:2, [5, 3, 3]], rtol=1e-12, atol=1e-12)
    i, j = np.array([4, 0, 4, 7]), np.array([1, 8, 4, 2])
    np.testing.assert_allclose(evaluator.pairs(i, j), one_by_one[i, j], rtol=1e-12, atol=1e-12)
    if comparison.kind == "dissimilarity":
        np.testing.assert_allclose(np.diag(one_by_one), 0, atol=1e-12)
        assert (one_by_one >= 0).all()


@pytest.mark.parametrize("name", [name for name, comparison in COMPARISONS.items() if comparison.metric])
def test_metrics_obey_the_triangle_inequality(name):
    things = SAMPLES[name](np.random.default_rng(2), 12)
    D = Objects(name).over(things).block()
    if COMPARISONS[name].kind == "similarity":
        own = np.diag(D)
        D = np.sqrt(np.maximum(own[:, None] + own - 2 * D, 0))
    assert (D[:, None] <= D[:, :, None] + D[None] + 1e-7).all()


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_survive_pickle_and_copies(name):
    things = SAMPLES[name](np.random.default_rng(3), 3)
    how = Objects(get_comparison(name))
    for same in (pickle.loads(pickle.dumps(how)), copy.deepcopy(how)):
        assert same == how
        np.testing.assert_array_equal(same.over(things).block(), how.over(things).block())


def test_edit_distance_is_levenshteins_recursion():
    rng = np.random.default_rng(0)
    for a, b in zip(words(rng, 60), words(rng, 60), strict=True):
        expected = edit_distance_reference(a, b)
        assert edit_distance(a, b) == bit_parallel_distance(a, b) == expected
    long = ["".join(rng.choice(list("ab"), 150)) for _ in range(2)]
    assert bit_parallel_distance(*long) == edit_distance(*long)
    assert edit_distance(["the", "cat", "sat"], ["a", "cat", "sat", "down"]) == 2


def test_edit_distance_is_the_same_without_rapidfuzz(monkeypatch):
    things = words(np.random.default_rng(0), 12) + [["a", "b"]]
    expected = Objects("edit").over(things).block()
    monkeypatch.setattr(edit, "has_rapidfuzz", lambda: False)
    without = replace(COMPARISONS["edit"], block=None, remembered=True)
    np.testing.assert_array_equal(Objects(without).over(things).block(), expected)


GAPS = [(11.0, 1.0), (2.0, 2.0), (3.0, 0.5), (11, 1)]


@pytest.mark.parametrize("mode", ["local", "global"])
@pytest.mark.parametrize(("gap_open", "gap_extend"), GAPS)
def test_alignment_is_the_best_over_all_gaps(mode, gap_open, gap_extend):
    rng, options = np.random.default_rng(0), (mode == "local", gap_open, gap_extend)
    for a, b in zip(proteins(rng, 12), proteins(rng, 12), strict=True):
        expected = alignment_reference(a, b, lambda x, y: blosum62()[x, y], *options)
        assert alignment_score(a, b, mode, "blosum62", gap_open, gap_extend, normalized=False) == expected
        expected = alignment_reference(a, b, lambda x, y: 1.0 if x == y else -1.0, *options)
        assert alignment_score(a, b, mode, "match", gap_open, gap_extend, normalized=False) == expected
    assert alignment_score("WHEAT", "wheat", mode) == pytest.approx(1.0)


@pytest.mark.parametrize("mode", ["local", "global"])
@pytest.mark.parametrize(("gap_open", "gap_extend"), GAPS)
def test_alignment_of_long_sequences_is_gotohs_program(mode, gap_open, gap_extend):
    rng, options = np.random.default_rng(1), (mode == "local", gap_open, gap_extend)
    table = np.asarray(blosum62())
    for n, m in ((150, 200), (300, 20)):
        a, b = (rng.integers(0, 21, size) for size in (n, m))
        b[: m // 2] = a[: m // 2]  # a common part
        words = ["".join((AMINO_ACIDS + "?")[code] for code in codes) for codes in (a, b)]
        scored = alignment_score(*words, mode, "blosum62", gap_open, gap_extend, normalized=False)
        assert scored == alignment_by_rows(table[a][:, b], *options)
        scored = alignment_score(*words, mode, "match", gap_open, gap_extend, normalized=False)
        assert scored == alignment_by_rows(np.where(a[:, None] == b, 1.0, -1.0), *options)


def test_letters_that_are_no_amino_acids_score_minus_one():
    for letter in "XBZJUO*-1é日":
        for other in "XBA":
            assert alignment_score("WWW" + letter, "WWW" + other, "global", normalized=False) == 3 * 11 - 1
    assert alignment_score("ж日😀a", "ж日😁A", "global", "match", normalized=False) == 3 - 1


def test_blosum62_is_the_published_table():
    scores = np.asarray(blosum62())
    np.testing.assert_array_equal(scores, scores.T)
    table = scores[:20, :20]
    # Sums of rows and of their squares, and a hash of all 400 entries.
    sums = [-16, -21, -18, -26, -31, -12, -17, -34, -17, -27, -25, -17, -13, -25, -32, -11, -14, -32, -16, -22]
    squares = [54, 99, 116, 140, 187, 78, 105, 146, 133, 135, 117, 89, 73, 143, 148, 53, 56, 262, 130, 104]
    assert AMINO_ACIDS == "ARNDCQEGHILKMFPSTWYV"
    assert table.sum(axis=1).tolist() == sums
    assert np.square(table).sum(axis=1).tolist() == squares
    assert sha256(table.astype(np.int8).tobytes()).hexdigest().startswith("9b2ded231b0a76ed")
    assert (np.diag(table) > (table - 99 * np.eye(20)).max(axis=1)).all()  # no letter stands in better than itself
    assert (scores[20] == -1).all()


@pytest.mark.parametrize("band", [None, 0.0, 0.1, 0.5])
def test_warping_is_the_best_path_in_the_band(band):
    rng = np.random.default_rng(0)
    for channels in (1, 2):
        things = series(rng, 10, channels)
        block = Objects(get_comparison("dtw", band=band)).over(things).block()
        for i, a in enumerate(things):
            for j, b in enumerate(things):
                expected = dtw_reference(a, b, band_width(len(a), len(b), band))
                assert dtw(a, b, band) == pytest.approx(expected, abs=1e-12)
                assert block[i, j] == dtw(a, b, band)  # a series gets the same bits alone and among others


@pytest.mark.parametrize("band", [None, 0.0, 0.05, 0.3])
def test_warping_of_long_series_is_the_same_program(band):
    rng = np.random.default_rng(1)
    for n, m, channels in ((300, 300, 1), (300, 210, 1), (40, 260, 3), (100, 99, 2), (1, 50, 1)):
        scale = 10.0 ** rng.integers(-6, 7)
        a, b = scale * rng.normal(size=(n, channels)).cumsum(axis=0), scale * rng.normal(size=(m, channels))
        expected = dtw_by_diagonals(a, b, band_width(n, m, band))
        np.testing.assert_allclose([dtw(a, b, band), dtw(b, a, band)], expected, rtol=1e-13)
        assert dtw(np.asfortranarray(a), b[::-1][::-1], band) == dtw(a, b, band)


def test_warping_of_series_whose_best_path_is_the_diagonal():
    """Its length is also the upper bound that a pruned search stops at, which may be rounded below it."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        a = rng.normal(size=(rng.integers(1, 12), 3))
        b = a + 1e-3 * rng.normal(size=a.shape)
        assert dtw(a, b, 0.0) == pytest.approx(np.linalg.norm(a - b))


def test_tree_edit_is_the_recursion_over_forests():
    rng = np.random.default_rng(0)
    for a, b in zip(trees(rng, 40), trees(rng, 40), strict=True):
        assert tree_edit_distance(a, b) == tree_edit_reference(a, b)
    deep = ["a"]
    for _ in range(3000):
        deep = ["b", deep]
    assert tree_edit_distance(deep, ["b", "a"]) == 2999


@pytest.mark.parametrize("n_iterations", [0, 1, 3])
def test_weisfeiler_lehman_counts_common_labels(n_iterations):
    rng = np.random.default_rng(0)
    for a, b in zip(graphs(rng, 25), graphs(rng, 25), strict=True):
        expected = weisfeiler_lehman_reference(a, b, n_iterations)
        assert weisfeiler_lehman(a, b, n_iterations, normalized=False) == expected
        own = [weisfeiler_lehman_reference(x, x, n_iterations) for x in (a, b)]
        assert weisfeiler_lehman(a, b, n_iterations) == pytest.approx(expected / np.sqrt(own[0] * own[1]))


def test_weisfeiler_lehman_does_not_see_the_order_of_nodes():
    graph = graphs(np.random.default_rng(5), 6)[-1]
    order = np.random.default_rng(0).permutation(len(graph["nodes"]))
    place = np.argsort(order)
    other = {
        "nodes": [graph["nodes"][k] for k in order],
        "edges": [[int(place[j]), int(place[i])] for i, j in graph["edges"]],
    }
    assert weisfeiler_lehman(graph, other) == 1.0


def test_labels_of_graphs_are_the_same_in_every_program():
    counts = prepare_graph({"nodes": ["C", "O"], "edges": [[0, 1]]}, 1)
    assert isinstance(counts, Counts)
    # Written down once: what a cache or a saved map holds must keep its meaning.
    expected = [3200251876246815483, 10196632138077153557, 13531952394025233016, 16249691431034167374]
    assert counts.items.tolist() == expected


def test_set_kernels_are_their_formulas():
    rng = np.random.default_rng(0)
    for a, b in zip(sets(rng, 40), sets(rng, 40), strict=True):
        common, either = len(a & b), len(a | b)
        assert intersection(a, b) == common
        assert jaccard(a, b) == pytest.approx(common / either if either else 1.0)
        expected = common / np.sqrt(len(a) * len(b)) if a and b else float(not a and not b)
        assert ochiai(a, b) == pytest.approx(expected)
    assert jaccard([1, 1, 2], [2.0, 1]) == 1.0


def test_earth_movers_are_the_linear_program():
    rng = np.random.default_rng(0)
    for a, b in zip(histograms(rng, 8), histograms(rng, 8), strict=True):
        bins = np.arange(6.0)[:, None]
        assert earth_mover(a, b) == pytest.approx(transport_reference(bins, a, bins, b), abs=1e-9)
    for a, b in zip(clouds(rng, 10), clouds(rng, 10), strict=True):
        expected = transport_reference(a["points"], a["weights"], b["points"], b["weights"])
        assert transport(a, b) == pytest.approx(expected, abs=1e-9)
    a, b = rng.normal(size=(2, 5, 3))
    assert transport(a, b) == pytest.approx(transport_reference(a, [1] * 5, b, [1] * 5), abs=1e-9)


@pytest.mark.parametrize("compressor", ["zlib", "bz2", "lzma"])
def test_compression_sees_what_texts_share(compressor):
    rng = np.random.default_rng(0)
    one, other = ("".join(rng.choice(list("abcdefgh "), 2000)) for _ in range(2))
    near = one[:1000] + other[:100] + one[1000:]
    size = {"zlib": lambda text: len(zlib.compress(text, 9)), "bz2": lambda text: len(bz2.compress(text)),
            "lzma": lambda text: len(lzma.compress(text))}[compressor]  # fmt: skip
    x, y = size(one.encode()), size(near.encode())
    expected = (size((one + near).encode()) - min(x, y)) / max(x, y)
    assert compression_distance(near, one, compressor) == pytest.approx(expected)
    assert 0 < expected < compression_distance(one, other, compressor) - 0.2
    assert compression_distance(one, one, compressor) == 0


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("edits", {}, "comparison 'edits' is not known. Names: edit, "),
        ("edit", {"width": 3}, "comparison 'edit' has no option width; options: none"),
        ("dtw", {"width": 3}, "options: band"),
    ],
)
def test_unknown_names_and_options_are_refused(name, options, message):
    with pytest.raises(InputError, match=message):
        get_comparison(name, **options)


@pytest.mark.parametrize(
    ("name", "options", "things", "message"),
    [
        ("edit", {}, ["ab", "c", 17], "'edit' takes strings or .*; object 2 .17, int. is none .object 0 .'ab', str"),
        ("alignment", {}, ["ACD", "12"], "object 1 .'12', str. is none .*: it holds no letter of an amino acid"),
        ("alignment", {"scoring": "x"}, ["ACD"], "scoring must be one of blosum62, match; got 'x'"),
        ("dtw", {}, [[1.0, np.nan]], "object 0 .* 1 values are missing"),
        ("dtw", {}, [[1.0], [[1.0, 2.0]]], "object 1 .* 2 channels is not 1 channels"),
        ("dtw", {}, [[1.0], "text"], "object 1 .'text', str. is none"),
        ("earth_mover", {}, [[1, 2], [1, 2, 3]], "object 1 .* 3 bins is not 2 bins"),
        ("earth_mover", {}, [[1, 2], [0, 0]], "object 1 .* not all 0"),
        ("transport", {}, [[[1.0, 2.0]], {"points": [[1.0, 2.0]], "weights": [1, 2]}], "1 points have 2 weights"),
        ("jaccard", {}, ["a text"], "cut text into items first"),
        ("weisfeiler_lehman", {}, [{"nodes": ["a"], "edges": [[0, 1]]}], r"edge \[0, 1\] leads to a node"),
        ("weisfeiler_lehman", {"n_iterations": -1}, [{"nodes": 1}], "n_iterations must be"),
        ("tree_edit", {}, [["a"], [["a"]]], "object 1 .* must begin with its label"),
        ("compression", {"compressor": "zip"}, ["a"], "compressor must be one of"),
    ],
)  # fmt: skip
def test_wrong_objects_are_named(name, options, things, message):
    with pytest.raises(InputError, match=message) as caught:
        Objects(get_comparison(name, **options)).over(things)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "package", "feature"),
    [
        ("alignment", "Bio", "Alignment of sequences"), ("dtw", "dtaidistance", "Dynamic time warping"),
        ("transport", "ot", "Earth mover's distance of points"),
    ],
)  # fmt: skip
def test_what_needs_a_package_names_the_extra(monkeypatch, name, package, feature):
    things = SAMPLES[name](np.random.default_rng(0), 3)
    for module in [module for module in sys.modules if module.split(".")[0] == package]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"{feature} needs the package '{package}'.*prismap\[things\]"):
        Objects(name).over(things)


def test_wrong_options_of_pairs_are_refused():
    with pytest.raises(InputError, match="band must be a share"):
        dtw([1.0], [2.0], band=3)
    with pytest.raises(InputError, match="mode must be"):
        alignment_score("A", "A", mode="both")
    with pytest.raises(InputError, match="gap_open must be at least gap_extend"):
        alignment_score("A", "A", gap_open=1, gap_extend=2)
