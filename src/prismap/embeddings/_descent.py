"""openTSNE's gradient descent, exaggerated and then not, with a look at the map every 25 steps.

A look ends the second phase if the map has settled, calls the user's callback, and keeps the state of the run, from
which another run goes on to the same positions, to the last bit.
"""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from openTSNE.affinity import PrecomputedAffinities
from openTSNE.tsne import TSNEEmbedding
from scipy.spatial import cKDTree
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator

from prismap._util.blocks import available_bytes
from prismap._util.params import Interval, StrOptions
from prismap.embeddings._mesh import mesh_bytes
from prismap.embeddings._places import Places
from prismap.embeddings._starts import Parcels

#: Iterations between two looks, of which the user's callback has every second; rows that are looked at, evenly spread
#: over all; and neighbours of each of them.
STEPS_BETWEEN_LOOKS, N_LOOKED_AT, N_NEIGHBORS = 25, 300, 10
#: No row moves further than this in one iteration.
LONGEST_STEP = 5.0
#: From so many rows on their order in memory matters: at 5,000 the tree takes two thirds of the time.
SORTED_ROWS = 1_000
#: Rows of a parcel, on average, in which rows begin.
PARCEL = 4
#: Cells of the curve's grid along each axis, as a power of two.
BITS = 12
#: What an engine wants to know beside positions and affinities.
_ENGINE = {
    "dof": 1, "bh_params": {"theta": 0.5},
    "fft_params": {"n_interpolation_points": 3, "min_num_intervals": 50, "ints_in_interval": 1},
}  # fmt: skip


class GradientDescent(BaseEstimator):
    """The gradient descent of t-SNE: how it begins, how long its steps are, when it ends, and where its state is kept.

    Parameters
    ----------
    early_exaggeration : float or "auto", default="auto"
        Factor on P during the first ``max_iter // 2`` iterations. "auto" is 12.
    learning_rate : float or "auto", default="auto"
        "auto" is n divided by the exaggeration in force.
    tol : float, default=0.03
        The iterations end when the embedding has settled: of 300 samples a smaller share than this of the ten nearest
        neighbours has changed in 25 iterations, and their distances from each other, apart from the scale, have
        changed by less. Those with exaggeration are all done. 0 does all iterations.
    arrangement : float, "auto" or Places, default=0
        How strongly groups of samples are pulled to a coarse layout of the metric, so that distances between groups may
        be read: from 0 (not at all) to 1. "auto" takes the largest of 0.1, 0.3, 0.6 and 1 with which the ten nearest
        neighbours are kept to within one standard error. (`PrisMap` goes by how well they predict its target.)
        `Places` of groups pull to these.
    checkpoint : path, default=None
        A folder in which the state of the run is kept, every two minutes. If the run is killed, another one with the
        same affinities and parameters goes on from there, to the same positions. It is removed at the end.

    See Also
    --------
    TSNE : Takes it as ``descent=GradientDescent(...)``.

    Examples
    --------
    >>> GradientDescent(tol=0)
    GradientDescent(tol=0)
    """

    _parameter_constraints = {
        "early_exaggeration": [StrOptions({"auto"}), Interval(Real, 1, None, closed="left")],
        "learning_rate": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "arrangement": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both"), Places],
        "checkpoint": [str, os.PathLike, None],
    }

    def __init__(self, *, early_exaggeration="auto", learning_rate="auto", tol=0.03, arrangement=0, checkpoint=None):
        self.early_exaggeration = early_exaggeration
        self.learning_rate = learning_rate
        self.tol = tol
        self.arrangement = arrangement
        self.checkpoint = checkpoint


# --- when the map has settled -----------------------------------------------------------------------------------------


def arrangement(Y):
    """Distances between all pairs of positions Y, in units of their root sum of squares."""
    distances = pdist(Y)
    return distances / max(float(np.linalg.norm(distances)), np.finfo(np.float64).tiny)


def neighborhoods(Y, rows):
    """The nearest positions of some rows among all others, sorted by index: (rows, k), k at most a third of all."""
    k = min(N_NEIGHBORS, max(1, (len(Y) - 1) // 3))
    nearest = cKDTree(Y).query(Y[rows], min(k + 1, len(Y)))[1].reshape(len(rows), -1)
    return np.sort(nearest, axis=1)


def share_moved(before, after):
    """Mean share of the neighbours that are not the ones of before; each row is one of its own, and does not count."""
    kept = [np.isin(a, b, assume_unique=True).sum() for a, b in zip(after, before, strict=True)]
    return 1.0 - (float(np.mean(kept)) - 1) / max(1, after.shape[1] - 1)


class Settling:
    """Whether a map has settled up to `tol`: rows no longer change their places and their neighbours.

    It has if the arrangement of `N_LOOKED_AT` rows changed by less than `tol` since the last look, and a smaller share
    of their nearest neighbours did. The first look decides nothing, and with ``tol=0`` none does. The cost is no guide:
    that of t-SNE falls as long as clusters drift apart, long after the picture has stopped to change.
    """

    def __init__(self, n_rows, tol):
        self.rows = np.unique(np.linspace(0, n_rows - 1, min(N_LOOKED_AT, n_rows)).astype(np.intp))
        self.tol, self._last = tol, None

    def is_settled(self, Y):
        """Look at positions Y."""
        if not self.tol:
            return False
        Y, last = np.asarray(Y), self._last
        self._last = arrangement(Y[self.rows]), neighborhoods(Y, self.rows)
        if last is None or np.linalg.norm(last[0] - self._last[0]) >= self.tol:
            return False
        return share_moved(last[1], self._last[1]) < self.tol


# --- the order of rows in memory --------------------------------------------------------------------------------------


def curve_order(Y):
    """The order of positions Y along Morton's curve (1966): the coordinates of their cells, bit by bit in turn.

    The attractive forces look up the positions of all neighbours of a row. With a million rows in any order nearly
    every look-up waits for the memory. Rows that are sorted along a space-filling curve through the map have most of
    their neighbours in the cache, and take nearly the same way through a tree as the row before.
    """
    low, high = np.quantile(Y, (0.001, 0.999), axis=0)  # a row far away would leave one cell for all others
    cells = (Y - low) / np.where(high > low, high - low, 1.0) * 2**BITS
    cells = np.clip(cells, 0, 2**BITS - 1).astype(np.uint64)
    code, one = np.zeros(len(Y), dtype=np.uint64), np.uint64(1)
    for bit in range(BITS):
        for axis, cell in enumerate(cells.T):
            code |= ((cell >> np.uint64(bit)) & one) << np.uint64(bit * cells.shape[1] + axis)
    return np.argsort(code, kind="stable")


def permuted(P, order):
    """Rows and columns of a sparse matrix in another order: entry (i, j) is ``P[order[i], order[j]]``."""
    place = np.empty(len(order), dtype=P.indices.dtype)
    place[order] = np.arange(len(order), dtype=P.indices.dtype)
    Q = P[order]
    Q.indices = place[Q.indices]
    Q.has_sorted_indices = False
    return Q


# --- interrupts -------------------------------------------------------------------------------------------------------


class InterruptBetweenSteps:
    """While it is entered, an interrupt is only noted; `check`, called between steps, lets it happen.

    openTSNE's compiled code does not survive an exception in the middle of a step.
    A second interrupt happens at once. Outside the main thread, and where SIGINT is ignored, nothing is changed: there
    Python raises no KeyboardInterrupt.
    """

    def __enter__(self):
        self._noted = False
        self._handler: Any = None
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and callable(signal.getsignal(signal.SIGINT)):
            self._handler = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, kind, error, trace):
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)
        if kind is None:
            self.check()

    def _note(self, number, frame):
        if self._noted:
            self._handler(number, frame)
        self._noted = True

    def check(self):
        """Let a noted interrupt happen, as the handler that was there before would."""
        if self._noted:
            self._noted = False
            self._handler(signal.SIGINT, None)

    def between(self, step):
        """The same function, after which a noted interrupt happens."""

        def checked(*args, **kwargs):
            result = step(*args, **kwargs)
            self.check()
            return result

        return checked


# --- the descent ------------------------------------------------------------------------------------------------------


class TSNERun(NamedTuple):
    """Positions, KL(P || Q), iterations done and why they ended."""

    embedding: np.ndarray
    kl_divergence: float
    n_iter: int
    stop_reason: str


class Descent:
    """A run from positions `start` on joint affinities P, whose matrix it takes over; `kept` is its `Checkpoint`.

    `places`, if there are any, pull groups of rows to them (`prismap.embeddings._places`). `masses` are the rows that
    each position stands for, if not one. With `rng` the rows begin in `Parcels`.

    Attributes
    ----------
    phase, steps, done : 0 while exaggerated, then 1; iterations done in this phase, and in all.
    order : the rows in the order in which embedding and P hold them.
    """

    def __init__(self, P, start, *, engine, n_jobs=1, kept=None, places=None, masses=None, rng=None):
        self.engine, self.n_jobs, self.kept, self.places = engine, n_jobs, kept, places
        self.masses, self.rng = masses, rng
        self.phase, self.steps, self.done = 0, 0, 0
        self.order = np.arange(len(start))
        state = None if kept is None else kept_state(kept, start)
        if state is not None:
            self.phase, self.steps, self.done = (int(value) for value in state["counts"])
            start = state["positions"]
            self.order = state["order"]
            P = permuted(P, self.order)
        self.embedding = TSNEEmbedding(start, PrecomputedAffinities(P, normalize=False), n_jobs=n_jobs)
        self.P = self.embedding.affinities.P
        if state is not None:
            self.embedding.optimizer.update, self.embedding.optimizer.gains = state["update"], state["gains"]
        elif len(start) >= SORTED_ROWS:
            self._sort()

    def positions(self):
        """The positions so far, in the order in which the rows were given."""
        Y = np.empty(self.embedding.shape)
        Y[self.order] = self.embedding
        return Y

    def _sort(self):
        """Sort the rows along the map as it is now."""
        order, optimizer = curve_order(np.asarray(self.embedding)), self.embedding.optimizer
        self.order = self.order[order]
        self.embedding[:] = np.asarray(self.embedding)[order]
        self.P = self.embedding.affinities.P = permuted(self.P, order)
        if self.masses is not None:
            self.masses = self.masses[order]
        if optimizer.gains is not None:
            optimizer.update, optimizer.gains = optimizer.update[order], optimizer.gains[order]

    def run(self, *, exaggeration, max_iter, tol=0.0, learning_rate="auto", callback=None):
        """Descend for max_iter // 2 steps with exaggeration and max_iter without, or until the map has settled.

        The first phase is not cut short: it pulls together what belongs together, and goes on doing so while positions
        hardly change. Ended early, it leaves surfaces torn. But it needs no single rows: with an `rng` to draw them,
        parcels do all of it but the last steps.
        """
        phases, reason = [(max_iter // 2, exaggeration), (max_iter, 1.0)], "max_iter"
        with InterruptBetweenSteps() as interrupt:
            engine = interrupt.between(self.engine)
            for number, (steps, factor) in enumerate(phases):
                # Also where a kept state has passed this phase: multiplying and dividing rounds the values.
                self.P.data *= factor
                if number == self.phase and reason != "callback":
                    rate = len(self.embedding) / factor if learning_rate == "auto" else learning_rate
                    together = (steps // STEPS_BETWEEN_LOOKS - 1) * STEPS_BETWEEN_LOOKS
                    if self.done == 0 and self.rng is not None and factor > 1 and together > STEPS_BETWEEN_LOOKS:
                        reason = self._descend_in_parcels(together, engine, rate, factor, callback)
                    if reason != "callback":
                        reason = self._descend(steps, engine, rate, factor, tol, callback)
                    self.phase, self.steps = number + 1, 0
                    if number == 0 and len(self.order) >= SORTED_ROWS:
                        self._sort()
                self.P.data /= factor
        if self.kept is not None:
            self.kept.clear()
        # One thread: positions do not depend on the number of threads, but the engine's sum of the error does.
        return TSNERun(self.positions(), self._error(1.0), self.done, reason)

    def _descend(self, steps, engine, rate, factor, tol, callback):
        """The rest of a phase of so many steps, and why it ended."""
        settling = Settling(len(self.embedding), tol if factor == 1 else 0.0)
        if self.steps:
            settling.is_settled(self.positions())  # the look after which the state was kept
        engine = self._pulled(engine, factor)
        while self.steps < steps:
            some = min(STEPS_BETWEEN_LOOKS, steps - self.steps)
            self.embedding.optimize(
                some, inplace=True, propagate_exception=True, momentum=0.8, max_step_norm=LONGEST_STEP,
                learning_rate=rate, negative_gradient_method=engine,
            )  # fmt: skip
            self.steps, self.done = self.steps + some, self.done + some
            asked = callback is not None and self.steps % (2 * STEPS_BETWEEN_LOOKS) == 0
            if asked and callback(self.done, self._error(factor), self.positions()):
                return "callback"
            if some == STEPS_BETWEEN_LOOKS and settling.is_settled(self.positions()):
                return "converged"
            if len(self.order) >= SORTED_ROWS and is_power_of_two(self.done // STEPS_BETWEEN_LOOKS):
                self._sort()
            if self.kept is not None and self.kept.is_due():
                self._keep()
        return "max_iter"

    def _descend_in_parcels(self, steps, engine, rate, factor, callback):
        """So many steps of parcels of rows, then the rows at positions of their own; why they ended."""
        n_rows = len(self.order)
        chosen, chance = np.zeros(n_rows, dtype=bool), self.rng.normal(size=self.embedding.shape)[self.order]
        chosen[self.rng.choice(n_rows, n_rows // PARCEL, replace=False)] = True
        parcels, places = Parcels.around(self.P, chosen[self.order]), self.places
        sampled = self.order[parcels.sampled]
        if places is not None:  # of as many rows as there are parcels; each feels what a row does
            held, strength = bool((places.groups[sampled] >= 0).any()), places.strength * np.sqrt(len(sampled) / n_rows)
            places = replace(places.take(sampled), strength=strength) if held else None
        coarse = Descent(
            parcels.P, parcels.means(np.asarray(self.embedding)), engine=engine, n_jobs=self.n_jobs,
            places=places, masses=parcels.masses,
        )  # fmt: skip

        def watching(done, error, positions):
            self.embedding[:] = parcels.spread(positions, self.P, chance)
            return callback(done, self._error(factor), self.positions())

        reason = coarse._descend(steps, engine, rate, factor, 0.0, None if callback is None else watching)
        self.embedding[:] = parcels.spread(coarse.positions(), self.P, chance)
        self.steps = self.done = coarse.done
        return reason

    def _pulled(self, engine, factor):
        """The engine with masses, and with the pull to the places, which is exaggerated as the affinities are."""

        def step(embedding, P, **options):
            if self.masses is not None:
                options["masses"] = self.masses
            error, gradient = engine(embedding, P, **options)
            if self.places is not None:
                gradient += factor * self.places.pull(np.asarray(embedding), self.places.groups[self.order])
            return error, gradient

        return step

    def _keep(self):
        optimizer = self.embedding.optimizer
        self.kept.save({
            "counts": np.array([self.phase, self.steps, self.done]), "positions": np.array(self.embedding),
            "update": optimizer.update, "gains": optimizer.gains, "order": self.order,
        })  # fmt: skip

    def _error(self, factor):
        """KL(P || Q) at the positions, P being multiplied by the factor."""
        value, _ = self.engine(self.embedding, self.P, should_eval_error=True, n_jobs=1, **_ENGINE)
        return float(value / factor - np.log(factor))


# --- a state that was kept --------------------------------------------------------------------------------------------


def kept_state(kept, start):
    """The arrays of the state in a `Checkpoint`; None without one that a run from `start` can have reached."""
    matrix, rows = start.shape, start.shape[:1]
    shapes = {"counts": (3,), "positions": matrix, "update": matrix, "gains": matrix, "order": rows}
    state = kept.load(shapes, lambda state: check_state(state.arrays, start))
    return None if state is None else state.arrays


def check_state(state, start):
    """Refuse (ValueError) a state that no run from `start` can have reached.

    Compiled code trusts the order of the rows, and takes memory by the extent of the map. One iteration moves a row by
    `LONGEST_STEP` at most, and the centre of the map by no more, so positions are bounded by the iterations done. A
    gain begins at 1 and grows by 0.2 per iteration at most (Jacobs 1988, as openTSNE has it).
    """
    if state["counts"].dtype.kind != "i" or state["order"].dtype.kind != "i":
        raise ValueError("its counts and the order of its rows are not whole numbers")
    phase, steps, done = (int(value) for value in state["counts"])
    if phase not in (0, 1) or not 0 <= steps <= done or (phase == 0 and steps != done):
        raise ValueError(f"{steps} iterations of phase {phase} and {done} in all are not those of any run")
    if not np.array_equal(np.sort(state["order"]), np.arange(len(start))):
        raise ValueError("its order of the rows does not name each of them once")
    slack = 1 + 1e-9
    if np.abs(state["positions"]).max() > slack * (np.abs(start).max() + 2 * LONGEST_STEP * done):
        raise ValueError(f"its positions are farther away than {done} iterations reach")
    if np.linalg.norm(state["update"], axis=1).max() > slack * LONGEST_STEP:
        raise ValueError(f"its last step is longer than {LONGEST_STEP:g}")
    if state["gains"].min() <= 0 or state["gains"].max() > slack * (1 + 0.2 * done):
        raise ValueError(f"its gains are not those of {done} iterations")
    if mesh_bytes(state["positions"]) > available_bytes():
        raise ValueError("its positions span a mesh that needs more memory than there is")


def is_power_of_two(number):
    """Whether a whole number is 1, 2, 4, 8, ...: rows are sorted less and less often, as a map changes less."""
    return number > 0 and number & (number - 1) == 0
