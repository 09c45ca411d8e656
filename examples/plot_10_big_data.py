"""
More rows than you want to embed
================================

A map is fitted on a sample. Everything else is projected onto it, file by file, in as many processes as you like. Here
four small files stand for four hundred large ones.

**What to look for:** every file gets its own output, a second run does nothing, and the picture of all rows is that
of the sample, only denser.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

from prismap import PrisMap
from prismap.scale import map_files

data = load_digits(as_frame=True)
rng = np.random.default_rng(0)
folder = Path(tempfile.mkdtemp())
sample = rng.choice(len(data.data), 600, replace=False)
pixels = data.data.loc[:, data.data.iloc[sample].nunique() > 1]  # those that are never inked say nothing
for k in range(4):  # noisy copies, as a stream of new digits
    rows = rng.choice(len(pixels), 5000)
    stream = pixels.iloc[rows] + rng.normal(scale=1.0, size=(5000, pixels.shape[1]))
    stream.assign(digit=data.target.iloc[rows]).to_parquet(folder / f"day_{k}.parquet", index=False)

# %%
# Fit on some rows, project all of them
# -------------------------------------

m = PrisMap(random_state=0).fit(pixels.iloc[sample], data.target.iloc[sample])
for result in map_files(folder, folder / "placed", m, n_workers=1):
    print(Path(result.out).name, result.rows, "rows,", result.far, "far")

# %%
# Run it once more: outputs that are complete and up to date are skipped.

print([result.skipped for result in map_files(folder, folder / "placed", m, n_workers=1)])

# %%
# All of it
# ---------

placed = pd.concat([pd.read_parquet(path) for path in sorted((folder / "placed").glob("*.parquet"))])
figure, axes = plt.subplots(1, 2, figsize=(12, 5.5), layout="constrained")
axes[0].scatter(*m.embedding_.T, c=data.target.iloc[sample], cmap="tab10", s=8, linewidths=0)
axes[0].set(title="600 fitted rows", xticks=[], yticks=[])
axes[1].hexbin(placed["x"], placed["y"], gridsize=120, bins="log", cmap="Greys", mincnt=1)
axes[1].set(title=f"{len(placed):,} placed rows, density", xticks=[], yticks=[])
plt.show()
