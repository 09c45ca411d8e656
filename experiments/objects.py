"""Neighbours of objects that are not vectors, with few evaluations.

`neighbors_by_pivots`, ten neighbours; a round evaluates the neighbours of the neighbours found. Recall on 200 objects
against all others, objects as near as the tenth neighbour counted as found. Strings: random prototypes of 20 to 40
letters, each changed in 1 to 12 places many times, under the edit distance. Graphs: four kinds of random graphs with 15
to 34 labelled nodes, under the Weisfeiler-Lehman kernel.
"""

from __future__ import annotations

import sys

import numpy as np

from experiments.common import timed
from experiments.ledger import main
from prismap.comparisons import Objects, neighbors_by_pivots

READING = """
Where objects form groups, distances to pivots tell them apart, and evaluations of 1 % of n^2 find nearly all neighbours
of 20,000 strings. Strings without groups have neighbours that are hardly nearer than any other string: the recall
falls, and the result says so. Seconds were taken on a machine with other work and can be twice those of an idle one.
"""
SETTINGS = ((100, 100, 1), (100, 100, 2))


def clustered(n, size, n_letters, seed=0):
    """n strings in groups of a size, in random order."""
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
    return [found[k] for k in rng.permutation(len(found))]


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


PARTS = {
    "large alphabet": large_alphabet, "small alphabet": small_alphabet, "without groups": without_groups,
    "graphs": graphs,
}  # fmt: skip
WITHOUT_DATA = tuple(PARTS)

if __name__ == "__main__":
    main(sys.modules[__name__])
