"""
Several embeddings, plain and supervised
========================================

Every embedding takes every metric, so the Fisher metric turns each of them into a supervised one.

**What to look for:** columns are methods, rows are metrics. In each picture stands the share of rows whose nearest
neighbour has another label. It is in-sample. :doc:`plot_02_honest` shows why that is acceptable here, and why it would
not be with ``cross_fit=False``.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from prismap.embeddings import MDS, TSNE, Isomap, NeRV
from prismap.inspection import QualityDisplay
from prismap.metrics import FisherMetric
from prismap.quality import knn_error

X, y = load_digits(n_class=6, return_X_y=True)
X, y = X[:400], y[:400]
fisher = FisherMetric(posterior="auto", supervision=0.8, random_state=0)

figure, axes = plt.subplots(2, 4, figsize=(13, 7), layout="constrained")
for row, (name, metric) in zip(axes, {"Euclidean": "euclidean", "Fisher": fisher}.items(), strict=True):
    methods = [
        TSNE(metric=metric, random_state=0), NeRV(metric=metric, random_state=0),
        Isomap(metric=metric), MDS(metric=metric, random_state=0),
    ]  # fmt: skip
    for ax, method in zip(row, methods, strict=True):
        Y = method.fit_transform(X, y)
        ax.scatter(*Y.T, c=y, cmap="tab10", vmax=9, s=9, linewidths=0)
        error = 100 * knn_error(Y, y)
        ax.set(title=f"{type(method).__name__}, {name}\n1-NN error {error:.1f} %", xticks=[], yticks=[])
plt.show()

# %%
# How well do they keep neighbourhoods of the data themselves? A supervised map keeps what matters for the target, so
# it may be lower here.


maps = {
    "t-SNE": TSNE(random_state=0).fit_transform(X),
    "t-SNE, Fisher": TSNE(metric=fisher, random_state=0).fit_transform(X, y),
    "MDS": MDS(random_state=0).fit_transform(X),
}
QualityDisplay.from_maps(X, maps).plot()
plt.show()
