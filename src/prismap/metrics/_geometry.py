"""The data's own distances: squared distances to the fitted rows, whatever the data are.

Everything the Fisher metric needs of a row x is its *profile* ``q_l(x) = ||x - x_l||^2`` against support rows x_l.

=============  ==========================================  =======================================
data           profile                                     a new row is given as
=============  ==========================================  =======================================
vectors        squared Euclidean distance                  its vector
cosine         the same between vectors of length 1        its vector
similarity     ``s(x,x) + s(x_l,x_l) - 2 s(x,x_l)``        its similarities to the fitted rows
dissimilarity  ``delta(x,x_l)^2``                          its dissimilarities to the fitted rows
=============  ==========================================  =======================================

(Schulz et al. 2017, eq. 16, as corrected in Schulz 2017, eq. 2.26.) No posterior touches a coordinate.
"""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from prismap._util.blocks import row_blocks
from prismap._util.missing import column_means, column_variances, present_in, refuse_empty_rows, squared_over_present
from prismap._util.params import StrOptions
from prismap._util.validation import check_dissimilarity, check_rows, check_similarity
from prismap.exceptions import InputError, PrismapWarning
from prismap.metrics._anchors import FittedIndex, MatrixAnchors, VectorAnchors
from prismap.metrics._base import Metric
from prismap.metrics._repair import REPAIRS, repair_similarity, symmetrized, warn_of_asymmetry


class DataMetric(Metric):
    """The data's own distances. The Fisher metric is made from them, and without a target a map needs no others."""

    #: Its name, and whether rows come as entries of a matrix against the fitted rows.
    kind, is_matrix = "vectors", False
    #: Anchors of a large map, and rows that can be fitted at all, at most.
    most_anchors, most_rows = 4000, math.inf

    @property
    def is_complete(self):
        """Whether every value of the fitted rows is there."""
        return True

    @abstractmethod
    def read(self, estimator, X, *, reset=True):
        """Rows X, checked once, with scikit-learn's bookkeeping of columns on `estimator`."""

    @abstractmethod
    def over(self, rows):
        """Become the fitted metric of rows that `read` has checked."""

    @abstractmethod
    def squared_to(self, A, columns, self_similarity=None):
        """Squared distances of rows A (new, or a `FittedIndex`) to the fitted rows `columns`."""

    def filled(self):
        """The same rows, new ones too, with something in place of missing values."""
        return self

    def cut(self, rows, index):
        """Some of the rows, each still complete."""
        return rows[index]

    def entries(self, rows, index):
        """What a metric of the fitted rows `index` takes of new rows."""
        return rows

    def require_self_similarity(self, given):
        """Refuse new rows whose similarity to themselves is needed and not known."""

    def fit(self, X, y=None):
        """Keep the rows; a target is not looked at."""
        self.over(self.read(self, X)).warn()
        return self

    def warn(self):
        """Say what is wrong with the rows, if anything; not `over`'s to do, which a loaded map calls too."""

    def pairwise(self, A=None, B=None):
        """Distances between rows A and B, the fitted rows where None."""
        A, B = (None if rows is None else self.read(self, rows, reset=False) for rows in (A, B))
        if A is None and B is None:
            return symmetric_distances(self.squared_to(None, slice(None)))
        if A is None:
            return self.pairwise(B).T
        D2 = self.squared_to(A, slice(None)) if B is None else self.squared_between(A, B)
        return np.sqrt(np.maximum(D2, 0))

    def between(self, a, b):
        """Distances between fitted rows, by index."""
        return np.sqrt(np.maximum(self.squared_to(FittedIndex(np.asarray(a)), b), 0))

    def describe(self):
        """What the distances are."""
        return "the data's own distances"


def symmetric_distances(D2):
    """The square roots of squared distances between all rows, exactly symmetric and zero on the diagonal."""
    D = np.sqrt(np.maximum(D2, 0)).astype(np.float64)
    np.fill_diagonal(D, 0)
    return (D + D.T) / 2


class VectorMetric(DataMetric):
    """Euclidean distances of vectors, dense or sparse. Centred, so that large offsets cost no digits.

    Missing values (NaN) of dense vectors are left out: a distance goes over the columns that both rows have, scaled up
    to all columns and, if these are few, shrunk towards that of typical rows (`prismap._util.missing`).

    Examples
    --------
    >>> VectorMetric().fit([[0.0, 0.0], [3.0, 4.0]]).pairwise().tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    >>> VectorMetric().fit([[0.0, 0.0], [3.0, float("nan")]]).pairwise().round(3).tolist()
    [[0.0, 3.674], [3.674, 0.0]]
    """

    #: Whether values may be missing.
    takes_missing = True

    def read(self, estimator, X, *, reset=True):
        """Rows X, checked."""
        rows = check_rows(
            estimator, X, reset=reset, sparse=True, min_rows=2 if reset else 1,
            missing=self.takes_missing and (reset or not self.is_sparse),
        )  # fmt: skip
        refuse_empty_rows(rows)
        return rows if reset else self.like_fitted(rows)

    @property
    def is_sparse(self):
        """Whether the fitted rows are sparse."""
        return sp.issparse(getattr(self, "rows_", None))

    def like_fitted(self, rows):
        """New rows as sparse as the fitted ones, or as dense: a map takes either."""
        if self.is_sparse == sp.issparse(rows):
            return rows
        return sp.csr_array(rows) if self.is_sparse else rows.toarray()

    def over(self, rows):
        """The fitted metric of checked rows."""
        self.present = self.present_of(rows)
        self.center = None if sp.issparse(rows) else column_means(rows, self.present).astype(rows.dtype)
        self.rows_ = self.centred(rows)
        self.n_rows_, self.n_features_in_ = rows.shape
        self.squared_norms = row_norms(self.rows_, squared=True)
        self.dtype = rows.dtype
        # What is expected of a value that is missing.
        self.column_variances = column_variances(self.rows_, self.present)
        return self

    def present_of(self, rows):
        """Which values of rows are present; None where all are."""
        return present_in(rows)

    def filled(self):
        """The same rows with the mean of a column in place of a missing value: for what learns from coordinates."""
        if sp.issparse(self.rows_) or not self.takes_missing:
            return self
        other = FilledMetric()
        other.__dict__ |= {**self.__dict__, "present": None}
        return other

    def centred(self, rows):
        """New rows as the fitted ones are kept: 0 where a value is missing."""
        if self.center is None:
            return rows
        kept, present = np.ascontiguousarray(rows - self.center), present_in(rows)
        return kept if present is None else np.where(present, kept, kept.dtype.type(0))

    def raw(self, index=slice(None)):
        """Fitted rows as they were given."""
        kept = self.rows_[index]
        kept = kept if self.center is None else kept + self.center
        return kept if self.present is None else np.where(self.present[index], kept, kept.dtype.type(np.nan))

    @property
    def is_complete(self):
        """Whether every value of the fitted rows is there."""
        return self.present is None

    def to_anchors(self, anchors):
        """What measures the distances of new rows to some of the fitted ones."""
        return VectorAnchors(self, anchors)

    def squared_to(self, A, columns, self_similarity=None):
        """Squared distances of new rows A (the fitted rows where None or an index) to the fitted rows `columns`.

        New rows are measured in double precision: their distances must not depend on the batch.
        """
        rows, norms, present = self._side(A)
        others, other_norms, other_present = self._side(FittedIndex(columns))
        if rows.dtype != others.dtype:
            others = others.astype(rows.dtype)
            other_norms = row_norms(others, squared=True)
        if present is not None or other_present is not None:
            return squared_over_present(rows, present, others, other_present, self.column_variances)
        return squared_distances(rows, norms, others, other_norms)

    def squared_between(self, A, B):
        """Squared distances between two sets of new rows."""
        (rows, norms, present), (others, other_norms, other_present) = self._side(A), self._side(B)
        if present is not None or other_present is not None:
            return squared_over_present(rows, present, others, other_present, self.column_variances)
        return squared_distances(rows, norms, others, other_norms)

    def _side(self, A):
        """Centred rows, their squared norms and what is present of them: new ones, or fitted ones by their index."""
        if A is None or isinstance(A, FittedIndex):
            index = slice(None) if A is None else A.index
            return self.rows_[index], self.squared_norms[index], None if self.present is None else self.present[index]
        rows = self.centred(A).astype(np.float64)
        return rows, row_norms(rows, squared=True), self.present_of(A)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.takes_missing
        return tags


class FilledMetric(VectorMetric):
    """Euclidean distances of vectors with the mean of a column in place of a missing value (`VectorMetric.filled`)."""

    def present_of(self, rows):
        """All values: means are there where others are missing."""
        return None


class CosineMetric(VectorMetric):
    """Distances between the directions of vectors: ``||a/|a| - b/|b|||``, so that ``d^2 = 2 (1 - cos(a, b))``.

    It orders pairs as the cosine distance does, and is a Euclidean metric, as the Fisher metric needs. Every row is
    scaled to length 1 when it is read; what is made of the map (a model as posterior, `inverse_transform`) sees rows of
    this length. A row of which values are missing has no length, and is refused.

    Examples
    --------
    >>> CosineMetric().fit([[1.0, 0.0], [0.0, 2.0]]).pairwise().round(3).tolist()
    [[0.0, 1.414], [1.414, 0.0]]
    """

    takes_missing = False

    def read(self, estimator, X, *, reset=True):
        """Rows X, checked and scaled to length 1."""
        return unit_rows(super().read(estimator, X, reset=reset))


def unit_rows(rows):
    """Rows of length 1; a row of zeros, which has no direction, is refused."""
    lengths = np.sqrt(row_norms(rows, squared=True))
    zero = np.flatnonzero(lengths == 0)
    if len(zero):
        raise InputError(
            f"data='cosine' needs rows that have a direction; {len(zero)} of {len(lengths)} are all zero, the first at "
            f"index {zero[0]}. Remove them, or use data='vectors'."
        )
    if sp.issparse(rows):
        return sp.csr_array(sp.diags_array(1.0 / lengths, dtype=rows.dtype) @ rows)
    return rows / lengths[:, None].astype(rows.dtype)


def squared_distances(A, norms_a, B, norms_b):
    """``||a||^2 + ||b||^2 - 2 a.b``; pairs that lost their digits to cancellation are done again by differences."""
    D2 = safe_sparse_dot(A, B.T, dense_output=True)
    least = np.empty(len(D2), dtype=D2.dtype)
    for rows in row_blocks(len(D2), float(D2.itemsize) * D2.shape[1], 2**20):  # which stay in the cache
        D2[rows] *= -2
        D2[rows] += norms_a[rows, None]
        D2[rows] += norms_b[None, :]
        least[rows] = D2[rows].min(axis=1, initial=np.inf)
    if sp.issparse(A) or sp.issparse(B):
        return np.maximum(D2, 0, out=D2)
    # Below this share of the norms fewer than about half of the digits are right; few rows have such a neighbour.
    share = np.sqrt(np.finfo(D2.dtype).eps)
    suspects = np.flatnonzero(least <= share * (norms_a + norms_b.max(initial=0)))
    i, j = np.nonzero(share * (norms_a[suspects, None] + norms_b[None, :]) >= D2[suspects])
    i = suspects[i]
    for start in range(0, len(i), 65536):
        part = slice(start, start + 65536)
        difference = A[i[part]] - B[j[part]]
        D2[i[part], j[part]] = np.einsum("ij,ij->i", difference, difference)
    return D2


@dataclass(frozen=True, eq=False)
class EntryRows:
    """Some rows of matrix data or objects; ``rows[index]`` are some of them.

    Attributes
    ----------
    data : the fitted metric of the data's own distances.
    index : numbers of fitted rows, or None for new ones.
    new : new rows as the metric takes them: entries against all fitted rows, or objects.
    """

    data: Any
    index: np.ndarray | None = None
    new: Any = None

    def __len__(self):
        return len(self.new) if self.index is None else len(self.index)

    def __getitem__(self, index):
        return EntryRows(self.data, None, self.new[index]) if self.index is None else EntryRows(
            self.data, self.index[index])  # fmt: skip

    @property
    def shape(self):
        """As many columns as fitted rows, which each row has an entry against."""
        return (len(self), self.data.n_rows_)

    def against(self, columns):
        """Entries against some of the fitted rows, as they were given."""
        return self.data.values_to(self.new if self.index is None else FittedIndex(self.index), columns)

    def things(self):
        """The rows themselves: objects as a list, rows of a matrix by their entries against all fitted rows."""
        if self.data.kind != "objects":
            return self.against(slice(None))
        return (self.new if self.index is None else self.data.rows_[self.index]).tolist()


class MatrixMetric(DataMetric):
    """Rows known by a square matrix; new rows by their entries against the fitted ones."""

    is_matrix = True

    def cut(self, rows, index):
        """Some of the rows, against each other."""
        return rows[np.ix_(index, index)]

    def entries(self, rows, index):
        """The entries of new rows against some of the rows."""
        return rows[:, index]

    def to_anchors(self, anchors):
        """What measures new rows against some of the fitted ones."""
        return MatrixAnchors(self, anchors)

    def raw(self, index=slice(None)):
        """Fitted rows as models take them."""
        return EntryRows(self, np.arange(self.n_rows_)[index])

    def values_to(self, A, columns):
        """Entries of rows A, new ones or a `FittedIndex`, against the fitted rows `columns`, as they were given."""
        return (self.given[A.index] if isinstance(A, FittedIndex) else A)[:, columns]

    def squared_between(self, A, B):
        """Two sets of new rows: their mutual entries are not known."""
        raise InputError(
            "the distance between two new rows is not known for matrix data with supervision < 1: leave B out to get "
            "the distances to the fitted rows, or use supervision=1."
        )

    def _read(self, estimator, X, reset, kind, check):
        rows = check_rows(estimator, X, reset=reset, min_rows=2 if reset else 1)
        if reset:
            mean = symmetrized(rows)
            if mean is not rows:
                warn_of_asymmetry(rows, mean, kind, stacklevel=5)
            check(mean)
        return rows  # as they were given, by which they are known again; `over` takes the mean

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        return tags


class SimilarityMetric(MatrixMetric):
    """Distances from similarities, repaired or as they are (then a squared distance may be negative).

    Parameters
    ----------
    repair : {"clip", "flip", "shift", "none"}, default="clip"
        What is done about negative eigenvalues of the similarity matrix: "clip" sets them to zero, "flip" takes their
        magnitude, "shift" adds the most negative one to the diagonal, and "none" leaves them, so that squared distances
        may be negative.

    Examples
    --------
    >>> SimilarityMetric().fit([[1.0, 0.0], [0.0, 1.0]]).pairwise().round(3).tolist()
    [[0.0, 1.414], [1.414, 0.0]]
    """

    kind = "similarity"
    _parameter_constraints = {"repair": [StrOptions(set(REPAIRS))]}

    def __init__(self, repair="clip"):
        self.repair = repair

    def read(self, estimator, X, *, reset=True):
        """Similarities X, checked."""
        self._validate_params()
        return self._read(estimator, X, reset, "similarity", check_similarity)

    def over(self, rows):
        """The fitted metric of checked similarities."""
        rows = symmetrized(rows)
        self.given, self.repaired_ = rows, repair_similarity(rows, self.repair)
        self.matrix = self.repaired_.matrix.astype(rows.dtype)
        self.diagonal = np.diag(self.matrix).copy()
        self.rows_, self.dtype = self.matrix, rows.dtype
        self.n_rows_ = self.n_features_in_ = len(rows)
        return self

    def warn(self):
        """Say how much of the similarity is no inner product, where that is more than a little."""
        repaired = self.repaired_
        if repaired.negative_mass > 0.01:  # less is noise beside everything else
            warnings.warn(
                f"{100 * repaired.negative_mass:.1f} % of the similarity's mass is negative: it is no inner product. "
                f"repair={repaired.method!r} {REPAIRS[repaired.method]}; PrisMap.report(repairs=True) sets the four "
                "repairs side by side.",
                PrismapWarning,
                stacklevel=3,
            )

    def squared_to(self, A, columns, self_similarity=None):
        """Squared distances; a missing self-similarity is the fitted diagonal's value if that is constant."""
        if A is None or isinstance(A, FittedIndex):
            rows = slice(None) if A is None else A.index
            cross, own = self.matrix[rows][:, columns], self.diagonal[rows]
        else:
            repaired, projected = self.repaired_.apply(A)
            cross = np.asarray(repaired, dtype=self.dtype)[:, columns]
            own = self._own(A, projected, self_similarity)
        return own[:, None] + self.diagonal[columns][None, :] - 2 * cross

    def _own(self, A, projected, given):
        if given is not None:
            return np.asarray(given, dtype=self.dtype)
        if projected is not None:
            return projected.astype(self.dtype)
        # Where it varies, squared distances of a row are off by a constant, which does not change the class posterior.
        constant = self.diagonal[0] if not np.ptp(self.diagonal) else self.diagonal.mean()
        return np.full(len(A), constant, dtype=self.dtype)

    def require_self_similarity(self, given):
        """Refuse new rows whose similarity to themselves is needed and not known."""
        if given is None and not self.self_similarity_known:
            raise InputError(
                "the similarities of new rows to themselves are needed (supervision < 1 or a real target, "
                "repair='none' or 'shift', and a diagonal that is not constant): pass self_similarity=, one number "
                "per new row."
            )

    @property
    def self_similarity_known(self):
        """Whether a new row's self-similarity follows from its similarities (repaired) or from a constant diagonal."""
        return self.repaired_.vectors is not None or float(np.ptp(self.diagonal)) <= 1e-9 * abs(
            float(self.diagonal.mean())
        )


class DissimilarityMetric(MatrixMetric):
    """Dissimilarities as they are.

    Examples
    --------
    >>> DissimilarityMetric().fit([[0.0, 2.0], [2.0, 0.0]]).pairwise().tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    """

    kind = "dissimilarity"

    def read(self, estimator, X, *, reset=True):
        """Dissimilarities X, checked."""
        return self._read(estimator, X, reset, "dissimilarity", check_dissimilarity)

    def over(self, rows):
        """The fitted metric of checked dissimilarities."""
        self.rows_ = self.matrix = self.given = symmetrized(rows)
        self.dtype = rows.dtype
        self.n_rows_ = self.n_features_in_ = len(rows)
        return self

    def squared_to(self, A, columns, self_similarity=None):
        """Squared dissimilarities."""
        if A is None or isinstance(A, FittedIndex):
            A = self.matrix if A is None else self.matrix[A.index]
        return A[:, columns] ** 2


#: What `data=` may be called.
DATA = {
    "vectors": VectorMetric, "cosine": CosineMetric, "similarity": SimilarityMetric,
    "dissimilarity": DissimilarityMetric,
}  # fmt: skip
#: Descriptions of data that are no metric themselves, and what makes the metric that each stands for.
DESCRIBED: dict[type, Callable[[Any], DataMetric]] = {}


def data_metric(data):
    """The data's own metric, unfitted, from its name, a description or an object."""
    if isinstance(data, str):
        return DATA[data]()
    return DESCRIBED[type(data)](data) if type(data) in DESCRIBED else clone(data)
