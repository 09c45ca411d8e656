"""MixtureMetric: known mixtures, the descent's laws, new rows, objects of other kinds, and bad input."""

import pickle

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from prismap._util.costs import elastic_weights, stress_cost
from prismap.embeddings import MDS, TSNE, ElasticMDS, Isomap, NeRV
from prismap.exceptions import InputError
from prismap.mappings import KernelMap
from prismap.metrics import (
    DISSIMILARITIES,
    AlternatingDescent,
    MixtureCost,
    MixtureMetric,
    dissimilarity,
    register_dissimilarity,
)
from prismap.metrics._base import fit_metric
from reference.dissimilarities_reference import elastic_stress

STAY = AlternatingDescent(n_epochs=0)  # no weights are learnt
FAST = {"descent": AlternatingDescent(n_epochs=4, max_iter=25), "random_state": 0}


@parametrize_with_checks([MixtureMetric(n_init=2, descent=AlternatingDescent(n_epochs=1, max_iter=3))])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def rows():
    return np.random.default_rng(0).gamma(2.0, size=(40, 5))


@pytest.fixture(scope="module")
def fitted():
    return MixtureMetric(**FAST).fit(np.random.default_rng(0).gamma(2.0, size=(40, 5)))


def edit_distance(A, B):
    def between(a, b):
        row = list(range(len(b) + 1))
        for i, x in enumerate(a, 1):
            above, row[0] = row[0], i
            for j, y in enumerate(b, 1):
                above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (x != y))
        return row[-1]

    return [[between(a, b) for b in B] for a in A]


def length_difference(A, B):
    return np.abs(np.subtract.outer([len(a) for a in A], [len(b) for b in B]))


WORDS = ["map", "maps", "mop", "metric", "metrics", "prism", "prisms", "a", "ab", "abc", "embedding"]


def test_all_fifteen_measures_take_part(fitted, rows):
    assert fitted.measures_ == list(DISSIMILARITIES)[:15]
    assert fitted.weights_.shape == fitted.scales_.shape == fitted.start_weights_.shape == (15,)
    assert fitted.weights_.sum() == pytest.approx(1)
    assert fitted.start_weights_.min() > 0
    assert fitted.n_rows_ == len(rows)


def test_measures_that_the_data_forbid_are_left_out(rows):
    metric = MixtureMetric(**FAST).fit(rows - 1)
    assert set(list(DISSIMILARITIES)[:15]) - set(metric.measures_) == {
        "divergence", "bray_curtis", "soergel", "ware_hedges",
    }  # fmt: skip


def test_the_mixture_is_the_weighted_sum_of_scaled_measures(fitted, rows):
    D = np.zeros((40, 40))
    for name, weight in zip(fitted.measures_, fitted.weights_, strict=True):
        part = np.maximum(dissimilarity(name, rows), 0)
        D += weight * part / squareform(part, checks=False).mean()
    np.testing.assert_allclose(fitted.pairwise(), np.maximum(D, 0), atol=1e-12)
    assert squareform(fitted.pairwise(), checks=False).mean() == pytest.approx(1)


def test_stress_is_that_of_positions_and_mixture(fitted):
    assert fitted.stress_ == pytest.approx(elastic_stress(fitted.positions_, fitted.pairwise()), rel=1e-9)
    assert fitted.stress_ == fitted.history_[-1] == fitted.start_stress_.min()


@pytest.mark.parametrize("solver", ["lbfgs", "scg"])
@pytest.mark.parametrize("allow_negative", [True, False])
@pytest.mark.parametrize("init", ["eigenvalues", "random"])
def test_stress_never_rises_and_weights_stay_normalised(rows, solver, allow_negative, init):
    descent = AlternatingDescent(n_epochs=4, max_iter=25, solver=solver)
    options = {"allow_negative": allow_negative, "init": init, "descent": descent}
    metric = MixtureMetric(n_init=1, random_state=0, **options).fit(rows)
    assert (np.diff(metric.history_) <= 0).all()
    assert metric.history_[-1] < 0.9 * metric.history_[0]
    assert metric.weights_.sum() == pytest.approx(1)
    assert np.abs(metric.weights_ - metric.start_weights_).max() > 1e-3
    if not allow_negative:
        assert metric.weights_.min() >= 0


@pytest.mark.parametrize("solver", ["lbfgs", "scg"])
@pytest.mark.parametrize("allow_negative", [True, False])
def test_finds_the_measure_that_fits_into_the_plane(solver, allow_negative):
    rng = np.random.default_rng(1)
    plane = rng.normal(size=(20, 2))
    noise = squareform(rng.uniform(1, 3, size=20 * 19 // 2))
    descent = AlternatingDescent(n_epochs=20, max_iter=30, solver=solver)
    metric = MixtureMetric((cdist(plane, plane), noise), descent=descent, allow_negative=allow_negative).fit(plane)
    np.testing.assert_allclose(metric.weights_, [1, 0], atol=0.02)
    assert metric.stress_ < 0.05 * metric.history_[0]


def test_one_measure_is_plain_elastic_scaling(rows):
    metric = MixtureMetric(("euclidean",), scale=None, descent=AlternatingDescent(n_epochs=5, max_iter=400)).fit(rows)
    assert metric.weights_.tolist() == [1.0]
    np.testing.assert_allclose(metric.pairwise(), cdist(rows, rows), atol=1e-12)
    gradient = stress_cost(metric.positions_, metric.pairwise(), elastic_weights(metric.pairwise()))[1]
    assert np.abs(gradient).max() < 0.1
    assert metric.stress_ < len(pdist(rows))


def test_start_weights_are_the_normalised_largest_eigenvalues(rows):
    names = ("euclidean", "cosine", "max_norm")
    metric = MixtureMetric(names, scale=None, init="eigenvalues", n_init=1, descent=STAY).fit(rows)
    values = np.array([np.linalg.eigvalsh(dissimilarity(name, rows))[-1] for name in names])
    np.testing.assert_allclose(metric.start_weights_, values / values.sum(), rtol=1e-9)
    np.testing.assert_array_equal(metric.weights_, metric.start_weights_)  # no epochs: nothing learnt
    assert len(metric.history_) == 1


@pytest.mark.parametrize(("scale", "allow_negative"), [("mean", True), (None, False)])
def test_leaning_starts_find_the_measure_that_fits_and_are_never_worse_than_the_eigenvalues(scale, allow_negative):
    rng = np.random.default_rng(0)
    plane = cdist(flat := rng.normal(size=(30, 2)), flat)
    others = [cdist(X, X, "cityblock") for X in rng.normal(size=(5, 30, 8))]
    measures = (*others[:3], 0.01 * plane, *others[3:])
    descent = AlternatingDescent(n_epochs=3, max_iter=40)
    options = {"scale": scale, "allow_negative": allow_negative, "descent": descent, "random_state": 0}
    alone = MixtureMetric(measures, init="eigenvalues", n_init=1, **options).fit(flat)
    metric = MixtureMetric(measures, n_init=2, **options).fit(flat)
    assert metric.start_stress_[0] == alone.stress_
    assert metric.stress_ < 0.25 * alone.stress_
    by_mean = metric.weights_ * [D.mean() for D in measures] / metric.scales_
    assert by_mean.argmax() == 3
    # Once every measure has had its turn, chance goes on.
    short = AlternatingDescent(n_epochs=0, max_iter=5)
    assert len(MixtureMetric(measures[:2], n_init=5, descent=short).fit(flat).start_stress_) == 5


def test_scaling_to_equal_means_forgets_the_units_of_a_measure(rows):
    D, E = cdist(rows, rows), cdist(rows, rows, "cityblock")
    one = MixtureMetric((D, E), **FAST).fit(rows)
    other = MixtureMetric((D, 1000 * E), **FAST).fit(rows)
    np.testing.assert_allclose(one.weights_, other.weights_, rtol=1e-6)
    np.testing.assert_allclose(one.pairwise(), other.pairwise(), rtol=1e-6)
    raw = MixtureMetric((D, 1000 * E), scale=None, init="eigenvalues", **FAST).fit(rows)
    assert raw.start_weights_[1] > 0.99


def test_a_measure_that_is_zero_everywhere_gets_no_weight(rows):
    X = np.hstack([rows, np.zeros((40, 7))])  # most features are equal: the median difference is 0
    metric = MixtureMetric(("euclidean", "median", "city_block"), **FAST).fit(X)
    assert metric.weights_[1] == metric.start_weights_[1] == 0
    assert metric.weights_.sum() == pytest.approx(1)


def test_more_starts_never_end_higher(rows):
    one = MixtureMetric(n_init=1, **FAST).fit(rows)
    many = MixtureMetric(n_init=3, **FAST).fit(rows)
    assert many.start_stress_.shape == (3,)
    assert many.start_stress_[0] == one.stress_
    assert many.stress_ == many.start_stress_.min()


def test_the_same_seed_gives_the_same_mixture(rows):
    a, b = (MixtureMetric(init="random", **FAST).fit(rows) for _ in range(2))
    np.testing.assert_array_equal(a.weights_, b.weights_)
    np.testing.assert_array_equal(a.positions_, b.positions_)
    other = MixtureMetric(init="random", **{**FAST, "random_state": 1}).fit(rows)
    assert not np.allclose(a.weights_, other.weights_)


def test_given_start_weights(rows):
    names = ("euclidean", "cosine")
    metric = MixtureMetric(names, init=[3, 1], descent=STAY).fit(rows)
    assert metric.weights_.tolist() == [0.75, 0.25]


def test_options_and_functions_in_measures(rows):
    metric = MixtureMetric((("minkowski", {"p": 3}), length_of_gap), scale=None, descent=STAY, init=[1, 1]).fit(rows)
    assert metric.measures_ == ["minkowski", "length_of_gap"]
    expected = (cdist(rows, rows, "minkowski", p=3) + cdist(rows, rows)) / 2
    np.testing.assert_allclose(metric.pairwise(), expected, rtol=1e-6, atol=1e-12)


def length_of_gap(A, B):
    return cdist(A, B)


def test_fitted_rows_given_again_are_the_fitted_rows(fitted, rows):
    np.testing.assert_allclose(fitted.pairwise(rows), fitted.pairwise(), atol=1e-6)
    np.testing.assert_allclose(fitted.pairwise(rows[:7], rows[3:9]), fitted.pairwise()[:7, 3:9], atol=1e-6)
    np.testing.assert_allclose(fitted.pairwise(None, rows[3:9]), fitted.pairwise()[:, 3:9], atol=1e-6)


def test_new_rows_are_measured_one_by_one(fitted):
    new = np.random.default_rng(5).gamma(2.0, size=(6, 5))
    D = fitted.pairwise(new)
    assert D.shape == (6, 40)
    assert D.min() >= 0
    np.testing.assert_allclose(np.vstack([fitted.pairwise(row[None]) for row in new]), D, rtol=1e-6)
    np.testing.assert_allclose(fitted.pairwise(None, new), D.T, rtol=1e-6)


def test_neighbours_are_the_smallest_entries(fitted, rows):
    D = fitted.pairwise()
    distances, indices = fitted.kneighbors(n_neighbors=5)
    np.fill_diagonal(D, np.inf)
    np.testing.assert_array_equal(distances, np.sort(D, axis=1)[:, :5])
    np.testing.assert_array_equal(np.take_along_axis(D, indices, axis=1), distances)
    distances, indices = fitted.kneighbors(rows[:4], n_neighbors=3)
    assert indices[:, 0].tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(distances[:, 0], 0, atol=1e-12)
    assert fitted.kneighbors(rows, n_neighbors=40)[1].shape == (40, 40)
    with pytest.raises(InputError, match="n_neighbors must lie between 1 and 39"):
        fitted.kneighbors(n_neighbors=40)


def test_objects_that_are_no_vectors(monkeypatch):
    monkeypatch.setattr("prismap.metrics._dissimilarities.DISSIMILARITIES", dict(DISSIMILARITIES))
    register_dissimilarity("edit", edit_distance, metric=True)
    metric = MixtureMetric(("edit", length_difference), init="eigenvalues", **FAST).fit(WORDS)
    assert metric.measures_ == ["edit", "length_difference"]
    assert metric.positions_.shape == (len(WORDS), 2)
    D = metric.pairwise(["maps", "embeddings"])
    assert D[0, 1] == 0
    assert D[1].argmin() == WORDS.index("embedding")
    indices = metric.kneighbors(["metri"], n_neighbors=2)[1]
    assert WORDS[indices[0, 0]] == "metric"
    assert metric.kneighbors(n_neighbors=2)[0].shape == (len(WORDS), 2)


@pytest.mark.parametrize(
    "embedding",
    [
        TSNE(perplexity=8, max_iter=60, random_state=0),
        NeRV(perplexity=8, max_iter=20, random_state=0),
        Isomap(random_state=0),
        MDS(max_iter=20, random_state=0),
    ],
    ids=lambda embedding: type(embedding).__name__,
)
def test_learnt_dissimilarities_reach_other_embeddings(embedding, fitted, rows):
    positions = embedding.set_params(metric=MixtureMetric(**FAST)).fit_transform(rows)
    assert positions.shape == (40, 2)
    np.testing.assert_array_equal(embedding.metric_.weights_, fitted.weights_)
    ready_made = clone(embedding).set_params(metric="precomputed").fit_transform(fitted.pairwise())
    np.testing.assert_allclose(pdist(positions), pdist(ready_made), rtol=1e-3, atol=1e-6 * np.ptp(positions))


def test_a_kernel_map_places_new_rows_by_the_mixture(fitted, rows):
    new = np.random.default_rng(6).gamma(2.0, size=(5, 5))
    by_metric = KernelMap(metric=fitted, random_state=0).fit(rows, fitted.positions_).transform(new)
    ready_made = KernelMap(metric="precomputed", random_state=0).fit(fitted.pairwise(), fitted.positions_)
    np.testing.assert_allclose(by_metric, ready_made.transform(fitted.pairwise(new)), rtol=1e-4, atol=1e-6)


def test_words_are_embedded():
    model = ElasticMDS(metric=MixtureMetric((edit_distance, length_difference), **FAST)).fit(WORDS)
    assert model.embedding_.shape == (len(WORDS), 2)


def test_clone_pickle_and_fit_metric(fitted, rows):
    assert repr(clone(fitted)) == repr(fitted)
    restored = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(restored.pairwise(rows[:3]), fitted.pairwise(rows[:3]))
    again = fit_metric(MixtureMetric(**FAST), rows)
    np.testing.assert_array_equal(again.weights_, fitted.weights_)


def test_duplicates_are_at_zero_and_do_no_harm(rows):
    X = np.vstack([rows, rows[:2]])
    metric = MixtureMetric(**FAST).fit(X)
    assert metric.pairwise()[0, 40] == 0
    assert np.isfinite(metric.stress_)
    assert np.isfinite(metric.positions_).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"measures": ("euclidean", "soergel")}, "'soergel' needs non-negative features; got .* Shift"),
        ({"measures": ("taxi",)}, "'taxi' is not known"),
        ({"measures": ()}, "measures is empty"),
        ({"measures": (("geodesic", {"n_neighbors": 99}),)}, "n_neighbors must lie between 1 and 39"),
        ({"measures": (np.zeros((3, 3)),)}, r"matrix in measures\[0\] has 3 rows and X has 40"),
        ({"measures": (np.ones((40, 40)),)}, "zero diagonal"),
        ({"measures": (lambda A, B: np.triu(cdist(A, B)),)}, "'<lambda>' must be symmetric"),
        (
            {"measures": ("euclidean",), "init": [1, 2]},
            r"init must hold one weight per measure, 1 in all; got shape \(2,\)",
        ),
        ({"measures": ("euclidean",), "init": [-1]}, "init must hold finite weights with a positive sum"),
        ({"scale": "max"}, "'scale' parameter"),
        ({"descent": AlternatingDescent(n_epochs=-1)}, "'n_epochs' parameter"),
        ({"cost": "stress"}, "'cost' parameter"),
        ({"cost": MixtureCost("nerv", gamma=2)}, "'gamma' parameter"),
    ],
)
def test_wrong_parameters_are_refused(rows, parameters, message):
    with pytest.raises(ValueError, match=message):
        MixtureMetric(**parameters).fit(rows - 1)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_few_rows_are_enough(n, rows):
    metric = MixtureMetric(**FAST).fit(rows[:n])
    assert np.isfinite(metric.positions_).all()
    assert metric.positions_.shape == (n, 2)
    assert metric.weights_.sum() == pytest.approx(1)


def test_input_with_nothing_to_map_is_refused():
    with pytest.raises(InputError, match="All dissimilarities between all rows are zero"):
        MixtureMetric().fit(np.ones((5, 3)))
    with pytest.raises(InputError, match="X holds 1 objects"):
        MixtureMetric((length_difference,)).fit(["one"])


def test_ready_made_matrices_know_no_new_rows(rows):
    metric = MixtureMetric((cdist(rows, rows),), descent=STAY).fit(rows)
    with pytest.raises(InputError, match="'matrix 0' is a ready-made matrix and knows the fitted rows only"):
        metric.pairwise(rows[:2])


def test_new_rows_outside_the_domain_are_refused(fitted):
    with pytest.raises(InputError, match="needs non-negative features"):
        fitted.pairwise(-np.ones((2, 5)))
    with pytest.raises(InputError, match="features"):
        fitted.pairwise(np.ones((2, 4)))


def test_options_objects_are_parameters_like_others():
    metric = MixtureMetric(cost=MixtureCost("nerv", gamma=0.2), descent=AlternatingDescent(max_iter=9))
    copy = clone(metric)
    assert copy.get_params()["cost__gamma"] == 0.2
    assert copy.set_params(descent__max_iter=3, cost__perplexity=7).descent.max_iter == 3
    assert metric.descent.max_iter == 9
    assert copy.cost.perplexity == 7
    assert repr(copy) != repr(metric)
    assert len(MixtureMetric().get_params(deep=False)) == 10


def test_a_name_is_the_cost_with_its_usual_numbers(rows):
    rows = np.tile(rows, (3, 1)) + np.random.default_rng(1).normal(size=(120, 5))
    costs = "nerv", MixtureCost("nerv"), MixtureCost("nerv", perplexity=5)
    named, made, other = (
        MixtureMetric(("euclidean", "cosine"), cost=cost, n_init=1, **FAST).fit(rows).weights_ for cost in costs
    )
    np.testing.assert_array_equal(named, made)
    assert np.abs(other - named).max() > 1e-6
