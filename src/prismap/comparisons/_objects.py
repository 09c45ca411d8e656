"""Objects that are not vectors, and how two of them are compared: values are evaluated when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from pickle import PicklingError
from threading import RLock
from typing import Any, Self

import numpy as np

from prismap._util.arrays import Numbers, Rows
from prismap._util.blocks import WORKING_BYTES, require_memory, row_blocks
from prismap.comparisons._content import digest, function_digest
from prismap.comparisons._named import Comparison, get_comparison
from prismap.comparisons._running import in_blocks, one_by_one, run_pairs, shortened
from prismap.comparisons._store import PairStore
from prismap.exceptions import InputError

#: Pairs that are evaluated both ways, and objects that are compared with themselves, to check a function.
CHECKED_PAIRS, CHECKED_OBJECTS = 20, 5
#: Both ways round may differ by this share of the larger value: a sum in another order differs by rounding.
SYMMETRY_TOLERANCE = 1e-8
#: Values that a comparison in blocks computes at a time.
BLOCK_VALUES = 4_000_000
KINDS = ("similarity", "dissimilarity")


@dataclass(frozen=True)
class Objects:
    """How objects are compared: any function of two objects, or a comparison by its name.

    Parameters
    ----------
    compare : callable of two objects that gives a number, the same both ways round; or a name of `COMPARISONS`; or
        what `get_comparison` gives for a name and options.
    kind : "similarity" or "dissimilarity", what a larger number means. Named comparisons know theirs.
    n_jobs : workers for slow comparisons; None takes all cores. Processes where the function can be sent to one,
        threads otherwise, and neither for work of less than two seconds.
    memory : bytes that values may take in memory before they move to a file, default=268435456
    cache : folder where values are kept between programs. They are found again by the content of the objects and the
        name and text of the function. Several programs may use it at once. Values that were damaged are evaluated
        again, with a warning. None keeps values as long as the evaluator.

    Examples
    --------
    >>> evaluator = Objects("edit").over(["kitten", "sitting", "mitten"])
    >>> evaluator.block([0], [1, 2]).tolist()
    [[3.0, 1.0]]
    >>> Objects(lambda a, b: abs(len(a) - len(b)), "dissimilarity").over(["a", "abc"]).block().tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    """

    compare: Callable[[Any, Any], float] | str | Comparison
    kind: str | None = None
    _: KW_ONLY
    n_jobs: int | None = None
    memory: int = WORKING_BYTES
    cache: str | Path | None = None

    def __post_init__(self) -> None:
        named = self.comparison
        if named is None and not callable(self.compare):
            raise InputError(f"compare must be a function of two objects or a name; got {shortened(self.compare)}.")
        if named is None and self.kind not in KINDS:
            raise InputError(f"kind must be 'similarity' or 'dissimilarity' for a function; got {self.kind!r}.")
        if named is not None and self.kind not in (None, named.kind):
            raise InputError(f"kind of comparison {named.name!r} is {named.kind!r}; got {self.kind!r}. Leave it out.")
        if not self.memory >= 0:
            raise InputError(f"memory must be a number of bytes; got {self.memory!r}.")
        object.__setattr__(self, "kind", self.kind if named is None else named.kind)

    @property
    def comparison(self) -> Comparison | None:
        """The named comparison, None for a function of the user's."""
        return get_comparison(self.compare) if isinstance(self.compare, (str, Comparison)) else None

    def __sklearn_clone__(self) -> Self:
        return self  # it is immutable, and a function may not be copyable

    def __repr__(self) -> str:
        if (named := self.comparison) is None:
            return f"Objects({getattr(self.compare, '__name__', type(self.compare).__name__)}, {self.kind!r})"
        options = "".join(f", {name}={value!r}" for name, value in named.options.items())
        return f"Objects(get_comparison({named.name!r}{options}))" if options else f"Objects({named.name!r})"

    def over(self, objects: Any) -> Evaluator:
        """An evaluator of these objects."""
        return Evaluator(self, objects)


class Evaluator:
    """Values between the objects of a list, evaluated when they are asked for.

    Each unordered pair is evaluated at most once and then remembered, except under comparisons that compute whole
    blocks faster than values are looked up (``COMPARISONS[name].remembered`` is False). A dissimilarity of an object to
    itself is 0 and not evaluated. The first pairs that are asked of a function are evaluated both ways, to see that it
    is symmetric. If a pair fails, the error names it, all values found before are kept, and the evaluator can be asked
    again. It may be asked from several threads.

    Parameters
    ----------
    how : `Objects`.
    objects : the fitted objects.

    Attributes
    ----------
    objects : as given.
    n_evaluations : values computed so far, new objects included.
    n_checks : values computed to see whether the function is symmetric.
    n_remembered : pairs that are known, those of an earlier program in the `cache` included.
    """

    def __init__(self, how: Objects, objects: Sequence[Any]) -> None:
        self.how, self.objects = how, list(objects)
        if not self.objects:
            raise InputError("objects must hold at least one object; got none.")
        self.comparison: Any = how.comparison
        self.prepared = self._prepare(self.objects, "object")
        self.n_evaluations = self.n_checks = 0
        self._checked = self.comparison is not None  # named ones are tested elsewhere
        self._lock = RLock()
        self._store = PairStore(how.memory, self._folder())

    def __len__(self) -> int:
        return len(self.objects)

    def __repr__(self) -> str:
        return f"<{len(self)} objects, {self.n_evaluations} {self.how.kind} values evaluated>"

    def __getstate__(self) -> dict[str, Any]:
        """What a copy in another process needs: all but the lock and the files, and no folder of a cache."""
        state = {name: value for name, value in vars(self).items() if name not in ("_lock", "_store")}
        return {**state, "known": self._store.known()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        known = state.pop("known")
        vars(self).update(state)
        self._lock, self._store = RLock(), PairStore(self.how.memory)
        self._store.add(known["pair"], known["value"])

    @property
    def n_remembered(self) -> int:
        return len(self._store)

    def block(self, i: Any = None, j: Any = None) -> Numbers:
        """Values between objects i and objects j (all where None), an array (len(i), len(j))."""
        i, j = (np.arange(len(self)) if k is None else self._indices(k) for k in (i, j))
        require_memory(8.0 * len(i) * len(j), f"A block of {len(i):,} x {len(j):,} values", "Ask for smaller blocks.")
        if self._remembered:
            values = np.empty((len(i), len(j)))
            for part in row_blocks(len(i), len(j), BLOCK_VALUES):
                rows, columns = (k.ravel() for k in np.meshgrid(i[part], j, indexing="ij"))
                values[part] = self.pairs(rows, columns).reshape(-1, len(j))
            return values
        values = self._block(self.prepared, i, self.prepared, j)
        if self.how.kind == "dissimilarity":
            values[i[:, None] == j] = 0.0
        return values

    def pairs(self, i: Any, j: Any) -> Numbers:
        """Values of the pairs (i[0], j[0]), (i[1], j[1]), ..."""
        i, j = self._indices(i), self._indices(j)
        if i.shape != j.shape:
            raise InputError(f"i and j must be equally long; got {len(i)} and {len(j)} indices.")
        if self._remembered:
            with self._lock:
                return self._pairs(np.minimum(i, j), np.maximum(i, j))
        values = self._ragged(self.prepared, i, j)
        if self.how.kind == "dissimilarity":
            values[i == j] = 0.0
        return values

    def new(self, objects: Any, j: Any = None, numbers: Any = None) -> Numbers:
        """Values between new objects and the fitted objects j (all where None), an array (n_new, len(j)).

        `numbers` are those that errors name the new objects by, where they are a part of a longer list.
        """
        objects = list(objects)
        numbers = range(len(objects)) if numbers is None else numbers
        prepared = self._prepare(objects, "new object", numbers)
        j = np.arange(len(self)) if j is None else self._indices(j)
        rows = np.arange(len(prepared))
        if not self._remembered:
            return self._block(prepared, rows, self.prepared, j)
        values = np.empty((len(rows), len(j)))
        a, b = (k.ravel() for k in np.indices(values.shape))
        with self._lock:
            self._run(
                prepared, a, j[b], "new object", lambda places, given: values.put(places, given), objects, numbers
            )
        return values

    def close(self) -> None:
        """Forget all values in memory and remove temporary files; values in a `cache` folder stay."""
        self._store.close()

    # --- remembered values ---

    @property
    def _remembered(self) -> bool:
        return self.comparison is None or self.comparison.remembered

    def _pairs(self, i: Rows, j: Rows) -> Numbers:
        """Look values up; evaluate those that are not known, each once."""
        keys = i.astype(np.uint64) * np.uint64(len(self)) + j.astype(np.uint64)
        own = (i == j) & (self.how.kind == "dissimilarity")
        values = self._store.find(keys)
        values[own] = 0.0
        if not self._checked and np.isnan(values).any():
            self._check_function(*(part[np.isnan(values)] for part in (i, j)))
        missing = np.unique(keys[np.isnan(values)])
        missing = missing[np.isnan(self._store.find(missing))]
        a, b = (part.astype(np.intp) for part in np.divmod(missing, np.uint64(len(self))))
        self._run(self.prepared, a, b, "object", lambda places, given: self._store.add(missing[places], given))
        unknown = np.isnan(values)
        values[unknown] = self._store.find(keys[unknown])
        return values

    def _run(self, left: Any, i: Any, j: Any, whose: Any, store: Any, whole: Any = None, numbers: Any = None) -> None:
        """Evaluate pairs; a failure is an error that names the pair."""

        def count(places: Any, given: Any) -> None:
            store(places, given)
            self.n_evaluations += len(given)

        failure = run_pairs(self._many(), left, self.prepared, i, j, count, self.how.n_jobs)
        if failure is not None:
            a, b = int(i[failure.place]), int(j[failure.place])
            thing, number = (self.objects if whole is None else whole)[a], a if numbers is None else numbers[a]
            kept = f" The values found so far ({self.n_remembered:,}) are kept." if self.n_remembered else ""
            raise InputError(
                f"compare failed for {describe(whose, number, thing)} and {describe('object', b, self.objects[b])}: "
                f"{failure.why}.{kept}"
            ) from failure.error

    def _many(self) -> Any:
        if self.comparison is None:
            return one_by_one(self.how.compare)
        return one_by_one(self.comparison) if self.comparison.block is None else in_blocks(self.comparison.in_block)

    def _check_function(self, i: Any, j: Any) -> None:
        """Evaluate a few of the first pairs the other way round, and a few objects with themselves."""
        chosen = np.flatnonzero(i != j)
        if not len(chosen):
            return  # pairs of an object with itself show no asymmetry: the next pairs are checked
        chosen = chosen[np.linspace(0, len(chosen) - 1, min(CHECKED_PAIRS, len(chosen)), dtype=np.intp)]
        a, b = i[chosen], j[chosen]
        self._checked = True  # while the values of the check itself are evaluated
        try:
            there = self._pairs(a, b)
        finally:
            self._checked = False
        back, own, few = np.empty(len(a)), np.zeros(len(a)), np.unique(a)[:CHECKED_OBJECTS]
        n_before = self.n_evaluations
        try:
            self._run(self.prepared, b, a, "object", back.put)
            if self.how.kind == "dissimilarity":
                self._run(self.prepared, few, few, "object", own.put)
        finally:
            self.n_checks += self.n_evaluations - n_before
            self.n_evaluations = n_before
        apart = np.abs(there - back) > SYMMETRY_TOLERANCE * np.maximum(np.abs(there), np.abs(back))
        if apart.any():
            k = int(np.flatnonzero(apart)[0])
            raise InputError(
                f"compare must be symmetric: {describe('object', a[k], self.objects[a[k]])} and "
                f"{describe('object', b[k], self.objects[b[k]])} gave {there[k]:g} one way round and {back[k]:g} the "
                "other. Give the mean of both."
            )
        largest = float(np.abs(there).max(initial=0.0))
        if (np.abs(own) > SYMMETRY_TOLERANCE * largest).any():
            k = int(np.abs(own).argmax())
            raise InputError(
                f"compare gave {own[k]:g} for {describe('object', few[k], self.objects[few[k]])} and itself; a "
                "dissimilarity must give 0. If larger values mean more alike, say kind='similarity'."
            )
        self._checked = True

    def _folder(self) -> Path | None:
        """A folder of the cache for these objects and this comparison."""
        if self.how.cache is None or not self._remembered:
            return None
        named = self.comparison
        try:
            how = (
                function_digest(self.how.compare)
                if named is None
                else digest([named.name, named.version, named.options])
            )
            return Path(self.how.cache) / digest([how, *(digest(thing) for thing in self.objects)]).hex()
        except (PicklingError, TypeError, AttributeError) as error:
            raise InputError(
                f"cache needs objects and a function whose content can be read by pickle: {error}. Use cache=None."
            ) from error

    # --- values in blocks ---

    def _block(self, left: Any, i: Any, right: Any, j: Any) -> Numbers:
        """A block by the comparison's own block form, in pieces that fit in memory."""
        values = np.empty((len(i), len(j)))
        others = [right[k] for k in j]
        for part in row_blocks(len(i), len(j), BLOCK_VALUES):
            values[part] = self.comparison.in_block([left[k] for k in i[part]], others, self.how.n_jobs)
        self._count(values.size)
        return values

    def _ragged(self, left: Any, i: Any, j: Any) -> Numbers:
        """Pairs by the block form: an object and all its partners at a time."""
        values, order = np.empty(len(i)), np.argsort(i, kind="stable")
        for places in np.split(order, np.flatnonzero(np.diff(i[order])) + 1):
            if len(places):
                others = [self.prepared[k] for k in j[places]]
                values[places] = self.comparison.in_block([left[i[places[0]]]], others, 1)[0]
        self._count(len(i))
        return values

    def _count(self, n: int) -> None:
        with self._lock:
            self.n_evaluations += n

    # --- input ---

    def _prepare(self, objects: Any, whose: str, numbers: Any = None) -> Any:
        """Objects as the named comparison takes them; one that it cannot take is named."""
        if self.comparison is None:
            return objects
        prepared = []
        for k, thing in enumerate(objects):
            try:
                prepared.append(self.comparison.prepared(thing))
                if self.comparison.shared is not None:
                    self._check_shared(prepared[-1], prepared[0] if whose == "object" else self.prepared[0])
            except (InputError, TypeError, ValueError, KeyError, IndexError) as error:
                first = f" ({describe('object', 0, self.objects[0])} is taken)" if k or whose != "object" else ""
                raise InputError(
                    f"comparison {self.comparison.name!r} takes {self.comparison.takes}; "
                    f"{describe(whose, k if numbers is None else numbers[k], thing)} is none{first}: {error}"
                ) from error
        return prepared

    def _check_shared(self, prepared: Any, first: Any) -> None:
        """What all objects must have in common with the first, as the length of their histograms."""
        own, wanted = self.comparison.shared(prepared), self.comparison.shared(first)
        if own != wanted:
            raise ValueError(f"{own} is not {wanted}")

    def _indices(self, k: Any) -> Rows:
        k = np.asarray(k)
        if k.dtype == bool or k.ndim != 1 or (k.size and k.dtype.kind not in "iu"):
            raise InputError(f"indices must be a list of whole numbers; got {shortened(k)}.")
        k = k.astype(np.intp)
        if k.size and not (k.min() >= 0 and k.max() < len(self)):
            raise InputError(f"indices must lie between 0 and {len(self) - 1}; got {k.min()} to {k.max()}.")
        return np.asarray(k)


def describe(whose: str, index: int, thing: Any) -> str:
    """An object for a message: its number, its content cut short, and its type.

    >>> describe("object", 4711, "kitten")
    "object 4,711 ('kitten', str)"
    """
    return f"{whose} {index:,} ({shortened(thing)}, {type(thing).__name__})"
