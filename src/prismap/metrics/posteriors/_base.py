"""The contract of a posterior: what is known about the target, at rows or along straight segments between them.

A posterior is an estimator with its own hyper-parameters. `FisherMetric` hands it a frozen `Context`, and from then on
asks it for the state of rows and for the lengths of segments between them; a posterior never sees the metric. The state
of some rows has ``len``, ``take(index)`` and ``fold`` (the fold each row leaves out, -1 for none). A block of pairs has
``sub_lengths(a, b)``, the lengths of the sub-segments of the pairs of two slices, one after another.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from prismap.exceptions import InputError
from prismap.metrics._anchors import FisherAnchors
from prismap.metrics._base import Anchors
from prismap.metrics._geometry import DataMetric, FittedIndex
from prismap.metrics._segments import SegmentRule, enough_segments, sample_pairs
from prismap.target import ClassTarget, Target

#: Support rows where no number is given: enough for a good posterior, few enough for many rows.
MOST_SUPPORT = 4000


@dataclass(frozen=True)
class Context:
    """All that a posterior may know.

    Attributes
    ----------
    data : the metric of the data's own distances, fitted.
    target : the `Target` of the fitted rows, without classes that none of them has.
    support : indices of the rows that carry the posterior.
    folds : fold of each row, -1 where it leaves out nothing.
    bandwidth, perplexity : width of the kernels, and the number of neighbours that it came from.
    path, n_segments : how segments are to be measured; "auto" leaves the number to the posterior.
    stored_rule : the rule of a file, for posteriors that find theirs.
    supervision : share of the Fisher tensor.
    cross_fit : whether rows are judged by others only.
    rng : source of randomness.
    """

    data: DataMetric
    target: Target
    support: np.ndarray
    folds: np.ndarray
    bandwidth: float
    perplexity: float
    path: str
    n_segments: Any
    stored_rule: SegmentRule | None
    supervision: float
    cross_fit: bool
    rng: Any

    @property
    def n_classes(self):
        """Number of classes."""
        return len(self.target.classes)

    @property
    def codes(self):
        """Classes of the fitted rows, (n,); -1 where a row has none."""
        return self.target.values

    @property
    def numbers(self):
        """Quantities of the fitted rows, (n, targets); NaN where a row has none."""
        return self.target.values.reshape(len(self.target), -1)

    @property
    def support_folds(self):
        """The folds of the support rows; None without cross-fitting."""
        return self.folds[self.support] if self.cross_fit else None

    @property
    def by_fold(self):
        """The rows in the order of their folds."""
        return np.argsort(self.folds, kind="stable")

    @property
    def judged(self):
        """How the fitted rows were judged, in words."""
        n_folds = int(self.folds.max()) + 1
        return f"cross-fitted in {n_folds} folds" if n_folds else "in-sample"

    def steps(self, a, b):
        """``||x - x'||^2 / sigma^2`` between fitted rows, where supervision is partial; None otherwise."""
        if self.supervision == 1:
            return None
        D2 = self.data.squared_to(FittedIndex(a), b)
        return np.maximum(D2, 0) / self.data.dtype.type(self.bandwidth**2)

    def rule_at_rows(self, name):
        """The rule of a posterior that is known at the rows only: one sub-segment."""
        if self.n_segments not in ("auto", 1) or self.path.startswith("tangent"):
            raise InputError(
                f"posterior={name!r} knows probabilities at the rows only: path must be 'chord' or 'graph' and "
                f"n_segments 1 or 'auto'; got path={self.path!r}, n_segments={self.n_segments!r}."
            )
        return SegmentRule(n_segments=1)

    def rule_along(self):
        """The rule that parameters or a file name; None where a sample of pairs has to show it."""
        tangent, squared = self.path.startswith("tangent"), self.path == "tangent-squared"
        if self.n_segments != "auto" or tangent:
            n_segments = 2 if self.n_segments == "auto" else self.n_segments
            symmetric = self.path != "tangent-left" and not squared
            return SegmentRule("tangent" if tangent else "chord", n_segments, symmetric, squared=squared)
        return self.stored_rule


class Posterior(BaseEstimator, ABC):
    """What is known about the target.

    Attributes of a fitted one
    --------------------------
    rule : the `SegmentRule` that segments are measured with.
    order, rows : the fitted rows in the order it wants them, and their state.
    judged : how the fitted rows were judged, in words.
    """

    #: Its name in words and files, the targets it can be asked about, and whether it is known at the rows only.
    name: str = ""
    targets: tuple[type[Target], ...] = (ClassTarget,)
    at_rows = False
    #: What measures new rows against anchors.
    anchors: type[Anchors] = FisherAnchors
    #: Folds that the support is cut into; 0 where the rows are not cross-fitted.
    n_folds = 10
    n_support: int | None = None
    rule: SegmentRule
    order: np.ndarray
    rows: Any
    judged: str

    @property
    def any_share(self):
        """Whether segments are measured alike whatever the share of the target in the metric."""
        return self.at_rows

    @property
    def width_factor(self):
        """What the width that the perplexity gives is multiplied by."""
        return 1.0

    def most_support(self, target):
        """Support rows of a target where no number is given."""
        return MOST_SUPPORT

    def own_bandwidth(self, data, support):
        """The width of kernels that the user asks this posterior for; None leaves it to the perplexity."""
        return None

    @abstractmethod
    def fit(self, context):
        """Learn from the context, and return the fitted posterior (which may be another that suits it better)."""

    @abstractmethod
    def new(self, rows, self_similarity=None):
        """The state of new rows."""

    @abstractmethod
    def block(self, A, B):
        """All pairs of two sets of rows, each set from one fold."""

    def measured_by(self, rule):
        """The same posterior with another rule for segments."""
        other = copy(self)
        other.rule = rule
        return other

    def cheaper(self):
        """A fitted posterior whose lengths are never longer and cost less to measure; by default this one."""
        return self

    def state(self):
        """Arrays by name that, with the context, make this posterior again."""
        return {}

    def restore(self, context, state):
        """Become the fitted posterior that had this `state`."""
        return self.fit(context)


def sampled_rule(posterior, context, mean, *, n_rows, most):
    """The rule that a sample of pairs of the fitted rows asks for; `mean` orders the posterior's rows.

    n_rows : rows of the sample on either side. most : sub-segments at most.
    """
    pairs, every = sample_pairs(posterior.rows.fold, mean, n_rows), slice(None)
    steps = [context.steps(posterior.order[a], posterior.order[b]) for a, b in pairs]

    def length(rule):
        trial, lengths = posterior.measured_by(rule), []
        for (a, b), part in zip(pairs, steps, strict=True):
            block = trial.block(posterior.rows.take(a), posterior.rows.take(b))
            lengths.append(rule.length(block.sub_lengths(every, every), context.supervision, part).ravel())
        return np.concatenate(lengths)

    return enough_segments(length, most)
