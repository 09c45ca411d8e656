"""One call per published method: what it returns is the form of the paper, not the default of prismap.

Where the form is a formula, its slow version (`tests/reference`) is compared with what the call gives.
"""

import inspect

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator
from sklearn.svm import SVR

from prismap import PrisMap, published
from prismap.exceptions import InputError
from reference import fisher_reference, gaussian_process_reference, mappings_reference
from reference.manifold_reference import shortest_paths_reference

pytestmark = pytest.mark.filterwarnings("ignore::prismap.exceptions.PrismapWarning")
NEEDED = {"inverse_map": (None,), "relevance_bounds": (3,)}


@pytest.fixture(scope="module")
def toy():
    """40 rows in 3 dimensions, two classes that overlap, and new rows beside them."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    X = rng.normal(size=(40, 3)) + 1.5 * y[:, None]
    return X, y, X[:10] + 0.1


@pytest.mark.parametrize("name", published.__all__)
def test_each_call_returns_an_unfitted_estimator_and_names_its_paper(name):
    make = getattr(published, name)
    made = make(*NEEDED.get(name, ()))
    assert isinstance(made, BaseEstimator)
    made._validate_params()
    assert any(work in make.__doc__ for work in ("Gisbrecht", "Schulz", "Rice"))
    assert "sec." in make.__doc__ or "4.2.2" in make.__doc__
    if "random_state" in inspect.signature(make).parameters:
        assert make(*NEEDED.get(name, ()), random_state=3).random_state == 3


def differs(made):
    """The parameters that are not the default of the class, nested ones as they are."""
    usual = type(made)().get_params(deep=False)
    return {name: value for name, value in made.get_params(deep=False).items() if repr(value) != repr(usual[name])}


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("kernel_discriminant", {"alpha": "baseline", "cross_fit": False}),
        ("kernel_pca", {"kernel": "precomputed"}),
        ("nerv", {}),
        ("t_nerv", {"kernel": "student"}),
        ("elastic_mds", {"solver": "scg", "init": "random", "n_init": 5}),
        ("direct_placement", {}),
        ("parametric_tsne", {"init": "random", "penalty": 0.0}),
        ("neuroscale", {"kind": "rbf", "cost": "sammon", "init": "random"}),
        ("rslvq", {"penalty": 0.0}),
        ("gmlvq", {"noise": 0.0}),
        ("lmnn", {"noise": 0.0}),
        ("feature_relevance", {"method": "weights", "n_permuted": 0}),
    ],
)
def test_parameters_are_those_of_the_paper(name, parameters):
    assert differs(getattr(published, name)()) == parameters


def test_the_kernelised_metric_is_the_printed_one(toy):
    """Eq. 4 as printed, eq. 5 to 10 with T = 5 points inside a segment, on similarities alone."""
    X, y, _ = toy
    metric = published.fisher_metric(random_state=0).set_params(perplexity=5).fit(X @ X.T, y)
    D, support = metric.pairwise(), metric.support_
    for i, j in ((0, 30), (12, 21), (5, 8)):
        expected = fisher_reference.kernel_tangent_length(i, j, X @ X.T, support, y[support], 2, metric.bandwidth_, 6)
        assert D[i, j] == pytest.approx(expected, rel=1e-8)
    vectors = published.fisher_metric(data="vectors", random_state=0).set_params(perplexity=5).fit(X, y)
    np.testing.assert_allclose(vectors.pairwise(), D, atol=1e-8)
    wide = vectors.set_params(posterior__n_support=30).fit(X, y).bandwidth_
    assert wide == pytest.approx(2 * vectors.set_params(posterior__bandwidth=None).fit(X, y).bandwidth_)


def test_edges_of_the_graph_are_straight_line_approximations(toy):
    X, y, _ = toy
    metric = published.graph_metric().set_params(perplexity=5).fit(X, y)
    i, j = np.triu_indices(len(X), 1)
    edges = [
        fisher_reference.tangent_length(X[a], X[b], X, y, 2, metric.bandwidth_, 5, symmetric=True)
        for a, b in zip(i, j, strict=True)
    ]
    expected = shortest_paths_reference(i, j, np.array(edges), len(X))
    np.testing.assert_allclose(metric.pairwise(), expected, atol=1e-8)


def test_the_metric_of_a_regression_has_seen_the_targets(toy):
    X, _, _ = toy
    target = X[:, 0] + 0.5 * np.random.default_rng(1).normal(size=len(X))
    metric = published.regression_metric().fit(X, target)
    assert metric.posterior_.judged == "in-sample"
    process = metric.posterior_.processes[0]
    J = gaussian_process_reference.tensor(X[3], X, target, process.signal, process.beta, process.noise)
    np.testing.assert_allclose(metric.tensor()[3], J, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name", ["kernel_tsne", "kernel_isomap", "kernel_lle", "kernel_mvu", "fisher_kernel_tsne"])
def test_kernel_maps_project_as_printed(toy, name):
    """Lines 6 to 14 of Algorithms 1 and 2: Euclidean kernels, whatever distances the embedding has."""
    X, y, new = toy
    model = getattr(published, name)(random_state=0).set_params(perplexity=5).fit(X, y)
    factor = mappings_reference.representable_factor(X, np.finfo(float).tiny, False)
    nearest = np.where(cdist(X, X) > 0, cdist(X, X), np.inf).min(axis=1)
    width = factor * np.maximum(nearest, 0.1 * np.median(nearest))
    A = mappings_reference.interpolation_coefficients(cdist(X, X), model.embedding_, width)
    expected = mappings_reference.kernel_map(cdist(new, X), A, width)
    np.testing.assert_allclose(model.transform(new), expected, atol=1e-4 * np.abs(model.embedding_).max())
    assert model.supervision_ == (1.0 if name.startswith("fisher") else 0.0)


def test_algorithm_2_embeds_fisher_distances_of_left_nodes(toy):
    X, y, _ = toy
    metric = published.algorithm_2(random_state=0).set_params(perplexity=5).fit(X, y).metric_
    D = metric.pairwise()
    for i, j in ((0, 30), (30, 0), (12, 21)):
        expected = fisher_reference.tangent_length(X[i], X[j], X, y, 2, metric.bandwidth_, 5, symmetric=False)
        assert D[i, j] == pytest.approx(expected, rel=1e-8)
    assert published.algorithm_1 is published.kernel_tsne


def test_fisher_tsne_is_in_sample_and_pure(toy):
    X, y, _ = toy
    model = published.fisher_tsne(random_state=0).fit(X @ X.T, y)
    assert isinstance(model, PrisMap)
    assert (model.supervision_, model.perplexity) == (1.0, 20)
    assert "in-sample" in repr(model.metric_)
    assert "published" in repr(model.metric_)


def test_barnes_hut_fisher_tsne_asks_the_tree(toy):
    X, y, _ = toy
    model = published.barnes_hut_fisher_tsne(random_state=0).set_params(perplexity=5, max_iter=20).fit(X @ X.T, y)
    assert "vptree" in model.neighbors_


@pytest.mark.parametrize("kernel", ["rbf", "elm"])
def test_mappings_of_2012_are_sums_of_kernels(toy, kernel):
    X, _, new = toy
    Y = 10 * X[:, :2] ** 2
    if kernel == "rbf":
        width = np.full(len(X), mappings_reference.neighbor_distances(X, 5).mean())
        K, K_new = (np.exp(-0.5 * (cdist(rows, X) / width) ** 2) for rows in (X, new))
    else:
        K, K_new = (np.array([[mappings_reference.elm_kernel(x, z) for z in X] for x in rows]) for rows in (X, new))
    by_inverse = published.kernel_mapping(kernel, "itp").fit(X, Y).transform(new)
    np.testing.assert_allclose(by_inverse, K_new @ np.linalg.pinv(K, rcond=1e-12) @ Y, atol=1e-3 * np.abs(Y).max())
    expected = np.column_stack([SVR(kernel="precomputed").fit(K, column).predict(K_new) for column in Y.T])
    regressed = published.kernel_mapping(kernel, "svm").fit(X, Y)
    np.testing.assert_allclose(regressed.transform(new), expected, atol=1e-2)
    trained = published.kernel_mapping(kernel, "k").fit(X, Y)
    assert trained.cost_[1] < trained.cost_[0]


def test_the_inverse_minimises_the_fisher_error(toy):
    X, y, _ = toy
    metric = published.fisher_metric(data="vectors", random_state=0).fit(X, y)
    Y = X[:, :2] + 0.1 * X[:, 2:]
    model = published.inverse_map(metric).set_params(n_landmarks=12).fit(Y, X)
    plain = published.inverse_map(None).set_params(n_landmarks=12).fit(Y, X)
    J = np.array([fisher_reference.tensor(x, X[metric.support_], y[metric.support_], 2, metric.bandwidth_) for x in X])

    def error(inverse):
        rest = X - inverse.transform(Y)
        return float(np.einsum("ni,nij,nj->", rest, J, rest))  # eq. 3.3

    assert error(model) < error(plain)
    assert model.set_params(bandwidth="all-representable").factor_ == plain.factor_


def test_mixtures_have_raw_matrices_and_start_from_eigenvalues(toy):
    X = np.abs(toy[0])
    metric = published.mixture_metric(quick=True, random_state=0).fit(X)
    assert len(metric.start_stress_) == 1
    np.testing.assert_array_equal(metric.scales_, 1)
    matrices = [term.between(X) for term in metric.terms_]
    values = np.array([np.linalg.eigvalsh(D)[-1] for D in matrices])
    np.testing.assert_allclose(metric.start_weights_, values / values.sum(), atol=1e-8)
    descent = published.mixture_metric().descent
    assert (descent.n_epochs, descent.max_iter, descent.n_weight_iter, descent.solver) == (10, 75, 1, "scg")
    assert (metric.negative, metric.descent.n_epochs, metric.descent.max_iter) == ("keep", 3, 150)


@pytest.mark.parametrize("kind", ["linear", "kernel"])
def test_transfer_has_the_likelihood_of_the_source_alone(kind):
    matching = published.shared_embedding(kind).matching
    assert published.shared_embedding(kind).kind == kind
    assert (matching.mutual, matching.outliers) == (0.0, 1e-6)


def test_bounds_are_linear_programs_of_a_given_dimension():
    bounds = published.relevance_bounds(4)
    assert (bounds.effective_dim, bounds.method) == (4, "lp")


@pytest.mark.parametrize("wrong", [("cubic",), ("rbf", "guess")])
def test_wrong_names_of_mappings_are_refused(wrong):
    with pytest.raises(InputError, match=f"must be one of .*got '{wrong[-1]}'"):
        published.kernel_mapping(*wrong)
