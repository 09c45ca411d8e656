"""Relevance bounds: equal to the papers' programs, true on the toys, lawful, and clear about bad input."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from prismap.exceptions import InputError, PrismapWarning
from prismap.relevance import RelevanceBounds
from prismap.relevance import _bounds as bounds
from prismap.relevance import _ranges as ranges
from prismap.relevance._bounds import greedy_bounds, regression_errors
from reference.bounds_reference import convex_bounds, greedy_reference, large_bounds


def standardized(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def toy(seed=0, n=150, noise=0.02):
    """Twelve noise features, two redundant ones, two necessary ones; the target is the sum of the last three."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 16))
    X[:, 13] = X[:, 12] + noise * rng.normal(size=n)
    return standardized(X), X[:, 13:].sum(axis=1)


def random_problem(seed, n, D):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, D)) @ rng.normal(size=(D, D)), rng.normal(size=D)


# --- the slow twins ---------------------------------------------------------------------------------------------------


PROBLEMS = [(40, 8, 5, 0.01), (30, 9, 4, 0.0), (12, 20, 7, 0.1), (50, 6, 6, 0.01), (60, 15, 1, 0.05)]


@pytest.mark.parametrize(("n", "D", "dim", "slack"), PROBLEMS)
def test_bounds_equal_the_papers_large_programs(n, D, dim, slack):
    X, w = random_problem(n + D, n, D)
    found = RelevanceBounds(dim, slack=slack).fit(X, w).interval_
    np.testing.assert_allclose(found, large_bounds(X, w, dim, slack), atol=1e-8)


@pytest.mark.parametrize(("D", "dim", "slack"), [(7, 4, 0.01), (10, 3, 0.1)])
def test_bounds_equal_a_convex_solver(D, dim, slack):
    X, w = random_problem(D, 30, D)
    found = RelevanceBounds(dim, slack=slack).fit(X, w).interval_
    np.testing.assert_allclose(found, convex_bounds(X, w, dim, slack), atol=1e-7)


@pytest.mark.parametrize("slack", [0.0, 0.01, 0.3])
def test_side_by_side_simplex_equals_the_general_solver(slack, monkeypatch):
    X, w = random_problem(3, 30, 12)
    quick = RelevanceBounds(7, slack=slack).fit(X, w).interval_
    monkeypatch.setattr(ranges, "MOST_ROWS", 0)
    np.testing.assert_allclose(quick, RelevanceBounds(7, slack=slack).fit(X, w).interval_, atol=1e-9)


def test_walk_that_stalls_is_handed_to_the_general_solver(monkeypatch):
    X, w = random_problem(3, 30, 12)
    right = RelevanceBounds(7).fit(X, w).interval_
    monkeypatch.setattr(ranges, "_walk", lambda A, b, C, basis: np.tile(basis, (len(C), 1)))
    np.testing.assert_allclose(RelevanceBounds(7).fit(X, w).interval_, right, atol=1e-9)


def test_unbounded_program_is_an_error_with_the_name():
    with pytest.raises(InputError, match="for age has no answer"):
        ranges.solve_programs(np.array([[1.0, -1.0]]), np.array([1.0]), np.array([[-1.0, 0.0]]), np.array([0]), ["age"])


@pytest.mark.parametrize("n_steps", [1, 3, 6])
def test_greedy_equals_the_algorithms_in_loops(n_steps):
    X, w = random_problem(5, 40, 5)
    Y = X @ w + np.random.default_rng(0).normal(size=40)
    found = greedy_bounds(regression_errors(X, Y), 5, n_steps)
    np.testing.assert_allclose(found, greedy_reference(X, Y, n_steps), atol=1e-7 * Y.var())


# --- known truth ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("effective_dim", [15, None])
def test_toy_noise_redundant_necessary(seed, effective_dim):
    X, y = toy(seed)
    found = RelevanceBounds(effective_dim, slack=0.1).fit(X, LinearRegression().fit(X, y))
    assert found.effective_dim_ == 15
    assert found.relevance_classes_.tolist() == [0] * 12 + [1, 1, 2, 2]
    weights = np.abs(LinearRegression().fit(X, y).coef_)
    assert found.interval_[:12, 1].max() < 0.02 * found.total_  # noise
    assert (found.interval_[12:14, 1] > 0.9 * weights[12:14].sum()).all()  # either can do it alone,
    assert (found.interval_[12:14, 0] < 1e-9).all()  # so neither is needed
    np.testing.assert_allclose(found.interval_[14:], weights[14:, None] * [1, 1], rtol=0.05)  # no way around these


def test_xor_with_three_copies():
    """Features 1-3 are copies; with all the weight on the first, the bounds still see that each could carry it."""
    rng = np.random.default_rng(0)
    x = np.repeat(rng.choice([-1.0, 1.0], size=80)[:, None], 3, axis=1) + 0.01 * rng.normal(size=(80, 3))
    noise = 0.01 * rng.normal(size=80)
    X = standardized(np.column_stack([x, rng.choice([-1.0, 1.0], size=80), noise, noise]))
    found = RelevanceBounds(3, slack=0.01).fit(X, [0.4, 0.0, 0.2, 0.7, 0.0, 0.0])
    np.testing.assert_allclose(found.interval_[:3], [[0, 0.6]] * 3, atol=0.02)
    np.testing.assert_allclose(found.interval_[3], [0.7, 0.7], atol=0.02)
    assert found.interval_[4:, 1].max() < 0.02
    assert found.relevance_classes_.tolist() == [1, 1, 1, 2, 0, 0]


def test_greedy_toy_finds_the_necessary_ones():
    X, y = toy()
    found = RelevanceBounds(method="greedy").fit(X, LinearRegression().fit(X, y), y)
    assert (found.interval_[:, 0].argsort()[-2:] >= 14).all()
    assert (found.relevance_classes_[14:] == 2).all()
    assert found.interval_[12:14, 0].max() < 0.01 * found.total_
    np.testing.assert_allclose(found.total_, y.var())


def test_greedy_takes_any_criterion():
    X, y = toy(n=60)
    X = X[:, 11:]

    def knn_error(X, y):
        return ((KNeighborsRegressor(3).fit(X, y).predict(X) - y) ** 2).mean()

    found = RelevanceBounds(method="greedy", criterion=knn_error, max_iter=2).fit(X, np.ones(5), y)
    assert found.interval_[0, 1] < found.interval_[1:, 1].min()
    assert (found.interval_[:, 0] <= found.interval_[:, 1]).all()


# --- laws -------------------------------------------------------------------------------------------------------------


def test_bounds_grow_with_the_weights_and_ignore_their_sign():
    X, w = random_problem(0, 30, 8)
    one = RelevanceBounds(5).fit(X, w).interval_
    np.testing.assert_allclose(RelevanceBounds(5).fit(X, -1e-6 * w).interval_, 1e-6 * one, rtol=1e-7, atol=1e-16)
    np.testing.assert_allclose(RelevanceBounds(5).fit(1e5 * X, w).interval_, one, atol=1e-8)


def test_order_of_features_does_not_matter():
    X, w = random_problem(1, 30, 8)
    order = np.random.default_rng(0).permutation(8)
    one = RelevanceBounds(5).fit(X, w).interval_
    np.testing.assert_allclose(RelevanceBounds(5).fit(X[:, order], w[order]).interval_, one[order], atol=1e-8)


def test_duplicate_takes_the_lower_bound_and_shares_the_upper():
    rng = np.random.default_rng(2)
    X, w = rng.normal(size=(40, 5)), rng.normal(size=5)
    one = RelevanceBounds(5, slack=0.0).fit(X, w)
    two = RelevanceBounds(5, slack=0.0).fit(np.column_stack([X, X[:, 0]]), np.append(w, 0.0))
    np.testing.assert_allclose(two.interval_[0], [0, abs(w[0])], atol=1e-8)
    np.testing.assert_allclose(two.interval_[5], [0, abs(w[0])], atol=1e-8)
    np.testing.assert_allclose(two.interval_[1:5], one.interval_[1:], atol=1e-8)


def test_equivalent_maps_have_equal_bounds_and_equal_outputs():
    X, w = random_problem(4, 30, 8)
    V = bounds.leading_directions(X)[0]
    other = w + (np.eye(8) - V[:, :5] @ V[:, :5].T) @ np.ones(8)
    one, two = RelevanceBounds(5).fit(X, w), RelevanceBounds(5).fit(X, other)
    np.testing.assert_allclose(one.interval_, two.interval_, atol=1e-8)
    np.testing.assert_allclose(one.average_map_ @ V[:, :5], w[None] @ V[:, :5], atol=1e-9)


def test_maps_attain_the_bounds_inside_the_class():
    X, w = random_problem(6, 30, 8)
    V = bounds.leading_directions(X)[0][:, :4]
    (mu,), (interval,), maps = bounds.equivalent_maps(V, w[None], 0.02)
    for j in range(8):
        np.testing.assert_allclose(np.abs(maps[j, :, 0, j]), interval[j], atol=1e-9)
    np.testing.assert_allclose(maps[:, :, 0] @ V, np.broadcast_to(w @ V, (8, 2, 4)), atol=1e-8)
    assert np.abs(maps[:, :, 0]).sum(axis=-1).max() <= 1.02 * mu + 1e-8


def test_slack_widens_and_full_rank_pins():
    X, w = random_problem(7, 30, 6)
    narrow, wide = (RelevanceBounds(4, slack=s).fit(X, w).interval_ for s in (0.01, 0.2))
    assert (wide[:, 0] <= narrow[:, 0] + 1e-9).all()
    assert (wide[:, 1] >= narrow[:, 1] - 1e-9).all()
    assert (wide[:, 1] > narrow[:, 1] + 1e-3).any()
    np.testing.assert_allclose(RelevanceBounds(6).fit(X, w).interval_, np.abs(w)[:, None] * [1, 1], atol=1e-7)


def test_rows_of_a_matrix_are_summed():
    X, w = random_problem(8, 30, 6)
    W = np.vstack([w, np.roll(w, 2)])
    both = RelevanceBounds(4).fit(X, W)
    single = [RelevanceBounds(4).fit(X, row).interval_ for row in W]
    np.testing.assert_allclose(both.interval_, single[0] + single[1], atol=1e-9)
    np.testing.assert_allclose(both.row_intervals_, single, atol=1e-9)


# --- models and pipelines ---------------------------------------------------------------------------------------------


def scaled_data():
    X, y = toy(n=80)
    return X * np.geomspace(0.01, 100, 16) + 5.0, y


def test_pipeline_with_a_scaler_is_the_scaled_data_with_its_weights():
    X, y = scaled_data()
    pipe = make_pipeline(StandardScaler(), Ridge()).fit(X, y)
    by_hand = RelevanceBounds(15).fit(pipe[0].transform(X), pipe[-1].coef_)
    np.testing.assert_allclose(RelevanceBounds(15).fit(X, pipe).interval_, by_hand.interval_, atol=1e-8)
    search = GridSearchCV(pipe, {"ridge__alpha": [1.0]}, cv=2).fit(X, y)
    np.testing.assert_allclose(RelevanceBounds(15).fit(X, search).interval_, by_hand.interval_, atol=1e-8)


def test_standardize_brings_raw_weights_to_the_same_scale():
    X, y = scaled_data()
    raw = LinearRegression().fit(X, y)
    pipe = make_pipeline("passthrough", StandardScaler(), LinearRegression()).fit(X, y)
    one = RelevanceBounds(15, standardize=True).fit(X, raw).interval_
    np.testing.assert_allclose(one, RelevanceBounds(15).fit(X, pipe).interval_, atol=1e-6)


def test_mixing_steps_are_pulled_back_to_the_columns():
    X, y = scaled_data()
    pipe = make_pipeline(StandardScaler(), PCA(16), MinMaxScaler(), LinearRegression()).fit(X, y)
    plain = make_pipeline(StandardScaler(), LinearRegression()).fit(X, y)
    found, right = RelevanceBounds(15).fit(X, pipe), RelevanceBounds(15).fit(X, plain)
    np.testing.assert_allclose(found.interval_, right.interval_, atol=1e-6)


def test_classifiers_and_metric_learners_by_their_attribute():
    X, y = toy(n=60)
    labels = np.digitize(y, np.quantile(y, [0.33, 0.66]))
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(16)])
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(frame, labels)
    found = RelevanceBounds(15).fit(frame, model)
    assert found.row_intervals_.shape == (3, 16, 2)
    assert found.feature_names_in_[0] == "f0"
    metric = NeighborhoodComponentsAnalysis(n_components=2, max_iter=5, random_state=0).fit(X, labels)
    np.testing.assert_allclose(
        RelevanceBounds(15).fit(X, metric).interval_, RelevanceBounds(15).fit(X, metric.components_).interval_
    )


def test_effective_dim_from_the_spectrum_and_by_share():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 10))
    w = rng.normal(size=10)
    assert RelevanceBounds().fit(X, w).effective_dim_ == 4  # the rank
    assert RelevanceBounds(0.5).fit(X, w).effective_dim_ < 4
    with pytest.warns(PrismapWarning, match="effective_dim=9 is more than the rank of X, 4"):
        assert RelevanceBounds(9).fit(X, w).effective_dim_ == 4
    # A direction of little variance is kept when the map lives on it.
    X = rng.normal(size=(200, 3)) * [1.0, 1.0, 0.01]
    assert RelevanceBounds().fit(X, [1.0, 1.0, 0.0]).effective_dim_ == 2
    assert RelevanceBounds().fit(X, [0.0, 0.01, 5.0]).effective_dim_ == 3


def test_effective_dim_by_held_out_error():
    X, y = scaled_data()
    y = y + 0.3 * np.random.default_rng(1).normal(size=len(y))
    pipe = make_pipeline(StandardScaler(), LinearRegression()).fit(X[:50], y[:50])
    found = RelevanceBounds("held_out", slack=0.01).fit(X[:50], pipe, held_out=(X[50:], y[50:]))
    dims, errors = found.held_out_errors_
    assert dims.tolist() == list(range(1, 17))
    assert found.effective_dim_ == dims[np.argmax(errors <= errors.min() + bounds.HELD_OUT_MARGIN)]
    # With every direction kept the maps are the model itself.
    np.testing.assert_allclose(errors[-1], 1 - pipe.score(X[50:], y[50:]), atol=1e-3)
    assert errors[0] > errors.min() + 0.1
    assert pipe.score(X[50:], y[50:]) > 0.5  # the model itself was not touched

    target = standardized(X) @ pipe[-1].coef_
    chosen = RelevanceBounds("held_out").fit(
        standardized(X), pipe[-1].coef_, error=lambda W: np.abs(standardized(X) @ W[0] - target).mean()
    )
    assert chosen.effective_dim_ >= 15


def test_held_out_works_for_classifiers():
    X, y = toy(n=90)
    labels = np.digitize(y, np.quantile(y, [0.33, 0.66]))
    model = LogisticRegression().fit(X[:60], labels[:60])
    found = RelevanceBounds("held_out").fit(X[:60], model, held_out=(X[60:], labels[60:]))
    errors = found.held_out_errors_[1]
    np.testing.assert_allclose(errors[-1], 1 - model.score(X[60:], labels[60:]), atol=0.01)
    assert errors[found.effective_dim_ - 1] <= errors.min() + bounds.HELD_OUT_MARGIN


# --- bad input --------------------------------------------------------------------------------------------------------


def test_collinear_constant_and_wide_data_have_finite_bounds():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6, 3))
    X = np.column_stack([x, x @ rng.normal(size=(3, 10)), x[:, 0], np.zeros(6), np.full(6, 4.0)])  # 16 columns, 6 rows
    w = rng.normal(size=16)
    for standardize in (False, True):
        found = RelevanceBounds(standardize=standardize).fit(X, w)
        assert np.isfinite(found.interval_).all()
        assert (found.interval_[:, 0] <= found.interval_[:, 1]).all()
        assert found.relevance_classes_[14] == 0  # a column of zeros cannot matter
        assert found.interval_[14, 1] <= 0.01 * found.total_ * (1 + 1e-6)


def test_classes_follow_the_bounds():
    """Irreplaceable counts even where the slack is larger than the weight; what slack alone reaches does not count."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    X = np.column_stack([X, X[:, 0], np.zeros(60)])
    found = RelevanceBounds(4, slack=0.2).fit(X, [1.0, 0.15, 0.001, 0.5, 0.0, 0.0])
    np.testing.assert_allclose(found.interval_[5], [0.0, 0.2 * found.total_], atol=1e-9)
    assert found.relevance_classes_.tolist() == [1, 2, 0, 2, 1, 0]


def test_zero_weights_warn_and_nothing_is_relevant():
    X, _ = random_problem(0, 20, 4)
    for method in ("lp", "greedy"):
        with pytest.warns(PrismapWarning, match="coef is zero for every feature"):
            found = RelevanceBounds(method=method).fit(X, np.zeros(4))
        assert not found.interval_.any()
        assert not found.relevance_classes_.any()


def test_weights_outside_the_data_vanish():
    """A map that sends all rows to zero is equivalent to the zero map."""
    X = np.column_stack([np.arange(5.0), np.zeros(5)])
    assert not RelevanceBounds().fit(X, [0.0, 3.0]).interval_.any()


@pytest.mark.parametrize(
    ("coef", "message"),
    [
        (np.ones(3), "coef has 3 weights and X has 4 columns"),
        (np.ones((2, 2, 4)), "must be equal in number|coef has"),
        ([1.0, np.nan, 0.0, 0.0], "1 missing or infinite weights"),
        (["a", "b", "c", "d"], "must hold numbers"),
        (LinearRegression(), "Fit the model first"),
        (SVC(), "Fit the model first"),
    ],
)
def test_bad_weights(coef, message):
    X, _ = random_problem(0, 20, 4)
    with pytest.raises(InputError, match=message):
        RelevanceBounds().fit(X, coef)


def test_bad_data_and_settings():
    X, w = random_problem(0, 20, 4)
    with pytest.raises(InputError, match="1 missing or infinite values"):
        RelevanceBounds().fit(np.where(np.arange(80).reshape(20, 4) == 5, np.nan, X), w)
    with pytest.raises(InputError, match="zero in every entry"):
        RelevanceBounds().fit(np.zeros((5, 4)), w)
    with pytest.raises(InputError, match="needs held_out="):
        RelevanceBounds("held_out").fit(X, w)
    with pytest.raises(InputError, match="weights can be exchanged"):
        RelevanceBounds("held_out").fit(X, w, held_out=(X, X @ w))
    svc = SVC(kernel="linear").fit(X, X @ w > 0)
    with pytest.raises(InputError, match="weights can be exchanged"):
        RelevanceBounds("held_out").fit(X, svc, held_out=(X, X @ w > 0))
    with pytest.raises(InputError, match="y has 3 entries"):
        RelevanceBounds(method="greedy").fit(X, w, [1, 2, 3])
    with pytest.raises(ValueError, match="slack"):
        RelevanceBounds(slack=-0.1).fit(X, w)
    bent = make_pipeline(PolynomialFeatures(2), LinearRegression()).fit(X, X @ w)
    with pytest.raises(InputError, match="'polynomialfeatures'.*not an affine map"):
        RelevanceBounds().fit(X, bent)


class BoundsOfASum(RelevanceBounds):
    """scikit-learn's checks pass a target where the map belongs; here the map is the sum of the columns."""

    def fit(self, X, y=None):
        return super().fit(X, np.ones((X if hasattr(X, "shape") else np.asarray(X)).shape[-1]))


@parametrize_with_checks([BoundsOfASum(), BoundsOfASum(method="greedy", max_iter=2)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_constructor_and_fit_conventions():
    model = RelevanceBounds(3, slack=0.2)
    assert clone(model).get_params() == model.get_params()
    X, w = random_problem(0, 20, 4)
    assert model.fit(X, w) is model
    assert model.n_features_in_ == 4
