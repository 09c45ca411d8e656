"""Isomap: classical scaling of the lengths of shortest paths over a neighbour graph.

Tenenbaum, de Silva & Langford, Science 290 (2000); landmarks: de Silva & Tenenbaum, NIPS 15 (2003). Schulz
(2017), sec. 3.2, Gisbrecht et al. (2015), sec. 2.2.
"""

from __future__ import annotations

from numbers import Integral

import numpy as np

from prismap._util.blocks import require_memory
from prismap._util.graphs import connected_neighbours, geodesics, neighbour_graph, smallest_mutual
from prismap._util.params import Interval, StrOptions
from prismap._util.spectra import check_n_components, classical_scaling, triangulate
from prismap.embeddings._base import Embedding, EmbeddingResult


class Isomap(Embedding):
    """Isomap on any metric: classical scaling of distances along the data.

    Nearest neighbours form a graph. Shortest paths in it stand for distances along the manifold, and the leading
    eigenvectors of their centred Gram matrix are the positions. With ``metric=FisherMetric()`` this is Fisher Isomap.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    metric : str or metric object, default="euclidean"
        A name that scikit-learn knows, ``"precomputed"``, or an object such as `FisherMetric`.
    n_neighbors : int, "auto" or "mutual", default="auto"
        Neighbours per sample. "auto" is the smallest number whose graph is connected. "mutual" is the smallest number
        for which this holds where two samples are joined only if each is a neighbour of the other. Figures of Rice
        (2016) agree with it.
    n_landmarks : int, default=None
        Number of random samples from which paths are measured. None uses all samples.
    callback : callable, default=None
        ``callback(iteration, error, embedding)``, called once, because the result has a closed form.
    random_state : int, Generator, RandomState instance or None, default=None
        Chooses the landmarks and the start of the eigenvalue search.

    Attributes
    ----------
    embedding_ : array (n, n_components)
        Positions of the fitted samples.
    objective_ : float
        ``||G - G_q||_F / n`` over the landmarks: what the positions leave of the Gram matrix of path lengths.
    n_neighbors_ : int
        The number of neighbours used.
    eigenvalues_ : array (n_components,)
        Negative ones indicate distances that are not Euclidean, and their axes are zero.
    landmarks_ : array or None
        Indices of the landmarks.
    n_iter_, stop_reason_, metric_ : int, str and metric object
        As in the other embeddings.

    See Also
    --------
    MDS : The same on the distances themselves.
    LLE : Another method for one smooth sheet.

    Notes
    -----
    Time is O(n^2 (k + log n)) and memory 16 n^2 bytes, so 10,000 samples are practical (1.6 GB). With L landmarks, time
    is O(L n (k + log n)) and memory 16 L n bytes, so 100,000 samples are. `prismap.mappings` projects new samples.

    References
    ----------
    J. Tenenbaum, V. de Silva, J. Langford (2000), A global geometric framework for nonlinear dimensionality reduction.
    Schulz (2017), sec. 3.2. The choice of n_neighbors="auto" follows Rice (2016).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> Isomap(random_state=0).fit_transform(X).shape
    (150, 2)
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "metric": [str, object],
        "n_neighbors": [StrOptions({"auto", "mutual"}), Interval(Integral, 1, None, closed="left")],
        "n_landmarks": [Interval(Integral, 2, None, closed="left"), None],
        "callback": [callable, None],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        n_components=2,
        *,
        metric="euclidean",
        n_neighbors="auto",
        n_landmarks=None,
        callback=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.n_landmarks = n_landmarks
        self.callback = callback
        self.random_state = random_state

    def _embed(self, metric, n_rows, rng):
        landmarks = choose_landmarks(self.n_landmarks, n_rows, rng)
        n_sources = n_rows if landmarks is None else len(landmarks)
        check_n_components(self.n_components, n_sources, "Isomap")
        require_memory(
            16.0 * n_sources * n_rows,
            f"Isomap of {n_rows} rows with paths from {n_sources} of them",
            "Set n_landmarks to fewer rows, 500 say.",
        )
        if self.n_neighbors == "mutual":
            graph, n_neighbors = smallest_mutual(metric, n_rows)
        else:
            distances, indices = connected_neighbours(metric, n_rows, self.n_neighbors)
            graph, n_neighbors = neighbour_graph(distances, indices), indices.shape[1]
        D2 = geodesics(graph, landmarks)
        D2 *= D2
        if landmarks is None:
            Y, values, missing = classical_scaling(D2, self.n_components, rng)
        else:
            D2_landmarks = D2[:, landmarks]
            Y, values, missing = classical_scaling(D2_landmarks.copy(), self.n_components, rng)
            Y = triangulate(D2, D2_landmarks, Y)
        if self.callback is not None:
            self.callback(1, missing, Y)
        extra = {"n_neighbors_": n_neighbors, "eigenvalues_": values, "landmarks_": landmarks}
        return EmbeddingResult(Y, missing, 1, "closed form", extra)


def choose_landmarks(n_landmarks, n_rows, rng):
    """Sorted random rows, or None for all."""
    if n_landmarks is None or n_landmarks >= n_rows:
        return None
    return np.sort(rng.choice(n_rows, n_landmarks, replace=False))
