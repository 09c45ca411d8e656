"""Where an optimisation starts: principal components, the spectrum of the affinities, random or given positions.

And the parcels of neighbours that rows can begin a descent in, instead of one by one.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from sklearn.decomposition import PCA

from prismap._util.arrays import WIDE, columns_of
from prismap._util.costs import JITTER
from prismap._util.random import as_seed
from prismap.exceptions import InputError

log = logging.getLogger(__name__)


def principal_start(rows, n_components, rng):
    """The first principal components of the rows, and random columns where the rows have too few."""
    k = min(n_components, rows.shape[1], rows.shape[0] - 1)
    if sp.issparse(rows) and all_equal(rows):
        return np.zeros((rows.shape[0], n_components))
    if sp.issparse(rows) and rows.shape[1] > WIDE:  # the others are zero, and add nothing but time
        rows = columns_of(rows, np.unique(rows.indices))
        k = min(k, rows.shape[1])
    with np.errstate(invalid="ignore"):  # rows that are all equal: 0 / 0 in the share of variance, which is not used
        Y = PCA(k, random_state=as_seed(rng)).fit_transform(rows).astype(np.float64)
    return np.hstack([Y, _filler(Y, n_components - k, rng)])


def all_equal(rows):
    """Whether sparse rows with sorted indices are all the same: they have no directions, and ARPACK none to start from.

    >>> all_equal(sp.csr_array((3, 5))), all_equal(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]))
    (True, False)
    """
    lengths = np.diff(rows.indptr)
    if not rows.data.any() or (lengths != lengths[0]).any():
        return not rows.data.any()
    parts = (part.reshape(len(lengths), -1) for part in (rows.indices, rows.data))
    return all(bool((part == part[:1]).all()) for part in parts)


def spectral_start(P, n_components, rng):
    """The leading eigenvectors of the random walk on symmetric affinities P, each times its eigenvalue.

    With S = D^-1/2 P D^-1/2 (D the row sums) and S u = lambda u, the columns are lambda D^-1/2 u, the constant one left
    out: a diffusion map. Rows in parts that touch nowhere start together, part by part; `rescale` sets them apart.
    """
    n_rows = P.shape[0]
    root = 1.0 / np.sqrt(np.asarray(P.sum(axis=1)).ravel())
    S = sp.diags(root) @ P @ sp.diags(root)
    k = min(n_components, n_rows - 1)
    if n_rows <= 200:
        values, vectors = eigh(S.toarray(), subset_by_index=[n_rows - k - 1, n_rows - 1])
    else:
        try:
            values, vectors = eigsh(S, k=k + 1, which="LA", tol=1e-4, v0=rng.uniform(-1, 1, n_rows))
        except ArpackNoConvergence:
            log.info("The spectral start did not converge; starting from random positions.")
            return rng.normal(size=(n_rows, n_components))
    order = np.argsort(values)[::-1][1:]
    Y = vectors[:, order] * root[:, None] * values[order]
    Y *= np.where(Y[np.abs(Y).argmax(axis=0), np.arange(k)] < 0, -1.0, 1.0)
    return np.hstack([Y, _filler(Y, n_components - k, rng)])


def given_start(init, n_rows, n_components):
    """Positions passed by the user, checked."""
    Y = np.asarray(init, dtype=np.float64)
    if Y.shape != (n_rows, n_components):
        raise InputError(f"init must have one position per row, shape {(n_rows, n_components)}; got shape {Y.shape}.")
    if not np.isfinite(Y).all():
        raise InputError(f"init must be finite; {int((~np.isfinite(Y)).sum())} of its values are not.")
    return Y


def distance_start(init, classical, D, rng):
    """Positions of the size of the distances D: "classical" ones, "random" ones, or those given.

    Classical ones are moved by `JITTER` of the mean distance: rows that coincide would never part.
    """
    if not isinstance(init, str):
        return given_start(init, *classical.shape)
    chance = rng.normal(size=classical.shape) * D.mean()
    return chance if init == "random" else classical + JITTER * chance


def rescale(Y, rng, std=1e-4):
    """Positions whose widest axis has the standard deviation `std`, moved by a hundredth of it at random.

    The small start lets t-SNE sort clusters before they repel each other; the jitter separates duplicates, which would
    otherwise stay together (their gradients would be the same).
    """
    spread = float(Y.std(axis=0).max())
    chance = rng.normal(size=Y.shape)
    if spread == 0.0:
        return std * chance
    return np.ascontiguousarray(std * (Y / spread + 0.01 * chance))


def _filler(Y, n_columns, rng):
    """Random columns, a hundredth as wide as the positions."""
    return 0.01 * max(float(Y.std()), 1e-12) * rng.normal(size=(len(Y), n_columns))


# --- rows that begin a descent together -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Parcels:
    """Rows put together with the sampled one that each of them is most attracted to.

    While all rows of a parcel share one position, the cost of t-SNE is a function of these positions alone. Its
    gradient is that of affinities summed over parcels, ``P_ab = sum_{i in a, j in b} p_ij``, and of masses that repel
    each other: a descent of a quarter of the rows is one of all of them, in fewer dimensions.

    Attributes
    ----------
    of : (n,) the parcel of each row.
    sampled : (m,) the row that each parcel was made around.
    P : (m, m) affinities between different parcels.
    usual_size : rows of a parcel, on average, that a descent begins with.
    """

    usual_size: ClassVar[int] = 4

    of: np.ndarray
    sampled: np.ndarray
    P: Any

    @classmethod
    def around(cls, P, chosen):
        """Those around the rows that are `chosen` (n, boolean); rows that touch none of them stay alone."""
        n_rows, chosen = len(chosen), chosen.copy()
        touching = P[:, np.flatnonzero(chosen)].tocsr()
        lonely = np.diff(touching.indptr) == 0
        strongest = np.flatnonzero(chosen)[np.asarray(touching.argmax(axis=1)).ravel()]
        chosen |= lonely
        sampled = np.flatnonzero(chosen)
        of = np.searchsorted(sampled, np.where(chosen, np.arange(n_rows), strongest))
        member = sp.csr_matrix((np.ones(n_rows), of, np.arange(n_rows + 1)), shape=(n_rows, len(sampled)))
        between = sp.csr_matrix(member.T @ P @ member)
        between.setdiag(0)
        between.eliminate_zeros()
        between.sort_indices()
        return cls(of, sampled, between)

    @property
    def masses(self):
        """The rows of each parcel."""
        return np.bincount(self.of).astype(np.float64)

    def means(self, Y):
        """Mean positions (m, d) of the rows of each parcel."""
        return np.stack([np.bincount(self.of, column) for column in Y.T], axis=1) / self.masses[:, None]

    def spread(self, positions, P, chance):
        """Positions (n, d) of the rows: half way from those of the parcels to the mean of the rows that attract them.

        chance : (n, d) random numbers, a thousandth of the map of which parts rows that would coincide.
        """
        Y = positions[self.of]
        Y = (Y + (P @ Y) / np.asarray(P.sum(axis=1))) / 2
        return Y + 1e-3 * (Y.std() or 1.0) * chance
