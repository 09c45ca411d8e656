"""
Proteins, compared by alignment
===============================

Sequences of amino acids, compared by the score of their best local alignment. The proteins are made up: three ancestors
of 60 letters, from each of which two branches grew by mutation. A mutation prefers an amino acid that BLOSUM62 holds
for alike, as evolution does. The third family is a fusion, half of it the first ancestor and half the second.

**What to look for:** how far the families are told apart after that many changes, what the verdict says of the map with
and without the families, and what a machine makes of them.
"""

import matplotlib.pyplot as plt
import numpy as np
from Bio.Align import substitution_matrices
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from prismap import PrisMap
from prismap.comparisons import ComparisonMatrix, Objects
from prismap.inspection import ModelView

rng = np.random.default_rng(0)
AMINO_ACIDS = "ARNDCQEGHILKMFPSTWYV"
odds = np.exp(np.array(substitution_matrices.load("BLOSUM62").select(AMINO_ACIDS)) / 2)
np.fill_diagonal(odds, 0)
odds /= odds.sum(axis=1, keepdims=True)


def mutated(sequence, n_changes):
    """A sequence after so many replacements, some of them at the same place."""
    letters = list(sequence)
    for place in rng.integers(len(letters), size=n_changes):
        letters[place] = AMINO_ACIDS[rng.choice(20, p=odds[AMINO_ACIDS.index(letters[place])])]
    return "".join(letters)


first, second = ("".join(rng.choice(list(AMINO_ACIDS), 60)) for _ in range(2))
ancestors = {"kinase": first, "receptor": second, "fusion": first[:30] + second[30:]}
proteins, family = [], []
for name, ancestor in ancestors.items():
    for branch in [mutated(ancestor, 90) for _ in range(2)]:
        proteins += [mutated(branch, 60) for _ in range(8)]
        family += [name] * 8

m = PrisMap(data=Objects("alignment"), perplexity=8, random_state=0).fit(proteins, family)
m.plot()
print(f"{len(proteins)} proteins, {m.map_.data.n_evaluations:,} alignments")

# %%
# The verdict, and the most typical protein of every family and cluster. No alignment is computed again for it.

report = m.report(n_permutations=2)
print(report)
for one in report.medoids:
    print(f"most typical of {one['of']}: {one['text']}")

# %%
# What a machine sees
# -------------------
# A support vector machine on the same scores. Proteins have no mean, so behind every place of the picture stands one of
# them: the nearest to the mean that the proteins mapped nearby would have.

machine = make_pipeline(ComparisonMatrix("alignment"), SVC(kernel="precomputed")).fit(proteins, family)
view = ModelView.from_estimator(machine, proteins, family, map=m)
view.plot()
print(view.fidelity_)
plt.show()
