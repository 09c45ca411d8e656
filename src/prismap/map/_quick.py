"""Quick maps: a short t-SNE of many small sets of rows at once, to see what two dimensions would keep of a metric.

For a few dozen rows and iterations, most of the time of a descent goes into calls, not into numbers. Here one iteration
moves many maps, stacked (m, n, n), as far as they fit into the cache together. Pure functions on arrays; then
embeddings for maps that are not shown: only their neighbours are counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from prismap._util.affinities import calibrate, lower_perplexity
from prismap._util.arrays import Numbers
from prismap._util.blocks import row_blocks
from prismap._util.scales import typical_spacing
from prismap._util.threads import on_one_thread
from prismap.embeddings import TSNE
from prismap.embeddings._base import Embedding, EmbeddingResult, all_distances

#: Iterations, first exaggerated and then plain, and the factor on the affinities of the first.
EARLY_STEPS, STEPS, EXAGGERATION = 25, 50, 12.0
#: Momentum and the longest step of the descent, as in openTSNE (Policar et al. 2019); steps of the walk to begin with.
MOMENTUM, LONGEST_STEP, WALK_STEPS = 0.8, 5.0, 20
#: Neighbours that the spacing of a map is the distance to.
SPACING_NEIGHBORS = 10
#: Rows up to which the quick map of one set is faster than t-SNE, and the iterations of t-SNE above.
MOST_ROWS, SHORT_ITER = 600, 40


def stacked_affinities(D2: Numbers, perplexity: float) -> Any:
    """Joint affinities of each map's rows (m, n, n), which sum to one, from their squared distances."""
    m, n, _ = D2.shape
    D2 = D2.copy()
    D2[:, np.arange(n), np.arange(n)] = np.inf
    P = calibrate(D2.reshape(m * n, n), perplexity, tol=1e-3)[0].reshape(m, n, n)
    return (P + P.transpose(0, 2, 1)) / (2 * n)


def walked_start(P: Any, rng: np.random.Generator) -> Any:
    """Where a few steps of the random walk on the affinities carry positions of chance, all maps the same: (m, n, 2).

    Each step S = D^-1/2 P D^-1/2 (D the row sums), without its constant eigenvector, is a step of the power method for
    the next two, with which `prismap.embeddings.TSNE` starts.
    """
    m, n, _ = P.shape
    root = np.sqrt(P.sum(axis=2, keepdims=True))
    S = P / (root * root.transpose(0, 2, 1))
    constant = root / np.linalg.norm(root, axis=1, keepdims=True)
    V = np.broadcast_to(rng.normal(size=(n, 2)), (m, n, 2))
    for _ in range(WALK_STEPS):
        V = S @ V + V  # with itself, that negative eigenvalues do not count
        V = V - constant * (constant.transpose(0, 2, 1) @ V)
        V = np.linalg.qr(V)[0]
    Y = V / root
    spread = Y.std(axis=1, keepdims=True).max(axis=2, keepdims=True)
    return 1e-4 * (Y / np.where(spread > 0, spread, 1.0) + 0.01 * rng.normal(size=(n, 2)))


@on_one_thread
def quick_maps(D2: Numbers, perplexity: float, rng: np.random.Generator) -> Any:
    """Positions (m, n, 2) of a short t-SNE of each of the squared distances D2 (m, n, n), with a spacing of one.

    Gradient descent with momentum and a gain per coordinate (Jacobs 1988; van der Maaten and Hinton 2008, sec. 3.4):
    ``grad_i = sum_j (p_ij - q_ij) w_ij (y_i - y_j)``, ``w_ij = (1 + |y_i - y_j|^2)^-1``, ``q_ij = w_ij / sum w``.
    """
    P, n = stacked_affinities(D2, perplexity), D2.shape[1]
    # In double precision: rounding that differs between processors grows in every step, and of single precision it is
    # larger at the end than what maps differ in, so that other shares would be chosen.
    Y = walked_start(P, rng)
    move, gains = np.zeros_like(Y), np.ones_like(Y)
    stacks = list(row_blocks(len(P), 8.0 * n * n, 2**20))  # which stay in the cache
    for step in range(EARLY_STEPS + STEPS):
        factor = EXAGGERATION if step < EARLY_STEPS else 1.0
        if step == EARLY_STEPS:
            move, gains = np.zeros_like(Y), np.ones_like(Y)
        slope = np.concatenate([descent_slope(Y[some], P[some], factor) for some in stacks])
        same = np.sign(slope) == np.sign(move)
        gains = np.maximum(np.where(same, 0.8 * gains, gains + 0.2), 0.01)
        move = MOMENTUM * move - max(200.0, n / factor) * gains * slope
        length = np.linalg.norm(move, axis=2, keepdims=True)
        move *= np.minimum(1.0, LONGEST_STEP / np.maximum(length, LONGEST_STEP))
        Y = Y + move
        Y -= Y.mean(axis=1, keepdims=True)
    return Y / np.array([typical_spacing(one, SPACING_NEIGHBORS) for one in Y])[:, None, None]


def descent_slope(Y: Any, P: Any, factor: float) -> Any:
    """A quarter of the gradient of ``KL(P || Q)``, with affinities times `factor`."""
    ones = np.ones_like(Y[:, :, :1])
    squares = np.square(Y).sum(axis=2, keepdims=True) + Y.dtype.type(0.5)
    # 1 + |y_i - y_j|^2 as one product, and both sums of the gradient as another
    W = np.concatenate([-2 * Y, squares, ones], axis=2) @ np.concatenate([Y, ones, squares], axis=2).transpose(0, 2, 1)
    np.reciprocal(np.maximum(W, 1, out=W), out=W)
    total = W.sum(axis=(1, 2)) - W.shape[1]  # the diagonal, where w is one, does not count; it pulls nowhere
    F = W * (-1 / total)[:, None, None]
    F += factor * P if factor != 1 else P
    F *= W
    pulls = F @ np.concatenate([Y, ones], axis=2)
    return pulls[:, :, 2:] * Y - pulls[:, :, :2]


# --- embeddings of maps that are compared -----------------------------------------------------------------------------


class ShortTSNE(TSNE):
    """A t-SNE that ends as soon as the errors of neighbours have settled, long before the picture has.

    Parameters
    ----------
    perplexity : float, default=30
    metric : name or metric object, default="euclidean"
    known : array (n, 2) or None, default=None
        Positions that the rows have on a map of the data's own metric, which is then not made again. Distances of
        another metric (``metric="precomputed"``, or an object) make a map of their own.
    neighbors : str or pair of arrays, default="auto"
        As in `TSNE`, for more rows than all distances have room for.
    random_state : int or None, default=None
    """

    def __init__(
        self,
        *,
        perplexity: float = 30,
        metric: Any = "euclidean",
        known: Any = None,
        neighbors: Any = "auto",
        random_state: Any = None,
    ) -> None:
        super().__init__(
            perplexity=perplexity, metric=metric, max_iter=SHORT_ITER, neighbors=neighbors, random_state=random_state
        )
        self.known = known

    def _embed(self, metric: Any, n_rows: int, rng: np.random.Generator) -> Any:
        if self.known is not None and isinstance(self.metric, str) and self.metric == "euclidean":
            return EmbeddingResult(np.asarray(self.known), float("nan"), 0, "known")
        if n_rows > MOST_ROWS:
            return super()._embed(metric, n_rows, rng)
        perplexity = lower_perplexity(self.perplexity, n_rows)
        D = all_distances(metric, n_rows, method="t-SNE", n_matrices=6)
        Y = quick_maps(np.square(D)[None], perplexity, rng)[0].astype(np.float64)
        return EmbeddingResult(Y, float("nan"), EARLY_STEPS + STEPS, "max_iter")


class Known(Embedding):
    """Positions that are known, as an embedding.

    Parameters
    ----------
    positions : array (n, 2)
    metric : name or metric object, default="euclidean"
    """

    def __init__(self, positions: Numbers, metric: Any = "euclidean") -> None:
        self.positions = positions
        self.metric = metric

    def _check_parameters(self) -> None:
        """They are those of a map that was made."""

    def _embed(self, metric: Any, n_rows: int, rng: np.random.Generator) -> EmbeddingResult:
        return EmbeddingResult(np.asarray(self.positions), float("nan"), 0, "known")
