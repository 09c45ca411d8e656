"""
Strings, compared when the map needs it
=======================================

There are no columns and no matrix here, only a list of strings and the name of a comparison. The strings are made up:
four families of sequences that grew from one ancestor each, by letters that changed, came and went.

**What to look for:** the families come apart, sub-families form groups inside them, and a new string is projected by
comparing it with the fitted ones.
"""

import matplotlib.pyplot as plt
import numpy as np

from prismap import PrisMap
from prismap.comparisons import Objects

rng = np.random.default_rng(0)


def grown(text, n_changes):
    """A string after letters have changed, come and gone."""
    letters = list(text)
    for _ in range(n_changes):
        place, letter = rng.integers(len(letters)), "ACGT"[rng.integers(4)]
        kind = rng.integers(3)
        letters[place : place + (kind != 1)] = [letter] if kind < 2 else []
    return "".join(letters)


strings, family = [], []
for name in ("north", "east", "south", "west"):
    ancestor = "".join(rng.choice(list("ACGT"), 60))
    for branch in [grown(ancestor, 20) for _ in range(3)]:
        strings += [grown(branch, 8) for _ in range(15)]
        family += [name] * 15

m = PrisMap(data=Objects("edit"), perplexity=12, random_state=0).fit(strings, family)
m.plot()
print(f"{len(strings)} strings, {m.map_.data.n_evaluations:,} comparisons")

# %%
# New strings
# -----------
# A relative of a fitted string lies beside it. A string of another kind gets a position too, and is marked as far from
# everything on the map.

new = [grown(strings[0], 5), grown(strings[100], 5), "ACGT" * 20]
Y, far = m.place(new)
ax = m.plot()
ax.scatter(*Y.T, c=np.where(far, "red", "black"), marker="*", s=80)
for name, place in zip(["from north", "from south", "a stranger"], Y, strict=True):
    ax.annotate(name, place, (0, 6), textcoords="offset points", ha="center", fontsize=8, weight="bold")

# %%
# How much of it is true? Judging the map computes no comparison again:

before = m.map_.data.n_evaluations
print(m.report(n_permutations=2))
print(f"{m.map_.data.n_evaluations - before} further comparisons")
plt.show()
