"""Kernel discriminant and kernel PCA: slow twins, scikit-learn's LDA and KernelPCA as limits, honest positions."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as TheirKernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from prismap._util.spectra import double_centre
from prismap.embeddings import KernelDiscriminant, KernelPCA
from prismap.embeddings._discriminant import class_contrasts, discriminant_axes, held_out_positions
from prismap.embeddings._kernel_pca import spectrum_of
from prismap.exceptions import InputError
from prismap.metrics import FisherMetric
from reference.discriminant_reference import between_class_projector, discriminant_ratios_reference, held_out_reference


@parametrize_with_checks(
    [
        KernelDiscriminant(),
        KernelDiscriminant(kernel="linear", cross_fit=False),
        KernelDiscriminant(alpha="baseline", random_state=0),
        KernelPCA(),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def gram():
    """A regular kernel matrix, its centred form, and classes of unequal size."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    codes = np.repeat([0, 1, 2, 3], [15, 12, 8, 5])
    K = rbf_kernel(X + 0.8 * codes[:, None], gamma=0.7)
    return K, double_centre(-2.0 * K), codes


def axes_agree(A, B):
    """The largest angle, as 1 - |cosine|, between columns."""
    A, B = A - A.mean(axis=0), B - B.mean(axis=0)
    return (1 - np.abs(np.sum(A * B, axis=0)) / (np.linalg.norm(A, axis=0) * np.linalg.norm(B, axis=0))).max()


def one_neighbour_error(Y, y):
    D = pairwise_distances(Y)
    np.fill_diagonal(D, np.inf)
    return float(np.mean(y[D.argmin(axis=1)] != y))


def test_contrasts_span_the_class_means(gram):
    codes = gram[2]
    H = class_contrasts(codes)
    np.testing.assert_allclose(H.T @ H, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(H @ H.T, between_class_projector(codes), atol=1e-12)


@pytest.mark.parametrize("ridge", [0.01, 1.0])
def test_axes_solve_the_generalised_eigenvalue_problem(gram, ridge):
    K, centred, codes = gram
    H = class_contrasts(codes)
    axes, ratios, _ = discriminant_axes(spectrum_of(K), H, ridge)
    np.testing.assert_allclose(ratios, discriminant_ratios_reference(centred, codes, ridge), rtol=1e-8)
    between = axes.T @ centred @ between_class_projector(codes) @ centred @ axes
    total = axes.T @ (centred @ centred + ridge * centred) @ axes
    np.testing.assert_allclose(np.diag(between) / np.diag(total), ratios, rtol=1e-8)
    np.testing.assert_allclose((total - between) / 40, np.eye(3), atol=1e-6)


def test_held_out_positions_equal_refitting(gram):
    K, centred, codes = gram
    H, spectrum, ridge = class_contrasts(codes), spectrum_of(K), 0.2
    folds = np.random.default_rng(0).integers(5, size=40)
    _, _, U = discriminant_axes(spectrum, H, ridge)
    fast = held_out_positions(spectrum, H, U, ridge, folds)
    np.testing.assert_allclose(fast, held_out_reference(centred, H, ridge, folds) @ U, rtol=1e-6, atol=1e-8)


def test_a_linear_kernel_without_ridge_is_linear_discriminant_analysis(iris):
    X, y = iris
    ours = KernelDiscriminant(kernel="linear", alpha=1e-9, cross_fit=False).fit(X, y)
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    assert axes_agree(ours.embedding_, theirs.transform(X)[:, :2]) < 1e-6
    within = sum(np.cov(ours.embedding_[y == c].T, bias=True) for c in range(3)) / 3
    np.testing.assert_allclose(within, np.eye(2), atol=1e-4)


def test_kernel_pca_agrees_with_scikit_learn(iris):
    X, _ = iris
    gamma = 0.3
    ours = KernelPCA(3, bandwidth=1 / np.sqrt(2 * gamma)).fit(X)
    theirs = TheirKernelPCA(3, kernel="rbf", gamma=gamma).fit(X)
    flip = np.sign(np.sum(ours.embedding_ * theirs.transform(X), axis=0))
    np.testing.assert_allclose(ours.embedding_ * flip, theirs.transform(X), atol=1e-9)
    np.testing.assert_allclose(ours.transform(X + 0.1) * flip, theirs.transform(X + 0.1), atol=1e-7)
    given = KernelPCA(3, kernel="precomputed").fit(rbf_kernel(X, gamma=gamma))
    np.testing.assert_allclose(given.embedding_, ours.embedding_, atol=1e-9)
    np.testing.assert_allclose(given.transform(rbf_kernel(X[:4], X, gamma=gamma)), ours.embedding_[:4], atol=1e-9)
    linear = KernelPCA(2, kernel="linear").fit(X)
    assert axes_agree(linear.embedding_, PCA(2).fit_transform(X)) < 1e-9
    assert linear.objective_ == pytest.approx(1 - PCA(2).fit(X).explained_variance_ratio_.sum())


def test_positions_of_noise_stay_at_chance_and_the_published_form_does_not():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 8)), rng.integers(3, size=150)
    honest = KernelDiscriminant(alpha=0.1, random_state=0).fit(X, y)
    published = KernelDiscriminant(alpha=0.1, cross_fit=False).fit(X, y)
    assert one_neighbour_error(honest.embedding_, y) > 0.55
    assert one_neighbour_error(published.embedding_, y) < 0.3


def test_classes_that_are_there_are_shown_and_new_rows_fall_among_them(iris):
    X, y = iris
    model = KernelDiscriminant(random_state=0).fit(X[::2], y[::2])
    assert one_neighbour_error(model.embedding_, y[::2]) < 0.08
    Y = model.transform(X[1::2])
    D = pairwise_distances(Y, model.embedding_)
    assert np.mean(y[::2][D.argmin(axis=1)] == y[1::2]) > 0.93
    np.testing.assert_allclose(model.transform(X[1:2]), Y[:1], atol=1e-9)


def test_a_fitted_row_keeps_its_place(iris):
    X, y = iris
    model = KernelDiscriminant(random_state=0).fit(X, y)
    np.testing.assert_allclose(model.transform(X[60:70]), model.embedding_[60:70])
    moved = model.transform(X[60:70] + 1e-9)
    assert np.abs(moved - model.embedding_[60:70]).max() > 1e-3


def test_of_many_axes_the_best_are_taken(gram):
    K, _, codes = gram
    all_axes = KernelDiscriminant(3, kernel="precomputed", random_state=0).fit(K, codes)
    two = KernelDiscriminant(2, kernel="precomputed", random_state=0).fit(K, codes)
    assert (np.diff(all_axes.ratios_) <= 0).all()
    np.testing.assert_allclose(two.ratios_, all_axes.ratios_[:2])
    np.testing.assert_allclose(two.embedding_, all_axes.embedding_[:, :2], atol=1e-9)
    np.testing.assert_allclose(two.coefficients_, all_axes.coefficients_[:, :2], atol=1e-9)


def test_two_classes_leave_room_for_the_rest_of_the_data():
    X, y = make_blobs(80, 4, centers=2, random_state=0)
    model = KernelDiscriminant(kernel="linear", cross_fit=False).fit(X, y)
    assert model.ratios_.shape == (1,)
    assert one_neighbour_error(model.embedding_[:, :1], y) == 0
    second = model.embedding_[:, 1]
    assert second.std() == pytest.approx(1)
    # The second axis is the longest one orthogonal to the first in the data space.
    w = np.linalg.lstsq(X - X.mean(axis=0), model.embedding_[:, 0], rcond=None)[0]
    w /= np.linalg.norm(w)
    rest = X - X.mean(axis=0) - np.outer((X - X.mean(axis=0)) @ w, w)
    assert axes_agree(second[:, None], PCA(1).fit_transform(rest)) < 1e-6


def test_similarities_that_are_no_kernel_are_clipped_and_told():
    rng = np.random.default_rng(0)
    X, y = make_blobs(60, 3, centers=3, random_state=1)
    S = rbf_kernel(X, gamma=0.05) + 0.1 * (noise := rng.normal(size=(60, 60))) + 0.1 * noise.T
    model = KernelDiscriminant(kernel="precomputed", random_state=0).fit(S, y)
    assert 0.05 < model.negative_mass_ < 0.6
    assert one_neighbour_error(model.embedding_, y) < 0.1
    values, vectors = np.linalg.eigh(double_centre(-2.0 * S))
    clipped = (vectors * np.maximum(values, 0)) @ vectors.T
    repaired = KernelDiscriminant(kernel="precomputed", random_state=0, alpha=1.0).fit(clipped, y)
    np.testing.assert_allclose(np.abs(model.embedding_), np.abs(repaired.embedding_), atol=1e-6)


def test_any_metric_and_rows_without_labels(iris):
    X, y = iris
    D = pairwise_distances(X, metric="cityblock")
    by_name = KernelDiscriminant(metric="cityblock", random_state=0).fit(X, y)
    given = KernelDiscriminant(metric="precomputed", random_state=0).fit(D, y)
    np.testing.assert_allclose(by_name.embedding_, given.embedding_, atol=1e-8)
    fisher = KernelPCA(metric=FisherMetric(posterior="parzen", random_state=0)).fit(X, y)
    assert one_neighbour_error(fisher.embedding_, y) < 0.08
    partly = y.copy()
    partly[::3] = -1
    model = KernelDiscriminant(random_state=0).fit(X, partly)
    assert model.embedding_.shape == (150, 2)
    alone = KernelDiscriminant(bandwidth=model.bandwidth_, random_state=0).fit(X[partly >= 0], y[partly >= 0])
    np.testing.assert_allclose(model.embedding_[partly >= 0], alone.embedding_, atol=1e-7)
    np.testing.assert_allclose(model.embedding_[::3], alone.transform(X[::3]), atol=1e-7)


def test_one_call_back_and_the_same_result_for_a_seed(iris):
    X, y = iris
    calls = []
    a = KernelDiscriminant(random_state=5, callback=lambda *args: calls.append(args)).fit(X, y)
    b = KernelDiscriminant(random_state=5).fit(X, y)
    np.testing.assert_array_equal(a.embedding_, b.embedding_)
    assert [call[:2] for call in calls] == [(1, a.objective_)]
    assert (a.n_iter_, a.stop_reason_) == (1, "closed form")
    assert a.objective_ == pytest.approx(a.ratios_.sum())


def test_bad_input_is_refused(iris, monkeypatch):
    X, y = iris
    with pytest.raises(InputError, match="requires y"):
        KernelDiscriminant().fit(X)
    with pytest.raises(InputError, match="only one class"):
        KernelDiscriminant().fit(X, np.zeros(150))
    with pytest.raises(InputError, match="Set data='dissimilarity'|distance matrix"):
        KernelDiscriminant(kernel="precomputed").fit(pairwise_distances(X), y)
    with pytest.raises(InputError, match="symmetric"):
        KernelPCA(kernel="precomputed").fit(np.triu(rbf_kernel(X)) + np.eye(150), y)
    monkeypatch.setattr("prismap._util.blocks.available_bytes", lambda: 1000)
    with pytest.raises(InputError, match="takes apart an n x n matrix.*GiB.*Fit fewer rows and transform the others"):
        KernelDiscriminant().fit(X, y)
