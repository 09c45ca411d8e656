"""The fifteen measures: against the table's formulas, scipy and their flags, and where a formula breaks down."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from prismap.exceptions import InputError
from prismap.metrics import DISSIMILARITIES, dissimilarity, register_dissimilarity
from prismap.metrics import _dissimilarities as dissimilarities
from reference import dissimilarities_reference as reference

TABLE = {  # name: (metric, Euclidean), as printed
    "euclidean": (True, True),
    "weighted_euclidean": (True, True),
    "city_block": (True, False),
    "max_norm": (True, False),
    "minkowski": (True, False),
    "mahalanobis": (True, True),
    "median": (False, False),
    "correlation": (False, False),
    "correlation2": (False, False),
    "cosine": (False, False),
    "divergence": (False, False),
    "bray_curtis": (False, False),
    "soergel": (False, False),
    "ware_hedges": (False, False),
    "geodesic": (False, False),
}
NONNEGATIVE = {"divergence", "bray_curtis", "soergel", "ware_hedges"}


@pytest.fixture
def rows():
    """Non-negative rows with zeros, a zero row and a duplicate."""
    rng = np.random.default_rng(0)
    X = rng.gamma(1.5, size=(23, 6)) * (rng.random((23, 6)) > 0.2)
    X[3] = X[7]
    X[5] = 0.0
    return X


@pytest.fixture
def registry():
    """Measures registered in a test are gone after it."""
    before = dict(DISSIMILARITIES)
    yield DISSIMILARITIES
    DISSIMILARITIES.clear()
    DISSIMILARITIES.update(before)


def shrunk_covariance(X, shrinkage=1e-3):
    C = np.cov(X, rowvar=False)
    return (1 - shrinkage) * C + shrinkage * np.trace(C) / len(C) * np.eye(len(C))


def statistics(name, X):
    if name == "weighted_euclidean":
        return {"mean": X.mean(axis=0)}
    if name == "mahalanobis":
        return {"inverse_covariance": np.linalg.inv(shrunk_covariance(X))}
    return {}


def test_the_table_is_complete():
    assert list(DISSIMILARITIES)[:15] == list(TABLE)
    for name, flags in TABLE.items():
        measure = DISSIMILARITIES[name]
        assert (measure.metric, measure.euclidean) == flags
        assert measure.nonnegative == (name in NONNEGATIVE)


@pytest.mark.parametrize("columns", [5, 6])
@pytest.mark.parametrize("name", [name for name in TABLE if name != "geodesic"])
def test_equals_the_loop_over_the_formula(name, columns, rows):
    X = rows[:, :columns]
    Y = np.vstack([X[2:5] * 1.5, X[[0]]])
    loop, options = getattr(reference, name), statistics(name, X)
    tolerance = 3e-7 if name in ("minkowski", "median") else 1e-11  # those two work in float32
    np.testing.assert_allclose(
        dissimilarity(name, X), reference.pairs(loop, X, X, **options), rtol=tolerance, atol=1e-14
    )
    np.testing.assert_allclose(
        dissimilarity(name, X, Y), reference.pairs(loop, X, Y, **options), rtol=tolerance, atol=1e-14
    )


@pytest.mark.parametrize("n_neighbors", [3, 6])
def test_geodesic_equals_the_loop_over_all_paths(n_neighbors):
    X = np.random.default_rng(1).random((20, 3))
    expected = reference.geodesics(X, n_neighbors)
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(dissimilarity("geodesic", X, n_neighbors=n_neighbors), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "scipy_name", "factor"),
    [
        ("euclidean", "euclidean", 1),
        ("city_block", "cityblock", 1),
        ("max_norm", "chebyshev", 1),
        ("minkowski", "minkowski", 1),
        ("cosine", "cosine", 0.5),
        ("bray_curtis", "braycurtis", 1),
        ("mahalanobis", "mahalanobis", 1),
        ("weighted_euclidean", "euclidean", 1),
    ],
)
def test_equals_scipy_where_scipy_has_it(name, scipy_name, factor):
    rng = np.random.default_rng(2)
    X, Y = rng.random((30, 9)), rng.random((12, 9))
    options = {"p": 1.2} if name == "minkowski" else {}
    if name == "mahalanobis":
        options["VI"] = np.linalg.inv(shrunk_covariance(X))
    weights = 1 / X.mean(axis=0) if name == "weighted_euclidean" else 1.0
    expected = factor * cdist(X * weights, Y * weights, scipy_name, **options)
    np.testing.assert_allclose(dissimilarity(name, X, Y), expected, rtol=1e-6 if name == "minkowski" else 1e-10)


@pytest.mark.parametrize("name", TABLE)
def test_symmetric_finite_and_zero_for_equal_rows(name, rows):
    D = dissimilarity(name, rows)
    assert np.isfinite(D).all()
    np.testing.assert_array_equal(D, D.T)
    assert not np.diag(D).any()
    assert D[3, 7] == 0
    if name != "correlation2":
        assert D.min() >= 0
        if name != "median":
            assert D[0, 1:].min() > 0


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("X", [np.zeros((4, 3)), np.ones((4, 1)), np.full((3, 4), 1e-300), np.array([[0.0], [1e140]])])
def test_degenerate_rows_give_numbers(name, X):
    D = dissimilarity(name, X)
    assert np.isfinite(D).all()
    assert not D[(X[:, None] == X[None]).all(axis=2)].any()


def test_values_whose_squares_overflow_are_refused():
    with pytest.raises(InputError, match="values up to 1e\\+200, whose squares overflow; rescale"):
        dissimilarity("cosine", [[0.0], [1e200]])


@pytest.mark.parametrize("name", [name for name, (metric, _) in TABLE.items() if metric])
def test_metric_measures_keep_the_triangle_inequality(name):
    D = dissimilarity(name, np.random.default_rng(3).normal(size=(25, 4)))
    assert (D[:, None, :] <= (D[:, :, None] + D[None]) * (1 + 1e-6)).all()


@pytest.mark.parametrize("name", [name for name, (_, flat) in TABLE.items() if flat])
def test_euclidean_measures_fit_into_a_euclidean_space(name):
    D = dissimilarity(name, np.random.default_rng(3).normal(size=(25, 4)))
    assert squared_spectrum(D).min() > -1e-9


@pytest.mark.parametrize("name", ["city_block", "max_norm", "minkowski", "median", "correlation", "cosine"])
def test_other_measures_do_not(name):
    D = dissimilarity(name, np.random.default_rng(3).normal(size=(25, 4)))
    assert squared_spectrum(D).min() < -1e-6


def squared_spectrum(D):
    centring = np.eye(len(D)) - 1 / len(D)
    return np.linalg.eigvalsh(-0.5 * centring @ D**2 @ centring)


def test_bray_curtis_and_cosine_break_the_triangle_inequality():
    D = dissimilarity("bray_curtis", [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    assert D[0, 2] > D[0, 1] + D[1, 2]
    D = dissimilarity("cosine", [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    assert D[0, 2] > D[0, 1] + D[1, 2]


def test_conventions_for_zero_vectors_and_absent_features():
    X = [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 2.0, 1.0]]
    assert dissimilarity("cosine", X)[0].tolist() == [0, 0.5, 0.5]
    assert dissimilarity("correlation", X)[0].tolist() == [0, 0.5, 0.5]
    assert dissimilarity("ware_hedges", X)[0].tolist() == [0, 1, 2]
    assert dissimilarity("divergence", X)[0].tolist() == [0, 1, np.sqrt(2)]
    assert dissimilarity("bray_curtis", X)[0].tolist() == [0, 1, 1]
    assert dissimilarity("soergel", X)[0].tolist() == [0, 1, 1]


def test_correlation2_is_negative_for_near_rows_as_printed():
    assert dissimilarity("correlation2", [[2.0, 0.0], [1.0, 0.0]])[0, 1] == 0.5 * (1 - 2 / 1)


def test_weighted_euclidean_weights_a_column_without_mean_by_its_size():
    X = np.array([[-1.0, 5.0, 0.0], [1.0, 7.0, 0.0]])
    assert dissimilarity("weighted_euclidean", X)[0, 1] == pytest.approx(np.hypot(2 / 1, 2 / 6))
    assert dissimilarity("weighted_euclidean", X * [1e6, 1e-3, 1])[0, 1] == pytest.approx(np.hypot(2, 2 / 6))


@pytest.mark.parametrize("name", ["weighted_euclidean", "mahalanobis", "geodesic"])
def test_statistics_come_from_the_first_rows_only(name):
    rng = np.random.default_rng(4)
    X, Y = rng.random((15, 3)), rng.random((6, 3))
    D = dissimilarity(name, X, Y)
    np.testing.assert_allclose(D[:, :2], dissimilarity(name, X, Y[:2]), rtol=1e-12)
    np.testing.assert_allclose(dissimilarity(name, X, X[:4]), dissimilarity(name, X)[:, :4], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["minkowski", "median", "divergence", "ware_hedges"])
def test_small_tiles_change_nothing(name, rows, monkeypatch):
    whole, part = dissimilarity(name, rows), dissimilarity(name, rows, rows[4:11])
    monkeypatch.setattr(dissimilarities, "TILE_BYTES", 8 * rows.shape[1] * 5)
    np.testing.assert_array_equal(dissimilarity(name, rows), whole)
    np.testing.assert_array_equal(dissimilarity(name, rows, rows[4:11]), part)


def test_constant_columns_do_not_trouble_mahalanobis():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(20, 4))
    X[:, 2] = 7.0
    D = dissimilarity("mahalanobis", X)
    np.testing.assert_allclose(D, dissimilarity("mahalanobis", X - [0, 0, 7, 0]), rtol=1e-9)
    assert np.isfinite(D).all()
    with pytest.raises(InputError, match=r"singular: columns \[2\] are constant.*shrinkage > 0"):
        dissimilarity("mahalanobis", X, shrinkage=0.0)


def test_mahalanobis_without_shrinkage_ignores_linear_maps_of_the_data():
    rng = np.random.default_rng(6)
    X, A = rng.normal(size=(20, 3)), rng.normal(size=(3, 3))
    np.testing.assert_allclose(
        dissimilarity("mahalanobis", X, shrinkage=0), dissimilarity("mahalanobis", X @ A, shrinkage=0), rtol=1e-8
    )


@pytest.mark.parametrize("name", sorted(NONNEGATIVE))
def test_negative_values_are_refused_where_the_formula_needs_none(name):
    X = np.array([[1.0, 2.0], [0.5, -3.0]])
    with pytest.raises(InputError, match=rf"'{name}' needs non-negative features; got 1 negative values.*-3.*Shift"):
        dissimilarity(name, X)
    with pytest.raises(InputError, match="negative"):
        dissimilarity(name, np.abs(X), X)


def test_a_graph_in_parts_is_refused_with_the_way_out():
    rng = np.random.default_rng(7)
    X = np.vstack([rng.random((8, 2)), rng.random((5, 2)) + 10])
    message = r"n_neighbors=2 .*2 parts.*8 rows .*5 rows .*Raise n_neighbors to (\d+)"
    with pytest.raises(InputError, match=message) as caught:
        dissimilarity("geodesic", X, n_neighbors=2)
    advised = int(str(caught.value).split("Raise n_neighbors to ")[1].split(",")[0])
    assert np.isfinite(dissimilarity("geodesic", X, n_neighbors=advised)).all()
    with pytest.raises(InputError, match="parts"):
        dissimilarity("geodesic", X, n_neighbors=advised - 1)
    np.testing.assert_array_equal(dissimilarity("geodesic", X), dissimilarity("geodesic", X, n_neighbors=advised))
    with pytest.raises(InputError, match="n_neighbors must lie between 1 and 12"):
        dissimilarity("geodesic", X, n_neighbors=13)


def test_geodesic_joins_equal_rows():
    X = np.repeat(np.arange(4.0)[:, None], 3, axis=0)
    np.testing.assert_allclose(dissimilarity("geodesic", X), cdist(X, X), atol=1e-12)


def test_geodesic_of_new_rows_goes_through_the_fitted_ones():
    circle = np.array([[np.cos(t), np.sin(t)] for t in np.linspace(0, 1.5 * np.pi, 30)])
    new = 1.02 * circle[[3, 26]]
    D = dissimilarity("geodesic", circle, new)
    assert D[-1, 0] > 3  # along the arc, not across the gap (a chord of 1.4)
    assert D[3, 0] == pytest.approx(0.02)
    assert (D - cdist(circle, new)).min() > -1e-12


def test_users_register_measures_for_objects_of_their_own(registry):
    def hamming(A, B):
        return [[sum(x != y for x, y in zip(a, b, strict=True)) for b in B] for a in A]

    register_dissimilarity("hamming", hamming, metric=True)
    assert dissimilarity("hamming", ["abc", "abd", "xyz"]).tolist() == [[0, 1, 3], [1, 0, 3], [3, 3, 0]]
    assert dissimilarity("hamming", ["abc"], ["abd"]).tolist() == [[1]]
    with pytest.raises(InputError, match="'hamming' exists already"):
        register_dissimilarity("hamming", hamming)


def test_registered_measures_may_learn(registry):
    register_dissimilarity(
        "spread",
        lambda A, B, unit: cdist(A, B) / unit,
        learn=lambda X, unit=1.0: {"unit": unit * np.ptp(X)},
        vectors=True,
    )
    assert dissimilarity("spread", [[0.0], [4.0]], [[2.0]]).tolist() == [[0.5], [0.5]]
    assert dissimilarity("spread", [[0.0], [4.0]], [[2.0]], unit=2.0).tolist() == [[0.25], [0.25]]


def test_wrong_measures_and_options_are_named(registry):
    with pytest.raises(InputError, match="'taxi' is not known. Names: euclidean, .*geodesic"):
        dissimilarity("taxi", np.eye(2))
    with pytest.raises(InputError, match="'minkowski' has no option q; options: p"):
        dissimilarity("minkowski", np.eye(2), q=3)
    with pytest.raises(InputError, match="p of the Minkowski distance must be at least 1; got 0.5"):
        dissimilarity("minkowski", np.eye(2), p=0.5)
    with pytest.raises(InputError, match="shrinkage .* between 0 and 1; got 2"):
        dissimilarity("mahalanobis", np.eye(2), shrinkage=2)
    register_dissimilarity("square", lambda A, B: np.zeros((1, 1)))
    with pytest.raises(InputError, match=r"'square' must give a matrix of shape \(2, 2\); got \(1, 1\)"):
        dissimilarity("square", ["a", "b"])
    register_dissimilarity("broken", lambda A, B: np.full((len(A), len(B)), np.nan))
    with pytest.raises(InputError, match="'broken' gave 4 values that are not finite"):
        dissimilarity("broken", ["a", "b"])


@pytest.mark.parametrize(
    ("X", "Y", "message"),
    [
        ([[np.nan, 1.0]], None, "X holds 1 missing or infinite values"),
        ([1.0, 2.0], None, r"X must be a matrix .* got shape \(2,\)"),
        ([[1.0, 2.0]], [[1.0]], "X has 2 columns and Y has 1"),
        ([[1.0]], [[np.inf]], "Y holds 1 missing"),
    ],
)
def test_rows_that_are_no_rows_are_refused(X, Y, message):
    with pytest.raises(InputError, match=message):
        dissimilarity("euclidean", X, Y)
