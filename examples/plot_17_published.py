"""
Is this published map right?
============================

A figure in a paper is a set of coordinates. If the data and the labels are at hand, the coordinates can be judged. If
the method is at hand too, it can be run again, and what it invents is found out.

Here are three maps of wines. The first is a plain projection. The second was made with the labels. The third, too, but
its labels are permuted: they mean nothing.

**What to look for:** by its picture the third map is as good as the second.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.preprocessing import StandardScaler

from prismap import judge
from prismap.inspection import MapDisplay

X, y = load_wine(return_X_y=True)
rng = np.random.default_rng(0)
X = np.hstack([StandardScaler().fit_transform(X), rng.normal(size=(len(X), 90))])  # many columns, as in many tables
mixed = rng.permutation(y)
maps = {
    "components": (PCA(2).fit_transform(X), y),
    "discriminants": (LinearDiscriminantAnalysis().fit_transform(X, y), y),
    "discriminants of permuted labels": (LinearDiscriminantAnalysis().fit_transform(X, mixed), mixed),
}

figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for ax, (name, (Y, labels)) in zip(axes, maps.items(), strict=True):
    found = judge(X, Y, labels)
    answer = found.statement("target_shows").answer
    title = f"{name}\n1-NN error {100 * found.scores[-1].value:.0f} %, shows: {answer}"
    MapDisplay(Y, labels, np.unique(y), title=title).plot(ax, legend=False)

# %%
# By its picture the third map is as good as the second. The report looks at neighbours in the data as well, and leaves
# the question open:

print(found)

# %%
# The method, run again on held-out samples and with permuted labels, tells true labels from permuted ones:

for name, labels in (("true labels", y), ("permuted labels", mixed)):
    found = judge(LinearDiscriminantAnalysis(), X, labels)
    print(name, found, sep="\n")
