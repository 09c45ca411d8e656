"""The tangent form and the tensor of a trained model's own metric, against central differences of its probabilities."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler

from prismap import PrisMap
from prismap.exceptions import InputError
from prismap.inspection._responses import ModelPosterior, Responder
from prismap.learners import RSLVQ
from prismap.mappings import InverseMap
from prismap.metrics import FisherMetric
from prismap.metrics.posteriors import FunctionModel
from prismap.metrics.posteriors._gradients import has_gradient, log_gradients
from reference import model_reference as slow

OPTIONS = {"perplexity": 6, "random_state": 0}
MODELS = {
    "rslvq": RSLVQ(2, random_state=0),
    "logistic": LogisticRegression(),
    "lda": LinearDiscriminantAnalysis(),
    "scaled": make_pipeline(StandardScaler(), "passthrough", PCA(3, whiten=True), LogisticRegression()),
    "kernel": make_pipeline(MinMaxScaler(), Nystroem(gamma=0.7, n_components=20, random_state=0), LogisticRegression()),
    "default kernel": make_pipeline(Nystroem(n_components=20, random_state=0), LogisticRegression()),
    "sampled": make_pipeline(RBFSampler(gamma=0.2, n_components=30, random_state=0), LogisticRegression()),
    "frozen": FrozenEstimator(LogisticRegression()),
    "search": GridSearchCV(make_pipeline(StandardScaler(), LogisticRegression()), {"logisticregression__C": [0.1, 1]}),
}


@pytest.fixture(scope="module")
def toy():
    return make_classification(
        45, 4, n_informative=3, n_redundant=0, n_classes=3, n_clusters_per_class=1, random_state=2
    )


def fitted(name, toy):
    model = MODELS[name]
    return FrozenEstimator(LogisticRegression().fit(*toy)) if name == "frozen" else model.fit(*toy)


@pytest.mark.parametrize("name", MODELS)
def test_derivatives_are_central_differences(name, toy):
    model, X = fitted(name, toy), toy[0]
    assert has_gradient(model)
    S = log_gradients(model, X[:6])
    expected = [slow.log_gradient_reference(model, x) for x in X[:6]]
    np.testing.assert_allclose(S, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["logistic", "lda"])
def test_two_classes_share_one_direction(name, toy):
    X, y = toy
    model = MODELS[name].fit(X, np.array(["a", "b"])[(y > 0).astype(int)])
    np.testing.assert_allclose(
        log_gradients(model, X[:4]), [slow.log_gradient_reference(model, x) for x in X[:4]], rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("T", [2, 3])
@pytest.mark.parametrize("path", ["tangent", "tangent-left"])
def test_lengths_equal_the_slow_twin(toy, path, T):
    X, y = toy
    model = RSLVQ(2, random_state=0).fit(X, y)
    metric = FisherMetric(posterior=model, path=path, n_segments=T, supervision=0.7, **OPTIONS).fit(X, y)
    D = metric.pairwise()
    for i, j in [(0, 5), (7, 2), (30, 44)]:
        options = {"symmetric": path == "tangent", "w": 0.7, "sigma": metric.bandwidth_}
        assert D[i, j] == pytest.approx(slow.tangent_reference(model, X[i], X[j], T, **options), rel=1e-5)
    np.testing.assert_allclose(metric.pairwise(X[:3] + 0.1, X[4:6])[2, 1], metric.pairwise(X[2:3] + 0.1, X[5:6])[0, 0])
    distances, indices = metric.kneighbors(n_neighbors=44)
    np.testing.assert_allclose(distances, np.take_along_axis(D, indices, axis=1), rtol=1e-8)


def test_an_unfitted_model_judges_pairs_it_never_saw(toy):
    X, y = toy
    metric = FisherMetric(posterior=LogisticRegression(), path="tangent", n_segments=2, **OPTIONS).fit(X, y)
    i, j = 3, 17
    kept = (metric.folds_ != metric.folds_[i]) & (metric.folds_ != metric.folds_[j])
    model = LogisticRegression().fit(X[kept], y[kept])
    expected = slow.tangent_reference(model, X[i], X[j], 2, symmetric=True)
    assert metric.between([i], [j])[0, 0] == pytest.approx(expected, rel=1e-5)


def test_many_nodes_agree_with_the_chords(toy):
    X, y = toy
    model = RSLVQ(random_state=0).fit(X, y)
    chords, tangents = (
        FisherMetric(posterior=model, path=path, n_segments=60, **OPTIONS).fit(X, y).pairwise(X[:4], X[6:9])
        for path in ("chord", "tangent")
    )
    np.testing.assert_allclose(tangents, chords, rtol=0.03)


@pytest.mark.parametrize("options", [{}, {"n_segments": 2}, {"path": "tangent"}])
def test_the_tensor_is_that_of_the_model(toy, options):
    X, y = toy
    model = RSLVQ(2, random_state=0).fit(X, y)
    J = FisherMetric(posterior=model, **OPTIONS, **options).fit(X, y).tensor(X[:5])
    np.testing.assert_allclose(J, [slow.tensor_reference(model, x) for x in X[:5]], rtol=1e-4, atol=1e-6)
    metric = FisherMetric(posterior=RSLVQ(random_state=0), **OPTIONS, **options).fit(X, y)
    kept = metric.folds_ != metric.folds_[8]
    own = RSLVQ(random_state=0).fit(X[kept], y[kept])
    np.testing.assert_allclose(metric.tensor()[8], slow.tensor_reference(own, X[8]), rtol=1e-4, atol=1e-6)


def test_a_class_the_model_knows_and_the_target_lacks_gives_its_mass_away(toy):
    X, y = toy
    model = LogisticRegression().fit(X, y)
    metric = FisherMetric(posterior=model, target="class", **OPTIONS).fit(X[y < 2], y[y < 2])

    class Two:
        def predict_proba(self, X):
            P = model.predict_proba(X)[:, :2]
            return P / P.sum(axis=1, keepdims=True)

    np.testing.assert_allclose(
        metric.tensor(X[:3]), [slow.tensor_reference(Two(), x) for x in X[:3]], rtol=1e-4, atol=1e-6
    )


def test_any_function_with_a_derivative(toy):
    X, y = toy
    model = RSLVQ(random_state=0).fit(X, y)
    given = FunctionModel(model.predict_proba, model.predict_log_proba_gradient, classes=model.classes_)
    one, two = (FisherMetric(posterior=m, path="tangent", **OPTIONS).fit(X, y).pairwise() for m in (model, given))
    np.testing.assert_array_equal(one, two)
    with pytest.raises(InputError, match="needs the derivative"):
        FisherMetric(posterior=FunctionModel(model.predict_proba, classes=[0, 1, 2]), path="tangent").fit(X, y)
    wrong = FunctionModel(model.predict_proba, lambda X: np.zeros((len(X), 2)), classes=model.classes_)
    with pytest.raises(InputError, match="predict_log_proba_gradient of FunctionModel gave the shape"):
        FisherMetric(posterior=wrong, **OPTIONS).fit(X, y).tensor()


def test_the_inverse_map_takes_the_tensor_of_the_model(toy):
    X, y = toy
    metric = FisherMetric(posterior=RSLVQ(random_state=0).fit(X, y), **OPTIONS).fit(X, y)
    model = InverseMap(metric, n_landmarks=8).fit(X[:, :2], X)
    assert model.cost_[1] < model.cost_[0]


def test_a_map_by_the_tangents_of_a_model_on_named_columns(toy):
    pd = pytest.importorskip("pandas")
    X, y = toy
    frame, names = pd.DataFrame(X, columns=list("abcd")), np.array(["x", "y", "z"])[y]
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(frame, names)
    metric = FisherMetric(posterior=model, path="tangent", n_segments=2)
    made = PrisMap("mds", metric=metric, supervision=1.0, perplexity=6, random_state=0).fit(frame, names)
    expected = slow.tangent_reference(
        FunctionModel(lambda A: model.predict_proba(pd.DataFrame(A, columns=list("abcd"))), classes=model.classes_),
        X[0], X[9], 2, symmetric=True,
    )  # fmt: skip
    assert made.metric_.between([0], [9])[0, 0] == pytest.approx(expected, rel=1e-4)


def test_a_view_of_a_model_knows_its_derivative(toy):
    X, y = toy
    model = LogisticRegression().fit(X, y)
    posterior = ModelPosterior(Responder(model, X, y))
    np.testing.assert_allclose(posterior.predict_log_proba_gradient(X[:3]), log_gradients(model, X[:3]))
    forest = ModelPosterior(Responder(RandomForestClassifier(5, random_state=0).fit(X, y), X, y))
    assert not hasattr(forest, "predict_log_proba_gradient")


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(),
        make_pipeline(PolynomialFeatures(), LogisticRegression()),
        make_pipeline(Nystroem(kernel="poly"), LogisticRegression()),
        make_pipeline(MinMaxScaler(clip=True), LogisticRegression()),
    ],
)
def test_models_without_a_derivative_are_refused(toy, model):
    with pytest.raises(InputError, match=r"path='tangent' needs the derivative .* Models that do: RSLVQ"):
        FisherMetric(posterior=model, path="tangent").fit(*toy)


def test_regressors_and_forests_have_no_tensor(toy):
    X, y = toy
    with pytest.raises(InputError, match="the tensor needs the derivative"):
        FisherMetric(posterior=RandomForestClassifier(5, random_state=0), **OPTIONS).fit(X, y).tensor()
    with pytest.raises(InputError, match="a regressor as posterior has no tangent form"):
        FisherMetric(posterior=LinearRegression(), target="real", path="tangent").fit(X, X[:, 0] * 1.5)
    with pytest.raises(InputError, match="posterior has no tensor"):
        FisherMetric(posterior=LinearRegression(), target="real", **OPTIONS).fit(X, X[:, 0] * 1.5).tensor()
