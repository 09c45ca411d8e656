"""Models of similarities, dissimilarities and objects as posteriors, against plain loops over the folds."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from prismap import PrisMap
from prismap.comparisons import Objects
from prismap.exceptions import InputError
from prismap.metrics import FisherMetric, PredictedLabels
from prismap.metrics.posteriors._models import EntryModel, innermost
from reference.model_reference import out_of_fold_reference

OPTIONS = {"perplexity": 8, "random_state": 0}
X, Y = (part[::3] for part in load_iris(return_X_y=True))
K = rbf_kernel(X, gamma=0.3)
K = (K + K.T) / 2
D = euclidean_distances(X)
D = (D + D.T) / 2
np.fill_diagonal(D, 0)
FIT, NEW = np.arange(0, 50, 2), np.arange(1, 50, 2)
MACHINE = CalibratedClassifierCV(SVC(kernel="precomputed"), cv=2, ensemble=False)
NEIGHBORS = KNeighborsClassifier(5, metric="precomputed")


class Nearest(ClassifierMixin, BaseEstimator):
    """A classifier of Python objects, tuples of numbers."""

    def fit(self, objects, y):
        assert isinstance(objects, list)
        self.seen_, self.labels_, self.classes_ = objects, np.asarray(y), np.unique(y)
        return self

    def predict_proba(self, objects):
        votes = [[1 / (1e-3 + gap(a, b)) for b in self.seen_] for a in objects]
        P = np.array([[sum(np.array(row)[self.labels_ == c]) for c in self.classes_] for row in votes])
        return P / P.sum(axis=1, keepdims=True)

    def predict(self, objects):
        return self.classes_[self.predict_proba(objects).argmax(axis=1)]


def gap(a, b):
    return float(np.linalg.norm(np.subtract(a, b)))


@pytest.mark.parametrize(
    ("model", "kind", "whole", "pairwise"),
    [(MACHINE, "similarity", K, True), (NEIGHBORS, "dissimilarity", D, True),
     (GaussianProcessClassifier(), "similarity", K, False),
     (LogisticRegression(), "dissimilarity", D, False)],
)  # fmt: skip
def test_a_model_of_a_matrix_judges_the_rows_it_never_saw(model, kind, whole, pairwise):
    matrix, entries = whole[np.ix_(FIT, FIT)], whole[np.ix_(NEW, FIT)]
    metric = FisherMetric(data=kind, posterior=model, **OPTIONS).fit(matrix, Y[FIT])
    found = metric.class_probabilities()
    expected = out_of_fold_reference(model, matrix, Y[FIT], metric.folds_, pairwise=pairwise)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    new = clone(model).fit(matrix, Y[FIT]).predict_proba(entries)
    np.testing.assert_allclose(metric.class_probabilities(entries), new, atol=1e-12)
    if pairwise:  # any other model would be given the objects
        how = Objects(lambda i, j: whole[i, j], kind, n_jobs=1)
        by_objects = FisherMetric(data=how, posterior=model, **OPTIONS).fit(FIT.tolist(), Y[FIT])
        assert np.array_equal(by_objects.pairwise(), metric.pairwise())
        assert np.array_equal(by_objects.pairwise(NEW.tolist()), metric.pairwise(entries))


def test_a_fitted_machine_is_asked_as_it_is():
    machine = clone(MACHINE).fit(K, Y)
    metric = FisherMetric(data="similarity", posterior=machine, **OPTIONS).fit(K, Y)
    np.testing.assert_allclose(metric.class_probabilities(), machine.predict_proba(K), atol=1e-12)
    assert innermost(metric.posterior_.model) is machine
    with pytest.raises(InputError, match=r"entries against 50 rows and the map has 25 fitted rows: give it unfitted"):
        FisherMetric(data="similarity", posterior=machine, **OPTIONS).fit(K[np.ix_(FIT, FIT)], Y[FIT])


def test_a_model_of_objects_is_given_the_objects():
    things = [tuple(row) for row in X.tolist()]
    m = PrisMap(
        data=Objects(gap, "dissimilarity", n_jobs=1), metric=FisherMetric(posterior=Nearest()), **OPTIONS
    ).fit([things[k] for k in FIT], Y[FIT])  # fmt: skip
    model = Nearest().fit([things[k] for k in FIT], Y[FIT])
    found = m.metric_.class_probabilities([things[k] for k in NEW])
    np.testing.assert_allclose(found, model.predict_proba([things[k] for k in NEW]), atol=1e-12)
    placed = m.transform([things[k] for k in NEW])
    assert placed.shape == (25, 2)
    assert not isinstance(m.metric_.posterior_.model, Nearest)
    assert isinstance(m.metric_.posterior_.model, EntryModel)


def test_a_regressor_of_a_matrix_and_predicted_labels():
    kernel = KernelRidge(kernel="precomputed", alpha=0.1)
    metric = FisherMetric(data="similarity", posterior=kernel, **OPTIONS).fit(K, X[:, 2])
    mean, _ = metric.target_moments()
    expected = out_of_fold_reference(kernel, K, X[:, 2], metric.folds_, pairwise=True, ask="predict")
    np.testing.assert_allclose(mean[:, 0], expected, atol=1e-12)
    told = FisherMetric(data="dissimilarity", posterior=PredictedLabels(NEIGHBORS), **OPTIONS).fit(D, Y)
    assert "KNeighborsClassifier predicts" in told.describe()


def test_between_rows_of_a_matrix_there_is_nothing_to_ask():
    with pytest.raises(InputError, match=r"no points to ask KNeighborsClassifier about: n_segments must be 1"):
        FisherMetric(data="dissimilarity", posterior=NEIGHBORS, n_segments=3, **OPTIONS).fit(D, Y)


def test_what_a_model_refuses_is_told():
    class Refusing(Nearest):
        def predict_proba(self, objects):
            raise ValueError("not these")

    with pytest.raises(InputError, match="refused these rows: not these"):
        FisherMetric(data=Objects(gap, "dissimilarity"), posterior=Refusing(), **OPTIONS).fit(X.tolist(), Y)
