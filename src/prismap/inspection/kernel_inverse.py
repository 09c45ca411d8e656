"""The published way back from the plane (Schulz 2017, sec. 3.3): kernels in the plane, weighted by the Fisher tensor.

``pi^-1(z) = sum_j b_j k_j(z) / sum_l k_l(z)`` (eq. 3.2) minimises ``sum_i r_i^T (J(x_i) + e I) r_i`` with
r_i = x_i - pi^-1(z_i) (eq. 3.3, and the regularised J of eq. 2.16). J is the tensor of the map's own metric: that of
the model where it supervises the map (sec. 3.5.4). A metric without a tensor is stood in for by the Parzen estimate
(for real targets the Gaussian process) of its target, and a map without a target has the squared error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from prismap.exceptions import InputError
from prismap.map import PrisMap
from prismap.map.known import KnownRows
from prismap.mappings import InverseMap
from prismap.metrics import FisherMetric, Parzen

#: Widths by the rule of kernel t-SNE, kernels at a codebook, and the Euclidean part e of the default. (With hardly any,
#: directions and rows that do not matter for the target are lost: on digits 69 % agreement instead of 99.)
PUBLISHED = InverseMap(bandwidth="all-representable")
#: Support of a Parzen estimate that is made for its tensor alone.
TENSOR_SUPPORT = 2000


@dataclass(frozen=True)
class Tensors:
    """Factors (n, C, D) of the Fisher tensors of some rows, in the place of a metric fitted to them."""

    factors: np.ndarray

    @property
    def n_rows_(self) -> int:
        """How many rows they are."""
        return len(self.factors)

    def tensor_factor(self, A: Any = None) -> np.ndarray:
        """The factors."""
        return self.factors


def kernel_inverse(fitted: Any, positions: np.ndarray, rows: np.ndarray, inverse: InverseMap | None = None) -> Any:
    """The function from places to rows of the published inverse, or of an `InverseMap` of the user's.

    Behind the scalers of a pipeline the inverse is learnt in scaled units, in which the metric of the map measures.
    """
    before = fitted[:-1] if isinstance(fitted, Pipeline) and len(fitted) > 1 else None
    if before is not None and not hasattr(before, "inverse_transform"):
        before = None
    inner = rows if before is None else np.asarray(before.transform(rows), dtype=np.float64)
    if inverse is None:
        plane = fitted.steps[-1][1] if isinstance(fitted, Pipeline) else fitted
        known, factors = tensors_of(plane, inner)
        made = clone(PUBLISHED).set_params(metric=None if factors is None else Tensors(factors))
        made.fit(positions[known], inner[known])
    else:
        made = clone(inverse).fit(positions, inner)
    if before is None:
        return made.transform
    return lambda places: np.asarray(before.inverse_transform(made.transform(places)), dtype=np.float64)


def tensors_of(plane: Any, rows: np.ndarray) -> tuple[Any, np.ndarray | None]:
    """Which rows are fitted ones of a map with a target, and the factors of their tensors; else all rows and None."""
    every = slice(None)
    if not isinstance(plane, PrisMap) or plane.target_ not in ("class", "real") or plane.parts_.data.is_matrix:
        return every, None
    found, place = KnownRows(plane.fitted_rows()).find(rows)
    if len(found) < 2:
        return every, None
    return found, fitted_factors(plane)[place]


def fitted_factors(plane: PrisMap) -> np.ndarray:
    """Factors of the tensors of a map's fitted rows, cross-fitted where its metric is."""
    if isinstance(plane.metric_, FisherMetric):
        try:
            return np.asarray(plane.metric_.tensor_factor(None), dtype=np.float64)
        except InputError:  # known at the rows only
            pass
    posterior = Parzen(TENSOR_SUPPORT) if plane.target_ == "class" else "gp"
    metric = FisherMetric(plane.target_, posterior=posterior, perplexity=plane.perplexity, random_state=plane.seed_)
    return np.asarray(metric.fit(plane.fitted_rows(), plane.fitted_target()).tensor_factor(None), dtype=np.float64)
