"""Views of models of a matrix: kernel machines and neighbours that were trained on similarities or distances."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from prismap import PrisMap
from prismap.exceptions import InputError
from prismap.inspection import ModelView


def matrices():
    X, y = load_iris(return_X_y=True)
    X, y = X[::3], y[::3]
    D = euclidean_distances(X)
    D = (D + D.T) / 2
    np.fill_diagonal(D, 0)
    return X, y, rbf_kernel(X, gamma=0.3), D


def test_a_machine_on_a_kernel_matrix_is_pictured_like_the_one_on_vectors():
    X, y, K, _ = matrices()
    by_matrix = ModelView.from_estimator(SVC(kernel="precomputed").fit(K, y), K, y, grid_resolution=20)
    by_vectors = ModelView.from_estimator(SVC(gamma=0.3).fit(X, y), X, y, grid_resolution=20)
    assert np.array_equal(by_matrix.predicted, by_vectors.predicted)
    assert by_matrix.map.data == "similarity"
    assert by_matrix.fidelity_.agreement >= by_vectors.fidelity_.agreement - 0.1
    assert by_matrix.fidelity_.agreement > by_matrix.fidelity_.chance + 0.4
    assert by_matrix.exemplars.name == "support vector"
    assert len(by_matrix.exemplars.rows) == len(by_vectors.exemplars.rows)


@pytest.mark.parametrize("supervision_from", ["labels", "model"])
def test_neighbours_by_given_distances_are_pictured(supervision_from):
    _, y, _, D = matrices()
    model = KNeighborsClassifier(metric="precomputed").fit(D, y)
    view = ModelView.from_estimator(model, D, y, grid_resolution=20, supervision_from=supervision_from)
    assert view.map.data == "dissimilarity"
    assert view.exemplars is None
    assert view.fidelity_.agreement > 0.8


def test_a_regressor_on_a_kernel_matrix_is_pictured():
    X, _, K, _ = matrices()
    view = ModelView.from_estimator(KernelRidge(kernel="precomputed").fit(K, X[:, 2]), K, X[:, 2], grid_resolution=20)
    assert view.kind == "real"
    assert view.fidelity_.output > 0.8


def test_a_gaussian_process_on_a_matrix_is_pictured_on_the_map_that_is_given():
    _, y, K, _ = matrices()
    model = GaussianProcessClassifier().fit(K, y)
    plane = PrisMap(data="similarity", perplexity=10, random_state=0)
    view = ModelView.from_estimator(model, K, y, map=plane, grid_resolution=20)
    assert view.fidelity_.agreement > 0.8


def test_a_model_of_a_matrix_needs_all_of_it():
    _, y, K, _ = matrices()
    with pytest.raises(InputError, match="needs the square matrix .*; X has 20 rows and 50 columns"):
        ModelView.from_estimator(SVC(kernel="precomputed").fit(K, y), K[:20], y[:20])
