"""Write docs/guide/pbmc.md and its picture: maps of real single cells, which come with scanpy.

    python tools/pbmc.py [FOLDER]        (the folder of the documentation, docs unless given)

The documentation is built without scanpy, so the page is kept in the repository. The cells are not: they are part of
the scanpy package.
"""

from __future__ import annotations

import sys
import warnings
from importlib.metadata import version
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import scanpy as sc

from prismap import PrisMap, __version__, judge

MARKERS = {"CD79A": "B cells", "CST3": "monocytes, dendritic cells", "NKG7": "NK and cytotoxic T cells"}

PAGE = """# A worked example: 700 blood cells

After reading this page you know what a report says about real single cells, and why labels that were found by
clustering the same cells are judged too well. The cells are `scanpy.datasets.pbmc68k_reduced()`: 700 peripheral blood
mononuclear cells of the 68k data set of 10x Genomics, with 765 genes and 50 principal components. They come with the
scanpy package. `python tools/pbmc.py` made this page (prismap {prismap}, scanpy {scanpy}). The calls are explained in
[My data are single cells](single_cell.md).

```python
import scanpy as sc
from prismap import PrisMap, judge

adata = sc.datasets.pbmc68k_reduced()
m = PrisMap.from_anndata(adata, target="bulk_labels", use_rep="X_pca", random_state=0)
m.to_anndata(adata)
sc.pl.embedding(adata, basis="prismap", color=["bulk_labels", "CD79A", "CST3", "NKG7"])
print(m.report().verdict)
```

![UMAP, prismap, and three marker genes](../images/pbmc.png)

*Top left: the UMAP coordinates that come with the data. Top right: the prismap map of the same cells (supervision
{share:g}, chosen by evidence). Bottom: three marker genes on that map. CD79A marks B cells, CST3 monocytes and
dendritic cells, NKG7 NK and cytotoxic T cells.*

## Cell types from bulk profiles

`bulk_labels` assigns each cell to the sorted population whose bulk profile it resembles most. The profiles come from
other cells, but the same genes decide. The verdict:

> {labels}

The errors behind it, with those of the UMAP coordinates that come with the data:

{table}

*prismap, without the target, permuted labels: held-out cells. UMAP: the fitted cells themselves, which flatters it.*

- **The target hardly helps here.** A map without it does as well, and the report says so. These labels follow the
  expression profile closely, so there is little to gain.
- **The T cell subtypes overlap on every map,** because these genes do not separate them. A map that showed them apart
  would be wrong.
- **Permuted labels give chance.** What the map separates is in the data.

## Clusters of the same cells

`louvain` was found by clustering the same principal components. The error is much lower, which looks like better
labels:

> {clusters}

Now tell the report how the labels were made, with `judge(m, labels_from="clustering")`. It clusters cells without
structure (every component permuted independently, k-means with as many clusters) and compares how separate the
clusters look. The verdict gets one more sentence:

> {circular}

Clusters of the data agree with a map of the data by construction. To judge a map, use labels from elsewhere: sorting
by surface proteins, genotypes, donors, time points or treatments.

## Limits

These are 700 of 68,000 cells, which the authors of scanpy chose and preprocessed. The repetition uses k-means and not
Louvain's method. To repeat your own clustering, pass a function: `judge(m, labels_from=my_clustering)`.
"""


def main(folder):
    """Make the maps, judge them, and write picture and page."""
    warnings.simplefilter("ignore")
    adata = sc.datasets.pbmc68k_reduced()
    m = PrisMap.from_anndata(adata, target="bulk_labels", use_rep="X_pca", random_state=0)
    m.to_anndata(adata)
    report = m.report()
    shipped = judge(adata.obsm["X_pca"], adata.obsm["X_umap"], np.asarray(adata.obs["bulk_labels"]))
    of_clusters = PrisMap.from_anndata(adata, target="louvain", use_rep="X_pca", random_state=0)
    draw(adata, folder / "images" / "pbmc.png")
    text = PAGE.format(
        prismap=__version__, scanpy=version("scanpy"), share=m.supervision_, labels=report.verdict,
        table=table(report, shipped), clusters=of_clusters.report().verdict,
        circular=new_sentences(of_clusters.report().verdict, judge(of_clusters, labels_from="clustering").verdict),
    )  # fmt: skip
    (folder / "guide" / "pbmc.md").write_text(text, encoding="utf-8")


def new_sentences(before, after):
    """What a verdict says that an earlier one did not."""
    known = set(before.split(". "))
    return ". ".join(one for one in after.split(". ") if one not in known) + "."


def table(report, shipped):
    """The errors of the report as Markdown."""
    lines = [
        "| error | prismap | without the target | UMAP of the data set, in-sample | permuted labels | chance |",
        "|---|---|---|---|---|---|",
    ]
    for ours, theirs in zip(report.scores, shipped.scores, strict=False):
        cells = [ours.value, ours.unsupervised, theirs.value, ours.permuted.mean, ours.chance]
        lines.append(f"| {ours.name} | " + " | ".join(f"{100 * float(cell):.1f} %" for cell in cells) + " |")
    return "\n".join(lines)


def draw(adata, path):
    """Two maps coloured by type, and the markers."""
    figure, axes = plt.subplot_mosaic([["umap"] * 3 + ["map"] * 3, ["a", "a", "b", "b", "c", "c"]], figsize=(11, 8.5))
    for key, basis, title in (("umap", "umap", "UMAP"), ("map", "prismap", "prismap")):
        sc.pl.embedding(
            adata, basis=basis, color="bulk_labels", ax=axes[key], show=False, title=title, size=30,
            legend_loc=None if key == "umap" else "right margin", legend_fontsize=7,
        )  # fmt: skip
    for key, (gene, cells) in zip("abc", MARKERS.items(), strict=True):
        title = f"{gene}: {cells}"
        sc.pl.embedding(
            adata, basis="prismap", color=gene, ax=axes[key], show=False, title=title, size=18, cmap="viridis"
        )
        axes[key].title.set_fontsize(9)
    figure.tight_layout()
    figure.savefig(path, dpi=80)


if __name__ == "__main__":
    main(Path(sys.argv[1] if sys.argv[1:] else "docs"))
