"""Pictures of relevance: what a map shows of each feature (Schulz 2017, thesis, Figures 4.1 to 4.7).

**Protocol.** Each part draws the figures of one data set and gives their figures as rows. Relevance is in-sample: it
explains a given map, with the thesis' settings (gamma 0.5, delta 1). *weights* is lambda_NeRV and *matrix* the diagonal
of Omega' Omega, both divided by their largest value. *forward* is Q_NX of a feature alone, *backward* how much Q_NX
falls without it. "As published" is a Fisher metric that has seen the labels of the rows it judges, and its map with
permuted labels stands beside it.

**What differs.** set1 and the multimodal set are drawn anew from the thesis' description. The nine markers of adrenal
that the thesis compares with are not printed there.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from experiments.common import load, quietly
from experiments.ledger import main
from experiments.table_f import fisher_tsne, multimodal_set, one_nn, standardize
from prismap.embeddings import TSNE
from prismap.quality import q_nx
from prismap.relevance import FeatureRelevance

READING = """
The pictures are those of the thesis. On set1 all features matter within clusters of 20 points, and the weight of
feature 3 falls to zero once the neighbourhood is larger than a cluster. Forward and backward selection rank it last,
too, but do not show that it matters locally. On the multimodal set the linear map makes nothing of feature 3, which
separates the two modes of a class, and Fisher t-SNE makes nothing of feature 1, which is noise, whatever the size of
the neighbourhood. The diabetes data resemble their own t-SNE map more closely once they are transformed by its
relevance matrix. On adrenal the profile hardly depends on the size of the neighbourhood, and the published Fisher t-SNE
separates permuted labels, too ({permuted} % error, where chance is 42).
"""
QUOTED = {"permuted": ("adrenal", {"map": "the same, permuted labels"}, "1-NN error, in-sample")}


def relevance(X, Y, method, k):
    """Relevances of the features for a map, learnt ones in units of their largest."""
    found = FeatureRelevance(method, n_neighbors=k, n_permuted=0).fit(X, Y).relevance_
    return found / found.max() if method in ("weights", "matrix") else found


def profile(X, Y, method, sizes):
    """One row of relevances per size of the neighbourhood."""
    return np.array([relevance(X, Y, method, k) for k in sizes])


def set1(rng, n=20):
    """Three round clusters in three dimensions, the third of which does not tell them apart."""
    centres = np.array([[0, 0, 0], [6, 0, 0], [3, 5, 0]])
    return rng.normal(size=(3 * n, 3)) + np.repeat(centres, n, axis=0), np.repeat(np.arange(3), n)


def on_set1(options):
    """Fig. 4.1 (left) and 4.3: t-SNE of three clusters, and every kind of relevance by the size of neighbourhoods."""
    X, c = set1(np.random.default_rng(0))
    Y = TSNE(perplexity=10, random_state=0).fit_transform(X)
    sizes = (2, 5, 10, 15, 20, 25, 30, 40)
    profiles = {method: profile(X, Y, method, sizes) for method in ("weights", "forward", "backward")}
    for method, found in profiles.items():
        for k in (5, 15, 25, 40):
            yield by_feature({"relevance": method, "neighbours": k}, found[sizes.index(k)])
    if options.out:
        with canvas(5, options.out / "relevance_pictures_set1.png") as axes:
            scatter(axes[0], X[:, [0, 2]], c, "set1, features 1 and 3")
            scatter(axes[1], Y, c, "t-SNE")
            for axis, (method, found) in zip(axes[2:], profiles.items(), strict=True):
                curves(axis, sizes, found, method)


def on_multimodal(options):
    """Fig. 4.2 and 4.4: a map that cannot show two modes and one that does, and what they are made of."""
    X, c = multimodal_set(np.random.default_rng(0))
    maps = {
        "LDA": LinearDiscriminantAnalysis(n_components=2).fit_transform(X, c),
        "Fisher t-SNE": fisher_tsne(X, c, cross_fit=False),
    }
    sizes = (5, 10, 20, 30, 50, 80, 120)
    profiles = {name: profile(X, Y, "matrix", sizes) for name, Y in maps.items()}
    for name, found in profiles.items():
        for k in (5, 30, 80):
            yield by_feature({"map": name, "neighbours": k}, found[sizes.index(k)])
    if options.out:
        with canvas(5, options.out / "relevance_pictures_multimodal.png") as axes:
            scatter(axes[0], X[:, [1, 2]], c, "features 2 and 3")
            for k, (name, Y) in enumerate(maps.items()):
                scatter(axes[1 + k], Y, c, name)
                curves(axes[3 + k], sizes, profiles[name], f"relevance for {name}")


def on_diabetes(options):
    """Fig. 4.5: the data, transformed by the relevance matrix of a map, resemble that map."""
    data = load_diabetes()
    X, y = standardize(data.data), data.target
    Y = TSNE(random_state=0).fit_transform(X)
    sizes = (5, 10, 20, 30, 50, 75, 100)
    seen = {"data": X}
    seen |= {
        f"transformed, {k} neighbours": FeatureRelevance("matrix", n_neighbors=k, n_permuted=0).fit(X, Y).transform(X)
        for k in (10, 50)
    }
    quality = {name: [float(q_nx(A, Y, n_neighbors=k)) for k in sizes] for name, A in seen.items()}
    for name, found in quality.items():
        shown = zip(sizes, found, strict=True)
        yield {"Q_NX against t-SNE": name, **{f"at {k}": f"{q:.2f}" for k, q in shown if k in (10, 50, 100)}}
    if options.out:
        with canvas(2, options.out / "relevance_pictures_diabetes.png") as axes:
            scatter(axes[0], Y, y, "diabetes, t-SNE, colour: progression")
            for name, found in quality.items():
                axes[1].plot(sizes, found, label=name)
            axes[1].set(title="Q_NX against t-SNE", xlabel="neighbours")
            axes[1].legend(fontsize=7)


def on_adrenal(options):
    """Fig. 4.1 (right), 4.6 and 4.7: relevance for the Fisher t-SNE map, and the data transformed by it."""
    arrays = load(options.data, "adrenal")
    X, y = arrays["X"], arrays["y"]
    shuffled = np.random.default_rng(0).permutation(y)
    Y = fisher_tsne(X, y, cross_fit=False)
    model = FeatureRelevance("matrix", n_neighbors=10, n_permuted=0).fit(X, Y)
    maps = {
        "t-SNE": (TSNE(random_state=0).fit_transform(X), y),
        "Fisher t-SNE, as published": (Y, y),
        "the same, permuted labels": (fisher_tsne(X, shuffled, cross_fit=False), shuffled),
        "t-SNE of transformed data": (TSNE(random_state=0).fit_transform(model.transform(X)), y),
        "linear projection": (model.project(X), y),
    }
    found = {f"weights, {k} neighbours": relevance(X, Y, "weights", k) for k in (10, 20, 40)}
    for name, (Z, c) in maps.items():
        yield {"map": name, "1-NN error, in-sample": one_nn(Z, c)}
    for name, values in found.items():
        yield {"map": f"largest nine, {name}", "features": ", ".join(map(str, np.sort(np.argsort(-values)[:9]) + 1))}
    if options.out:
        with canvas(6, options.out / "relevance_pictures_adrenal.png") as axes:
            for axis, (name, (Z, c)) in zip(axes, maps.items(), strict=False):
                scatter(axis, Z, c, name)
            for name, values in found.items():
                axes[5].plot(np.arange(1, 33), values, ".-", label=name)
            axes[5].set(title="relevance for Fisher t-SNE", xlabel="feature")
            axes[5].legend(fontsize=7)


def by_feature(row, values):
    """A row with a column per feature."""
    return row | {f"feature {j}": f"{value:.2f}" for j, value in enumerate(values, 1)}


@contextmanager
def canvas(n, path):
    """Axes side by side, at most three in a row, saved at the end."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    n_rows = -(-n // 3)
    figure, axes = plt.subplots(n_rows, min(n, 3), figsize=(10, 3.2 * n_rows), layout="constrained")
    for axis in axes.flat[n:]:
        axis.set_axis_off()
    yield axes.ravel()[:n]
    figure.savefig(path, dpi=70)
    plt.close(figure)


def scatter(axis, Y, colour, title):
    """A map with its classes or targets as colours."""
    axis.scatter(*np.asarray(Y).T, c=np.unique(colour, return_inverse=True)[1], s=9, cmap="viridis")
    axis.set(title=title, xticks=[], yticks=[])
    axis.title.set_fontsize(9)


def curves(axis, sizes, found, title):
    """Relevance of each feature against the size of the neighbourhood."""
    for j, curve in enumerate(found.T, 1):
        axis.plot(sizes, curve, label=f"feature {j}")
    axis.set(title=title, xlabel="neighbours")
    axis.title.set_fontsize(9)
    axis.legend(fontsize=7)


PARTS = {
    "set1": quietly(on_set1),
    "multimodal": quietly(on_multimodal),
    "diabetes": quietly(on_diabetes),
    "adrenal": quietly(on_adrenal),
}
WITHOUT_DATA = ("set1", "multimodal", "diabetes")

if __name__ == "__main__":
    main(sys.modules[__name__])
