"""
Data without columns: words and a kernel
========================================

Sometimes there are no features, only a way to compare two objects. Here: the names of scikit-learn's own estimators,
compared by the n-grams they share. The matrix of similarities is all the method sees.

**What to look for:** the families (colour) come apart as far as names tell them, and a name that was never seen is
projected by its similarities to those that were.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.utils import all_estimators

from prismap import PrisMap

kinds = ("classifier", "regressor", "transformer", "cluster")
found = {name: kind for kind in kinds for name, _ in all_estimators(type_filter=kind)}
names, y = np.array(list(found)), np.array(list(found.values()))


def grams(name):
    """The pieces of two to five letters of a name."""
    text = f"^{name.lower()}$"
    return {text[i : i + n] for n in (2, 3, 4, 5) for i in range(len(text) - n + 1)}


def similarity(a, b):
    """Shared n-grams, on a scale from 0 to 1."""
    A, B = [grams(one) for one in a], [grams(one) for one in b]
    return np.array([[len(p & q) / np.sqrt(len(p) * len(q)) for q in B] for p in A])


S = similarity(names, names)
m = PrisMap(data="similarity", perplexity=15, random_state=0).fit(S, y)
ax = m.plot()
for k in range(0, len(names), 12):
    ax.annotate(names[k], m.embedding_[k], fontsize=6, alpha=0.8)

# %%
# New names
# ---------
# To project a new name, its similarities to the fitted names are enough.

unseen = ["SparseLogisticClassifier", "KernelSVR", "RobustQuantileScaler", "FuzzyKMeans"]
Y = m.transform(similarity(unseen, names))
ax = m.plot()
ax.scatter(*Y.T, c="black", marker="*", s=60)
for name, place in zip(unseen, Y, strict=True):
    ax.annotate(name, place, (0, 6), textcoords="offset points", ha="center", fontsize=8, weight="bold")

# %%
# How much of it is true? The names say something, not everything:

print(m.report(n_permutations=2))
plt.show()
