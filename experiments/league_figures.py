"""What the league measures on one map: classes of seen and of new rows, what permuted labels show, structure."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.spatial.distance import pdist
from scipy.stats import rankdata, spearmanr
from sklearn.metrics import r2_score

from prismap.quality import r_nx
from prismap.quality._votes import vote_on

#: Of structure: rows at most, permutations of each feature, neighbours that vote.
ROWS_OF_STRUCTURE, N_PERMUTED, N_NEAREST = 250, 3, 10
#: Placements of points at random that chance is the mean of.
N_NULLS = 10


def figures(case, made, with_permuted, *, first=True):
    """What the map of one split shows, and the map of permuted labels; structure of the first split alone."""
    Y, other, row = made["Y"], permuted(case.y), {}
    for k in (1, 10):
        row[f"seen, {k}"] = 100 * right(Y, case.y, k).mean()
        shown = 100 * right(with_permuted["Y"], other, k).mean() if "Y" in with_permuted else np.nan
        row["invented" if k == 10 else "invented, 1"] = shown - chance(case.y, k)
    if "Z" in made:
        by_one, by_ten = (right(Y, case.y, k, made["Z"], case.y_new) for k in (1, 10))
        row |= {"new, 1": 100 * by_one.mean(), "new, 10": 100 * by_ten.mean(), "balanced": balanced(by_ten, case.y_new)}
        row["told"] = tenths(by_ten)
    row["R_NX"] = float(r_nx(case.X, Y).auc_log_k)
    return row | (structure(case, Y) if first else {})


# --- votes ------------------------------------------------------------------------------------------------------------


def right(Y, y, k, Z=None, y_new=None):
    """Whether fitted rows at Y predict the class of each other, or of rows at Z; a half where two classes draw."""
    n_classes = int(max(y.max(), 0 if y_new is None else y_new.max())) + 1
    if Z is None:
        return vote_on(Y, Y, y, n_classes, n_neighbors=k, own=np.arange(len(y))).right(y)
    return vote_on(Z, Y, y, n_classes, n_neighbors=k).right(y_new)


def permuted(y):
    """The labels in another order, the same for all methods."""
    return np.random.default_rng(1).permutation(y)


def chance(y, k):
    """% of permuted labels that are predicted where they had no influence: by points anywhere."""
    rng = np.random.default_rng(2)
    anywhere = rng.normal(size=(len(y), 2))
    return 100 * float(np.mean([right(anywhere, rng.permutation(y), k) for _ in range(N_NULLS)]))


def balanced(hits, y):
    """Error in %, the mean over the classes that occur."""
    return 100 * float(np.mean([1 - hits[y == one].mean() for one in np.unique(y)]))


def tenths(hits):
    """The share of the vote that was right of each row, as a text of a digit each: 9 is right, 0 is wrong."""
    return "".join(str(round(9 * hit)) for hit in hits)


def chances(text):
    """The shares of such a text, as nearly as a digit has them."""
    return np.array([int(digit) for digit in text]) / 9


# --- structure --------------------------------------------------------------------------------------------------------


def structure(case, Y):
    """The paper's local and global structure preservation; nothing with fewer than three features."""
    if len(case.blocks) < 3:
        return {}
    rows = np.random.default_rng(3).permutation(len(Y))[:ROWS_OF_STRUCTURE]
    X, Y, y = case.X[rows], Y[rows], case.y[rows]
    for_classes, for_map = importances(X, Y, y, case.blocks)
    apart = rankdata(pdist(Y))
    follows = [np.corrcoef(rankdata(pdist(X[:, block])), apart)[0, 1] for block in case.blocks]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a feature that is constant here has no correlation
        local = [spearmanr(a, b).statistic for a, b in zip(for_classes, for_map, strict=True)]
        wide = [spearmanr(a, follows, nan_policy="omit").statistic for a in for_classes]
    return {"local": float(np.mean(local)), "global": float(np.mean(wide))}


def importances(X, Y, y, blocks):
    """What permuting a feature costs: accuracy of the classes, and R2 of positions; (permutations, features)."""
    rng = np.random.default_rng(4)
    D, shares = squares(X, X), np.eye(y.max() + 1)[y]
    Y = (Y - Y.mean(axis=0)) / np.maximum(Y.std(axis=0), 1e-12)

    def scores(D):
        near = np.argpartition(D, N_NEAREST, axis=1)[:, :N_NEAREST]
        correct = shares[near].sum(axis=1).argmax(axis=1) == y
        return np.array([correct.mean(), r2_score(Y, Y[near].mean(axis=1))])

    before, lost = scores(D), np.empty((2, N_PERMUTED, len(blocks)))
    for turn in range(N_PERMUTED):
        for place, block in enumerate(blocks):
            part = X[:, block]
            moved = D - squares(part, part) + squares(rng.permutation(part), part)
            lost[:, turn, place] = before - scores(moved)
    return lost


def squares(A, B):
    """Squared distances."""
    return np.maximum(np.square(A).sum(axis=1)[:, None] + np.square(B).sum(axis=1) - 2 * A @ B.T, 0)


# --- statements of `judge` --------------------------------------------------------------------------------------------


def judged_figures(case, y, made, stated):
    """Errors in %, by the vote and the measure of the statement: shown by own rows, true for new ones, stated."""
    n_classes = int(max(y.max(), case.y_new.max())) + 1
    evenly = stated.get("measure", "").startswith("balanced")

    def error(vote, y):
        hits = vote.right(y)
        return round(balanced(hits, y) if evenly else 100 * (1 - hits.mean()), 1)

    row = {"shown": error(vote_on(made["Y"], made["Y"], y, n_classes, own=np.arange(len(y))), y)}
    if "Z" in made:
        row["true"] = error(vote_on(made["Z"], made["Y"], y, n_classes), case.y_new)
    if stated.get("stated") is not None:
        row["stated"] = round(stated["stated"], 1)
    return row | {key: answer(stated[key]) for key in ("shows", "exaggerates")}


def answer(value):
    """Yes, no or cannot tell."""
    return "cannot tell" if value is None else "yes" if value else "no"
