"""Where new groups of rows go on a map that is full: each as an island of its own, near its nearest of kin.

Rows placed one by one do not see each other, and a new cluster would be torn apart or fall on old ones. A group keeps
its own shape (classical scaling of its distances), at the density of the map, on the free place next to where its
medoid belongs.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from prismap._spacing import position_spacing
from prismap._spectra import classical_scaling

#: Water around an island, in typical distances between neighbours on the map.
GAP = 4.0
#: Places tried along each side of the map.
GRID = 60


def groups_of(D, link):
    """Lists of rows connected by distances up to `link`, in the order of their first row."""
    labels = connected_components(csr_array(link >= D), directed=False)[1]
    return [np.flatnonzero(labels == label) for label in dict.fromkeys(labels.tolist())]


def medoid(D):
    """The row with the smallest sum of distances."""
    return int(D.sum(axis=1).argmin())


def own_shape(D, n_components, spacing):
    """Positions about zero with distances like D, scaled so that neighbours are `spacing` apart (median)."""
    Y = classical_scaling(np.square(D), n_components)[0]
    now = float(np.median(position_spacing(Y))) if len(Y) > 1 else 0.0
    return Y * (spacing / now) if now > 0 else Y


def free_place(anchor, radius, occupied):
    """The point nearest to `anchor` that is `radius` away from all occupied ones: itself, or one of a fine grid."""
    tree = cKDTree(occupied)
    low, high = occupied.min(axis=0) - 2 * radius, occupied.max(axis=0) + 2 * radius
    n_sides = GRID if occupied.shape[1] == 2 else 15
    axes = [np.linspace(a, b, n_sides) for a, b in zip(low, high, strict=True)]
    places = np.vstack([anchor, np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, len(axes))])
    free = places[tree.query(places)[0] >= radius]
    return free[np.square(free - anchor).sum(axis=1).argmin()]


def place_islands(anchors, groups, distances, occupied):
    """Positions of grouped rows: ``anchors[g]`` is where the medoid of ``groups[g]`` belongs."""
    spacing = float(np.median(position_spacing(occupied))) or 1.0
    Y = np.empty((len(distances), occupied.shape[1]))
    for anchor, rows in zip(anchors, groups, strict=True):
        shape = own_shape(distances[np.ix_(rows, rows)], occupied.shape[1], spacing)
        radius = np.sqrt(np.square(shape).sum(axis=1).max()) + GAP * spacing
        Y[rows] = free_place(anchor, radius, occupied) + shape
        occupied = np.vstack([occupied, Y[rows]])
    return Y
