"""`Target`: what is known of y, in one value, and the verbs that need all of it together.

=================  ====================================  ===============  ============================================
class              ``values``                            unlabelled       y
=================  ====================================  ===============  ============================================
`NoTarget`         (n, 0)                                every row        none
`ClassTarget`      (n,) codes of classes, whole numbers  -1               one column of classes, perhaps with an order
`RealTarget`       (n,) or (n, columns) numbers          NaN              one quantity, or several of equal weight
`SeveralTarget`    (n, columns) codes and numbers        NaN throughout   columns with a kind each, or an order
=================  ====================================  ===============  ============================================

`prismap.target._making` makes them of what a user gives. From there on nothing encodes y again, and only what must
calculate otherwise with classes than with numbers asks which it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from prismap._util.arrays import Rows
from prismap._util.repr import Brief
from prismap.target._copies import join_units
from prismap.target._folds import (
    bins,
    consecutive_folds,
    deal_folds,
    deal_units,
    draw_rows,
    draw_units,
    exchange_units,
    joint_groups,
    sample_rows,
    shuffle_entries,
    shuffle_inside,
    split_rows,
)
from prismap.target._units import Units

#: A class with fewer rows than there are folds cannot be in each of them.
FEWEST_IN_FOLDS = 5
#: A prediction of a number is right if it misses it by no more than this, in its standard deviations.
TOLERANCE = 0.5
Generator = np.random.Generator


@dataclass(frozen=True, eq=False, repr=False)
class Target(Brief, ABC):
    """What is known of y.

    Attributes
    ----------
    values : one entry, or row of entries, per sample; see the table of the module.
    units : the unit of each sample: samples of one unit are not independent of each other. By default every sample is
        a unit of its own.
    name : of the column, as a user gave it; None if it had none.
    unit_name : what a unit is called, such as "patient".
    in_order : whether units are stretches of time, numbered in its order: then neither are samples of a unit
        independent of those of the next one.
    levels, n_levels : the level of each sample in a column that is known and of no interest (a batch), and how many
        levels there are; 0 without such a column. What is permuted stays inside its level.
    """

    values: NDArray[Any]
    units: Rows = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    name: str | None = None
    unit_name: str = field(default="unit", kw_only=True)
    in_order: bool = field(default=False, kw_only=True)
    levels: Rows = field(default_factory=lambda: np.empty(0, dtype=np.intp), kw_only=True)
    n_levels: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        if len(self.units) != len(self.values):
            object.__setattr__(self, "units", np.arange(len(self.values)))
        if len(self.levels) != len(self.values):
            object.__setattr__(self, "levels", np.zeros(len(self.values), dtype=np.intp))

    def __len__(self) -> int:
        return len(self.values)

    # --- what the kinds differ in ---

    @property
    @abstractmethod
    def kind(self) -> Any:
        """ "class", "ordered", "real" or "none"; of several columns a tuple of these."""

    @property
    @abstractmethod
    def labelled(self) -> NDArray[np.bool_]:
        """Which samples have a target."""

    @property
    @abstractmethod
    def groups(self) -> Rows:
        """Whole numbers of which folds and draws get equal shares, -1 for unlabelled samples."""

    @property
    def classes(self) -> Any:
        """The classes; None of numbers and without a target, a tuple with those of each of several columns."""
        return None

    @property
    def codes(self) -> Rows | None:
        """The codes of one column of classes; None of all others."""
        return None

    @property
    def texts(self) -> list[str | None] | None:
        """The name of each sample's class, None where it has none; None of all but one column of classes."""
        return None

    @property
    def tolerance(self) -> float:
        """Predictions that miss the target by no more are right: none for classes."""
        return 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """The names of several columns."""
        return ()

    @property
    def reported_kind(self) -> str:
        """What a report calls the target."""
        return str(self.kind)

    @property
    def n_classes(self) -> int:
        """How many classes one column has; 0 of all others."""
        return 0

    @property
    def members(self) -> list[tuple[Any, Rows]]:
        """The samples of each class of one column, by its name; none of all others."""
        return []

    @property
    def majority(self) -> tuple[Any, float] | None:
        """The class of more than half of the labelled samples, and its share of them; None if there is none."""
        return None

    @property
    def names_rows(self) -> bool:
        """Whether there are fewer than two labelled samples per class: then classes are the names of samples."""
        return False

    @property
    def can_be_parted(self) -> bool:
        """Whether samples that are left out can leave others of their class: there are two such classes, or none."""
        return True

    @property
    def fewest_values(self) -> int:
        """The different values that a column needs, so that there is something to tell apart."""
        return 3

    @property
    def numeric(self) -> NDArray[np.float64]:
        """What means predict: an indicator of each class, or a number in its standard deviations, (n, columns)."""
        return np.hstack([column.numeric for column in self.columns])

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a file keeps of the values (`prismap.target._stored` has the inverse)."""
        return {"target": self.values}

    @property
    def columns(self) -> tuple[Target, ...]:
        """A target for each column."""
        return (self,)

    # --- units ---

    @cached_property
    def independent(self) -> bool:
        """Whether every sample is a unit of its own."""
        return not self.in_order and len(np.unique(self.units)) == len(self.units)

    @property
    def n_units(self) -> int:
        """The number of units that have a target."""
        return len(np.unique(self.units[self.labelled]))

    @cached_property
    def varies_inside(self) -> bool:
        """Whether samples of one unit differ in their target."""
        known = self.labelled_rows
        if self.independent or not len(known):
            return False
        values = self.values[known].reshape(len(known), -1)
        unit = np.unique(self.units[known], return_inverse=True)[1]
        first = np.full(int(unit.max()) + 1, -1)
        first[unit[::-1]] = np.arange(len(known))[::-1]
        return bool((values != values[first[unit]]).any())

    @property
    def dependent_pairs(self) -> NDArray[np.bool_]:
        """(n, n), which pairs of samples are not independent of each other; every one of itself."""
        apart = np.abs(self.units[:, None] - self.units)
        return np.asarray(apart <= (1 if self.in_order else 0))

    def with_units(self, units: Units) -> Self:
        """The same target of samples that are not independent of each other."""
        return replace(self, units=units.codes, unit_name=units.name, in_order=units.in_order)

    def joining(self, alike: Rows) -> Self:
        """The same target whose units hold together what is `alike`, a number for each sample; in time, as it is.

        Rows that are equal by chance are independent of each other: each has a vote, and counts in an error. But what
        is learnt without one of them must be learnt without the others, or all of its equals but those of its own class
        would say what they say of it. With fewer different samples than folds need, the target is left as it is.
        """
        if self.in_order or len(np.unique(alike)) == len(alike):
            return self
        units = join_units(self.units, alike)
        few = len(np.unique(units[self.labelled])) < FEWEST_IN_FOLDS
        return self if few or units.max() + 1 == len(np.unique(self.units)) else replace(self, units=units)

    def apart(self, rows: Rows, others: Rows) -> Rows:
        """Those of the samples `rows` that are independent of all the samples `others`."""
        theirs = np.unique(self.units[others])
        if self.in_order:
            theirs = np.unique(np.concatenate([theirs - 1, theirs, theirs + 1]))
        return rows[~np.isin(self.units[rows], theirs)]

    # --- verbs ---

    @property
    def exists(self) -> bool:
        """Whether there is a target at all."""
        return True

    @property
    def shown(self) -> Target:
        """The column that pictures are coloured by and trust is about: the first."""
        return self.columns[0]

    @property
    def labelled_rows(self) -> Rows:
        """Numbers of the samples that have a target."""
        return np.flatnonzero(self.labelled)

    def with_values(self, values: NDArray[Any]) -> Self:
        """The same target of the same samples, with other values."""
        return replace(self, values=values)

    def take(self, rows: Any) -> Self:
        """The target of some of the samples."""
        return replace(self, values=self.values[rows], units=self.units[rows], levels=self.levels[rows])

    def inside(self, levels: Rows, n_levels: int) -> Self:
        """The target of samples whose levels of a column of no interest are these."""
        return replace(self, levels=levels, n_levels=n_levels)

    def absent(self) -> NoTarget:
        """No target of the same samples, in the same levels."""
        return NoTarget(np.empty((len(self), 0)), levels=self.levels, n_levels=self.n_levels)

    def joined(self, values: NDArray[Any]) -> Self:
        """The target with that of more samples, each of which is a unit of its own."""
        first = int(self.units.max(initial=-1)) + 2  # not the next one in time
        units = np.concatenate([self.units, first + np.arange(len(values))])
        return replace(self, values=np.concatenate([self.values, values]), units=units, levels=self.levels[:0])

    def permuted(self, rng: Generator) -> Self:
        """The target with what is known of it permuted among the labelled samples, those of a level among themselves.

        Units exchange their values as a whole, and samples of a unit exchange theirs with each other.
        """
        return self.with_values(self.values[self.permuted_rows(rng)])

    def permuted_rows(self, rng: Generator) -> Rows:
        """The number of the sample whose value each sample gets in a permutation."""
        rows, numbers = self.labelled_rows, np.arange(len(self))
        if self.n_levels < 2:
            return self._exchanged(numbers, rows, rng)
        for level in np.unique(self.levels[rows]):
            numbers = self._exchanged(numbers, rows[self.levels[rows] == level], rng)
        return numbers

    def _exchanged(self, values: NDArray[Any], rows: Rows, rng: Generator) -> NDArray[Any]:
        if self.independent:
            return shuffle_entries(values, rows, rng)
        return exchange_units(values, rows, self.units, rng)

    def permuted_rows_inside(self, rng: Generator) -> Rows:
        """The number of the sample of its unit whose value each sample gets: units keep what they have as a whole."""
        return shuffle_inside(np.arange(len(self)), self.labelled_rows, self.units, rng)

    def folds(self, rows: Rows, n_folds: int, rng: Generator) -> Rows:
        """The fold of each of some labelled samples, with equal shares of what is alike.

        Of whole units (`deal_units`), if samples are not independent; in time, of consecutive ones.
        """
        if self.independent:
            return deal_folds(self.groups[rows], n_folds, rng)
        if self.in_order:
            return consecutive_folds(self.units[rows], n_folds)
        return deal_units(self.groups[rows], self.units[rows], n_folds, rng)

    def splits(self, n_splits: int, rng: Generator) -> list[Rows]:
        """The labelled samples in parts that are left out one after the other, of whole units."""
        known = self.labelled_rows
        seed = int(rng.integers(2**31))
        if not self.independent:
            folds = self.folds(known, n_splits, rng)
            return [known[folds == fold] for fold in rng.permutation(np.unique(folds))]
        parts = split_rows(len(known), n_splits, seed, self._split_groups(known))
        return [known[out] for _, out in parts]

    def _split_groups(self, rows: Rows) -> Rows | None:
        """What the parts of `splits` get equal shares of; None: nothing."""
        return None

    def draw(self, most: int | None, rng: Generator, *, whole_units: bool = False) -> Rows:
        """Sorted numbers of at most `most` labelled samples, with equal shares of what is alike.

        whole_units : whether samples that are not drawn must be independent of those that are.
        """
        if whole_units and not self.independent:
            return draw_units(self.groups, self.units, most, rng)
        return draw_rows(self.groups, most, rng)

    def share_of_units(self, most: int, rng: Generator) -> Rows:
        """Sorted numbers of at most `most` samples, labelled or not, equal shares of all units if there is room."""
        if len(self) <= most:
            return np.arange(len(self))
        units = np.arange(len(self)) if self.independent else self.units
        if len(np.unique(units)) > most:
            return np.sort(rng.choice(len(self), most, replace=False))
        return sample_rows(units, most, rng)

    def spread(self, folds: Rows) -> Rows:
        """Folds of some samples (-1: none), and of all others that share their unit."""
        if self.independent:
            return folds
        known = folds >= 0
        units, first = np.unique(self.units[known], return_index=True)
        shared, spread = np.isin(self.units, units), folds.copy()
        spread[shared] = folds[known][first[np.searchsorted(units, self.units[shared])]]
        return spread

    def representatives(self) -> Rows:
        """Sorted numbers of one sample per unit, a labelled one if there is one; of independent samples, all."""
        labelled_first = np.argsort(~self.labelled, kind="stable")
        first = np.unique(self.units[labelled_first], return_index=True)[1]
        return np.sort(labelled_first[first])

    def sample(self, most: int, rng: Generator) -> Rows:
        """Sorted numbers of at most `most` samples, labelled or not, with equal shares of the classes."""
        return sample_rows(np.zeros(len(self), dtype=np.intp), most, rng)

    def present(self) -> Target:
        """The same without the classes that no labelled sample has."""
        return self

    @property
    def named(self) -> NDArray[Any]:
        """The values as a user gives them: classes by their names, None where a sample has none."""
        return self.values

    def indicators(self, counted: Any = None) -> Target:
        """What the mean of neighbours can be compared with: of several columns numbers, of one the target itself."""
        return self


@dataclass(frozen=True, eq=False, repr=False)
class NoTarget(Target):
    """No target: the map shows the data alone."""

    @classmethod
    def of(cls, n_rows: int) -> NoTarget:
        """No target of so many samples."""
        return cls(np.empty((n_rows, 0)))

    kind = "none"
    exists = False

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """No sample is."""
        return np.zeros(len(self), dtype=bool)

    @property
    def groups(self) -> Rows:
        """All samples are alike."""
        return np.zeros(len(self), dtype=np.intp)

    @property
    def columns(self) -> tuple[Target, ...]:
        """There are none."""
        return ()

    @property
    def shown(self) -> Target:
        """Nothing is."""
        return self

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Nothing is kept."""
        return {}

    def permuted(self, rng: Generator) -> Self:
        """Nothing to permute."""
        return self


@dataclass(frozen=True, eq=False, repr=False)
class ClassTarget(Target):
    """Classes, as codes from 0 on in the order of `names_of_classes`.

    Attributes
    ----------
    names_of_classes : the classes as they were given.
    ordered : whether they have an order, from the lowest to the highest.
    """

    names_of_classes: NDArray[Any] = field(default_factory=lambda: np.empty(0))
    ordered: bool = False

    @property
    def kind(self) -> str:
        """ "class" or "ordered"."""
        return "ordered" if self.ordered else "class"

    @property
    def classes(self) -> NDArray[Any]:
        """The classes as they were given."""
        return self.names_of_classes

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which samples have a class."""
        known: NDArray[np.bool_] = self.values >= 0
        return known

    @property
    def groups(self) -> Rows:
        """The codes."""
        return self.values

    @property
    def codes(self) -> Rows:
        """The codes."""
        return self.values

    @property
    def named(self) -> NDArray[Any]:
        """The class of each sample by its name, None where it has none."""
        names = np.empty(len(self.classes) + 1, dtype=object)
        names[:-1], names[-1] = self.classes.tolist(), None
        return np.asarray(names[self.values])

    @property
    def n_classes(self) -> int:
        """How many classes there are, with those that no sample has."""
        return len(self.classes)

    @property
    def members(self) -> list[tuple[Any, Rows]]:
        """The samples of each class, by its name."""
        return [(name, np.flatnonzero(self.values == code)) for code, name in enumerate(self.classes)]

    @property
    def majority(self) -> tuple[Any, float] | None:
        """The class of more than half of the labelled samples, and its share of them; None if there is none."""
        known = self.values[self.labelled]
        counts = np.bincount(known, minlength=len(self.classes))
        most = int(counts.argmax())
        return (self.classes[most], counts[most] / len(known)) if 2 * counts[most] > len(known) else None

    @property
    def names_rows(self) -> bool:
        """Whether there are fewer than two labelled samples per class."""
        return 2 * len(self.classes) > int(self.labelled.sum())

    @property
    def can_be_parted(self) -> bool:
        """Whether two classes have more than one sample."""
        return int((np.bincount(self.values[self.labelled]) > 1).sum()) >= 2

    @property
    def fewest_values(self) -> int:
        """Two classes are enough."""
        return 2

    @property
    def numeric(self) -> NDArray[np.float64]:
        """An indicator of each class."""
        return np.asarray(np.eye(len(self.classes))[self.values])

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The codes, and the classes."""
        return {"target": self.values, "classes": self.classes}

    def sample(self, most: int, rng: Generator) -> Rows:
        """Sorted numbers of at most `most` samples, with equal shares of the classes and of the unlabelled."""
        return sample_rows(self.values, most, rng)

    def present(self) -> ClassTarget:
        """The same without the classes that no labelled sample has."""
        codes, values = np.unique(self.values[self.labelled], return_inverse=True)
        if len(codes) == len(self.classes):
            return self
        compact = np.full(len(self), -1, dtype=np.intp)
        compact[self.labelled] = values
        return replace(self, values=compact, names_of_classes=self.classes[codes])

    @property
    def texts(self) -> list[str | None]:
        """The name of each sample's class; None where it has none."""
        names = [*(str(name) for name in self.classes), None]
        return [names[code] for code in self.values]

    def _split_groups(self, rows: Rows) -> Rows | None:
        smallest = np.unique(self.values[rows], return_counts=True)[1].min(initial=len(rows))
        return self.values[rows] if smallest >= FEWEST_IN_FOLDS else None


@dataclass(frozen=True, eq=False, repr=False)
class RealTarget(Target):
    """A quantity, or several of equal weight."""

    kind = "real"

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The numbers as (n, columns)."""
        return self.values.reshape(len(self.values), -1)

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which samples have a value in every column."""
        return np.asarray(~np.isnan(self.matrix).any(axis=1))

    @property
    def groups(self) -> Rows:
        """Bins of near values."""
        return bins(self.matrix)

    @property
    def numeric(self) -> NDArray[np.float64]:
        """The number in its standard deviations."""
        values = self.matrix.astype(np.float64)
        return np.asarray((values - values.mean()) / (values.std() or 1.0))

    @property
    def tolerance(self) -> float:
        """Half a standard deviation."""
        return TOLERANCE * float(self.values[self.labelled].std())

    @property
    def columns(self) -> tuple[Target, ...]:
        """A quantity each."""
        return (self,) if self.values.ndim == 1 else tuple(self.with_values(column) for column in self.values.T)


@dataclass(frozen=True, eq=False, repr=False)
class SeveralTarget(Target):
    """Columns with a kind each: classes, ordered classes and quantities; also a single column of ordered classes.

    Attributes
    ----------
    kinds : "class", "ordered" or "real", one per column.
    column_names : of the columns.
    column_classes : the classes of each column, in their order; None for a quantity.
    """

    kinds: tuple[str, ...] = ()
    column_names: tuple[str, ...] = ()
    column_classes: tuple[Any, ...] = ()

    @property
    def kind(self) -> tuple[str, ...]:
        """The kind of each column."""
        return self.kinds

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.column_names

    @property
    def reported_kind(self) -> str:
        """ "ordered" for one column with an order, else "several"."""
        return "ordered" if self.kinds == ("ordered",) else "several"

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes of each column, None for a quantity."""
        return self.column_classes

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which samples have a value in every column."""
        known: NDArray[np.bool_] = ~np.isnan(self.values[:, 0])
        return known

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The columns, and the classes of each."""
        classes = {f"classes/{t}": one for t, one in enumerate(self.classes) if one is not None}
        return {"target": self.values, **classes}

    @property
    def nominal(self) -> NDArray[np.bool_]:
        """Which columns hold classes."""
        return np.array([classes is not None for classes in self.column_classes])

    @property
    def groups(self) -> Rows:
        """Samples with the same classes, or near values."""
        return joint_groups(self.values, self.nominal)

    @property
    def columns(self) -> tuple[Target, ...]:
        """A target for each column."""
        return tuple(self._column(t) for t in range(len(self.kinds)))

    @property
    def _beside(self) -> dict[str, Any]:
        """What each column has of the samples: their units and levels."""
        names = ("units", "unit_name", "in_order", "levels", "n_levels")
        return {name: getattr(self, name) for name in names}

    def _column(self, t: int) -> Target:
        values, classes, name = self.values[:, t], self.column_classes[t], self.names[t]
        beside = self._beside
        if classes is None:
            return RealTarget(values, name=name, **beside)
        codes = np.where(np.isnan(values), -1, values).astype(np.intp)
        ordered = self.kinds[t] == "ordered"
        return ClassTarget(codes, name=name, names_of_classes=classes, ordered=ordered, **beside)

    def present(self) -> SeveralTarget:
        """The same without the classes that no labelled sample has."""
        columns = [column.present() for column in self.columns]
        known, values = self.labelled, self.values.copy()
        for t, column in enumerate(columns):
            values[known, t] = column.values[known]
        return replace(self, values=values, column_classes=tuple(column.classes for column in columns))

    def indicators(self, counted: Any = None) -> RealTarget:
        """Columns of numbers that the mean of neighbours can be compared with: an indicator for each class.

        Ordered classes have one for each threshold, two classes have one, and quantities stay as they are. `counted`
        tells which columns are looked at.
        """
        counted = np.ones(len(self.kinds), dtype=bool) if counted is None else counted
        known, parts = self.labelled, []
        for column, kind, counts in zip(self.values.T, self.kinds, counted, strict=True):
            if not counts:
                continue
            levels = np.unique(column[known])
            if kind == "real":
                parts.append(column[:, None])
            elif kind == "ordered":
                parts.append(column[:, None] > levels[:-1])
            else:
                parts.append(column[:, None] == (levels if len(levels) > 2 else levels[1:]))
        numbers = np.concatenate(parts, axis=1).astype(np.float64)
        numbers[~known] = np.nan
        return RealTarget(numbers, **self._beside)
