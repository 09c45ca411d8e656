"""
Proteins, compared by alignment
===============================

Sequences of amino acids, compared by the score of their best local alignment. The proteins are made up: three
ancestors of 80 letters, from each of which two branches grew by mutation. A mutation prefers an amino acid that BLOSUM62
holds for alike, as evolution does, and the third family is a recombination of the first two.

**What to look for:** how far the families are told apart, and which of them the verdict calls mixed. An alignment score
is no inner product, so a part of it is negative; the warning says how much, and the report compares what can be done
about it.
"""

import textwrap
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from prismap import PrisMap
from prismap.comparisons import ComparisonMatrix, Objects
from prismap.comparisons.blosum import AMINO_ACIDS, BLOSUM62
from prismap.inspection import ModelView

rng = np.random.default_rng(0)
odds = np.exp(BLOSUM62[:20, :20] / 2)
np.fill_diagonal(odds, 0)
odds /= odds.sum(axis=1, keepdims=True)


def mutated(sequence, n_changes):
    """A sequence after some of its letters were replaced, and a few lost."""
    letters = list(sequence)
    for place in rng.choice(len(letters), n_changes, replace=False):
        letters[place] = AMINO_ACIDS[rng.choice(20, p=odds[AMINO_ACIDS.index(letters[place])])]
    del letters[rng.integers(len(letters) - 4) :][: rng.integers(3)]
    return "".join(letters)


first, second = ("".join(rng.choice(list(AMINO_ACIDS), 80)) for _ in range(2))
ancestors = {"kinase": first, "receptor": second, "fusion": first[:40] + second[40:]}
proteins, family = [], []
for name, ancestor in ancestors.items():
    for branch in [mutated(ancestor, 25) for _ in range(2)]:
        proteins += [mutated(branch, 12) for _ in range(12)]
        family += [name] * 12

with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    m = PrisMap(data=Objects("alignment"), perplexity=10, random_state=0).fit(proteins, family)
m.plot()
print(*(textwrap.fill(str(one.message), 100) for one in said), sep="\n")

# %%
# The verdict, and the four repairs of the negative part side by side, each beside permuted labels. The last lines name
# the most typical protein of every family and island.

report = m.report(n_permutations=2, repairs=True)
print(textwrap.fill(report.verdict, 100))
print(*(textwrap.fill(note, 100) for note in report.notes), sep="\n")
for one in report.medoids:
    print(f"most typical of {one['of']}: {one['text'][:60]}...")

# %%
# What a machine sees
# -------------------
# A support vector machine on the same alignment scores. Proteins have no mean, so behind every place of the picture
# stands one of them: the nearest to what the proteins mapped nearby have in common.

machine = make_pipeline(ComparisonMatrix("alignment"), SVC(kernel="precomputed")).fit(proteins, family)
view = ModelView.from_estimator(machine, proteins, family, map=m)
view.plot()
print(view.fidelity_)
plt.show()
