"""Several targets at once: the product of their posteriors, whose Fisher tensor is the sum of their tensors.

If targets are independent given the row, ``log p(y_1, ..., y_k | x)`` is a sum, the mixed terms of its Fisher tensor
vanish, and with a weight for each target

    J(x) = sum_t w_t (u / u_t) J_t(x),    d^2 = sum_t w_t (u / u_t) d_t^2,    sum_t w_t = 1.

Here u_t is the mean of d_t^2 over pairs of rows and ``u = sum_t w_t u_t``, so that each target makes up its weight of
the mean squared distance, and one target alone has its own metric: a quantity with little noise has far longer
distances than classes can have, and would hide them. Each posterior is known at the rows: classes have arcs between the
square roots of their probabilities, quantities Fisher and Rao's distance between their Gaussians. Ordered classes
c = 1..C are the C - 1 questions whether y is above c, which one class posterior answers together,

    d_t^2 = 1 / (C - 1) sum_c arc^2(P(y > c | x), P(y > c | x')),

so that a distance grows with the number of thresholds that lie between two rows. Weights are the share of what is not
known of a target beforehand that its posterior explains, out of fold; 0 if that is not beyond chance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from prismap._util.evidence import SIGNIFICANT, paired_gap
from prismap.exceptions import InputError
from prismap.metrics._anchors import MomentAnchors
from prismap.metrics._segments import arc
from prismap.metrics.posteriors._base import Posterior
from prismap.metrics.posteriors._gaussian_process import fisher_rao
from prismap.metrics.posteriors._machine import LeastSquaresMachine
from prismap.metrics.posteriors._row_process import RowProcess
from prismap.metrics.posteriors._rowwise import StateBlock, StateRows, log_loss, log_losses
from prismap.metrics.posteriors._trees import GROWN, Trees, fit_trees, units_of
from prismap.target import RealTarget, SeveralTarget

#: Posteriors of a column of classes by name.
OF_CLASSES: dict[str, Any] = {"lssvm": LeastSquaresMachine, "trees": Trees}


# --- pure functions on arrays -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Term:
    """Columns of a state that make one summand of the squared length: roots of probabilities, or two moments."""

    columns: slice
    weight: float
    is_moments: bool


def joint_lengths(one, two, terms, gaps):
    """``sqrt(sum_t w_t d_t^2)`` between states over their last axis; `gaps` are the squared gaps between roots."""
    total: Any = 0.0
    for term in terms:
        a, b = one[..., term.columns], two[..., term.columns]
        length = fisher_rao(a[..., 0], a[..., 1], b[..., 0], b[..., 1]) if term.is_moments else arc(gaps(a, b))
        total = total + term.weight * np.square(length)
    return np.sqrt(total)


def gaps_by_element(one, two):
    """``||r - r'||^2`` over the last axis, element by element: the same bits in any batch."""
    return sum(np.square(one[..., c] - two[..., c]) for c in range(one.shape[-1]))


def gaps_by_product(one, two):
    """The same of all pairs of (n, 1, C) and (1, m, C) roots of length 1, by one product: ``2 - 2 r.r'``."""
    return np.maximum(2 - 2 * (one[:, 0] @ two[0].T), 0)


def threshold_roots(roots):
    """Square roots of ``P(y > c)`` and ``P(y <= c)`` (n, 2 (C - 1)), threshold by threshold, from those of classes."""
    above = np.minimum(np.cumsum(np.square(roots)[:, :0:-1], axis=1)[:, ::-1], 1.0)
    return np.sqrt(np.stack([above, 1 - above], axis=2)).reshape(len(roots), -1)


def explained_share(losses, chance, units=None):
    """(share, known): the share of the losses `chance` of rows that `losses` are below them, and if beyond chance."""
    gap, error = paired_gap(chance, losses, units)
    return float(max(1 - losses.mean() / chance.mean(), 0.0)), gap > SIGNIFICANT * error


def weights_of(given, shares, known):
    """Weights of targets that sum to 1: by evidence, equal, or as they are given."""
    if isinstance(given, str) and given == "evidence":
        wanted = np.where(known, shares, 0.0) if np.any(known) else np.ones(len(shares))
    elif isinstance(given, str) and given == "equal":
        wanted = np.ones(len(shares))
    else:
        wanted = np.asarray(given, dtype=np.float64) if not isinstance(given, str) else np.empty(0)
        if wanted.shape != (len(shares),) or not np.isfinite(wanted).all() or wanted.min() < 0 or not wanted.any():
            raise InputError(
                f"weights must be 'evidence', 'equal' or {len(shares)} numbers that are not negative and not all 0, "
                f"one per target; got {given!r}."
            )
    return wanted / wanted.sum()


# --- all targets, rows and pairs --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """One of the targets: its posterior, and the columns that it has in the state of a row.

    ordered : whether its classes have an order, so that thresholds take the place of classes.
    """

    posterior: Any
    ordered: bool = False

    @property
    def is_moments(self):
        """Whether the columns are a mean and a variance, and not roots of probabilities."""
        return isinstance(self.posterior, RowProcess)

    def columns(self, rows):
        """The columns of rows of the posterior."""
        return rows.state[:, 0] if self.is_moments else self._roots(rows.root)

    def placed_columns(self, rows):
        """The columns of new rows that are to be placed: the same bits in any batch."""
        if self.is_moments:
            return self.posterior.new_states(rows)[:, 0]
        return self._roots(self.posterior.new_roots(rows))

    def _roots(self, roots):
        return threshold_roots(roots) if self.ordered else roots

    def terms(self, start, weight):
        """The summands of the squared length, from column `start` on; those of ordered classes share the weight."""
        width = self.columns(self.posterior.rows.take(slice(0, 1))).shape[1]
        step = 2 if self.ordered else width
        firsts = range(start, start + width, step)
        return [Term(slice(first, first + step), weight * step / width, self.is_moments) for first in firsts]


def terms_of(parts, weights):
    """The summands of the squared length that count."""
    terms: list[Term] = []
    for part, weight in zip(parts, weights, strict=True):
        terms += part.terms(terms[-1].columns.stop if terms else 0, float(weight))
    return tuple(term for term in terms if term.weight > 0)


class SeveralTargets(Posterior):
    """A posterior for each of several targets, at the rows: classes, ordered classes and quantities.

    Columns of classes get the better of a least-squares machine and trees, by out-of-fold log-loss, and quantities a
    Gaussian process.

    Parameters
    ----------
    weights : "evidence", "equal" or array (n_targets,), default="evidence"
        How much each target counts. By evidence: the share of its entropy, or variance, that is explained out of fold,
        and 0 if that is not beyond chance; equal, if none is.
    classes : {"auto", "lssvm", "trees"}, default="auto"
        The posterior of classes.
    n_support : int or None, default=None
        Rows that are learnt from; None takes all rows with a target up to 4000.

    Attributes
    ----------
    weights_, explained_ : arrays (n_targets,)
        The weights, which sum to 1, and the share of each target's entropy or variance that is explained out of fold.
    known_ : array of bool (n_targets,)
        Which targets are predicted better than by chance.
    units_ : array (n_targets,)
        The mean squared length that each target's own metric has over pairs of rows.

    See Also
    --------
    prismap.metrics.FisherMetric : The metric that it is for.

    Examples
    --------
    >>> import numpy as np
    >>> from prismap.metrics import FisherMetric, SeveralTargets
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(120, 3))
    >>> Y = np.column_stack([X[:, 0] > 0, X[:, 1] > 0, rng.integers(0, 2, 120)])
    >>> metric = FisherMetric("class", posterior=SeveralTargets(), supervision=0.8, random_state=0).fit(X, Y)
    >>> metric.posterior_.known_.tolist()
    [True, True, False]
    """

    name, targets, at_rows, anchors = "several", (SeveralTarget,), True, MomentAnchors

    def __init__(self, weights="evidence", *, classes="auto", n_support=None):
        self.weights = weights
        self.classes = classes
        self.n_support = n_support

    def fit(self, context):
        """Fit a posterior to each target, and weigh them."""
        contexts = [replace(context, target=column) for column in context.target.columns]
        self._take(context, [self._fit_one(one) for one in contexts])
        evidence = [self._evidence(*one) for one in zip(contexts, self.posteriors, strict=True)]
        self.explained_, self.known_ = (np.array(part) for part in zip(*evidence, strict=True))
        self.weights_ = weights_of(self.weights, self.explained_, self.known_)
        self.units_ = np.array([mean_square(part, context.support) for part in self.parts])
        return self._hold(context)

    def _take(self, context, posteriors):
        columns = zip(posteriors, context.target.columns, strict=True)
        self.parts = [Part(one, column.kind == "ordered") for one, column in columns]

    @property
    def posteriors(self):
        """The posterior of each target."""
        return [part.posterior for part in self.parts]

    def _fit_one(self, context):
        if isinstance(context.target, RealTarget):
            return RowProcess().fit(context)
        if self.classes != "auto":
            return OF_CLASSES[self.classes]().fit(context)
        machine, support = LeastSquaresMachine().fit(context), context.support
        if context.data.is_matrix:
            return machine
        codes, seed = context.codes[support], int(context.rng.integers(2**31))
        loss = log_loss(machine.fitted_probabilities[support], codes)
        units = units_of(context.target.take(support))
        small = fit_trees(context.data.raw(support), codes, context.n_classes, seed, n_trees=GROWN, units=units)[1]
        if log_loss(small, codes) > loss:  # trees are tried only if a small forest is no worse
            return machine
        trees = Trees().fit(context)
        return trees if log_loss(trees.fitted_probabilities[support], codes) < loss else machine

    def _evidence(self, context, one):
        """The share of a target that is explained out of fold, and whether that is beyond chance."""
        units = context.target.units[context.support]
        if isinstance(context.target, RealTarget):
            g = one.warps[0](context.numbers[context.support, 0])
            return explained_share(np.square(g - one.rows.state[context.support, 0, 0]), np.square(g - g.mean()), units)
        codes = context.codes[context.support]
        frequencies = np.bincount(codes)[codes] / len(codes)
        losses = log_losses(one.fitted_probabilities[context.support], codes)
        return explained_share(losses, -np.log(frequencies), units)

    def _hold(self, context):
        self.rule, self.order = context.rule_at_rows(self.name), np.arange(context.data.n_rows_)
        self.rows = StateRows.of(np.concatenate([part.columns(part.posterior.rows) for part in self.parts], axis=1))
        unit = float(self.weights_ @ self.units_)
        scaled = self.weights_ * np.divide(unit, self.units_, out=np.ones(len(self.units_)), where=self.units_ > 0)
        self.terms = terms_of(self.parts, scaled)
        by = ", ".join(
            f"{kind} by {one.name}, weight {weight:.2f}"
            for kind, one, weight in zip(context.target.kind, self.posteriors, self.weights_, strict=True)
        )
        self.judged = f"at the rows ({by}), {context.judged}"
        return self

    def new(self, rows, self_similarity=None):
        """State of new rows."""
        columns = [part.columns(part.posterior.new(rows, self_similarity)) for part in self.parts]
        return StateRows.of(np.concatenate(columns, axis=1))

    def fitted_states(self):
        """What is known of the fitted rows (n, columns)."""
        return self.rows.state

    def new_states(self, rows):
        """The same of new rows that are to be placed: the same bits in any batch."""
        return np.concatenate([part.placed_columns(rows) for part in self.parts], axis=1)

    def pair_lengths(self, one, two):
        """Distances between states of rows, over the last axis."""
        return joint_lengths(one, two, self.terms, gaps_by_element)

    def block(self, A, B):
        """The pairs of two sets of rows."""
        return joint_block(A.state, B.state, self.terms)

    def probabilities_of(self, t, rows=None):
        """Class probabilities of target t at new rows; None: of the fitted rows, out of fold."""
        one = self.posteriors[t]
        return one.probabilities(one.rows if rows is None else one.new(rows))

    def moments_of(self, t, rows=None):
        """Means and variances (n, 1) of target t, a quantity, in the same way."""
        one = self.posteriors[t]
        return one.moments(one.rows if rows is None else one.new(rows))

    def state(self):
        """The weights, and the arrays of each target's posterior under its number."""
        own = {
            "joint_weights": self.weights_, "joint_told": self.explained_, "joint_units": self.units_,
            "joint_known": self.known_.astype(np.float64),
        }  # fmt: skip
        for t, one in enumerate(self.posteriors):
            own |= {f"part{t}_{name}": value for name, value in one.state().items()}
        return own

    def restore(self, context, state):
        """From the arrays of `state`."""
        numbers = [state[f"joint_{name}"] for name in ("weights", "told", "known", "units")]
        columns = context.target.columns
        if any(one.shape != (len(columns),) or one.min() < 0 for one in numbers) or not numbers[0].any():
            raise ValueError("its weights do not go with its targets")
        self.weights_, self.explained_, known, self.units_ = numbers
        self.known_ = known > 0
        posteriors = []
        for t, column in enumerate(columns):
            prefix = f"part{t}_"
            own = {name[len(prefix) :]: value for name, value in state.items() if name.startswith(prefix)}
            of_classes = Trees if "trees_roots" in own else LeastSquaresMachine
            made = RowProcess() if isinstance(column, RealTarget) else of_classes()
            posteriors.append(made.restore(replace(context, target=column), own))
        self._take(context, posteriors)
        return self._hold(context)


def joint_block(state_a, state_b, terms):
    """All pairs of two sets of rows by their states."""
    return StateBlock(state_a, state_b, partial(joint_lengths, terms=terms, gaps=gaps_by_product))


def mean_square(part, support, n_rows=300):
    """Mean squared length that a target's own metric has over the pairs of some support rows."""
    some = np.unique(np.linspace(0, len(support) - 1, n_rows).astype(np.intp))
    state, every = part.columns(part.posterior.rows.take(support[some])), slice(None)
    return float(np.mean(np.square(next(joint_block(state, state, terms_of([part], [1.0])).sub_lengths(every, every)))))


def posterior_of_several(given):
    """The unfitted posterior of several targets that a user asks for by name or by an object."""
    if isinstance(given, SeveralTargets):
        return SeveralTargets(**given.get_params(deep=False))
    if isinstance(given, str) and given in ("auto", *OF_CLASSES):
        return SeveralTargets(classes=given)
    raise InputError(
        "several targets, and ordered ones, take posterior='auto', 'lssvm', 'trees' or SeveralTargets(...); got "
        f"{given!r}."
    )
