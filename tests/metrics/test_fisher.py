"""The Fisher metric against its slow twin, and the laws it must keep."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_classification

from prismap._util.threads import limit_threads
from prismap.exceptions import InputError, PrismapWarning
from prismap.metrics import FisherMetric, Parzen, SimilarityMetric, VectorMetric
from prismap.target import make_target
from reference import fisher_reference as slow
from reference.manifold_reference import shortest_paths_reference


@pytest.fixture(scope="module")
def toy():
    """30 rows in 5 dimensions, three classes that overlap."""
    X, y = make_classification(30, 5, n_informative=4, n_redundant=1, n_classes=3, class_sep=0.7, random_state=1)
    return X, y


def metric_of(toy, **options):
    options = {"perplexity": 6, "random_state": 0, "posterior": "parzen", "n_segments": 2, **options}
    return FisherMetric(**options).fit(*toy)


def test_all_rows_in_another_order_are_measured_without_a_copy_of_their_state(toy, monkeypatch):
    metric = metric_of(toy)
    rows, order = np.array([3, 17]), np.random.default_rng(0).permutation(30)
    expected, taken = metric.pairwise()[np.ix_(rows, order)], []
    state = type(metric.posterior_.rows)
    take = state.take
    monkeypatch.setattr(state, "take", lambda self, index: taken.append(np.size(index)) or take(self, index))
    np.testing.assert_allclose(metric.between(rows, order), expected, rtol=1e-10, atol=1e-12)
    assert 30 not in taken


def slow_distances(metric, X, y):
    """What the paper's formulas give for the same parameters, pair by pair."""
    n_classes, sigma, T, w = len(metric.classes_), metric.bandwidth_, metric.n_segments_, metric.supervision
    if metric.path == "chord":

        def length(i, j, kept, codes):
            return slow.chord_length(X[i], X[j], X[kept], codes, n_classes, sigma, T, w=w)
    else:
        how = {"symmetric": metric.path in ("tangent", "tangent-graph"), "squared": metric.path == "tangent-squared"}

        def length(i, j, kept, codes):
            return slow.tangent_length(X[i], X[j], X[kept], codes, n_classes, sigma, T, w=w, **how)

    return slow.all_pairs(metric, X, y, length)


@pytest.mark.parametrize("cross_fit", [True, False])
@pytest.mark.parametrize(
    "options",
    [
        {"n_segments": 1},
        {"n_segments": 2},
        {"n_segments": 3, "supervision": 0.6},
        {"path": "tangent", "n_segments": 3},
        {"path": "tangent", "n_segments": 4, "supervision": 0.3},
        {"path": "tangent-left", "n_segments": 3},
        {"path": "tangent-squared", "n_segments": 1},
        {"path": "tangent-squared", "n_segments": 3, "supervision": 0.6},
        {"posterior": Parzen(20)},
    ],
)
def test_vectors_equal_the_slow_twin(toy, options, cross_fit):
    metric = metric_of(toy, cross_fit=cross_fit, **options)
    np.testing.assert_allclose(metric.pairwise(), slow_distances(metric, *toy), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("options", [{}, {"supervision": 0.4}, {"path": "tangent", "n_segments": 4}, {"path": "graph"}])
def test_three_kinds_of_data_agree(toy, options):
    X, y = toy
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    vectors = metric_of(toy, **options)
    similarity = metric_of((X @ X.T, y), data=SimilarityMetric("none"), **options)
    dissimilarity = metric_of((D, y), data="dissimilarity", **options)
    np.testing.assert_allclose(similarity.pairwise(), vectors.pairwise(), atol=1e-10)
    np.testing.assert_allclose(dissimilarity.pairwise(), vectors.pairwise(), atol=1e-10)
    new, own = X[:7] + 0.1, ((X[:7] + 0.1) ** 2).sum(axis=1)
    D_new = np.sqrt(((new[:, None] - X[None]) ** 2).sum(axis=2))
    np.testing.assert_allclose(dissimilarity.pairwise(D_new), vectors.pairwise(new), atol=1e-10)
    if options.get("path") != "graph":
        np.testing.assert_allclose(
            similarity.pairwise(new @ X.T, self_similarity=own), vectors.pairwise(new), atol=1e-10
        )


def test_kernel_form_equals_the_published_kernelisation(toy):
    X, y = toy
    K = X @ X.T
    metric = metric_of((K, y), data="similarity", path="tangent", n_segments=4, cross_fit=False)
    D = metric.pairwise()
    for i, j in [(0, 5), (3, 17), (28, 2)]:
        expected = slow.kernel_tangent_length(i, j, K, metric.support_, y[metric.support_], 3, metric.bandwidth_, 4)
        assert D[i, j] == pytest.approx(expected, abs=1e-10)


def test_new_rows_equal_the_slow_twin(toy):
    X, y = toy
    metric = metric_of(toy)
    new = X[:4] + 0.3
    D = metric.pairwise(new)
    for i in range(4):
        for j in (0, 9, 20):
            fold = metric.folds_[j]
            kept = metric.support_[metric.folds_[metric.support_] != fold]
            expected = slow.chord_length(new[i], X[j], X[kept], y[kept], 3, metric.bandwidth_, 2)
            assert D[i, j] == pytest.approx(expected, abs=1e-10)
    np.testing.assert_allclose(metric.pairwise(None, new), D.T, atol=1e-12)
    assert metric.pairwise(new, X[:3]).shape == (4, 3)


def test_sparse_rows_equal_dense(toy):
    X, y = toy
    X = np.where(np.abs(X) < 0.5, 0, X)
    dense, sparse = metric_of((X, y)), metric_of((sp.csr_array(X), y))
    np.testing.assert_allclose(sparse.pairwise(), dense.pairwise(), atol=1e-10)
    np.testing.assert_allclose(sparse.pairwise(sp.csr_array(X[:5])), dense.pairwise(X[:5]), atol=1e-10)
    np.testing.assert_allclose(sparse.tensor(), dense.tensor(), atol=1e-10)


def test_float32_is_close_to_float64(toy):
    X, y = toy
    single = metric_of((X.astype(np.float32), y)).pairwise()
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, metric_of(toy).pairwise(), atol=2e-5)


# --- laws ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"n_segments": 5}, {"path": "tangent", "n_segments": 4}, {"path": "graph"}])
def test_symmetric_nonnegative_zero_diagonal(toy, options):
    D = metric_of(toy, **options).pairwise()
    np.testing.assert_allclose(D, D.T, rtol=0, atol=1e-14 if options.get("path") == "graph" else 0)
    assert (D >= 0).all()
    assert not np.diag(D).any()


def test_left_nodes_are_not_symmetric(toy):
    D = metric_of(toy, path="tangent-left", n_segments=2).pairwise()
    assert np.abs(D - D.T).max() > 1e-3


def test_no_supervision_is_euclidean_over_bandwidth(toy):
    X, _ = toy
    metric = metric_of((X, None), supervision=0)
    expected = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2)) / metric.bandwidth_
    np.testing.assert_allclose(metric.pairwise(), expected, atol=1e-12)
    np.testing.assert_allclose(
        metric.pairwise(X[:3] + 1), np.sqrt((((X[:3] + 1)[:, None] - X) ** 2).sum(2)) / metric.bandwidth_
    )


def test_one_chord_is_a_metric_and_a_lower_bound(toy):
    one = metric_of(toy, n_segments=1, cross_fit=False).pairwise()
    fine = metric_of(toy, n_segments=40, cross_fit=False).pairwise()
    assert (one <= fine + 1e-9).all()
    assert (one[:, :, None] <= one[:, None, :] + one.T[None, :, :] + 1e-9).all()


def test_refinement_grows_and_converges(toy):
    D = [metric_of(toy, n_segments=T).pairwise() for T in (1, 2, 4, 8, 64)]
    errors = [np.abs(d - D[-1]).max() for d in D[:-1]]
    assert all(coarse <= fine + 1e-9 for coarse, fine in zip(map(np.sum, D[:-1]), map(np.sum, D[1:]), strict=True))
    assert errors[3] < errors[2] / 2 < errors[1] / 4
    X = toy[0]
    tangent = metric_of(toy, path="tangent", n_segments=2000).pairwise(X[:3], X[3:6])
    chord = metric_of(toy, n_segments=64).pairwise(X[:3], X[3:6])
    np.testing.assert_allclose(tangent, chord, atol=2e-3)


def test_graph_paths_are_no_longer_than_segments(toy):
    graph, straight = metric_of(toy, path="graph"), metric_of(toy)
    assert (graph.pairwise() <= straight.pairwise() + 1e-9).all()


def test_edges_of_the_graph_can_be_tangents(toy):
    X, y = toy
    metric = metric_of(toy, path="tangent-graph", n_segments=6)
    i, j = np.triu_indices(len(X), 1)
    edges = slow_distances(metric, X, y)[i, j]
    np.testing.assert_allclose(metric.pairwise(), shortest_paths_reference(i, j, edges, len(X)), atol=1e-10)


def test_names_of_classes_do_not_matter(toy):
    X, y = toy
    names = np.array(["mole", "ape", "zebu"])[y]
    renamed = FisherMetric(perplexity=6, posterior="parzen", cross_fit=False, n_segments=2).fit(X, names).pairwise()
    np.testing.assert_allclose(renamed, metric_of(toy, cross_fit=False).pairwise(), atol=1e-12)


def test_row_order_does_not_matter(toy):
    X, y = toy
    order = np.random.default_rng(0).permutation(len(X))
    metric, shuffled = metric_of(toy, cross_fit=False), metric_of((X[order], y[order]), cross_fit=False)
    np.testing.assert_allclose(shuffled.pairwise(), metric.pairwise()[np.ix_(order, order)], atol=1e-10)


def test_rotation_and_shift_do_not_matter(toy):
    X, y = toy
    Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))
    np.testing.assert_allclose(metric_of((X @ Q + 1e4, y)).pairwise(), metric_of(toy).pairwise(), atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e-3, 1e-2, 30.0])
@pytest.mark.parametrize("path", ["chord", "tangent"])
def test_any_bandwidth_is_survived(toy, dtype, scale, path):
    """Narrow kernels underflow everywhere; the rescue must give what log space gives, never NaN or a false zero."""
    X, y = toy
    X = (X / scale).astype(dtype)
    metric = metric_of((X, y), path=path)
    # The bandwidth follows the data; to starve the kernels it is narrowed by hand.
    posterior = metric.posterior_
    metric.bandwidth_ = posterior.density.bandwidth = float(metric.bandwidth_ * 0.02)
    profiles = metric.data_.squared_to(slow_index(metric), metric.support_)
    posterior.rows = posterior.density.rows(profiles, metric.folds_[metric._order])
    D = metric.pairwise()
    assert np.isfinite(D).all()
    X64 = X.astype(np.float64)
    expected = slow_distances(metric, X64, y)
    relative = 1e-8 if dtype == np.float64 else 5e-3
    np.testing.assert_allclose(D, expected, rtol=relative, atol=relative)


def slow_index(metric):
    from prismap.metrics._geometry import FittedIndex

    return FittedIndex(metric._order)


def test_tensor_equals_the_formula_and_the_speed(toy):
    X, y = toy
    metric = metric_of(toy, cross_fit=False)
    J = metric.tensor(X[:5])
    for i in range(5):
        np.testing.assert_allclose(J[i], slow.tensor(X[i], X, y, 3, metric.bandwidth_), atol=1e-12)
    step = np.random.default_rng(0).normal(size=5) * 1e-4
    near = FisherMetric(perplexity=6, posterior="parzen", cross_fit=False, n_segments=1).fit(X, y)
    near = near.pairwise(X[:1], X[:1] + step)
    assert near[0, 0] == pytest.approx(np.sqrt(step @ J[0] @ step), rel=1e-3)


def test_tensor_of_fitted_rows_leaves_out_their_fold(toy):
    X, y = toy
    metric = metric_of(toy, supervision=0.7)
    kept = metric.support_[metric.folds_[metric.support_] != metric.folds_[4]]
    expected = 0.7 * slow.tensor(X[4], X[kept], y[kept], 3, metric.bandwidth_) + 0.3 * np.eye(5) / metric.bandwidth_**2
    np.testing.assert_allclose(metric.tensor()[4], expected, atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"supervision": 0.5}, {"path": "graph"}, {"supervision": 0}])
def test_kneighbors_equal_sorted_distances(toy, options, monkeypatch):
    monkeypatch.setattr("prismap.metrics._fisher.WORKING_BYTES", 1)  # the smallest blocks
    metric = metric_of(toy, **options)
    D = metric.pairwise()
    np.fill_diagonal(D, np.inf)
    distances, indices = metric.kneighbors(None, 7)
    np.testing.assert_allclose(distances, np.sort(D, axis=1)[:, :7], atol=1e-12)
    np.testing.assert_allclose(np.take_along_axis(D, indices, axis=1), distances, atol=1e-12)
    assert not (indices == np.arange(len(D))[:, None]).any()
    new = toy[0][:5] + 0.1
    np.testing.assert_allclose(metric.kneighbors(new, 3)[0], np.sort(metric.pairwise(new), axis=1)[:, :3], atol=1e-12)


def test_tile_and_thread_counts_change_nothing(toy, monkeypatch):
    expected = metric_of(toy).pairwise()
    monkeypatch.setattr("prismap.metrics._segments.TILE", 3)
    monkeypatch.setattr("prismap.metrics._segments.CHUNK", 7)
    with limit_threads(1):
        np.testing.assert_allclose(metric_of(toy).pairwise(), expected, atol=1e-12)


def test_same_seed_same_bits(toy):
    one, two = metric_of(toy, posterior=Parzen(20)), metric_of(toy, posterior=Parzen(20))
    with limit_threads(1):
        alone = one.pairwise()
    np.testing.assert_array_equal(alone, two.pairwise())


def test_unlabelled_rows_are_mapped_but_never_support(toy):
    X, y = toy
    partly = y.astype(object)
    partly[::4] = None
    metric = metric_of((X, partly))
    assert not set(metric.support_) & set(range(0, 30, 4))
    assert (metric.folds_[::4] == -1).all()
    assert np.isfinite(metric.pairwise()).all()
    for mark in (-1, np.nan):
        marked = y.astype(float)
        marked[::4] = mark
        np.testing.assert_array_equal(metric_of((X, marked)).pairwise(), metric.pairwise())


def test_predicted_probabilities_are_out_of_fold(toy):
    X, y = toy
    metric = metric_of(toy)
    P = metric.class_probabilities()
    np.testing.assert_allclose(P.sum(axis=1), 1)
    kept = metric.support_[metric.folds_[metric.support_] != metric.folds_[11]]
    np.testing.assert_allclose(P[11], slow.posterior(X[11], X[kept], y[kept], 3, metric.bandwidth_), atol=1e-12)


def test_duplicated_rows_are_fine(toy):
    X, y = np.repeat(toy[0], 3, axis=0), np.repeat(toy[1], 3)
    assert np.isfinite(metric_of((X, y)).pairwise()).all()
    constant = FisherMetric(perplexity=3).fit(np.ones((12, 2)), np.arange(12) % 2)
    assert np.isfinite(constant.pairwise()).all()


def test_repr_states_posterior_and_cross_fitting(toy):
    assert "posterior: parzen, cross-fitted in 10 folds" in repr(metric_of(toy))
    assert "in-sample" in repr(metric_of(toy, cross_fit=False))


def test_clone_keeps_parameters(toy):
    metric = metric_of(toy, n_segments=3)
    assert clone(metric).get_params() == metric.get_params()


# --- bad input ----------------------------------------------------------------------------------------------------


def test_bad_input_is_named(toy):
    X, y = toy
    bad = X.copy()
    bad[3, 2] = np.inf
    with pytest.raises(InputError, match=r"1 infinite values in 1 rows, by column: column 2 \(1\)"):
        FisherMetric().fit(bad, y)
    with pytest.raises(InputError, match="only one class"):
        FisherMetric().fit(X, np.zeros(30))
    with pytest.raises(InputError, match="no labelled row"):
        FisherMetric().fit(X, [None] * 30)
    with pytest.raises(InputError, match="y has 29 entries and X has 30 rows"):
        FisherMetric().fit(X, y[:-1])
    with pytest.raises(InputError, match="minimum of 2 is required"):
        FisherMetric().fit(X[:1], y[:1])
    with pytest.raises(InputError, match="square matrix of pairs"):
        FisherMetric(data="similarity").fit(X, y)
    with pytest.raises(InputError, match="must be symmetric"):
        FisherMetric(data="dissimilarity").fit(np.triu(np.ones((30, 30)), 1), y)
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    with pytest.raises(InputError, match="looks like a distance matrix"):
        FisherMetric(data="similarity").fit(D, y)
    with pytest.raises(InputError, match="If these are similarities, set data='similarity'"):
        FisherMetric(data="dissimilarity").fit(X @ X.T, y)
    with pytest.raises(InputError, match="must not be negative"):
        FisherMetric(data="dissimilarity").fit(-D, y)
    with pytest.raises(ValueError, match="supervision"):
        FisherMetric(supervision=1.5).fit(X, y)


def test_complex_rows_are_refused_without_printing_them():
    with pytest.raises(
        InputError, match="^Complex data not supported: give real and imaginary parts as columns .*own.$"
    ):
        FisherMetric().fit(np.ones((20, 3)) * 1j, [0, 1] * 10)


def test_questions_that_matrix_data_cannot_answer(toy):
    X, y = toy
    K = X @ X.T
    metric = metric_of((K, y), data=SimilarityMetric("none"), supervision=0.5)
    with pytest.raises(InputError, match="pass self_similarity="):
        metric.pairwise(K[:3])
    with pytest.raises(InputError, match="distance between two new rows is not known"):
        metric.pairwise(K[:3], K[:2])
    with pytest.raises(InputError, match="no coordinates"):
        metric.tensor()
    with pytest.raises(InputError, match="n_neighbors must lie between 1 and 29"):
        metric.kneighbors(None, 30)


def test_too_large_perplexity_is_lowered_and_said(toy):
    with pytest.warns(PrismapWarning, match="perplexity=500 is too high for 30 rows"):
        metric_of(toy, perplexity=500)
    X, y = toy
    with pytest.warns(PrismapWarning, match="perplexity=500 is too high for 25 support rows"):
        metric_of((X, np.where(np.arange(30) < 5, -1, y)), perplexity=500)


def test_more_than_memory_is_refused_with_the_figure(toy, monkeypatch):
    metric = metric_of(toy)
    monkeypatch.setattr("prismap._util.blocks.available_bytes", lambda: 1000)
    with pytest.raises(InputError, match="matrix of all distances would need .* GiB .* Use kneighbors"):
        metric.pairwise()


# --- targets that were made before ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["class", "ordered", "real"])
def test_a_made_target_is_the_same_as_y(toy, kind):
    X, y = toy
    options = {"perplexity": 6, "random_state": 0, "supervision": 0.8}
    plain = FisherMetric(kind, **options).fit(X, y)
    data, target = VectorMetric().fit(X), make_target(y, 30, kind)
    made = FisherMetric(**options).fit_on(data, target)
    np.testing.assert_array_equal(made.pairwise(), plain.pairwise())
    assert made.target_ == plain.target_
    restored = FisherMetric(**options).restore_on(data, target, plain.state())
    np.testing.assert_array_equal(restored.pairwise(), plain.pairwise())
    assert made.judged_target(y) is y if kind != "ordered" else made.judged_target(target).kind == "real"


@pytest.mark.parametrize("kind", ["class", "ordered"])
def test_a_class_that_no_row_has_takes_no_part(toy, kind):
    X, y = toy
    kept = np.flatnonzero(y != 1)
    options = {"perplexity": 6, "random_state": 0, "supervision": 0.8, "posterior": "lssvm"}
    plain = FisherMetric(kind, **options).fit(X[kept], y[kept])
    part = FisherMetric(**options).fit_on(VectorMetric().fit(X[kept]), make_target(y, 30, kind).take(kept))
    np.testing.assert_array_equal(part.pairwise(), plain.pairwise())
    assert np.array_equal(np.ravel(part.classes_), [0, 2])


def test_a_part_with_one_class_is_refused(toy):
    X, y = toy
    kept = np.flatnonzero(y == 1)
    with pytest.raises(InputError, match="1 different values of the target: nothing to tell apart"):
        FisherMetric(perplexity=5).fit_on(VectorMetric().fit(X[kept]), make_target(y, 30).take(kept))


def test_a_second_fit_without_a_target_forgets_the_posterior(toy):
    X, _ = toy
    metric = metric_of(toy)
    euclidean = metric.set_params(supervision=0).fit(X)
    assert euclidean.target_ == "none"
    assert not hasattr(euclidean, "posterior_")
    assert euclidean.describe() == "the data's own distances"
