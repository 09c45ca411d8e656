"""
Single cells: an AnnData object, and labels that come from it
=============================================================

A map of single cells coloured by cell type looks convincing, whatever it is made of. This example maps 700 cells, and
asks the report how much of the picture a clustering of the same measurements would explain. The cells are simulated, so
that their true types are known and nothing is downloaded. :doc:`/guide/pbmc` does the same with real blood cells.
"""

# %%
# Cells as an AnnData object
# --------------------------
# Eight types, of which the two kinds of T cells differ in a few genes only. Counts are drawn, normalised by library
# size and logarithmised, as one does with real ones.
import anndata as ad
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.decomposition import PCA

from prismap import PrisMap, judge

rng = np.random.default_rng(0)
types = ["CD4 T", "CD8 T", "B", "NK", "CD14 mono", "CD16 mono", "dendritic", "platelet"]
sizes = [220, 130, 90, 80, 100, 40, 25, 15]
truth = np.repeat(np.arange(8), sizes)
markers = rng.gamma(0.6, 1.0, (8, 300))
markers[1] = markers[0] * np.where(np.arange(300) < 12, 2.5, 1.0)
depth = rng.lognormal(0, 0.35, len(truth))
counts = rng.poisson(markers[truth] * depth[:, None])
X = np.log1p(1e3 * counts / counts.sum(axis=1, keepdims=True))

adata = ad.AnnData(
    X.astype(np.float32),
    obs=pd.DataFrame(
        {"cell_type": pd.Categorical(np.array(types)[truth]), "depth": counts.sum(axis=1)},
        index=[f"cell-{i}" for i in range(len(truth))],
    ),
    var=pd.DataFrame(index=[f"gene{i}" for i in range(300)]),
)
adata.obsm["X_pca"] = PCA(20, random_state=0).fit_transform(X).astype(np.float32)

# %%
# The map, and its verdict
# ------------------------
m = PrisMap.from_anndata(adata, target="cell_type", use_rep="X_pca", random_state=0)
m.to_anndata(adata)
axes = m.plot()
plt.show()
print(m.report())

# %%
# Labels that come from the data themselves
# -----------------------------------------
# Had the types been found by clustering these cells, the same figures would mean less. The report repeats the
# clustering on cells whose genes were permuted one by one, where there is nothing to find.
print(judge(m, labels_from="clustering").verdict)

# %%
# A marker gene on the map
# ------------------------
# Positions are in ``adata.obsm["X_prismap"]``, so ``sc.pl.embedding(adata, basis="prismap", color="gene3")`` draws the
# same.
Y = adata.obsm["X_prismap"]
plt.scatter(*Y.T, c=adata[:, "gene3"].X.ravel(), s=6)
plt.colorbar(label="gene3 (log)")
plt.gca().set_aspect("equal")
plt.show()
