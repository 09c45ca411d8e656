"""Which samples are not independent: what a user says of it and what the samples show, decided in one place.

1. Groups that a user names are units. So are stretches of time, if the user names an order.
2. Copies are one unit, always; near copies, too, unless that is switched off (`prismap.target._copies`).
3. Where a user says nothing, the order of the samples (`prismap.target._order`) and columns that name units
   (`prismap.target._suspicions`) are looked at. What is beyond doubt is acted upon. The rest is a suspicion, which a
   report states beside its figures.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prismap._util.arrays import Rows
from prismap._util.random import as_generator
from prismap._util.repr import Brief
from prismap.exceptions import InputError
from prismap.target._copies import Copies, exact_copies, join_units, near_copies, number_units
from prismap.target._kinds import Target
from prismap.target._labels import label_array, missing_mask
from prismap.target._order import SEEN, order_dependence, time_blocks
from prismap.target._suspicions import Suspicion, suspicious_columns
from prismap.target._units import Units, plural, read_groups, unit_word

#: What `copies` may be.
COPIES = ("auto", "exact", "none")


@dataclass(frozen=True, repr=False)
class Dependence(Brief):
    """What is known of the dependence of samples on each other.

    Attributes
    ----------
    units : that the target is learnt and judged by; None if every sample is one.
    suspected : units that the samples seem to come in, and that nothing was done about; None if there are none.
    """

    units: Units | None = None
    suspected: Units | None = None

    def take(self, rows: Any) -> Dependence:
        """The same of some of the samples."""
        units, suspected = (None if one is None else one.take(rows) for one in (self.units, self.suspected))
        return Dependence(units, suspected)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found without being asked for, and how to have it otherwise."""
        return tuple(one.words for one in (self.units, self.suspected) if one is not None and one.words)


def decide_units(
    X: Any, target: Target, *, data: str = "vectors", groups: Any = None, order: Any = None, copies: str = "auto",
    columns: Mapping[str, Any] | None = None, encoded: Mapping[str, Any] | None = None, seed: int = 0, raw: Any = None,
) -> Dependence:  # fmt: skip
    """The units of samples X.

    Parameters
    ----------
    X : vectors, dense or sparse, a square matrix of pairs, or objects, as `data` says.
    target : what is known of y.
    groups : one entry per sample, "none" if every sample is independent of all others, or None to look for units. What
        was decided before is given back as it is.
    order : one time or position per sample, or None.
    copies : "auto": copies and near copies are one unit. "exact": copies are. "none": neither.
    columns, encoded : columns of a table that may name units, and where features are that come from some of them.
    raw : the samples as they were given, if a batch was taken out of X; None if they are X. Copies are copies before
        that, and near copies after it: what was measured twice, in two batches, is alike only without them. And
        samples of a batch that follow each other are not alike because of it.
    """
    if isinstance(groups, Dependence):
        return groups
    if copies not in COPIES:
        raise InputError(f"copies must be one of {', '.join(map(repr, COPIES))}; got {copies!r}.")
    rng, n_rows = as_generator(seed), len(target)
    independent = isinstance(groups, str)
    if independent and groups != "none":
        raise InputError(f"groups must have one entry per row, or be 'none'; got {groups!r}.")
    if groups is not None and not independent and order is not None:
        raise InputError("groups and order say both which samples depend on each other: give one of them.")
    exact = None if copies == "none" else units_of_copies(exact_copies(X if raw is None else raw, data))
    given = None
    if order is not None:
        given = units_of_order(order, X, target, data)
    elif groups is not None and not independent:
        given = read_groups(groups, n_rows)
    if given is not None:
        return Dependence(joined(given, exact))
    copied = exact
    if copies == "auto":
        copied = units_of_copies(without_classes(near_copies(X, data, rng), target), exact)
    if independent or data != "vectors" or not target.exists:
        return Dependence(copied)
    # A column says what units are. Near copies explain why rows that follow each other are alike, and not the reverse.
    by_column = suspected_columns(X, target, exact, columns or {}, encoded or {}, rng)
    sure = next((one for one in by_column if one.sure), None)
    if sure is not None:
        return Dependence(joined(as_units(sure, n_rows), exact))
    first, place = one_of_each(copied, n_rows)
    by_order = order_dependence(X[first], target.take(first), rng)
    by_order = None if by_order is None else replace(by_order, units=by_order.units[place])
    if by_order is not None and by_order.sure:
        return Dependence(joined(as_units(by_order, n_rows), copied))
    doubtful = next(iter(by_column), by_order)
    return Dependence(copied, None if doubtful is None else as_units(doubtful, n_rows))


def suspected_columns(
    X: Any, target: Target, copied: Units | None, columns: Mapping[str, Any], encoded: Mapping[str, Any],
    rng: np.random.Generator,
) -> list[Suspicion]:  # fmt: skip
    """Columns that seem to name units, the most harmful first; of copies only the first is looked at."""
    first, place = one_of_each(copied, len(target))
    some = {name: label_array(values)[first] for name, values in columns.items()}
    suspicions = suspicious_columns(some, X[first], target.take(first), rng, encoded=encoded)
    return [replace(one, units=one.units[place]) for one in suspicions]


def one_of_each(copied: Units | None, n_rows: int) -> tuple[Rows, Rows]:
    """The first row of each unit, and the place of each row's unit among them."""
    if copied is None:
        return np.arange(n_rows), np.arange(n_rows)
    _, first, unit = np.unique(copied.codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order], np.argsort(order)[unit]


def as_units(suspicion: Suspicion, n_rows: int) -> Units:
    """A suspicion as units, with the sentence that says what they are."""
    n_units = suspicion.n_units
    if suspicion.name is None:
        name, source, way_out = "run of rows", "order", "order= names a time or position to judge by"
        what = (
            f"Rows that follow each other are alike: {n_rows} rows are about {n_units} runs of {n_rows / n_units:.0f}"
        )
    else:
        name, source = unit_word(suspicion.name), f"column {suspicion.name!r}"
        way_out = f"groups={suspicion.name!r} judges by them"
        what = f"Rows of one {suspicion.name!r} are alike: {n_rows} rows are {n_units} {plural(name)}"
    if suspicion.sure:
        words = f"{what}, and are judged by them (groups='none' judges by rows)."
    else:
        words = f"{what}, and were taken as independent ({way_out})."
    return Units(suspicion.units, name, suspicion.in_order, source=source, words=words)


def without_classes(copies: Copies, target: Target) -> Copies:
    """Near copies without groups that are most of a class: their rows are alike because they are of one class.

    A class of ten rows or so that lies apart looks like a group of copies, and nothing in the rows can tell. If most of
    what was found is of this kind, the rest is no more than that.
    """
    codes = target.shown.codes if target.exists else None
    if codes is None or not copies:
        return copies
    known = codes >= 0
    pair = copies.units[known] * (int(codes.max()) + 1) + codes[known]
    _, first, of_row, size = np.unique(pair, return_index=True, return_inverse=True, return_counts=True)
    most = 2 * size > np.bincount(codes[known])[codes[known][first]]
    dissolved = np.zeros(len(codes), dtype=bool)
    dissolved[known] = most[of_row]
    dissolved &= np.bincount(copies.units)[copies.units] > 1
    every = np.arange(len(codes))
    units = every if 2 * dissolved.sum() > copies.n_rows else np.where(dissolved, len(codes) + every, copies.units)
    return replace(copies, units=number_units(units))


def units_of_copies(copies: Copies, exact: Units | None = None) -> Units | None:
    """Copies as units; None if there are none, or if all rows are the same.

    exact : exact copies, of which `copies` may know more, because it knows near ones.
    """
    codes = copies.units if exact is None else join_units(copies.units, exact.codes)
    n_units = int(codes.max(initial=-1)) + 1
    if n_units == len(codes) or n_units < 2:
        return None
    if exact is not None and n_units == int(exact.codes.max()) + 1:
        return exact
    nearly, more = copies.ratio != math.inf, np.bincount(codes)
    kind = "copies" if not nearly else "nearly copies" if exact is None else "copies or nearly copies"
    words = (
        f"{int(more[more > 1].sum())} of {len(codes)} rows are {kind} of each other. They are judged as {n_units} "
        f"different rows (copies={'exact' if nearly else 'none'!r} judges by rows)."
    )
    return Units(codes, "different row", source="near copies" if nearly else "copies", words=words)


def units_of_order(order: Any, X: Any, target: Target, data: str) -> Units:
    """Stretches of time as units."""
    values = label_array(order)
    if values.ndim != 1 or len(values) != len(target):
        raise InputError(f"order must have one entry per row; got {np.shape(values)} for {len(target)} rows.")
    missing = missing_mask(values)
    if missing.any():
        raise InputError(f"order has no value in {int(missing.sum())} rows: drop them, or fill in their time.")
    if data != "vectors":
        raise InputError("order needs data='vectors': how long rows stay alike is measured on their features.")
    codes, _ = time_blocks(values, X, target)
    n_stretches = int(codes.max()) + 1
    fewest = SEEN.fewest_stretches
    if n_stretches < fewest:
        codes = stretches(values, fewest)
        n_stretches = int(codes.max()) + 1
    if n_stretches < fewest:
        raise InputError(
            f"order has {n_stretches} different stretches, and at least {fewest} are needed: leave it out."
        )
    return Units(codes, "stretch of time", in_order=True, source="order")


def stretches(values: Any, n: int) -> Any:
    """About equally many samples in each of n stretches; samples of one moment are in one stretch."""
    moments = np.unique(values, return_inverse=True)[1].ravel()
    before = np.searchsorted(np.sort(moments), moments, side="left")
    return np.unique(before * n // len(moments), return_inverse=True)[1].ravel()


def joined(units: Units | None, copied: Units | None) -> Units | None:
    """Units that hold whole groups and all copies of their rows."""
    if units is None or copied is None:
        return copied if units is None else units
    codes = join_units(units.codes, copied.codes)
    if int(codes.max()) + 1 == int(units.codes.max()) + 1 or units.in_order:
        return units  # copies inside groups, or a repeated state: time says which are near
    words = f"{units.words} {copied.words}".strip()
    return replace(units, codes=codes, words=words)
