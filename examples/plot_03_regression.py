"""
A target that is a number
=========================

Ten measurements of 442 patients and how far their diabetes went in a year. Nothing changes in the call: a target of
quantities gets a Gaussian process instead of class densities.

**What to look for:** without the target, dark and light rows are mixed; in the supervised map the colour runs in one
direction, as far as the measurements know it. The verdict below says how far that is.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from prismap import PrisMap
from prismap.inspection import MapDisplay

data = load_diabetes()
X, y = StandardScaler().fit_transform(data.data), data.target

m = PrisMap(random_state=0).fit(X, y)
without = PrisMap(supervision=0, random_state=0).fit(X)

figure, axes = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
MapDisplay(without.embedding_, y, title="without the target").plot(axes[0])
MapDisplay(m.embedding_, y, title="PrisMap: disease progression").plot(axes[1])

# %%
# The verdict
# -----------
# nRMSE is the error of the neighbours' mean in units of the target's spread: 1 is knowing nothing.

print(m.report(n_permutations=2))
