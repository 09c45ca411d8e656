"""
Start: a map, and what it is worth
==================================

Eight hundred handwritten digits, 64 grey values each. One map made without the target, one made for it, and one made
for *permuted* labels, which have nothing to do with the pictures. A method that separates those, too, separates
anything.

**What to look for:** the middle map keeps the digits apart, the right one stays mixed. Nothing was invented.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from prismap import PrisMap
from prismap.quality import knn_error

X, y = load_digits(return_X_y=True)
rows = np.random.default_rng(0).choice(len(X), 1200, replace=False)
fitted, new = rows[:800], rows[800:]
X = X[:, np.ptp(X[fitted], axis=0) > 0]  # pixels that are never inked say nothing

m = PrisMap(random_state=0).fit(X[fitted], y[fitted])
without = PrisMap(supervision=0, random_state=0).fit(X[fitted])

permuted = np.random.default_rng(1).permutation(y[fitted])
chance = PrisMap(random_state=0).fit(X[fitted], permuted)

figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
for ax, Y, labels, title in [
    (axes[0], without.embedding_, y[fitted], "without the target"),
    (axes[1], m.embedding_, y[fitted], "PrisMap"),
    (axes[2], chance.embedding_, permuted, "permuted labels: nothing invented"),
]:
    points = ax.scatter(*Y.T, c=labels, cmap="tab10", s=7, linewidths=0)
    ax.set(title=title, xticks=[], yticks=[])
figure.legend(*points.legend_elements(), title="digit", loc="outside right center", frameon=False)

# %%
# New samples
# -----------
# The map is a function. Held-out samples are projected one by one, in linear time, and always to the same position.

Y_new = m.transform(X[new])
ax = m.plot()
ax.scatter(*Y_new.T, c="black", s=4, label="new")
ax.set_title("400 new digits (black) on the map of 800")

# %%
# The share of them whose nearest fitted sample in the map has another label, and the same for the map of permuted
# labels and its own labels:


print("new rows, this map:     ", knn_error(Y_new, y[new], Y_fit=m.embedding_, y_fit=y[fitted]))
print("permuted labels, fitted:", knn_error(chance.embedding_, permuted))

# %%
# ``m.report()`` does this and more (refits without the judged rows, several permutations, the verdict in words), and
# ``m.to_html("digits.html")`` writes the page to zoom, filter and select in.
