"""Trees as a posterior: arrays against scikit-learn, honest probabilities, and files."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from prismap.exceptions import InputError
from prismap.metrics import FisherMetric
from prismap.metrics.posteriors._rowwise import softmax
from prismap.metrics.posteriors._trees import GROWN, N_TREES, Forest, fit_trees, log_shares


@pytest.fixture(scope="module")
def signs():
    X = np.random.default_rng(0).normal(size=(240, 12))
    return X, 2 * (X[:, 0] > 0) + (X[:, 1] > 0)


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
@pytest.mark.parametrize("as_given", [np.asarray, sp.csr_array])
def test_votes_are_those_of_scikit_learn(signs, kind, as_given):
    X, y = signs
    made = kind(20, random_state=0).fit(X[:160], y[:160])
    votes = Forest.of(made.estimators_, made.classes_, 4).votes(as_given(X[160:]))
    assert np.allclose(votes, made.predict_proba(X[160:]), rtol=0, atol=1e-12)


def test_a_class_that_a_forest_never_saw_gets_no_vote(signs):
    X, y = signs
    made = RandomForestClassifier(5, random_state=0).fit(X[y != 1], y[y != 1])
    votes = Forest.of(made.estimators_, made.classes_, 4).votes(X)
    assert (votes[:, 1] == 0).all()
    assert np.allclose(votes[:, [0, 2, 3]], made.predict_proba(X), rtol=0, atol=1e-12)


def test_a_row_gets_the_same_bits_alone_and_among_others(signs):
    X, y = signs
    forest, _ = fit_trees(X, y, 4, 0)
    alone = np.vstack([forest.probabilities(X[i : i + 1]) for i in range(30)])
    assert np.array_equal(forest.probabilities(X)[:30], alone)


def test_rows_are_judged_by_forests_that_never_saw_them(signs):
    """Permuted labels: what a row says of itself would show as an accuracy above chance."""
    X, y = signs
    y = np.random.default_rng(1).permutation(y)
    whole, P = fit_trees(X, y, 4, 0)
    assert (P.argmax(axis=1) == y).mean() < 0.4
    assert (whole.probabilities(X).argmax(axis=1) == y).mean() > 0.8
    assert np.allclose(P.sum(axis=1), 1)


def test_rows_are_judged_by_the_trees_whose_draw_left_them_out(signs):
    """The slow twin: scikit-learn's own judgement out of bag, lot by lot."""
    X, y = signs
    whole, P = fit_trees(X, y, 4, 7)
    votes, count = np.zeros((240, 4)), np.zeros((240, 1))
    for part in range(N_TREES // GROWN):
        lot = ExtraTreesClassifier(GROWN, min_samples_leaf=2, max_features=12, bootstrap=True, random_state=7 + part)
        lot.fit(X, y)
        for tree, drawn in zip(lot.estimators_, lot.estimators_samples_, strict=True):
            out = np.setdiff1d(np.arange(240), drawn)
            votes[out] += tree.predict_proba(X[out])
            count[out] += 1
    scores = log_shares(votes / count, N_TREES / np.e)
    np.testing.assert_allclose(P, softmax(whole.temperature * scores), atol=1e-12)


def test_in_sample_probabilities_are_the_forests_own(signs):
    X, y = signs
    whole, P = fit_trees(X, y, 4, 0, cross_fit=False)
    assert np.array_equal(P, whole.probabilities(X))


def test_trees_select_features_where_distances_cannot(signs):
    X, y = signs
    P = FisherMetric(posterior="trees", supervision=0.8, random_state=0).fit(X, y).class_probabilities()
    Q = FisherMetric(posterior="lssvm", supervision=0.8, random_state=0).fit(X, y).class_probabilities()
    assert (P.argmax(axis=1) == y).mean() > 0.95 > 0.9 > (Q.argmax(axis=1) == y).mean()


def test_scales_do_not_matter():
    X, y = load_iris(return_X_y=True)
    scale = np.array([1, 0.25, 4, 16.0])
    one, two = (FisherMetric(posterior="trees", random_state=0).fit(A, y) for A in (X, X * scale))
    assert np.allclose(one.class_probabilities(), two.class_probabilities(), atol=0.02)


def test_the_stored_metric_is_the_same(signs):
    X, y = signs
    metric = FisherMetric(posterior="trees", supervision=0.8, random_state=0).fit(X[:160], y[:160])
    again = FisherMetric(posterior="trees", supervision=0.8).restore(X[:160], y[:160], metric.state())
    assert np.array_equal(again.pairwise(X[160:]), metric.pairwise(X[160:]))
    assert np.array_equal(again.pairwise(), metric.pairwise())


@pytest.mark.parametrize(("name", "value"), [("children", 10**6), ("feature", 99), ("roots", -1),
                                              ("classes", 4), ("classes", -1), ("starts", 1)])  # fmt: skip
def test_damaged_trees_are_refused(signs, name, value):
    X, y = signs
    metric = FisherMetric(posterior="trees", random_state=0).fit(X, y)
    state = metric.state()
    state[f"trees_{name}"] = state[f"trees_{name}"].copy()
    state[f"trees_{name}"].flat[0] = value
    with pytest.raises(ValueError, match="its trees"):
        FisherMetric(posterior="trees").restore(X, y, state)


def test_leaves_are_found_one_row_and_one_tree_at_a_time(signs):
    """The slow twin: down every tree by hand, missing values included."""
    X, y = signs
    X = np.where(np.random.default_rng(5).random(X.shape) < 0.1, np.nan, X).astype(np.float32)
    forest, _ = fit_trees(X, y, 4, 0, n_trees=GROWN)
    for i, found in enumerate(forest.leaves(X[:20])):
        for root, leaf in zip(forest.roots, found, strict=True):
            node = root
            while (forest.children[node] != node).any():
                value = X[i, forest.feature[node]]
                node = forest.children[node, 2 if np.isnan(value) else int(value > forest.threshold[node])]
            assert leaf == node


def test_what_judged_the_rows_is_said(signs):
    X, y = signs
    assert FisherMetric(posterior="trees", random_state=0).fit(X, y).describe() == "trees, each row judged out of bag"
    within = FisherMetric(posterior="trees", cross_fit=False, random_state=0).fit(X, y)
    assert within.describe() == "trees, in-sample"


def test_a_matrix_has_no_features():
    D = np.abs(np.subtract.outer(np.arange(100.0), np.arange(100.0)))
    with pytest.raises(InputError, match="data='vectors'"):
        FisherMetric(data="dissimilarity", posterior="trees").fit(D, np.arange(100) % 2)
