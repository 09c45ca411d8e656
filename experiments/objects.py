"""Neighbours of objects that are not vectors, with few evaluations.

`neighbors_by_pivots`, ten neighbours; a round evaluates the neighbours of the neighbours found. Recall on 200 objects
against all others, objects as near as the tenth neighbour counted as found. Strings: random prototypes of 20 to 40
letters, each changed in 1 to 12 places many times, under the edit distance. Graphs: four kinds of random graphs with 15
to 34 labelled nodes, under the Weisfeiler-Lehman kernel.

Maps: `PrisMap` of 2,000 graphs whose kind is the class (*map of graphs*), and of 12,000 strings in groups of 20 whose
37 classes are unions of groups (*many strings with classes*; perplexity 10, the posterior is a least-squares machine
with 500 support rows). The error is that of 500 new objects by their ten nearest fitted ones.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np

from experiments.common import load, timed
from experiments.ledger import main
from experiments.table_a import PAPER as MATRICES
from experiments.table_a import PERPLEXITY, PUBLISHED, error
from prismap import PrisMap
from prismap.comparisons import Objects, neighbors_by_pivots
from prismap.metrics import FisherMetric
from prismap.metrics.posteriors import LeastSquaresMachine
from prismap.quality import knn_error

READING = """
Where objects form groups, distances to pivots tell them apart, and evaluations of 1 % of n^2 find nearly all neighbours
of 20,000 strings. Strings without groups have neighbours that are hardly nearer than any other string: the recall
falls, and the result says so.

Maps: classes help new graphs (10.5 % against 19.0 % without them; permuted classes give chance). They do not help
12,000 strings of 37 classes with 17 groups each: new strings have 11.4 % error on the map with classes and 7.2 % on the
one without, probably because the 500 support rows of the posterior are fewer than the 625 groups. Nor are evaluations
saved there: neighbours under the Fisher metric come from a partition that compared 82 % of all pairs, where pivots
compare 1.4 %. Their recall of 30 neighbours is .70, because a group has 20 strings and the other neighbours are hardly
nearer than any string. Permuted classes are left out of the map, and give chance (97 %).

The matrices of table A, looked up by a function, give the bits of the matrix path in all seven; their errors here are
in-sample, and the figures of new rows and of permuted labels are those of table A.
"""
SETTINGS = ((100, 100, 1), (100, 100, 2))


def clustered(n, size, n_letters, seed=0, with_groups=False):
    """n strings in groups of a size, in random order, and their groups if wanted."""
    rng = np.random.default_rng(seed)
    letters, found = [chr(97 + k) for k in range(n_letters)], []
    for _ in range(n // size):
        prototype = list(rng.choice(letters, rng.integers(20, 41)))
        for _ in range(size):
            changed = list(prototype)
            for _ in range(rng.integers(1, 13)):
                change, place = rng.integers(3), rng.integers(len(changed))
                if change == 0:
                    changed[place] = str(rng.choice(letters))
                elif change == 1:
                    changed.insert(place, str(rng.choice(letters)))
                elif len(changed) > 1:
                    del changed[place]
            found.append("".join(changed))
    order = rng.permutation(len(found))
    strings = [found[k] for k in order]
    return (strings, order // size) if with_groups else strings


def random_graph(rng, kind):
    """A graph of one of four kinds, which differ in edges and labels."""
    n, density = int(rng.integers(15, 35)), (0.06, 0.1, 0.14, 0.2)[kind]
    shares = ([0.7, 0.1, 0.1, 0.1], [0.4, 0.3, 0.2, 0.1], [0.25] * 4, [0.1, 0.2, 0.3, 0.4])[kind]
    labels = [str(label) for label in rng.choice(list("CNOS"), n, p=shares)]
    return {"nodes": labels, "edges": [[i, j] for i in range(n) for j in range(i) if rng.random() < density]}


def figures(name, comparison, objects, settings):
    """One row per setting."""
    for n_pivots, n_candidates, n_rounds in settings:
        evaluator = Objects(comparison, n_jobs=1).over(objects)
        found, seconds = timed(
            lambda evaluator=evaluator, m=n_pivots, c=n_candidates, r=n_rounds: neighbors_by_pivots(
                evaluator, 10, n_pivots=m, n_candidates=c, n_rounds=r, random_state=0
            )
        )
        yield {
            "objects": name, "n": len(objects), "pivots": n_pivots, "candidates": n_candidates, "rounds": n_rounds,
            "evaluations, % of n^2": 100 * found.share, "recall, %": 100 * found.recall, "seconds": seconds,
        }  # fmt: skip


def large_alphabet(options):
    """Groups of 40 strings of 20 different letters."""
    n = 2000 if options.quick else 20_000
    yield from figures("strings of 20 letters, groups of 40", "edit", clustered(n, 40, 20), SETTINGS)


def small_alphabet(options):
    """Groups of 20 strings of 4 different letters."""
    n = 2000 if options.quick else 20_000
    yield from figures("strings of 4 letters, groups of 20", "edit", clustered(n, 20, 4), SETTINGS)


def without_groups(options):
    """Every string a prototype of its own."""
    n = 1000 if options.quick else 4000
    yield from figures("strings of 8 letters, no groups", "edit", clustered(n, 1, 8), ((100, 100, 2), (100, 400, 2)))


def graphs(options):
    """2,000 graphs."""
    rng = np.random.default_rng(0)
    objects = [random_graph(rng, int(rng.integers(4))) for _ in range(500 if options.quick else 2000)]
    yield from figures("graphs", "weisfeiler_lehman", objects, ((20, 50, 1), (20, 30, 2)))


def seven_matrices(options):
    """The matrices of table A, once as matrices and once as numbers that a function looks up in them."""
    for name in MATRICES:
        data = load(options.data, name)
        S, y = (data["S"] + data["S"].T).astype(np.float64) / 2, data["y"]
        kind = "similarity" if name.startswith("sim") else "dissimilarity"
        if kind == "dissimilarity":
            np.fill_diagonal(S, 0)
        things = list(range(len(S)))
        how = Objects(partial(look_up, S), kind, n_jobs=1)
        metric = {"cross_fit": False, "perplexity": PERPLEXITY, "random_state": 0, **PUBLISHED}
        published = [FisherMetric(data=data, **metric).fit(X, y).pairwise() for data, X in ((kind, S), (how, things))]
        maps = [PrisMap(data=data, perplexity=PERPLEXITY, random_state=0) for data in (kind, how)]
        placed = [m.fit(X, y).embedding_ for m, X in zip(maps, (S, things), strict=True)]
        yield {
            "objects": name, "n": len(S), "evaluations, % of n^2": percent(maps[1].map_.data.n_evaluations, len(S)),
            "bits of the published metric": same(*published),
            "its 1-NN error (in-sample), %": error(published[1], y, "precomputed"),
            "bits of the default map": same(*placed), "1-NN error on it (in-sample), %": error(placed[1], y),
        }  # fmt: skip


def look_up(S, i, j):
    """A matrix as a function of two objects."""
    return S[i, j]


def same(a, b):
    """In words, whether two arrays are equal to the last bit."""
    return "the same" if np.array_equal(a, b) else "others"


def percent(count, n):
    """Evaluations as a share of all ordered pairs."""
    return 100 * count / n**2


def many_with_target(options):
    """More strings than all their distances have room for, with classes: a class is about 17 groups."""
    n, n_out = (2000, 200) if options.quick else (12_000, 500)
    strings, groups = clustered(n + n_out, 20, 20, with_groups=True)
    classes = groups % (n // 320)
    machine = FisherMetric(posterior=LeastSquaresMachine(500))
    yield from held_out_rows(Objects("edit", n_jobs=1), strings, classes, n, metric=machine, perplexity=10)


def map_of_graphs(options):
    """The kinds of graphs as classes."""
    rng, n, n_out = np.random.default_rng(0), *((300, 100) if options.quick else (2000, 500))
    kinds = rng.integers(4, size=n + n_out)
    things = [random_graph(rng, int(kind)) for kind in kinds]
    yield from held_out_rows(Objects("weisfeiler_lehman", n_jobs=1), things, kinds, n)


def held_out_rows(how, things, classes, n, **params):
    """Maps of the first n objects with classes, without and with permuted ones: errors of the others on them."""
    shuffled = np.random.default_rng(1).permutation(classes)
    for words, target, more in (("classes", classes, {}), ("no target", classes, {"target": "none"}),
                                ("permuted classes", shuffled, {})):  # fmt: skip
        m = PrisMap(data=how, fit_rows=n, random_state=0, **{**params, **more})
        _, seconds = timed(lambda m=m, y=target: m.fit(things[:n], y[:n]))
        count, found = m.map_.data.n_evaluations, m.map_.story["neighbors"]
        Y = m.transform(things[n:])
        wrong = knn_error(Y, target[n:], Y_fit=m.embedding_, y_fit=target[:n], n_neighbors=10)
        yield {
            "map": words, "n": n, "evaluations, % of n^2": percent(count, n),
            "neighbours": getattr(found, "method", found), "seconds": seconds,
            "10-NN error of new objects, %": 100 * float(wrong),
        }  # fmt: skip


PARTS = {
    "large alphabet": large_alphabet, "small alphabet": small_alphabet, "without groups": without_groups,
    "graphs": graphs, "map of graphs": map_of_graphs, "many strings with classes": many_with_target,
    "seven matrices": seven_matrices,
}  # fmt: skip
WITHOUT_DATA = tuple(PARTS)[:-1]

if __name__ == "__main__":
    main(sys.modules[__name__])
