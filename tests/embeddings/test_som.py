"""SOM: the slow twin, vectors against distances, planes, interpolation, and the three clusters of thesis data set 2."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.ndimage import label
from sklearn.datasets import load_iris
from sklearn.metrics import pairwise_distances
from sklearn.utils.estimator_checks import parametrize_with_checks

from prismap.embeddings import SOM
from prismap.embeddings._lattice import RelationalSpace, VectorSpace, choose_grid, lattice
from prismap.embeddings._som import batch_som, bilinear, interpolate
from prismap.exceptions import InputError
from prismap.metrics import FisherMetric
from reference.lattice_reference import som_step_reference


@parametrize_with_checks([SOM(max_iter=4)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def plane():
    """A noisy rectangle in six dimensions, far from the origin, and its own coordinates."""
    rng = np.random.default_rng(0)
    U = rng.uniform(-1, 1, size=(400, 2)) * [3.0, 2.0]
    return 7.0 + U @ np.linalg.qr(rng.normal(size=(6, 2)))[0].T + 0.01 * rng.normal(size=(400, 6)), U


def affine_fit(Y, U):
    """Share of the variance of U that an affine function of Y explains."""
    Z = np.column_stack([np.ones(len(Y)), Y])
    rest = U - Z @ np.linalg.lstsq(Z, U, rcond=None)[0]
    return 1 - rest.var() / U.var()


@pytest.mark.parametrize("form", ["vectors", "distances"])
def test_steps_equal_the_slow_twin(form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    space = VectorSpace(X) if form == "vectors" else RelationalSpace(pairwise_distances(X) ** 2)
    nodes = lattice(3, 2)
    winners = rng.integers(6, size=30)
    slow = winners
    for radius in (1.5, 0.9, 0.6):
        W, slow, cost = som_step_reference(X, nodes, slow, radius)
    _, D2, fast_cost, steps, reason = batch_som(space, nodes, winners, radii=np.array([1.5, 0.9, 0.6]))
    np.testing.assert_allclose(D2, pairwise_distances(X, W) ** 2, atol=1e-10)
    assert fast_cost == pytest.approx(cost)
    assert (steps, reason) == (3, "max_iter")


def test_cost_never_rises_while_the_radius_stays():
    X = np.random.default_rng(2).normal(size=(200, 5))
    costs = []
    start = np.random.default_rng(0).integers(20, size=200)
    batch_som(VectorSpace(X), lattice(5, 4), start, radii=np.full(25, 0.8), callback=lambda _, e, __: costs.append(e))
    assert len(costs) > 5
    assert np.diff(costs).max() <= 1e-12
    assert costs[-1] < 0.9 * costs[0]


def test_prototype_distances_need_no_coordinates():
    rng = np.random.default_rng(1)
    X, new = rng.normal(size=(25, 4)) + 3, rng.normal(size=(6, 4))
    mixing, sums = rng.dirichlet(np.ones(5), size=7), rng.dirichlet(np.ones(25), size=5)
    W = mixing @ sums @ X
    vector, D2_v = VectorSpace(X).prototypes(mixing, sums)
    relational, D2_r = RelationalSpace(pairwise_distances(X) ** 2).prototypes(mixing, sums)
    for D2 in (D2_v, D2_r):
        np.testing.assert_allclose(D2, pairwise_distances(X, W) ** 2, atol=1e-10)
    for between in (vector.between(), relational.between()):
        np.testing.assert_allclose(between, pairwise_distances(W) ** 2, atol=1e-10)
    np.testing.assert_allclose(vector.squared_distances(new), pairwise_distances(new, W) ** 2, atol=1e-10)
    to_rows = pairwise_distances(new, X) ** 2
    np.testing.assert_allclose(relational.squared_distances(to_rows), pairwise_distances(new, W) ** 2, atol=1e-10)
    zero = np.diff(mixing, axis=0)
    norms = np.sum((zero @ sums @ X) ** 2, axis=1)
    np.testing.assert_allclose(relational.squared_norms(zero), norms, atol=1e-10)


def test_distances_give_the_map_that_vectors_give(plane):
    X, _ = plane
    vectors = SOM(random_state=0).fit(X)
    distances = SOM(metric="precomputed", random_state=0).fit(pairwise_distances(X))
    assert vectors.grid_ == distances.grid_
    flip = np.sign(np.sum((vectors.embedding_ - vectors.embedding_.mean(axis=0)) * distances.embedding_, axis=0))
    other = np.where(flip > 0, distances.embedding_, np.array(vectors.grid_) - 1 - distances.embedding_)
    np.testing.assert_allclose(vectors.embedding_, other, atol=1e-6)
    assert vectors.objective_ == pytest.approx(distances.objective_)


def test_a_plane_is_recovered_with_its_inverse(plane):
    X, U = plane
    model = SOM(random_state=0).fit(X)
    assert model.stop_reason_ == "converged"
    assert affine_fit(model.embedding_, U) > 0.98
    assert affine_fit(model.nodes_[model.winners_], U) < affine_fit(model.embedding_, U)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-9)
    back = model.inverse_transform(model.embedding_)
    assert np.sqrt(np.mean(np.sum((back - X) ** 2, axis=1))) < 0.1 * X.std(axis=0).max() * np.sqrt(6)
    np.testing.assert_allclose(model.inverse_transform(model.nodes_), model.codebook_, atol=1e-12)


def test_interpolation_is_exact_on_an_affine_codebook():
    rng = np.random.default_rng(0)
    nodes = lattice(5, 4)
    J = rng.normal(size=(2, 7))
    inside = rng.uniform([-0.5, -0.5], [4.5, 3.5], size=(200, 2))
    off = rng.normal(size=(200, 7))
    off -= off @ np.linalg.pinv(J) @ J  # rows beside the plane, whose foot is what counts
    W = nodes @ J + 4
    D2 = pairwise_distances(inside @ J + 4 + off, W) ** 2
    Y = interpolate(D2, pairwise_distances(W) ** 2, nodes)
    near = np.abs(Y - nodes[D2.argmin(axis=1)]).max(axis=1) < 1 - 1e-9
    assert near.mean() > 0.7
    np.testing.assert_allclose(Y[near], inside[near], atol=1e-5)


def test_interpolation_survives_lines_and_coincident_prototypes():
    line = lattice(6, 1)
    W = np.column_stack([2.0 * line[:, 0], np.zeros(6)])
    D2 = pairwise_distances([[3.0, 1.0], [9.5, 0.0]], W) ** 2
    np.testing.assert_allclose(interpolate(D2, pairwise_distances(W) ** 2, line), [[1.5, 0], [4.75, 0]], atol=1e-6)
    square = lattice(2, 2)
    Y = interpolate(np.ones((3, 4)), np.zeros((4, 4)), square)
    assert np.isfinite(Y).all()
    assert np.isfinite(interpolate(np.ones((3, 1)), np.zeros((1, 1)), lattice(1, 1))).all()


def test_bilinear_is_affine_between_and_half_a_cell_beyond():
    rng = np.random.default_rng(0)
    J = rng.normal(size=(2, 3))
    Y = rng.uniform([-0.5, -0.5], [4.5, 2.5], size=(50, 2))
    np.testing.assert_allclose(bilinear(lattice(5, 3) @ J, (5, 3), Y), Y @ J, atol=1e-12)
    far = bilinear(lattice(5, 3) @ J, (5, 3), np.array([[99.0, -99.0]]))
    np.testing.assert_allclose(far, [[4.5, -0.5] @ J], atol=1e-12)
    np.testing.assert_allclose(bilinear(np.arange(4.0)[:, None], (4, 1), np.array([[1.5, 0.3]])), [[1.5]])


def test_the_fisher_som_separates_the_three_clusters_of_data_set_2():
    # Thesis 3.5.1: three discs above each other, the middle one of another class; the lowest is noisy.
    rng = np.random.default_rng(0)
    cluster = np.repeat([0, 1, 2], 150)
    r, angle = np.sqrt(rng.uniform(size=450)), rng.uniform(0, 2 * np.pi, 450)
    z = 0.4 * (2 - cluster) + np.where(cluster == 2, 0.08, 0.01) * rng.normal(size=450)
    X = np.column_stack([r * np.cos(angle), r * np.sin(angle), z])
    y = (cluster == 1).astype(int)

    def regions(model):
        """Connected regions of the lattice, by majority, that hold at least a twentieth of a cluster."""
        counts = np.stack([np.bincount(model.winners_[cluster == c], minlength=len(model.nodes_)) for c in range(3)])
        rows_and_columns = model.grid_[::-1]
        majority = np.where(counts.sum(axis=0) > 0, counts.argmax(axis=0), -1).reshape(rows_and_columns)
        found = []
        for c in range(3):
            parts, n_parts = label(majority == c)
            held = [counts[c].reshape(rows_and_columns)[parts == part].sum() for part in range(1, n_parts + 1)]
            found.append(sum(h >= 150 / 20 for h in held))
        return found

    assert max(regions(SOM(random_state=0).fit(X))) > 1
    assert regions(SOM(metric=FisherMetric(posterior="parzen", random_state=0), random_state=0).fit(X, y)) == [1, 1, 1]


def test_a_metric_object_maps_new_rows_and_back():
    X, y = load_iris(return_X_y=True)
    model = SOM(metric=FisherMetric(posterior="parzen", perplexity=15, random_state=0), random_state=0).fit(
        X[::2], y[::2]
    )
    Y = model.transform(X[1::2])
    D = pairwise_distances(Y, model.embedding_)
    assert np.mean(y[::2][D.argmin(axis=1)] == y[1::2]) > 0.9
    assert model.codebook_.shape == (len(model.nodes_), 4)
    assert model.codebook_.min(axis=0) == pytest.approx(X.min(axis=0), abs=1.5)
    assert model.inverse_transform(Y).shape == (75, 4)


def test_sparse_rows_and_a_far_origin_change_nothing(plane):
    X, _ = plane
    small = X[:120] - 7
    dense = SOM(random_state=0).fit(small)
    np.testing.assert_allclose(SOM(random_state=0).fit(sp.csr_array(small)).embedding_, dense.embedding_, atol=1e-6)
    far = SOM(random_state=0).fit(small + 1e5)
    np.testing.assert_allclose(far.embedding_, dense.embedding_, atol=1e-4)
    np.testing.assert_allclose(far.transform(small + 1e5), dense.embedding_, atol=1e-4)


def test_nodes_far_from_all_rows_stay_defined():
    X = np.repeat([[0.0, 0.0], [1.0, 0.0]], 40, axis=0)
    model = SOM(grid=(8, 8), radius=0.05, random_state=0).fit(X)
    assert np.isfinite(model.codebook_).all()
    assert np.isfinite(model.embedding_).all()
    assert model.embedding_[0, 0] != pytest.approx(model.embedding_[-1, 0])


def test_grids_are_chosen_and_checked(plane):
    X, _ = plane
    assert choose_grid("auto", 2) == (2, 1)
    for n in (2, 3, 7, 40, 1000):
        columns, rows = choose_grid("auto", n, ratio=1.7)
        assert 1 <= columns * rows <= n
    with pytest.raises(InputError, match=r"grid=\(25, 20\) has 500 nodes and there are n_samples=400 rows"):
        SOM(grid=(25, 20)).fit(X)
    with pytest.raises(InputError, match="two whole numbers"):
        SOM(grid=(3, 2.5)).fit(X)


def test_the_callback_stops_and_seeds_fix(plane):
    X, _ = plane
    model = SOM(callback=lambda i, e, Y: i == 7, random_state=0).fit(X)
    assert (model.n_iter_, model.stop_reason_) == (7, "callback")
    np.testing.assert_array_equal(*(SOM(random_state=1).fit_transform(X) for _ in range(2)))


def test_bad_input_is_refused(plane, monkeypatch):
    X, _ = plane
    model = SOM(metric="precomputed", max_iter=3).fit(pairwise_distances(X[:30]))
    with pytest.raises(InputError, match="distances alone"):
        model.inverse_transform(np.zeros((1, 2)))
    with pytest.raises(InputError, match=r"shape \(m, 2\)"):
        SOM(max_iter=3).fit(X).inverse_transform(np.zeros((1, 3)))
    monkeypatch.setattr("prismap._util.blocks.available_bytes", lambda: 1000)
    with pytest.raises(InputError, match="Use a smaller grid"):
        SOM().fit(X)
    with pytest.raises(InputError, match="looks at all pairs"):
        SOM(metric="cityblock").fit(X)
