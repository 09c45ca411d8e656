"""KernelMap against the slow twin, and the laws it must keep."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import check_grad
from scipy.spatial.distance import cdist
from sklearn.svm import SVR
from sklearn.utils.estimator_checks import parametrize_with_checks

from prismap._util.affinities import pair_affinities
from prismap._util.costs import SMALLEST_AFFINITY, tsne_cost
from prismap.exceptions import InputError, PrismapWarning
from prismap.mappings import KernelMap, MapCost
from prismap.mappings._bandwidth import cross_validate, local_quality, neighbor_ranks
from prismap.mappings._kernels import ElmKernel, kernel_matrix, merge_duplicates
from prismap.metrics import FisherMetric
from reference import embedding_costs_reference as costs
from reference import mappings_reference as slow


@parametrize_with_checks(
    [KernelMap(), KernelMap("elm", solver="svr", normalize=False), KernelMap(solver=MapCost(perplexity=3))]
)
def test_is_a_scikit_learn_estimator(estimator, check):
    check(estimator)


@pytest.fixture
def curve():
    """A curve in space, and its positions along a spiral."""
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 3, 120)
    X = np.column_stack([t, np.sin(3 * t), np.cos(2 * t), 0.05 * rng.normal(size=(120, 4))])
    return X, np.column_stack([t * np.cos(2 * t), t * np.sin(2 * t)])


TINY = np.finfo(float).tiny
RULES = {
    0.7: lambda X: np.full(len(X), 0.7 * np.median(slow.neighbor_distances(X, 1))),
    "fifth": lambda X: np.full(len(X), slow.neighbor_distances(X, 5).mean()),
    "representable": lambda X: slow.neighbor_distances(X, 1) * slow.representable_factor(X, TINY, every_entry=False),
    "all-representable": lambda X: slow.neighbor_distances(X, 1) * slow.representable_factor(X, TINY, every_entry=True),
}


@pytest.mark.parametrize("rule", RULES)
def test_equals_the_formula_of_the_paper(curve, rule):
    X, Y = curve
    found = KernelMap(bandwidth=rule, ridge=0).fit(X[:80], Y[:80])
    bandwidth = RULES[rule](X[:80])
    np.testing.assert_allclose(found.bandwidth_, bandwidth, rtol=1e-6)
    A = slow.interpolation_coefficients(cdist(X[:80], X[:80]), Y[:80], bandwidth)
    expected = slow.kernel_map(cdist(X[80:], X[:80]), A, bandwidth)
    fallen = ~expected.any(axis=1)
    assert fallen.any() == (rule == "representable")
    np.testing.assert_allclose(found.transform(X[80:])[~fallen], expected[~fallen], atol=1e-6)


@pytest.mark.parametrize("smallest", [None, 1e-20])
@pytest.mark.parametrize("rule", ["representable", "all-representable"])
def test_the_published_factor_is_the_smallest_whose_kernels_stay_in_the_interval(curve, rule, smallest):
    X, Y = curve
    bandwidth = KernelMap(bandwidth=rule, smallest_kernel=smallest).fit(X, Y).bandwidth_

    def lowest(factor):
        K = np.exp(-0.5 * (cdist(X, X) / (factor * bandwidth)) ** 2)
        np.fill_diagonal(K, 0 if rule == "representable" else 1)
        return (K.max(axis=1) if rule == "representable" else K).min()

    assert lowest(0.999) < (smallest or TINY) <= lowest(1.0001)


def test_new_rows_far_from_all_kernels_would_fall_to_the_origin_and_are_kept_from_it(curve):
    """The words of the paper: kernels so narrow that some new rows have none, which divides zero by zero."""
    X, Y = curve
    model = KernelMap(bandwidth="representable", ridge=0).fit(X[:80], Y[:80] + 5)
    far = X[80:] + 0.5
    assert not np.exp(-0.5 * (cdist(far, X[:80]) / model.bandwidth_) ** 2).sum(axis=1).all()
    assert (model.transform(far) > 1).all()


def test_the_elm_kernel_from_distances_equals_that_from_rows(curve):
    X, _ = curve
    landmarks, new = X[:40], X[40:50]
    center = landmarks.mean(axis=0)
    scale = 1.3 / np.sqrt(np.square(landmarks - center).sum(axis=1).mean())
    expected = [[slow.elm_kernel(scale * (x - center), scale * (z - center)) for z in landmarks] for x in new]
    kernel = ElmKernel.of(cdist(landmarks, landmarks), 1.3)
    np.testing.assert_allclose(kernel.weights(cdist(new, landmarks), normalize=False), expected, atol=1e-10)
    positive = (1 + np.array(expected)) / 2  # k itself can be negative, and its sum zero
    normalized = kernel.weights(cdist(new, landmarks), normalize=True)
    np.testing.assert_allclose(normalized, positive / positive.sum(axis=1, keepdims=True), atol=1e-10)


def test_the_raw_elm_kernel_is_the_printed_formula(curve):
    X, Y = curve
    model = KernelMap("elm", bandwidth="raw", ridge=1e-3, normalize="origin").fit(X[:40] + 0.5, Y[:40] + 5)
    K, K_new = ([[slow.elm_kernel(x, z) for z in X[:40] + 0.5] for x in rows + 0.5] for rows in (X[:40], X[40:50]))
    expected = np.array(K_new) @ np.linalg.solve(np.array(K) + 1e-3 * np.eye(40), Y[:40] + 5)
    np.testing.assert_allclose(model.transform(X[40:50] + 0.5), expected, atol=1e-6)
    few = KernelMap("elm", bandwidth="raw", n_landmarks=15).fit(X, Y)
    np.testing.assert_array_equal(few.transform(X[:3]), few.transform(X)[:3])


@pytest.mark.parametrize("kernel", ["rbf", "elm"])
def test_an_unnormalised_map_as_printed_is_relative_to_the_origin(curve, kernel):
    """``y(x) = sum_l alpha_l k(x_l, x)`` and A = K^-1 Y (Gisbrecht et al. 2012, sec. 3), nothing else."""
    X, Y = curve
    Y = Y + 5
    model = KernelMap(kernel, bandwidth=0.7, ridge=1e-6, normalize="origin").fit(X, Y)
    K = model.kernel_.weights(cdist(X, X), normalize=False)
    np.testing.assert_allclose(model.transform(X), K @ np.linalg.solve(K + 1e-6 * np.eye(len(X)), Y), atol=1e-6)
    if kernel == "rbf":
        np.testing.assert_allclose(model.transform(X[:1] + 1e6), 0, atol=1e-9)
        centred = KernelMap(kernel, bandwidth=0.7, ridge=1e-6, normalize=False).fit(X, Y)
        np.testing.assert_allclose(centred.transform(X[:1] + 1e6)[0], Y.mean(axis=0), atol=1e-9)


def test_regression_with_the_defaults_of_libsvm(curve):
    X, Y = curve
    Y = 30 * Y
    model = KernelMap(solver="libsvm", bandwidth="fifth", normalize="origin").fit(X, Y)
    K = model.kernel_.weights(cdist(X, X), normalize=False)
    expected = np.column_stack([SVR(kernel="precomputed").fit(K, column).predict(K) for column in Y.T])
    np.testing.assert_allclose(model.transform(X), expected, atol=1e-8 * np.abs(Y).max())


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("kernel", ["rbf", "elm"])
def test_interpolation_reproduces_the_fitted_rows(curve, kernel, normalize):
    X, Y = curve
    model = KernelMap(kernel, bandwidth=0.7, ridge=0, normalize=normalize).fit(X, Y + 5)
    np.testing.assert_allclose(model.transform(X), Y + 5, atol=1e-6)
    assert model.residual_ < 1e-6


def test_a_small_bandwidth_tends_to_the_nearest_row(curve):
    X, Y = curve
    model = KernelMap(bandwidth=0.01, ridge=0).fit(X[:80], Y[:80])
    nearest = cdist(X[80:], X[:80]).argmin(axis=1)
    np.testing.assert_allclose(model.transform(X[80:]), Y[:80][nearest], atol=1e-8)


def test_moving_all_positions_moves_the_map(curve):
    X, Y = curve
    first, second = (KernelMap(n_landmarks=40).fit(X, Z).transform(X) for Z in (Y, 3 * Y + [100, -7]))
    np.testing.assert_allclose(second, 3 * first + [100, -7], atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", ["rbf", "elm"])
def test_a_row_does_not_depend_on_its_company(curve, kernel, dtype):
    X, Y = curve
    rows = np.tile(X, (12, 1)).astype(dtype)
    model = KernelMap(kernel).fit(X.astype(dtype), Y)
    together = model.transform(rows)
    alone = np.vstack([model.transform(rows[i : i + 1]) for i in range(0, len(rows), 97)])
    np.testing.assert_allclose(together[::97], alone, atol=1e-6)


def test_threads_change_nothing(curve):
    X, Y = curve
    rows = np.tile(X, (40, 1))
    model = KernelMap(bandwidth=0.5, ridge=0).fit(X, Y)
    np.testing.assert_array_equal(
        model.set_params(n_jobs=1).transform(rows), model.set_params(n_jobs=3).transform(rows)
    )


def test_single_precision_rows_are_mapped_in_double_precision(curve):
    X, Y = curve
    model = KernelMap(bandwidth=1.0).fit(X, Y)
    narrow, wide = model.transform(X.astype(np.float32)), model.transform(X.astype(np.float32).astype(np.float64))
    assert narrow.dtype == np.float32
    np.testing.assert_array_equal(narrow, wide.astype(np.float32))


def test_sparse_rows_and_ready_distances_give_the_same_map(curve):
    X, Y = curve
    expected = KernelMap().fit(X[:80], Y[:80]).transform(X[80:])
    sparse = KernelMap().fit(sp.csr_array(X[:80]), Y[:80]).transform(sp.csr_array(X[80:]))
    np.testing.assert_allclose(sparse, expected, atol=1e-7)
    ready = KernelMap(metric="precomputed").fit(cdist(X[:80], X[:80]), Y[:80])
    np.testing.assert_allclose(ready.transform(cdist(X[80:], X[:80])), expected, atol=1e-7)


def test_data_frames_are_taken_row_by_row(curve):
    pd = pytest.importorskip("pandas")
    X, Y = curve
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    expected = KernelMap(metric="manhattan").fit(X, Y).transform(X)
    model = KernelMap(metric="manhattan").fit(frame, Y)
    np.testing.assert_allclose(model.transform(frame), expected)
    assert model.get_feature_names_out().tolist() == ["kernelmap0", "kernelmap1"]
    with pytest.raises(InputError, match="same order"):
        model.transform(frame[list("bacdefg")])


def test_a_fitted_metric_is_used_as_it_is(curve):
    X, Y = curve
    metric = FisherMetric(random_state=0, perplexity=10).fit(X[:80], X[:80, 0] > 1.5)
    model = KernelMap(metric=metric).fit(X[:80], Y[:80])
    assert model.metric_ is metric
    K = kernel_matrix(metric.pairwise(X[80:])[:, model.landmarks_], model.bandwidth_, normalize=True)
    np.testing.assert_allclose(model.transform(X[80:]), K @ model.coefficients_ + model.center_, atol=1e-9)
    with pytest.raises(InputError, match="fitted on 80 rows and X has 120"):
        KernelMap(metric=metric).fit(X, Y)


def test_a_row_does_not_depend_on_its_company_under_a_single_precision_metric():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 40)).astype(np.float32)
    metric = FisherMetric(random_state=0, posterior="parzen").fit(X[:400], X[:400, 0] > 0)
    model = KernelMap(metric=metric, bandwidth=0.3, ridge=1e-6).fit(X[:400], rng.normal(size=(400, 2)))
    together = model.transform(X[400:])
    alone = np.vstack([model.transform(X[i : i + 1]) for i in range(400, 700, 23)])
    np.testing.assert_allclose(together[::23], alone, atol=1e-6)
    with pytest.raises(InputError, match="no rows"):
        model.transform(X[:0])


def test_duplicates_share_a_kernel_at_their_mean_position(curve):
    X, Y = curve
    X, Y = np.vstack([X, X[:3], X[:1]]), np.vstack([Y, Y[:3] + 1, Y[:1] + 2])
    model = KernelMap(bandwidth=0.5, ridge=0).fit(X, Y)
    assert len(model.landmarks_) == 120
    np.testing.assert_allclose(model.transform(X[:3]), [Y[0] + 1, Y[1] + 0.5, Y[2] + 0.5], atol=1e-8)
    assert model.residual_ > 0.01
    assert merge_duplicates(cdist(*[X[[0, 1, 120, 2]]] * 2)).tolist() == [0, 1, 0, 2]


def test_all_rows_equal_or_two_rows_are_mapped():
    model = KernelMap().fit(np.ones((6, 2)), np.arange(12.0).reshape(6, 2))
    np.testing.assert_allclose(model.transform([[1.0, 1.0]]), [[5, 6]])
    two = KernelMap().fit([[0.0], [1.0]], [[0.0, 0.0], [1.0, 1.0]])
    np.testing.assert_allclose(two.transform([[0.0]]), [[0, 0]], atol=1e-5)


def test_far_rows_are_placed_and_flagged(curve):
    X, Y = curve
    model = KernelMap(bandwidth=0.3).fit(X, Y)
    far = X[:3] + 1e4
    placed = model.transform(far)
    assert (np.abs(placed) <= np.abs(Y).max()).all()
    assert model.is_far(far).all()
    np.testing.assert_allclose(model.distance_to_data(X), 0, atol=1e-6)
    assert not model.is_far(X[:5] + 0.1, threshold=1e9).any()


def test_one_in_a_hundred_rows_like_the_fitted_ones_is_called_far():
    rng = np.random.default_rng(3)
    model = KernelMap(bandwidth=0.5).fit(rng.normal(size=(600, 3)), rng.normal(size=(600, 2)))
    assert 0.003 < model.is_far(rng.normal(size=(4000, 3))).mean() < 0.03


def test_landmarks_approximate_the_full_map(curve):
    X, Y = curve
    model = KernelMap(n_landmarks=60, random_state=1).fit(X, Y)
    assert model.coefficients_.shape == (60, 2)
    assert model.residual_ < 0.1
    with pytest.raises(InputError, match="n_landmarks=121 is more than the 120 rows"):
        KernelMap(n_landmarks=121).fit(X, Y)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "precomputed"])
def test_landmarks_that_are_all_rows_are_the_full_map(curve, metric):
    """Least squares with as many kernels as rows interpolates; duplicated landmarks share a kernel."""
    X, Y = np.vstack([curve[0], curve[0][:5]]), np.vstack([curve[1], curve[1][:5]])
    rows = cdist(X, X) if metric == "precomputed" else X
    full, landmarks = (
        KernelMap(metric=metric, bandwidth=0.7, ridge=0, n_landmarks=m).fit(rows, Y) for m in (None, len(X))
    )
    assert len(landmarks.landmarks_) == 120
    np.testing.assert_allclose(landmarks.transform(rows), full.transform(rows), atol=1e-6)


@pytest.mark.parametrize("n_landmarks", [None, 60])
def test_a_singular_kernel_matrix_is_cut_off_with_its_condition_number(curve, n_landmarks):
    X, Y = curve
    with pytest.warns(PrismapWarning, match=r"condition number (\d|inf)"):
        model = KernelMap(bandwidth=300.0, ridge=0, normalize=False, n_landmarks=n_landmarks).fit(X, Y)
    assert model.condition_ > 1e12 or n_landmarks
    assert np.isfinite(model.transform(X)).all()
    assert np.abs(model.transform(X)).max() < 20


def test_cross_validation_takes_the_width_the_data_ask_for():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(150, 2))
    D = cdist(X, X)
    settings = {"normalize": True, "rng": np.random.default_rng(0)}
    smooth, _ = cross_validate(D, X, "rbf", (0.15, 1.4), (1e-6,), **settings)
    rough, _ = cross_validate(D, rng.normal(size=(150, 2)), "rbf", (0.15, 1.4), (1e-6,), **settings)
    assert (smooth, rough) == (1.4, 0.15)


def test_among_settings_of_equal_quality_the_smallest_error_wins(curve, monkeypatch):
    X, Y = curve
    monkeypatch.setattr("prismap.mappings._bandwidth.TOLERANCE", 1.0)
    D, factors = cdist(X, X), (0.2, 0.5, 1.0, 1.8)
    found, _ = cross_validate(D, Y, "rbf", factors, (1e-6,), normalize=True, rng=np.random.default_rng(5))
    folds = np.array_split(np.random.default_rng(5).permutation(len(X)), 5)
    spacing = np.median(slow.neighbor_distances(Y, 10))
    errors = []
    for factor in factors:
        total = 0.0
        for fold in folds:
            kept = np.setdiff1d(np.arange(len(X)), fold)
            placed = KernelMap(bandwidth=factor, ridge=1e-6).fit(X[kept], Y[kept]).transform(X[fold])
            total += np.log1p(np.square(placed - Y[fold]).sum(axis=1) / spacing**2).sum()
        errors.append(total)
    assert found == factors[int(np.argmin(errors))]
    assert max(errors) > 3 * min(errors)


def test_the_chosen_map_places_held_out_rows_better_than_their_nearest_row(curve):
    X, Y = curve
    placed = KernelMap().fit(X[:80], Y[:80]).transform(X[80:])
    nearest = Y[:80][cdist(X[80:], X[:80]).argmin(axis=1)]
    assert np.square(placed - Y[80:]).sum() < 0.5 * np.square(nearest - Y[80:]).sum()


def test_local_quality_equals_the_definition():
    X, Y = np.random.default_rng(1).normal(size=(2, 25, 2))
    Y[:, 0] += 2 * X[:, 0]
    found = local_quality(neighbor_ranks(cdist(X, X)), neighbor_ranks(cdist(Y, Y)))
    assert found == pytest.approx(slow.local_quality(X, Y))


def squared_distances_of(X):
    D2 = cdist(X, X, "sqeuclidean")
    np.fill_diagonal(D2, np.inf)
    return D2


def test_the_tsne_cost_and_its_gradient_in_the_coefficients(curve):
    X, _ = curve
    X = X[:25]
    P = pair_affinities(squared_distances_of(X), 5)
    np.testing.assert_allclose(P, slow.tsne_affinities(cdist(X, X), 5), atol=1e-6)
    K = kernel_matrix(cdist(X, X[:10]), 0.4, normalize=True)
    A = np.random.default_rng(0).normal(size=(10, 2))
    assert tsne_cost(K @ A, P)[0] == pytest.approx(slow.tsne_cost(K @ A, P))
    error = check_grad(
        lambda flat: tsne_cost(K @ flat.reshape(A.shape), P)[0],
        lambda flat: (K.T @ tsne_cost(K @ flat.reshape(A.shape), P)[1]).ravel(),
        A.ravel(),
    )
    assert error < 1e-6


@pytest.mark.parametrize("normalize", [True, False])
def test_training_by_the_cost_never_raises_it(curve, normalize):
    X, Y = curve
    start = KernelMap(bandwidth=1.0, ridge=1e-3, normalize=normalize).fit(X, Y)
    model = KernelMap(bandwidth=1.0, ridge=1e-3, normalize=normalize, solver=MapCost(perplexity=10)).fit(X, Y)
    before, after = model.cost_
    P = pair_affinities(squared_distances_of(X), 10)
    assert before == pytest.approx(tsne_cost(start.transform(X), P)[0], rel=1e-6)
    assert after == pytest.approx(tsne_cost(model.transform(X), P)[0], rel=1e-6)
    assert after < before


@pytest.mark.parametrize("cost", ["tnerv", "nerv", "mds", "sammon", "elastic"])
@pytest.mark.parametrize("scale", [1.0, 1e7])
def test_every_differentiable_cost_can_train_the_map(curve, cost, scale):
    X, Y = curve[0][:30] * scale, curve[1][:30] * (1.0 if cost == "tnerv" else scale)
    options = {"bandwidth": 1.0, "ridge": 1e-2, "n_landmarks": 12}
    start = KernelMap(**options).fit(X, Y).transform(X)
    model = KernelMap(solver=MapCost(cost, perplexity=5, gamma=0.3), **options).fit(X, Y)
    D = cdist(X, X)
    P, sigma = costs.row_affinities(D / scale, 5)
    pairs = np.triu_indices(len(D), 1)
    slow_cost = {
        "tnerv": lambda Z: costs.tnerv_cost(Z, np.maximum((P + P.T) / 60, SMALLEST_AFFINITY), 0.3),
        "nerv": lambda Z: costs.nerv_cost(Z / scale, np.maximum(P, SMALLEST_AFFINITY), sigma, 0.3),
        "mds": lambda Z: costs.stress(Z, D) / np.square(D[pairs]).sum(),
        "sammon": lambda Z: costs.sammon_stress(Z, D),
        "elastic": lambda Z: np.mean(np.square(1 - cdist(Z, Z)[pairs] / D[pairs])),
    }[cost]
    assert model.cost_ == pytest.approx((slow_cost(start), slow_cost(model.transform(X))), rel=1e-4)
    assert model.cost_[1] < 0.99 * model.cost_[0]


@pytest.mark.parametrize("normalize", [True, False])
def test_support_vector_regression_stays_in_its_tube(curve, normalize):
    X, Y = curve
    model = KernelMap(solver="svr", bandwidth=1.0, ridge=1e-4, normalize=normalize).fit(X, Y)
    spread = np.sqrt(np.square(Y - Y.mean(axis=0)).mean())
    assert np.abs(model.transform(X) - Y).max() < 0.05 * spread


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "cubic"}, "kernel"),
        ({"solver": "guess"}, "solver"),
        ({"bandwidth": -1.0}, "bandwidth"),
        ({"smallest_kernel": 1.5}, "smallest_kernel"),
        ({"solver": MapCost("isomap")}, "the cost 'isomap' is none that this mapping can minimise"),
        ({"solver": MapCost("guess")}, "'name' parameter of MapCost"),
        ({"solver": MapCost(gamma=2)}, "'gamma' parameter of MapCost"),
        ({"ridge": -1.0}, "ridge"),
        ({"kernel": "elm", "bandwidth": "fifth"}, "rule for kernel='rbf'"),
        ({"bandwidth": "raw"}, "needs kernel='elm' and metric='euclidean'"),
        ({"kernel": "elm", "bandwidth": "raw", "metric": "cosine"}, "needs kernel='elm' and metric='euclidean'"),
        ({"metric": "nonsense"}, "metric='nonsense' is not known"),
    ],
)
def test_wrong_parameters_are_named(curve, options, message):
    with pytest.raises(ValueError, match=message):
        KernelMap(**options).fit(*curve)


def test_wrong_positions_are_named(curve):
    X, Y = curve
    with pytest.raises(InputError, match="Y has 119 positions and X has 120 rows"):
        KernelMap().fit(X, Y[:-1])
    with pytest.raises(InputError, match="NaN"):
        KernelMap().fit(X, np.full_like(Y, np.nan))
    with pytest.raises(InputError, match="1 missing or infinite values"):
        KernelMap().fit(X, Y).transform(np.where(np.arange(7) == 3, np.nan, X[:1]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match="n_samples=1"):
            KernelMap().fit(X[:1], Y[:1])
