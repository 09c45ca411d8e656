"""Kernel discriminant analysis: axes of a Gram matrix's feature space that separate classes.

Baudat & Anouar, Neural Computation 12 (2000); Cai, He & Han, VLDB Journal 20 (2011), whose regularised form is solved
here in closed form. Schulz et al. (2017), Table 1.
"""

from __future__ import annotations

from hashlib import blake2b
from numbers import Real

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from prismap._util.params import Interval, StrOptions
from prismap._util.random import as_generator
from prismap._util.spectra import check_n_components
from prismap._util.threads import on_one_thread
from prismap._util.validation import check_rows
from prismap.embeddings._kernel_pca import KERNEL_CONSTRAINTS, KernelEmbedding, spectrum_of
from prismap.exceptions import InputError
from prismap.metrics._baseline import JUDGED_ROWS, N_PERMUTATIONS, as_expected, chance_error, neighbor_error
from prismap.target import deal_folds, shuffle_entries
from prismap.target._labels import encode_classes

N_FOLDS = 10
#: Ridges that the permuted-label baseline chooses from, the most flexible first.
ALPHAS = tuple(10.0**power for power in range(-3, 4))


def class_contrasts(codes):
    """Orthonormal basis (n, C - 1) of the vectors that are constant within classes and add up to zero."""
    indicators = np.eye(codes.max() + 1)[codes]
    roots = np.sqrt(indicators.sum(axis=0))
    # In the basis of unit class indicators the constant vector is `roots`; it comes first and is dropped.
    basis = np.linalg.qr(np.column_stack([roots, np.eye(len(roots))]))[0]
    return (indicators / roots) @ basis[:, 1:]


def discriminant_axes(spectrum, H, ridge):
    """Axes that maximise ``a^T K H H^T K a / a^T (K K + ridge K) a``: between-class over total variance, regularised.

    With K = V diag(l) V^T all solutions are a = (K + ridge I)^-1 H u, u an eigenvector of the small matrix
    ``H^T K (K + ridge I)^-1 H`` to the ratio r. They are scaled to within-class (and ridge) variance one. Returns the
    coefficients a (n, C - 1), the ratios, best first, and the scaled u.
    """
    projected = spectrum.vectors.T @ H
    shrink = spectrum.values / (spectrum.values + ridge)
    ratios, U = np.linalg.eigh(projected.T @ (shrink[:, None] * projected))
    ratios, U = np.clip(ratios[::-1], 0.0, 1.0 - 1e-12), U[:, ::-1]
    scale = np.sqrt(len(H) / np.maximum(ratios * (1.0 - ratios), np.finfo(np.float64).eps))
    U = U * scale
    return spectrum.vectors @ ((projected @ U) / (spectrum.values + ridge)[:, None]), ratios, U


def held_out_positions(spectrum, H, U, ridge, folds):
    """Positions ``S H U`` of rows from axes fitted without their fold, S = K (K + ridge I)^-1.

    a = (K + ridge I)^-1 H is ridge regression of H, so the prediction for a fold F left out has the closed form
    ``(I - S_FF)^-1 (S_F H - S_FF H_F)``.
    """
    shrink = spectrum.values / (spectrum.values + ridge)
    fitted = spectrum.vectors @ (shrink[:, None] * (spectrum.vectors.T @ H))
    out = np.empty_like(fitted)
    for fold in np.unique(folds):
        rows = folds == fold
        V = spectrum.vectors[rows]
        S = (V * shrink) @ V.T
        out[rows] = np.linalg.solve(np.eye(len(S)) - S, fitted[rows] - S @ H[rows])
    return out @ U


def ridge_of(spectrum, alpha):
    """`alpha` as a share of the mean eigenvalue."""
    return alpha * max(float(spectrum.values.sum()) / len(spectrum.vectors), np.finfo(np.float64).tiny)


def ridge_by_baseline(spectrum, codes, n_axes, folds, rng):
    """The smallest ridge of `ALPHAS` whose baseline is as expected (Schulz et al. 2017, sec. 5), and the curve.

    The baseline is the 1-NN error of permuted labels along their own discriminating axes; held-out ones with `folds`.
    """
    shuffled = [shuffle_entries(codes, np.arange(len(codes)), rng) for _ in range(N_PERMUTATIONS)]
    judged = rng.permutation(len(codes))[:JUDGED_ROWS]

    def error(alpha):
        errors = []
        for y in shuffled:
            H, ridge = class_contrasts(y), ridge_of(spectrum, alpha)
            axes, _, U = discriminant_axes(spectrum, H, ridge)
            if folds is None:
                Y = (spectrum.vectors * spectrum.values) @ (spectrum.vectors.T @ axes[:, :n_axes])
            else:
                Y = held_out_positions(spectrum, H, U[:, :n_axes], ridge, folds)
            errors.append(neighbor_error(cdist(Y[judged], Y), judged, y))
        return float(np.mean(errors))

    return as_expected(ALPHAS, error, chance_error(codes), "alpha")


def remaining_axes(spectrum, axes, n_axes):
    """Leading principal components of what is orthogonal to `axes` in feature space, scaled to variance one."""
    roots = np.sqrt(spectrum.values)
    features = spectrum.vectors * roots
    directions = np.linalg.qr(features.T @ axes)[0]
    rest = features - (features @ directions) @ directions.T
    _, sizes, right = np.linalg.svd(rest, full_matrices=False)
    q = min(n_axes, int(np.sum(sizes > 1e-8 * roots.max(initial=1.0))))
    coefficients = spectrum.vectors @ (right[:q].T / roots[:, None]) * (np.sqrt(len(features)) / sizes[:q])
    return np.pad(coefficients, ((0, 0), (0, n_axes - q)))


class KernelDiscriminant(KernelEmbedding):
    """Kernel discriminant analysis, regularised and cross-fitted, on any metric or similarity.

    Finds axes of feature space with the largest ratio of the variance between classes to the total variance plus a
    ridge. C classes have C - 1 such axes. Further ones, up to `n_components`, are principal components of the rest. A
    flexible kernel can memorise labels, so the positions of fitted samples come by default from axes that were
    fitted without the sample's fold (ten stratified folds, in closed form). `transform` uses all samples, and gives a
    sample that equals a fitted one its position.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    metric : str or metric object, default="euclidean"
        A name that scikit-learn knows, ``"precomputed"``, or an object such as `FisherMetric`.
    kernel : {"rbf", "linear", "precomputed"}, default="rbf"
        ``exp(-d^2 / 2 bandwidth^2)``, inner products from centred squared distances, or X is a matrix of similarities.
        Negative eigenvalues are clipped.
    bandwidth : float, default=None
        Width of the kernel. None is the root of half the median squared distance.
    alpha : float or "baseline", default=1.0
        Ridge, as a share of the mean eigenvalue (trace / n) of the centred Gram matrix. "baseline" takes the smallest
        of 0.001, ..., 1000 with which permuted labels have nearly the nearest-neighbour error of chance, as the papers
        regularise the in-sample form (``cross_fit=False``).
    cross_fit : bool, default=True
        Whether positions of fitted samples are held-out ones. False is the published form, which shows classes in
        noise.
    callback : callable, default=None
        ``callback(iteration, error, embedding)``, called once, because the result has a closed form.
    random_state : int, Generator, RandomState instance or None, default=None
        Seed of the folds.

    Attributes
    ----------
    embedding_ : array (n, n_components)
        Positions of the fitted samples.
    objective_ : float
        Sum of `ratios_`.
    ratios_ : array (min(C - 1, n_components),)
        Between-class variance over total variance plus ridge along each discriminating axis, in-sample.
    classes_ : array
        The classes.
    alpha_, alpha_curve_ : float and tuple of (float, float)
        The ridge in use, and with "baseline" the ridges tried with the error of permuted labels.
    negative_mass_ : float
        Share of negative eigenvalues that were clipped.
    bandwidth_, coefficients_, offset_, metric_, n_iter_, stop_reason_ : float, arrays, metric object, int and str
        The fitted model in detail.

    See Also
    --------
    PrisMap : Nonlinear supervised maps.
    KernelPCA : The unsupervised method on the same kernels.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : The linear method, without cross-fitting.

    Notes
    -----
    Time is O(n^3) for one eigendecomposition, and memory 32 n^2 bytes, so 4,000 samples are practical (some minutes,
    0.5 GB).

    References
    ----------
    S. Mika et al. (1999), Fisher discriminant analysis with kernels. Schulz et al. (2017), Table 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelDiscriminant(random_state=0).fit_transform(X, y).shape
    (150, 2)
    """

    _parameter_constraints = {
        **KERNEL_CONSTRAINTS,
        "alpha": [Interval(Real, 0, None, closed="neither"), StrOptions({"baseline"})],
        "cross_fit": ["boolean"],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        n_components=2,
        *,
        metric="euclidean",
        kernel="rbf",
        bandwidth=None,
        alpha=1.0,
        cross_fit=True,
        callback=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.metric = metric
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.alpha = alpha
        self.cross_fit = cross_fit
        self.callback = callback
        self.random_state = random_state

    @on_one_thread
    def fit_transform(self, X, y=None):
        """Fit the axes to the labelled rows and return the positions of all; -1, None or NaN in y means no label."""
        self._check_parameters()
        if y is None:
            raise InputError("KernelDiscriminant requires y to be passed, but the target y is None.")
        K = self._gram(X, y)
        self.classes_, codes = encode_classes(y, len(K))
        rows = np.flatnonzero(codes >= 0)
        check_n_components(self.n_components, len(rows), "KernelDiscriminant")
        spectrum = spectrum_of(K[np.ix_(rows, rows)])
        H = class_contrasts(codes[rows])
        rng = as_generator(self.random_state)
        folds = deal_folds(codes[rows], min(N_FOLDS, len(rows)), rng) if self.cross_fit else None
        self.alpha_ = self.alpha
        if self.alpha == "baseline":
            self.alpha_, self.alpha_curve_ = ridge_by_baseline(spectrum, codes[rows], self.n_components, folds, rng)
        ridge = ridge_of(spectrum, self.alpha_)
        axes, ratios, U = discriminant_axes(spectrum, H, ridge)
        q = min(self.n_components, len(ratios))
        coefficients = np.zeros((len(K), self.n_components))
        coefficients[rows] = np.hstack([axes[:, :q], remaining_axes(spectrum, axes, self.n_components - q)])
        self._keep(K, coefficients, rows, float(ratios[:q].sum()))
        self.ratios_, self.negative_mass_ = ratios[:q], spectrum.negative_mass
        if self.cross_fit:
            self.embedding_[rows, :q] = held_out_positions(spectrum, H, U[:, :q], ridge, folds)
            self.known_ = row_numbers(check_rows(self, X, reset=False, sparse=True))
        return self._report()

    def transform(self, X):
        """Positions of new rows: from vectors, or from their distances or similarities to the fitted rows.

        Rows that equal a fitted one keep its position, which, with `cross_fit`, does not depend on their own label.
        """
        Y = super().transform(X)
        if self.cross_fit:
            for i, row in enumerate(row_keys(check_rows(self, X, reset=False, sparse=True))):
                if row in self.known_:
                    Y[i] = self.embedding_[self.known_[row]]
        return Y

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def row_keys(X):
    """A short key for each row, the same for equal rows whatever their format."""
    for start in range(0, X.shape[0], 1000):
        block = X[start : start + 1000]
        block = np.ascontiguousarray(block.toarray() if sp.issparse(block) else block, dtype=np.float64) + 0.0
        yield from (blake2b(row, digest_size=16).digest() for row in block)


def row_numbers(X):
    """The number of the first row with each key."""
    numbers: dict[bytes, int] = {}
    for i, key in enumerate(row_keys(X)):
        numbers.setdefault(key, i)
    return numbers
