"""The map for new rows inside a `PrisMap`: kernels on distances, down to arrays that a file can hold, or an object."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from prismap.exceptions import InputError
from prismap.mappings import DirectPlacement, KernelMap, VoteMap
from prismap.mappings.kernels import kernel_matrix

#: How the coefficients of the kernel map are found, by the name of the mapping.
KERNEL_FITS = {"fisher": "interpolate", "euclidean": "interpolate", "svr": "svr", "cost": "cost"}
#: Other maps by name. They are made anew from the fitted rows when a map is loaded.
PLACEMENTS = {"elm": KernelMap("elm"), "direct": DirectPlacement(), "vote": VoteMap()}
#: Rows that the search for the mapping's smoothness looks at.
SMOOTHNESS_ROWS = 500


@dataclass(frozen=True)
class Kernels:
    """A fitted kernel map, down to its arrays: ``y(x) = sum_j alpha_j k_j(x) / sum_l k_l(x) + center``."""

    landmarks: np.ndarray
    bandwidth: np.ndarray
    coefficients: np.ndarray
    center: np.ndarray
    smoothness: np.ndarray

    @classmethod
    def fit(cls, D, Y, seed, smoothness=None, fit="interpolate", perplexity=30):
        """Learn it from the distances between the fitted rows and their positions.

        `smoothness`, bandwidth factor and ridge, is found by cross-validation on a sample unless it is given: both are
        relative to the rows' own spacing, and a sample shows them as well as all rows would.
        """
        if smoothness is None:
            sample = np.sort(np.random.default_rng(seed).permutation(len(D))[:SMOOTHNESS_ROWS])
            trial = KernelMap(metric="precomputed", random_state=seed).fit(D[np.ix_(sample, sample)], Y[sample])
            smoothness = trial.factor_, trial.ridge_
        factor, ridge = (float(value) for value in smoothness)
        options = {"metric": "precomputed", "bandwidth": factor, "ridge": ridge, "perplexity": perplexity}
        fitted = KernelMap(solver=fit, **options).fit(D, Y)
        arrays = fitted.landmarks_, fitted.bandwidth_, fitted.coefficients_, fitted.center_
        return cls(*arrays, np.array([factor, ridge]))

    def transform(self, D):
        """Positions of new rows from their distances to the anchors, in the precision of these distances."""
        if len(self.landmarks) < D.shape[1]:
            D = D[:, self.landmarks]
        K = kernel_matrix(D, self.bandwidth.astype(D.dtype), normalize=True)
        return K @ np.ascontiguousarray(self.coefficients, dtype=D.dtype) + self.center


@dataclass(frozen=True)
class FittedMap:
    """A map for new rows that is an object of its own: one of `prismap.mappings`, or the embedding's own."""

    model: Any

    def transform(self, D):
        """Positions of new rows from their distances to the fitted rows."""
        return np.asarray(self.model.transform(D.astype(np.float64)), dtype=np.float64)


def make_mapping(recipe, embedding, D, landmarks):
    """The map for new rows: our kernels, another map by name or as an object, or the embedding's own.

    D : distances between the landmarks, which are all fitted rows unless the map is large.
    """
    Y = np.asarray(embedding.embedding_, dtype=np.float64)[landmarks]
    if isinstance(recipe.mapping, str) and recipe.mapping == "own":
        if not hasattr(embedding, "transform"):
            raise InputError(
                f"mapping='own' needs a method that can place new rows itself, 'som' or 'gtm'; "
                f"{type(embedding).__name__} cannot. Use mapping='fisher'."
            )
        return FittedMap(embedding)
    large = len(landmarks) < len(embedding.embedding_)
    by_vote = isinstance(recipe.mapping, str) and recipe.mapping == "vote"
    if large and by_vote:  # `Cells` let the nearest rows decide there, on top of kernels
        recipe = replace(recipe, mapping="fisher")
    if not isinstance(recipe.mapping, str) or recipe.mapping in PLACEMENTS:
        if large:
            raise InputError(
                f"mapping={recipe.mapping!r} needs all distances; on a large map use mapping='fisher', or set fit_rows."
            )
        return FittedMap(placement(recipe).fit(D, Y))
    mapping = Kernels.fit(D, Y, recipe.seed, recipe.smoothness, KERNEL_FITS[recipe.mapping], recipe.perplexity)
    return replace(mapping, landmarks=landmarks[mapping.landmarks])


def placement(recipe):
    """The map that the recipe asks for by name or by an object, to be fitted to distances."""
    if not isinstance(recipe.mapping, str):
        return clone(recipe.mapping).set_params(metric="precomputed")
    model = clone(PLACEMENTS[recipe.mapping]).set_params(metric="precomputed")
    own = {"perplexity": recipe.perplexity, "random_state": recipe.seed}
    return model.set_params(**{name: value for name, value in own.items() if name in model.get_params()})
