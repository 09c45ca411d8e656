"""
New samples: projected, far, drifting
=====================================

A map of wines, fitted on two thirds of the samples. The other third is projected onto it. Then the same samples come
from a badly calibrated instrument.

**What to look for:** new samples land among similar ones. As the calibration drifts, more and more of them are *far*:
farther from the nearest fitted sample than 99 % of the fitted samples are from theirs. They still get a position,
which is why the flag matters.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from prismap import PrisMap
from prismap.quality import knn_error

data = load_wine()
X_fit, X_new, y_fit, y_new = train_test_split(data.data, data.target, test_size=1 / 3, random_state=0)
scale = StandardScaler().fit(X_fit)
m = PrisMap(random_state=0).fit(scale.transform(X_fit), y_fit)

Y_new, far = m.place(scale.transform(X_new))
print("1-NN error of new rows:", knn_error(Y_new, y_new, Y_fit=m.embedding_, y_fit=y_fit))
print("far:", far.sum(), "of", len(far))

# %%
# Drift
# -----
# Five of the thirteen columns are measured too high by a growing number of standard deviations.

shifts = np.linspace(0, 6, 13)
direction = np.zeros(X_fit.shape[1])
direction[:5] = 1
drifted = [scale.transform(X_new) + s * direction for s in shifts]
share = [m.is_far(rows).mean() for rows in drifted]

figure, axes = plt.subplots(1, 3, figsize=(15, 4.6), layout="constrained")
for ax, k in zip(axes[:2], (0, 6), strict=True):
    Y, far = m.place(drifted[k])
    ax.scatter(*m.embedding_.T, c=y_fit, cmap="tab10", vmax=9, s=12, alpha=0.5, linewidths=0)
    ax.scatter(*Y.T, c=y_new, cmap="tab10", vmax=9, s=30, edgecolors=np.where(far, "red", "black"))
    ax.set(title=f"new rows, shifted by {shifts[k]:.0f} sd (red ring: far)", xticks=[], yticks=[])
axes[2].plot(shifts, share, marker="o")
axes[2].set(xlabel="shift in standard deviations", ylabel="share of far rows", ylim=(-0.02, 1.02))

# %%
# A share of far rows well above 1 % on a batch is a reason to look at the batch before looking at the map. The map
# itself is one file (no pickle inside): ``m.save("wine.prismap")``, and ``prismap apply wine.prismap more.csv -o
# placed.parquet`` projects a table of any length.
