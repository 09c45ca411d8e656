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
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from prismap._util.arrays import Rows
from prismap._util.repr import Brief
from prismap.target._folds import bins, deal_folds, draw_rows, joint_groups, sample_rows, shuffle_entries, split_rows

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
    """

    values: NDArray[Any]
    units: Rows = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    name: str | None = None

    def __post_init__(self) -> None:
        if len(self.units) != len(self.values):
            object.__setattr__(self, "units", np.arange(len(self.values)))

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
    def columns(self) -> tuple[Target, ...]:
        """A target for each column."""
        return (self,)

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
        return replace(self, values=self.values[rows], units=self.units[rows])

    def joined(self, values: NDArray[Any]) -> Self:
        """The target with that of more samples, each of which is a unit of its own."""
        first = int(self.units.max(initial=-1)) + 1
        units = np.concatenate([self.units, first + np.arange(len(values))])
        return replace(self, values=np.concatenate([self.values, values]), units=units)

    def permuted(self, rng: Generator) -> Self:
        """The target with what is known of it permuted among the labelled samples."""
        return self.with_values(shuffle_entries(self.values, self.labelled_rows, rng))

    def folds(self, rows: Rows, n_folds: int, rng: Generator) -> Rows:
        """The fold of each of some labelled samples, with equal shares of what is alike (`deal_folds`)."""
        return deal_folds(self.groups[rows], n_folds, rng)

    def splits(self, n_splits: int, rng: Generator) -> list[Rows]:
        """The labelled samples in parts that are left out one after the other."""
        known = self.labelled_rows
        seed = int(rng.integers(2**31))
        parts = split_rows(len(known), n_splits, seed, self._split_groups(known))
        return [known[out] for _, out in parts]

    def _split_groups(self, rows: Rows) -> Rows | None:
        """What the parts of `splits` get equal shares of; None: nothing."""
        return None

    def draw(self, most: int | None, rng: Generator) -> Rows:
        """Sorted numbers of at most `most` labelled samples, with equal shares of what is alike."""
        return draw_rows(self.groups, most, rng)

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

    def _column(self, t: int) -> Target:
        values, classes, name = self.values[:, t], self.column_classes[t], self.names[t]
        if classes is None:
            return RealTarget(values, self.units, name)
        codes = np.where(np.isnan(values), -1, values).astype(np.intp)
        return ClassTarget(codes, self.units, name, classes, self.kinds[t] == "ordered")

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
        return RealTarget(numbers, self.units)
