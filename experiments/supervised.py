"""Supervised maps of the field beside each other: accuracy of rows that took no part, and what permuted labels give.

Fit on at most 2,000 rows (as in `experiments.posteriors`), place at most 2,000 others. Accuracy
in %: nearest fitted row of a placed one. Permuted: the same with the labels shuffled before the fit, where 100 / number
of classes is honest; "inside" is the accuracy among the fitted rows themselves, which is what a coloured map shows: a
method that separates permuted labels there invents structure.
"""

from __future__ import annotations

import warnings

import numpy as np
import openTSNE
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from experiments.common import accuracy, main, run_peer, timed
from experiments.posteriors import problem
from prismap import PrisMap

SETS = ("digits", "letter", "usps11000", "mnist", "fashion_mnist_40k", "sc_zeisel", "phoneme_lvqpak")
N_TEST, SEED = 2000, 0

UMAP = """
import umap
model = umap.UMAP(random_state=0).fit(X, y); out = {"Y": model.embedding_, "Z": model.transform(X_test)}
"""


def run(data_folder=None, quick=False, peers=None, sets=None):
    """One row a data set and method."""
    warnings.simplefilter("ignore")
    rows = []
    for name in sets or (("digits",) if quick or data_folder is None else SETS):
        X, y, X_test, y_test = problem(data_folder, name, quick)
        codes = np.unique(np.concatenate([y, y_test]), return_inverse=True)[1]
        parts = X, codes[: len(y)], X_test[:N_TEST], codes[len(y) : len(y) + N_TEST]
        for method, place in methods(peers).items():
            row, seconds = timed(lambda place=place, parts=parts: figures(place, parts))
            rows.append({"set": name, "method": method, **row, "seconds": seconds})
            print(rows[-1], flush=True)
    return rows


def methods(peers):
    """Functions from (X, y, X_test) to positions of both."""
    found = {"prismap": our_map, "t-SNE (no labels)": plain, "LDA, then t-SNE": discriminant, "NCA": components}
    if peers:
        found["supervised UMAP"] = lambda X, y, new: tuple(
            run_peer(peers, UMAP, X=X, y=y, X_test=new)[key] for key in "YZ"
        )
    return found


def our_map(X, y, new):
    """prismap as it comes."""
    model = PrisMap(random_state=SEED).fit(X, y)
    return model.embedding_, model.transform(new)


def plain(X, y, new):
    """openTSNE and its own placement."""
    fitted = openTSNE.TSNE(random_state=SEED, n_jobs=2).fit(X)
    return np.asarray(fitted), np.asarray(fitted.transform(new))


def discriminant(X, y, new):
    """t-SNE of linear discriminant components."""
    lda = LinearDiscriminantAnalysis().fit(X, y)
    return plain(lda.transform(X), y, lda.transform(new))


def components(X, y, new):
    """A linear map that maximises leave-one-out neighbours of the same class."""
    nca = NeighborhoodComponentsAnalysis(2, random_state=SEED, max_iter=50).fit(X, y)
    return nca.transform(X), nca.transform(new)


def figures(place, parts):
    """True and permuted labels, placed and fitted rows."""
    X, y, new, y_new = parts
    rng = np.random.default_rng(SEED + 1)
    Y, Z = place(X, y, new)
    shuffled, shuffled_new = rng.permutation(y), rng.permutation(y_new)
    P, Q = place(X, shuffled, new)
    return {
        "placed rows": accuracy(Z, y_new, Y, y), "permuted": accuracy(Q, shuffled_new, P, shuffled),
        "inside": accuracy(Y, y), "permuted inside": accuracy(P, shuffled),
    }  # fmt: skip


if __name__ == "__main__":
    main(run, "Supervised maps: rows that took no part, and permuted labels")
