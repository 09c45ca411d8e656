"""The kept rows of the league by method, and how far one method is ahead of another on the same new rows."""

from __future__ import annotations

import numpy as np

from experiments.league_figures import chances
from experiments.league_methods import METHODS

DEFAULT = "prismap"
MODELS = ("forest, all features", "SVM, all features")
#: What two splits are taken to have in common of their new rows.
SHARED = 0.5


def part_name(method, group):
    """What a part is called."""
    return f"{method}, {group}"


def by_method(rows, group):
    """Rows by method or model of a group, then by set, of those that made a map."""
    kept = {}
    for method in METHODS:
        own = {row["set"]: row for row in rows.get(part_name(method, group), ()) if "set" in row and len(row) > 2}
        kept |= {method: own} if own else {}
    for row in rows.get(part_name("models", group), ()):
        kept.setdefault(row["model"], {})[row["set"]] = row
    return kept


# --- differences and their errors -------------------------------------------------------------------------------------


def standard_error(splits):
    """Of the mean over splits, each a list of figures of rows or units that are independent of each other.

    Splits share rows. They count as if two had half of their new rows in common: on the tables it is 30 %.
    """
    variance = np.mean([np.var(one, ddof=1) / len(one) for one in splits])
    return float(np.sqrt(variance * (1 + SHARED * (len(splits) - 1)) / len(splits)))


def gap(one, other):
    """By how many points a row is ahead of another of the same set, and the standard error of the paired difference."""
    differences = [difference(a, b) for a, b in zip(one["told"], other["told"], strict=True)]
    return 100 * float(np.mean([d.mean() for d in differences])), 100 * standard_error(differences)


def difference(one, other):
    """Paired differences of the votes on new rows, or of the shares of new units."""
    return np.subtract(*(chances(hits) if isinstance(hits, str) else hits for hits in (one, other)))


def gaps(kept, name, other=DEFAULT):
    """Points ahead of another method and their standard errors, by set."""
    if name == other or not {name, other} <= set(kept):
        return {}
    ours = {one: row["told"] for one, row in kept[other].items() if row.get("told")}
    return {  # a method that placed nothing in one of the splits is not compared on the set
        one: gap(row, kept[other][one]) for one, row in kept[name].items()
        if row.get("told") and len(row["told"]) == len(ours.get(one, ()))
    }  # fmt: skip


def overall(pairs):
    """The mean of points ahead over sets and its standard error over sets."""
    points = [points for points, _ in pairs.values()]
    return (float(np.mean(points)), float(np.std(points, ddof=1) / np.sqrt(len(points)))) if len(points) > 1 else None


def further(pairs, errors):
    """Sets on which one is ahead by more than so many standard errors."""
    return [one for one, (points, error) in pairs.items() if points > max(errors * error, 1e-9)]


def behind(pairs, errors):
    """Sets on which one is behind by more than so many standard errors."""
    return further({one: (-points, error) for one, (points, error) in pairs.items()}, errors)


def listed(names):
    """Names as a text; those with a comma in them are kept apart."""
    return ("; " if any(", " in name for name in names) else ", ").join(names)


def ceiling(group, rows):
    """Points by which the better of the models of all features is ahead of the default and its error, by set."""
    kept = by_method(rows, group)
    by_model = [gaps(kept, model) for model in MODELS]
    sets = [one for one in by_model[0] if all(one in pairs for pairs in by_model)]
    return {one: max(pairs[one] for pairs in by_model) for one in sets}
