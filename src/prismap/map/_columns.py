"""Warnings about the columns of a map: different scales, copies of the target, clusters that follow one column.

And about a target that names the rows rather than their classes.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from prismap._util.blocks import row_blocks
from prismap._util.missing import mean_filled, present_in
from prismap.exceptions import PrismapWarning
from prismap.map._fitted import FittedMap
from prismap.map._recipe import Given
from prismap.quality import find_clusters
from prismap.quality._statements import Statement
from prismap.relevance._columns import ExplainedCluster, explained_clusters
from prismap.relevance._pairs import leaking_pairs
from prismap.relevance._target_columns import (
    Leak,
    leaking_columns,
    screened_columns,
    target_groups,
    telling_columns,
    telling_gaps,
)
from prismap.target import Target


@dataclass(frozen=True)
class SpreadRules:
    """When the spreads of columns are unequal.

    Attributes
    ----------
    unequal : spreads that differ by more than this factor decide what a map shows.
    few_columns : up to so many columns, the widest is compared with the narrowest; of more, with the median: of
        many pixels, words or wavelengths some hardly vary, though all have one unit.
    most_bytes : bytes that the spreads may take meanwhile.
    """

    unequal: float = 10.0
    few_columns: int = 10
    most_bytes: int = 32 * 2**20


SPREADS = SpreadRules()

#: Labelled rows from which on a class for every second of them is doubtful.
FEWEST_LABELLED = 20


@dataclass(frozen=True)
class CloseLook:
    """How many columns are looked at closely, and how many findings are reported.

    Attributes
    ----------
    columns : columns that are looked at.
    leaks : leaks that are reported.
    clusters : clusters that columns explain.
    named : columns that are named of each.
    """

    columns: int = 200
    leaks: int = 3
    clusters: int = 8
    named: int = 3


CLOSE = CloseLook()


def uneven_spreads(rows: Any, names: Any = None) -> str | None:
    """A warning with its repair if columns differ in spread by more than a factor of ten; None if all is well."""
    if sp.issparse(rows) or rows.shape[1] < 2:
        return None
    spread, two_valued = column_spreads(mean_filled(rows))
    measured = np.flatnonzero((spread > 0) & ~two_valued)  # yes / no has no unit
    if len(measured) < 2:
        return None
    order = measured[np.argsort(spread[measured], kind="stable")]
    widest, other = order[-1], order[0 if len(order) <= SPREADS.few_columns else (len(order) - 1) // 2]
    factor = spread[widest] / spread[other]
    if factor <= SPREADS.unequal:
        return None

    def label(j: int) -> str:
        return repr(str(names[j])) if names is not None else f"column {j}"

    return (
        f"Columns differ in spread by a factor of {factor:.0f}: {label(widest)} ({spread[widest]:.3g}) rules the "
        f"distances, {label(other)} ({spread[other]:.3g}) hardly counts. Unless they share a unit, bring them to one "
        "scale: make_pipeline(StandardScaler(), PrisMap()), or PrisMap.from_table."
    )


def column_spreads(rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Standard deviations of the columns, and which of them have two values at most; a block of rows at a time."""
    mean, low, high = rows.mean(axis=0, dtype=np.float64), rows.min(axis=0), rows.max(axis=0)
    squares, two_valued = np.zeros(len(mean)), np.ones(len(mean), dtype=bool)
    for block in row_blocks(len(rows), 24.0 * len(mean), budget=SPREADS.most_bytes):
        part = rows[block]
        squares += np.square(part - mean).sum(axis=0)
        two_valued &= ((part == low) | (part == high)).all(axis=0)
    return np.sqrt(squares / len(rows)), two_valued


def leaks_of(fitted: FittedMap) -> list[Leak]:
    """Columns that alone, by their gaps or in pairs give the target away, the surest first of each kind.

    Of many columns those are looked at that differ most between the classes, and of rows that are not independent one
    per unit: any value of a copy gives its target away.
    """
    rows, target, seed = fitted.rows, fitted.target, fitted.seed
    if fitted.data.is_matrix or sp.issparse(rows) or not target.exists or target.values.ndim > 1:
        return []
    single = target.representatives()
    target, gaps = target.take(single), {name: gap[single] for name, gap in gaps_of(fitted).items()}
    columns = named_columns(fitted.given, mean_filled(rows)[single])
    among = screened_columns(columns, target_groups(target), CLOSE.columns)
    by_gaps = telling_gaps({name: gap for name, gap in gaps.items() if gap.any()}, target, n_columns=len(columns))
    gappy = {leak.names for leak in by_gaps}
    alone = leaking_columns(among, target, seed=seed, n_columns=len(columns))
    alone = [leak for leak in alone if leak.names not in gappy]  # what is filled in where it is missing is a copy, too
    known = {name for leak in (*by_gaps, *alone) for name in leak.names}
    pairs = leaking_pairs({name: values for name, values in among.items() if name not in known}, target, seed=seed)
    return [leak for kind in (alone, pairs, by_gaps) for leak in kind[: CLOSE.leaks]]


def gaps_of(fitted: FittedMap) -> dict[str, NDArray[np.bool_]]:
    """Where the columns that lack some values lack them, by name."""
    if fitted.data.is_matrix or (present := present_in(fitted.rows)) is None:
        return {}
    gaps = named_columns(fitted.given, ~present)
    of_column = {name: np.asarray(gap.reshape(len(gap), -1).any(axis=1)) for name, gap in gaps.items()}
    return {name: gap for name, gap in of_column.items() if gap.any()}


def column_notes(fitted: FittedMap) -> list[str]:
    """Clusters with the columns that set them apart; of many columns those that differ most between the clusters.

    Whether these have to do with the target is asked of one row per unit: rows of a unit share what is no relation.
    """
    rows, target, seed = fitted.rows, fitted.target, fitted.seed
    if fitted.data.is_matrix or sp.issparse(rows):
        return []
    columns = named_columns(fitted.given, mean_filled(rows))
    labels = find_clusters(fitted.positions, random_state=seed)
    by_cluster = screened_columns(columns, labels, CLOSE.columns)
    clusters = explained_clusters(labels, by_cluster, seed=seed)[: CLOSE.clusters]
    telling = None
    if target.exists and target.values.ndim == 1:
        names = {name for cluster in clusters for name in list(cluster.columns)[: CLOSE.named]}
        single = target.representatives()
        named = {name: values[single] for name, values in by_cluster.items() if name in names}
        telling = telling_columns(named, target.take(single), seed=seed, n_columns=len(columns))
    return cluster_notes(clusters, target, telling, gaps_of(fitted))


def column_findings(fitted: FittedMap) -> tuple[Statement, ...]:
    """Columns that give the target away, as warnings, and clusters with the columns that set them apart."""
    n_rows = int(fitted.target.labelled.sum())
    return (
        *(leak_warning(leak, n_rows) for leak in leaks_of(fitted)),
        *(Statement("cluster_columns", words) for words in column_notes(fitted)),
    )


def leak_warning(leak: Leak, n_rows: int) -> Statement:
    """That columns give the target away."""
    return Statement(
        {"copy": "leaking_column", "pair": "leaking_pair", "gaps": "telling_gaps"}[leak.kind], str(leak), "warning",
        "yes", {"error": leak.error}, about=leak.names, n_rows=n_rows,
    )  # fmt: skip


def cluster_notes(
    clusters: list[ExplainedCluster], target: Target, telling: dict[str, bool | None] | None,
    gaps: dict[str, NDArray[np.bool_]],
) -> list[str]:  # fmt: skip
    """A sentence for the clusters that follow the same columns."""
    same: dict[str, list[str]] = {}
    for cluster in clusters:
        if cluster.columns:
            members = usual_class(target.take(cluster.rows))
            missing = {name for name, gap in gaps.items() if 2 * gap[cluster.rows].mean() > 1}
            same.setdefault(follows(cluster, telling, missing), []).append(f"{percent(cluster.share)}{members}")
    return [
        f"{'A cluster' if len(shares) == 1 else f'{len(shares)} clusters'} of {', '.join(shares)} of the rows "
        f"{words if len(shares) == 1 else words.replace('follows', 'follow', 1)}"
        for words, shares in same.items()
    ]


def percent(share: float) -> str:
    """A share in words."""
    return f"{100 * share:.0f} %"


def named_columns(given: Given, rows: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Features by column: those of a category together."""
    if given.encoding is None:
        return {name: rows[:, j] for j, name in enumerate(given.column_names)}
    columns, start = {}, 0
    for column in given.encoding.columns:
        columns[column.name] = rows[:, start : start + len(column.center)]
        start += len(column.center)
    return columns


def usual_class(target: Target) -> str:
    """The class of most rows of a cluster, in words; none if there is no such class."""
    return "" if target.majority is None else f" ({percent(target.majority[1])} {target.majority[0]})"


def follows(cluster: Any, telling: dict[str, bool | None] | None, missing: set[str]) -> str:
    """Which columns a cluster follows, and whether they have to do with the target, as far as that is known.

    missing : the columns that most of its rows lack: what these have in common is a gap, and no value.
    """
    names = list(cluster.columns)[: CLOSE.named]
    words = f"follows {', '.join(f'the gaps of {name!r}' if name in missing else repr(name) for name in names)}"
    if telling is None:
        return f"{words}."
    speaking, silent = ([name for name in names if telling[name] is answer] for answer in (True, False))
    if speaking == names:
        return f"{words}, which {'tells' if len(names) == 1 else 'tell'} about the target."
    if silent == names:
        return f"{words}, which alone {'tells' if len(names) == 1 else 'tell'} nothing about the target."
    if silent:
        say = "says" if len(silent) == 1 else "say"
        return f"{words}; of these {', '.join(map(repr, silent))} alone {say} nothing about the target."
    if speaking:
        tell = "tells" if len(speaking) == 1 else "tell"
        return f"{words}; of these {', '.join(map(repr, speaking))} {tell} about the target."
    return f"{words}."


def warn_of_columns(rows: Any, names: Any) -> tuple[str, ...]:
    """Say that values are missing, and that columns are constant or differ much in spread.

    The first and the last are returned for the report.
    """
    if sp.issparse(rows):
        return ()
    notes = []
    if (present := present_in(rows)) is not None:
        notes.append(
            f"{1 - present.mean():.1%} of the values are missing, in {int((~present.all(axis=0)).sum())} of "
            f"{rows.shape[1]} columns. They are left out: distances go over the columns that both rows have, scaled up."
        )
        warnings.warn(notes[0], PrismapWarning, stacklevel=4)
    constant = np.flatnonzero(np.ptp(mean_filled(rows), axis=0) == 0)
    if len(constant):
        labels = [str(names[j]) if names is not None else f"column {j}" for j in constant]
        shown = ", ".join(labels[:8]) + (f" and {len(labels) - 8} more" if len(labels) > 8 else "")
        warnings.warn(
            f"{len(constant)} of {rows.shape[1]} columns are constant and carry no information (kept): {shown}.",
            PrismapWarning,
            stacklevel=4,
        )
    if (uneven := uneven_spreads(rows, names)) is not None:
        notes.append(uneven)
        warnings.warn(uneven, PrismapWarning, stacklevel=4)
    return tuple(notes)


def warn_of_names(target: Target) -> tuple[str, ...]:
    """Say that a target names the rows rather than their classes; returned for the report."""
    n_rows = int(target.labelled.sum())
    if n_rows < FEWEST_LABELLED or not target.names_rows:
        return ()
    note = (
        f"The target has {target.n_classes} classes for {n_rows} rows, fewer than two rows for each, which cannot be "
        "judged. If it names the rows, leave it out. If it holds quantities or dates as text, give them as numbers."
    )
    warnings.warn(note, PrismapWarning, stacklevel=4)
    return (note,)
