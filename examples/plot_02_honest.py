"""
Cross-fitted and as published
=============================

The published estimate of the Fisher metric lets every sample vote for its own label. The picture then looks
wonderful, whatever the labels are. With cross-fitting, prismap's default, a pair of samples is judged only by
samples outside their folds.

**What to look for:** the lower row. Labels there are permuted, so *no* map should show them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from prismap import PrisMap
from prismap.inspection import MapDisplay
from prismap.metrics import FisherMetric
from prismap.quality import chance_error, knn_error

X, y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)
labels = {"true labels": y, "permuted labels": np.random.default_rng(0).permutation(y)}
published = {"metric": FisherMetric(cross_fit=False, posterior="parzen"), "supervision": 1.0}
methods = {"without the target": {"supervision": 0}, "as published": published, "prismap": {}}

figure, axes = plt.subplots(2, 3, figsize=(11, 7.5), layout="constrained")
for row, (name, target) in zip(axes, labels.items(), strict=True):
    for ax, (method, options) in zip(row, methods.items(), strict=True):
        Y = PrisMap(perplexity=10, random_state=0, **options).fit(X, target).embedding_
        error = knn_error(Y, target)
        title = f"{method}, {name}\n1-NN error {100 * error:.0f} %"
        MapDisplay(Y, target, np.unique(y), title=title).plot(ax, legend=False)

# %%
# With three classes of these sizes, a neighbour picked at random has another label with probability

print(f"{chance_error(y):.2f}")

# %%
# The published map of permuted labels is far below that. It shows the labels because it was told them. Figures for
# more data, and for data that are similarities: :doc:`/results/honesty`.
