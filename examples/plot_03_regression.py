"""
A target that is a number
=========================

Ten measurements of 442 patients, and the progression of their diabetes after one year. The call is the same as for
classes. For a target of quantities a Gaussian process replaces the class densities.

**What to look for:** without the target, dark and light rows are mixed; in the supervised map the colour runs in one
direction, as far as the measurements contain it. The figures below say how far that is.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from prismap import PrisMap
from prismap.inspection import MapDisplay
from prismap.quality import chance_nrmse, knn_nrmse

data = load_diabetes()
order = np.random.default_rng(0).permutation(len(data.data))
X, y = StandardScaler().fit_transform(data.data)[order], data.target[order]
fitted, new = slice(0, 250), slice(250, 400)

m = PrisMap(random_state=0).fit(X[fitted], y[fitted])
without = PrisMap(supervision=0, random_state=0).fit(X[fitted])

figure, axes = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
MapDisplay(without.embedding_, y[fitted], title="without the target").plot(axes[0])
MapDisplay(m.embedding_, y[fitted], title="PrisMap: disease progression").plot(axes[1])

# %%
# How much of it is true
# ----------------------
# Held-out samples are projected, and their value is predicted from their neighbours in the map. nRMSE is the error in
# units of the target's standard deviation, so 1 means no information. A map of permuted values is judged in the same
# way.

permuted = np.random.default_rng(1).permutation(y)
chance = PrisMap(random_state=0).fit(X[fitted], permuted[fitted])
for name, one, values in [("PrisMap", m, y), ("without the target", without, y), ("permuted values", chance, permuted)]:
    placed = one.transform(X[new])
    print(f"{name:20s}", knn_nrmse(placed, values[new], Y_fit=one.embedding_, y_fit=values[fitted]))
print(f"{'chance':20s} {chance_nrmse():.3f}")

# %%
# The ten measurements know only part of the progression, and no map can show more than that. ``m.report()`` does all
# this in cross-validation and puts it in words.
