"""
January and February: a map that stays where it is
==================================================

Handwritten digits come in every month, and every month there is a map of them. In February a kind of digit is new and
another one is gone. A free map puts all groups elsewhere, so nobody finds them again. A map that is made ``like`` the
one before it keeps them where they were, and says what has changed.

**What to look for:** on the free map of February every group has moved, on the held one none has.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from prismap import PrisMap
from prismap.quality import knn_error

X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(X))
X, y = X[order], y[order]
number = np.arange(len(X))
in_january = (number < 600) & (y != 7)  # nobody wrote a seven yet
in_february = (number >= 200) & (number < 800) & (y != 0)  # and nobody writes a zero any more
later = (number >= 800) & (y != 0)
inked = (np.ptp(X[in_january], axis=0) > 0) & (np.ptp(X[in_february], axis=0) > 0)
X = X[:, inked]  # pixels that are never inked say nothing

january = PrisMap(random_state=0).fit(X[in_january], y[in_january])
free = PrisMap(random_state=1).fit(X[in_february], y[in_february])
held = PrisMap(random_state=1).fit(X[in_february], y[in_february], like=january)

figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
for ax, m, labels, title in [
    (axes[0], january, y[in_january], "January"),
    (axes[1], free, y[in_february], "February, free"),
    (axes[2], held, y[in_february], "February, held"),
]:
    for digit in range(10):
        ax.scatter(*m.embedding_[labels == digit].T, color=plt.cm.tab10(digit), s=7, linewidths=0, label=digit)
    ax.set(title=title, xticks=[], yticks=[], aspect="equal")
figure.legend(*ax.get_legend_handles_labels(), title="digit", loc="outside right center", frameon=False)

# %%
# What has changed
# ----------------
# Rows that both maps were made of are recognised by their values. Groups are named if their centre moved by a quarter
# of the radius of the old map, if they are new, or if they are gone:

print(held.movement_)

# %%
# The way of each row that both maps have. Nearly all arrows end in the group in which they begin:

(version,) = held.map_.versions
shared = np.isfinite(version.positions[:, 0])
start, way = version.positions[shared], held.embedding_[shared] - version.positions[shared]
figure, ax = plt.subplots(figsize=(6, 5), layout="constrained")
ax.scatter(*version.gone.T, s=9, facecolors="none", edgecolors="0.6", linewidths=0.7, label="gone")
ax.scatter(*held.embedding_[~shared].T, s=9, c="tab:orange", linewidths=0, label="new")
ax.quiver(*start.T, *way.T, angles="xy", scale_units="xy", scale=1, width=0.003, color="tab:blue")
ax.set(title="from January to February", xticks=[], yticks=[], aspect="equal")
ax.legend(frameon=False)

# %%
# What it costs
# -------------
# The share of digits written later that have another label than most of their ten neighbours on each map, with its
# standard error:

for name, m in (("free", free), ("held", held)):
    error = knn_error(m.transform(X[later]), y[later], n_neighbors=10, Y_fit=m.embedding_, y_fit=y[in_february])
    print(f"{name}: {100 * error:.1f} +- {100 * np.sqrt(error * (1 - error) / later.sum()):.1f} %")

# %%
# ``held.to_html("february.html")`` writes a page with a slider: the same rows move from January to February. A map of
# March that is made ``like=held`` has both before it. On the command line: ``prismap map february.csv --like january``.
