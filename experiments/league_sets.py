"""The sets of the league: tables of Rhodes et al. (2024), sets of the field, and some whose rows belong together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA

from experiments import field_sets, units
from experiments.common import load
from experiments.dependence import league_table

#: Without `artificial_tree`, which has the rows of `waveform`.
TABLES = (
    "audiology", "balance_scale", "breast_cancer", "car", "chess", "crx", "diabetes", "ecoli_5", "flare1", "glass",
    "heart_disease", "heart_failure", "hepatitis", "hill_valley", "ionosphere", "iris", "lymphography", "optdigits",
    "parkinsons", "seeds", "segmentation", "tic-tac-toe", "titanic", "treeData", "waveform", "wine", "zoo",
)  # fmt: skip
MOST_ROWS, HELD_OUT = 700, 0.3
#: What a quick run takes: sets without a folder of data.
QUICK = ("iris", "wine")


@dataclass(frozen=True, eq=False)
class Case:
    """Rows with classes, new rows, the columns of each feature, and which fitted and new rows belong together."""

    X: np.ndarray
    y: np.ndarray
    new: np.ndarray
    y_new: np.ndarray
    blocks: list[np.ndarray]
    units: np.ndarray | None = None
    new_units: np.ndarray | None = None


def spread_sample(rng, share, *keys):
    """A mask of a share of the rows that has this share of each value of the keys, as nearly as whole rows allow.

    The rows are put into the order of the keys, those alike at random, and every 1/share-th is taken.
    """
    n = len(keys[0])
    order = np.lexsort((rng.random(n), *reversed(keys)))
    steps = np.floor(rng.random() + share * np.arange(n + 1))
    mask = np.zeros(n, dtype=bool)
    mask[order] = np.diff(steps) > 0
    return mask


def table_case(name, folder, split):
    """A table: at most 700 rows, 30 % of them held out, both spread over the classes; gaps at the column's median."""
    table = league_table(Path(folder) / "league" / f"{name}.csv")
    X, y, blocks = filled(table["X"]), table["y"], list(table["encoded"].values())
    rng = np.random.default_rng(split)
    rows = np.flatnonzero(spread_sample(rng, min(1.0, MOST_ROWS / len(y)), y))
    held_out = spread_sample(rng, HELD_OUT, y[rows])
    return cut(X, y, rows[~held_out], rows[held_out], blocks)


def filled(X):
    """Gaps at the column's median."""
    return np.where(np.isnan(X), np.nanmedian(X, axis=0), X)


def cut(X, y, fitted, new, blocks=None, units=None):
    """A case of some rows and others; classes are numbered as far as they occur."""
    codes = np.unique(y[np.concatenate([fitted, new])], return_inverse=True)[1]
    blocks = [np.array([column]) for column in range(X.shape[1])] if blocks is None else blocks
    own, others = (None, None) if units is None else (units[fitted], units[new])
    return Case(X[fitted], codes[: len(fitted)], X[new], codes[len(fitted) :], blocks, own, others)


def field_case(name, folder, split, *, quick=False):
    """A set of the field, as there: 90 to 500 fitted rows and at most 500 others."""
    one = field_sets.problem(name, folder, split, quick=quick)
    X, y = np.vstack([one.X, one.X_test]), np.concatenate([one.y, one.y_test])
    return cut(X, y, np.arange(len(one.X)), np.arange(len(one.X), len(X)))


# --- rows that belong together ----------------------------------------------------------------------------------------


def generated(make):
    """A generated set: rows, classes, and the unit of each row."""
    return lambda folder, rng: make(rng)


def parkinsons(folder, rng):
    """Recordings of 32 people, six or seven each, one after another; stretches of six stand for the people."""
    table = league_table(Path(folder) / "league" / "parkinsons.csv")
    return filled(table["X"]), table["y"], np.arange(len(table["y"])) // 6


def genomes(folder, rng):
    """Continents of people; units are the 26 populations."""
    file = load(folder, "genomes_1kgp")
    return file["X"], np.unique(file["continent"], return_inverse=True)[1], file["y"]


def coil20(folder, rng):
    """Twenty objects; units are arcs of nine views, which are five degrees apart."""
    file = load(folder, "coil20")
    X = PCA(30, random_state=0).fit_transform(file["X"])
    view = np.concatenate([np.arange(np.sum(file["y"] == one)) for one in np.unique(file["y"])])
    order = np.argsort(file["y"], kind="stable")
    arc = np.empty(len(X), dtype=int)
    arc[order] = file["y"][order] * 100 + view // 9
    return X, file["y"], arc


def zeisel(folder, rng):
    """Seven classes of cells; units are their 48 subclasses."""
    file = load(folder, "sc_zeisel")
    X = file["X"].astype(float)
    X = np.log1p(1e4 * X / np.maximum(X.sum(axis=1, keepdims=True), 1))
    return PCA(30, random_state=0).fit_transform(X), file["y"], file["y"].astype(int) * 1000 + file["y_sub"].astype(int)


UNITS = {
    "coins of 40 patients x 15": generated(units.patients(40, 15)),
    "coins of 150 rows x 4 copies": generated(units.copies(0.0)),
    "effect in 80 patients x 10": generated(units.patients(80, 10, effect=True)),
    "parkinsons, people": parkinsons, "genomes, populations": genomes, "coil20, arcs of views": coil20,
    "zeisel, subclasses": zeisel,
}  # fmt: skip
WITHOUT_FILE = tuple(UNITS)[:3]


def unit_cases(name, folder, split):
    """Two cases of the same rows: 30 % of the rows held out, and 30 % of the units."""
    rng = np.random.default_rng(split)
    X, y, unit = UNITS[name](folder, rng)
    rows = np.flatnonzero(spread_sample(rng, min(1.0, MOST_ROWS / len(y)), y, unit))
    X, y, unit = X[rows], np.unique(y[rows], return_inverse=True)[1], np.unique(unit[rows], return_inverse=True)[1]
    of_unit = y[np.unique(unit, return_index=True)[1]]
    for held_out in (spread_sample(rng, HELD_OUT, y), spread_sample(rng, HELD_OUT, of_unit)[unit]):
        yield cut(X, y, np.flatnonzero(~held_out), np.flatnonzero(held_out), units=unit)
