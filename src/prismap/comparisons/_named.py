"""The comparisons by name, and their options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from prismap.comparisons import _alignment as alignment
from prismap.comparisons import _counts as counts
from prismap.comparisons import _edit as edit
from prismap.comparisons import _transport as transport
from prismap.comparisons import _warping as warping
from prismap.exceptions import InputError


@dataclass(frozen=True)
class Comparison:
    """One named comparison.

    Attributes
    ----------
    name, function : ``function(a, b, **options)`` gives a number.
    kind : "similarity" or "dissimilarity".
    takes : which objects, in words.
    prepare : ``prepare(object, **options)``, what is computed once per object; refuses other objects. The function and
        the block form take what it gives.
    block : ``block(A, B, **options)`` gives the values between two lists of prepared objects at once, None without.
    shared : ``shared(prepared)`` says what all objects must have in common, None for nothing.
    remembered : whether a value takes longer to compute than to look up.
    metric : whether the triangle inequality holds (for similarities: for the distances that belong to them).
    version : counts changes of the values, so that stored ones are not mixed with others.
    options : those of the function that are not at their defaults.
    """

    name: str
    function: Callable[..., float]
    kind: str
    takes: str
    prepare: Callable[..., Any]
    block: Callable[..., np.ndarray] | None = None
    shared: Callable[[Any], Any] | None = None
    remembered: bool = True
    metric: bool = False
    version: int = 1
    options: dict[str, Any] = field(default_factory=dict)

    def __call__(self, a: Any, b: Any) -> float:
        """The value of two objects."""
        return self.function(a, b, **self.options)

    def prepared(self, thing: Any) -> Any:
        """An object as function and block form take it."""
        return self.prepare(thing, **_known(self.prepare, self.options))

    def in_block(self, A: Sequence[Any], B: Sequence[Any], n_jobs: int | None = 1) -> Any:
        """Values between two lists of prepared objects, by the block form."""
        assert self.block is not None
        options = {**self.options, "n_jobs": n_jobs}
        return self.block(A, B, **_known(self.block, options))


def _known(function: Callable[..., Any], options: dict[str, Any]) -> dict[str, Any]:
    """The options that a function has."""
    return {name: value for name, value in options.items() if name in inspect.signature(function).parameters}


def get_comparison(name: Any, **options: Any) -> Comparison:
    """The comparison of that name, with options of its function.

    Parameters
    ----------
    name : str or Comparison
        Such as "edit", "alignment", "dtw", "tree_edit", "weisfeiler_lehman" or "jaccard".
    **options : of the function, such as ``band`` of "dtw".

    Returns
    -------
    Comparison : callable on two objects.

    Examples
    --------
    >>> get_comparison("edit")("kitten", "sitting")
    3.0
    >>> get_comparison("dtw", band=None)([0.0, 1.0, 1.0], [0.0, 0.0, 1.0])
    0.0
    """
    if isinstance(name, Comparison):
        return replace(name, options={**name.options, **_checked(name, options)}) if options else name
    if name not in COMPARISONS:
        raise InputError(f"comparison {name!r} is not known. Names: {', '.join(COMPARISONS)}; or give a function.")
    return get_comparison(COMPARISONS[name], **options)


def _checked(comparison: Comparison, options: dict[str, Any]) -> dict[str, Any]:
    known = list(inspect.signature(comparison.function).parameters)[2:]
    unknown = sorted(set(options) - set(known))
    if unknown:
        allowed = ", ".join(known) or "none"
        raise InputError(f"comparison {comparison.name!r} has no option {', '.join(unknown)}; options: {allowed}.")
    return options


_ENTRIES = (
    Comparison(
        "edit", edit.edit_distance, "dissimilarity", "strings or sequences of tokens", edit.prepare_sequence,
        block=edit.edit_block if edit.has_rapidfuzz() else None, remembered=not edit.has_rapidfuzz(), metric=True,
    ),
    Comparison(
        "compression", edit.compression_distance, "dissimilarity", "strings or bytes", edit.prepare_text,
    ),
    Comparison(
        "alignment", alignment.alignment_score, "similarity", "sequences of letters", alignment.prepare,
    ),
    Comparison(
        "dtw", warping.dtw, "dissimilarity", "series of numbers, (time,) or (time, channels)", warping.prepare,
        block=warping.block, shared=warping.channels,
    ),
    Comparison(
        "tree_edit", edit.tree_edit_distance, "dissimilarity", "trees, [label, child, child, ...]", edit.prepare_tree,
        metric=True,
    ),
    Comparison(
        "weisfeiler_lehman", counts.weisfeiler_lehman, "similarity",
        "graphs, {'nodes': [label, ...], 'edges': [[i, j], ...]}", counts.prepare_graph,
        block=counts.weisfeiler_lehman_block, remembered=False, metric=True,
    ),
    Comparison("jaccard", counts.jaccard, "similarity", "sets or lists of items", counts.prepare_set,
               block=counts.jaccard_block, remembered=False, metric=True),
    Comparison("intersection", counts.intersection, "similarity", "sets or lists of items", counts.prepare_set,
               block=counts.intersection_block, remembered=False, metric=True),
    Comparison("ochiai", counts.ochiai, "similarity", "sets or lists of items", counts.prepare_set,
               block=counts.ochiai_block, remembered=False, metric=True),
    Comparison(
        "earth_mover", transport.earth_mover, "dissimilarity", "histograms of equal length", transport.prepare,
        block=transport.block, shared=transport.bins, remembered=False, metric=True,
    ),
    Comparison(
        "transport", transport.transport, "dissimilarity", "clouds, {'points': [[...], ...], 'weights': [...]}",
        transport.prepare_cloud, shared=transport.dimensions, metric=True,
    ),
)  # fmt: skip

#: The comparisons by name.
COMPARISONS: dict[str, Comparison] = {entry.name: entry for entry in _ENTRIES}
