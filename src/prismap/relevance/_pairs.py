"""Pairs of columns that give a target away only together: a balance before and after, an amount and its limit.

All pairs of a few columns are looked at, and each is asked in two ways, both out of fold: what the nearest other row
has, and what a model of the pair predicts (logistic regression; for numbers least squares with squares and the product,
also of logarithms). That two good columns together err rarely is no leak: any two columns predict classes that are far
apart. It is one if

- neither column alone is of much use, or
- classes follow a line through the middle of the rows and hardly a row beside it is on the wrong side. Features that
  merely tell classes well have few rows there, or err among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.stats import rankdata
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.linear_model import LogisticRegression

from prismap._util.arrays import Numbers
from prismap.relevance._target_columns import LEAK, Columns, Leak, as_one, binned, known_sample, loo_classes
from prismap.target import Target, split_rows


@dataclass(frozen=True)
class PairRules:
    """Which pairs of columns are looked at, and when one is a leak.

    Attributes
    ----------
    most_columns : columns whose pairs are looked at.
    most_rows : rows that are looked at,
    first_rows : at the first look.
    fewest_rows : the fewest rows that are enough.
    first_error : a pair that errs this often at the first look is passed over.
    first_nrmse : the same of numbers.
    little_use : a column alone is of little use if it errs this share of what chance does.
    little_use_nrmse : the same of numbers: its nRMSE.
    beside : rows are beside a line up to so many standard deviations.
    some : from this share of all rows on, some are beside it.
    """

    most_columns: int = 24
    most_rows: int = 500
    first_rows: int = 200
    fewest_rows: int = 60
    first_error: float = 0.12
    first_nrmse: float = 0.3
    little_use: float = 0.7
    little_use_nrmse: float = 0.3
    beside: float = 0.25
    some: float = 0.05


PAIRS = PairRules()


def leaking_pairs(columns: Columns, target: Target, *, seed: int = 0) -> list[Leak]:
    """The pairs of columns that give the target away though neither column does alone, the surest first.

    Parameters
    ----------
    columns : features by name, (n,) or (n, k), none of which is a leak by itself.
    target : of one column.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> before, after, noise = rng.normal(size=(3, 300))
    >>> from prismap.target import make_target
    >>> columns = {"before": before, "after": after, "noise": noise}
    >>> [leak.names for leak in leaking_pairs(columns, make_target(after - before, 300))]
    [('before', 'after')]
    """
    rows = np.random.default_rng(seed).permutation(known_sample(target, seed))[: PAIRS.most_rows]
    if len(rows) < PAIRS.fewest_rows:
        return []
    y = target.values[rows]
    used = {name: np.asarray(values, dtype=np.float64)[rows] for name, values in columns.items()}
    used = {name: block for name, block in used.items() if np.ptp(block, axis=0).any()}
    few = len(used) <= 2 * PAIRS.most_columns  # all pairs cost less than the trees, which are grown if there is a leak
    used = used if few else most_useful(used, y, seed)
    leaks = class_pairs(used, y) if target.codes is not None else number_pairs(used, y)
    if few and leaks:
        useful = most_useful(used, y, seed)
        leaks = [leak for leak in leaks if all(name in useful for name in leak.names)]
    return sorted(leaks, key=lambda leak: leak.error)


def most_useful(columns: dict[str, Numbers], y: NDArray[Any], seed: int) -> dict[str, Numbers]:
    """Of many columns those that trees use most: they split by a column that tells only together with another."""
    if len(columns) <= PAIRS.most_columns:
        return columns
    kind = ExtraTreesRegressor if y.dtype.kind == "f" else ExtraTreesClassifier
    blocks = [block.reshape(len(y), -1) for block in columns.values()]
    use = kind(n_estimators=100, min_samples_leaf=5, random_state=seed).fit(np.hstack(blocks), y).feature_importances_
    first = np.cumsum([0, *(block.shape[1] for block in blocks)])[:-1]
    kept = set(np.argsort(-np.add.reduceat(use, first), kind="stable")[: PAIRS.most_columns].tolist())
    return {name: block for place, (name, block) in enumerate(columns.items()) if place in kept}


# --- classes ----------------------------------------------------------------------------------------------------------


def class_pairs(columns: dict[str, Numbers], y: NDArray[Any]) -> list[Leak]:
    """The leaks of classes by two columns."""
    chance = 1.0 - np.bincount(y).max() / len(y)
    limit = min(LEAK.error, chance / LEAK.better_than_chance)
    if limit * len(y) < 1:
        return []
    places = {name: even(values) for name, values in columns.items()}
    alone = {name: single_error(values, y) for name, values in columns.items()}
    errors = {
        (a, b): pair_error((columns[a], columns[b]), (places[a], places[b]), min(alone[a], alone[b]), y, chance, limit)
        for a, b in combinations(columns, 2)
    }
    return [
        Leak(names, error, f"{100 * error:.1f} % error", "pair") for names, error in errors.items() if error is not None
    ]


def pair_error(
    pair: tuple[Numbers, Numbers], places: tuple[Numbers, Numbers], alone: float, y: NDArray[Any], chance: float,
    limit: float,
) -> float | None:  # fmt: skip
    """How often two columns together are wrong about classes, if they are a leak; None otherwise.

    alone : the error of the better one by itself. limit : the error of a leak at most.
    """
    Z, first = np.hstack(places), slice(PAIRS.first_rows)
    by_line = len(np.unique(y)) == 2 and Z.shape[1] == 2 and alone > LEAK.better_than_chance * limit
    if alone < PAIRS.little_use * chance and not by_line:
        return None
    if nearest_error(Z[first], y[first]) > min(PAIRS.first_error, chance / 2):
        return None
    if alone >= PAIRS.little_use * chance and (error := nearest_error(Z, y)) <= limit:
        return error
    if not by_line:
        return None
    score = line_scores(np.column_stack(pair), y, limit)
    if score is None:
        return None
    beside = (np.abs(score) < PAIRS.beside * score.std()).mean()
    return float(wrong_side(score, y).mean()) if beside >= PAIRS.some else None


def even(values: Numbers) -> Numbers:
    """A column as places whose distances can be compared: ranks between 0 and 1; levels of a category far apart."""
    if values.ndim == 1 or values.shape[1] == 1:
        return np.asarray(rankdata(values.ravel())[:, None] / len(values))
    return np.asarray(10.0 * (values > values.mean(axis=0)))


def nearest_error(Z: Numbers, y: NDArray[Any]) -> float:
    """How often the nearest other row has another class."""
    _, near = cKDTree(Z).query(Z, k=2)
    other = np.where(near[:, 0] == np.arange(len(Z)), near[:, 1], near[:, 0])
    return float((y[other] != y).mean())


def single_error(values: Numbers, y: NDArray[Any]) -> float:
    """How often the other rows with about the same value of one column have mostly another class."""
    value, ordered = as_one(values)
    return float((loo_classes(binned(value, 10) if ordered else value, y, False) != y).mean())


def line_scores(X: Numbers, y: NDArray[Any], most: float) -> Numbers | None:
    """On which side of the line between two classes each row is, and how far; the line knows no row of its fold.

    None as soon as more than the share `most` of all rows are on the wrong side: of most pairs the first fold shows it.
    """
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    score, n_wrong = np.empty(len(y)), 0
    for kept, out in split_rows(len(y), 5, 0):
        if len(np.unique(y[kept])) < 2:
            return None
        line = LogisticRegression(C=1e4, max_iter=300).fit(X[kept], y[kept])
        score[out] = line.decision_function(X[out]) / np.linalg.norm(line.coef_)
        n_wrong += int(wrong_side(score, y)[out].sum())
        if n_wrong / len(y) > most:
            return None
    return score


def wrong_side(score: Numbers, y: NDArray[Any]) -> NDArray[np.bool_]:
    """Which rows are on the other side of the line than their class."""
    return np.asarray((score > 0) != (y == y.max()))


# --- numbers ----------------------------------------------------------------------------------------------------------


def number_pairs(columns: dict[str, Numbers], y: NDArray[Any]) -> list[Leak]:
    """The leaks of a number by two columns."""
    leaks = [number_pair((a, b), columns[a], columns[b], y) for a, b in combinations(columns, 2)]
    return [leak for leak in leaks if leak is not None]


def number_pair(names: tuple[str, str], a: Numbers, b: Numbers, y: NDArray[Any]) -> Leak | None:
    """The leak of a number by two columns, if it is one."""
    if max(a.size, b.size) > len(y):  # a category
        return None
    a, b = a.ravel(), b.ravel()
    first = slice(PAIRS.first_rows)
    if law_error(y[first], a[first], b[first]) > PAIRS.first_nrmse:
        return None
    error = law_error(y, a, b)
    if error > LEAK.nrmse or min(law_error(y, a), law_error(y, b)) < PAIRS.little_use_nrmse:
        return None
    return Leak(names, error, f"an nRMSE of {error:.3f}", "pair")


def law_error(y: Numbers, *columns: Numbers) -> float:
    """The nRMSE of a number by a polynomial of second degree, or by a product of powers, each row left out."""
    Z = [(column - column.mean()) / (column.std() or 1.0) for column in columns]
    terms = [*Z, *(np.square(z) for z in Z), *(p * q for p, q in combinations(Z, 2))]
    errors = [np.sqrt(np.mean(np.square(left_out(terms, y))))]
    if min(part.min() for part in (y, *columns)) > 0:
        logs = left_out([np.log(column) for column in columns], np.log(y))
        errors.append(np.sqrt(np.mean(np.square(y * np.expm1(-logs)))))
    return float(min(errors) / (y.std() or 1.0))


def left_out(terms: list[Numbers], y: Numbers) -> Numbers:
    """Residuals of least squares with each row left out, ``e_i / (1 - h_ii)`` (Cook & Weisberg 1982, sec. 2.2.3)."""
    Q = np.linalg.qr(np.column_stack([np.ones(len(y)), *terms]))[0]
    leverage = np.minimum(np.square(Q).sum(axis=1), 1 - 1e-9)
    return np.asarray((y - Q @ (Q.T @ y)) / (1 - leverage))
