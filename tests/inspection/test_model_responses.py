"""What models say of rows: any classifier, any regressor, and the errors of models that cannot be shown."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_blobs
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from prismap.exceptions import InputError
from prismap.inspection._responses import Responder

X, CODES = make_blobs(120, 4, centers=4, cluster_std=2.5, random_state=0)
Y = np.array(["ash", "birch", "cedar", "dogwood"])[CODES]


class OnlyLabels(ClassifierMixin, BaseEstimator):
    """A model that labels and says no more."""

    def fit(self, X, y):
        self.inner_ = LogisticRegression(max_iter=500).fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict(self, X):
        return self.inner_.predict(X)


def pair_margin(y, row):
    """The smallest margin of a row's class, from a machine trained on each pair of classes alone (thesis 3.5)."""
    votes, values = dict.fromkeys(np.unique(y), 0), {}
    for a in votes:
        for b in votes:
            if a < b:
                pair = np.isin(y, [a, b])
                machine = SVC(gamma=0.1, C=2).fit(X[pair], y[pair])
                value = machine.decision_function(row[None])[0]
                votes[b if value > 0 else a] += 1
                values[a, b], values[b, a] = -value, value
    winner = max(votes, key=votes.get)
    return winner, min(values[winner, other] for other in votes if other != winner)


@pytest.mark.parametrize("wrap", [lambda m: m, make_pipeline, lambda m: GridSearchCV(m, {"C": [2]}, cv=2)])
def test_certainty_of_a_machine_is_its_smallest_one_versus_one_margin(wrap):
    model = wrap(SVC(gamma=0.1, C=2)).fit(X, Y)
    answer = Responder(model, X, Y)(X[:12])
    expected = [pair_margin(Y, row) for row in X[:12]]
    assert [str(name) for name, _ in expected] == np.unique(Y)[answer.value].tolist()
    np.testing.assert_allclose(answer.certainty, np.maximum([value for _, value in expected], 0), atol=2e-3)


def test_certainty_is_the_gap_at_the_top_and_zero_at_a_boundary():
    model = LogisticRegression(max_iter=500).fit(X, Y)
    top = np.sort(model.predict_proba(X), axis=1)
    np.testing.assert_allclose(Responder(model, X, Y)(X).certainty, top[:, -1] - top[:, -2])
    two = CODES < 2
    linear = LinearSVC().fit(X[two], Y[two])
    w, b = linear.coef_[0], linear.intercept_[0]
    on_boundary = X[0] - (X[0] @ w + b) / (w @ w) * w
    answer = Responder(linear, X[two], Y[two])(np.array([on_boundary, X[0]]))
    assert answer.certainty[0] == pytest.approx(0, abs=1e-9)
    assert answer.certainty[1] > 0
    assert Responder(OnlyLabels().fit(X, Y), X, Y)(X).certainty is None


def test_classes_of_model_and_labels_share_one_code():
    """A model that does not know a class, rows without a label, and a machine whose margins count its own classes."""
    known = CODES != 1
    model = SVC().fit(X[known], Y[known])
    labels = Y.astype(object)
    labels[:3] = None
    responder = Responder(model, X, labels)
    assert responder.task.classes.tolist() == ["ash", "birch", "cedar", "dogwood"]
    codes = responder.task.encode(labels)
    assert (codes[:3] == -1).all()
    assert (codes[3:] == CODES[3:]).all()
    answer = responder(X[known])
    assert not (answer.value == 1).any()
    machine = SVC().fit(X[known], Y[known]).set_params(decision_function_shape="ovo").decision_function(X[known])
    assert (answer.certainty <= np.abs(machine).max(axis=1)).all()
    assert (answer.certainty > 0).mean() > 0.9


def test_a_model_trained_on_a_frame_is_asked_with_frames_in_silence():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = make_pipeline(StandardScaler(), SVC()).fit(frame, Y)
    plain = make_pipeline(StandardScaler(), SVC()).fit(X, Y)
    by_frame, by_array = Responder(model, frame, Y)(X), Responder(plain, frame, Y)(X)
    assert (by_frame.value == by_array.value).all()
    assert (Responder(model, X, Y)(X).value == by_array.value).all()


def test_batches_do_not_change_the_answer(monkeypatch):
    model = RandomForestClassifier(5, random_state=0).fit(X, Y)
    whole = Responder(model, X, Y)(X)
    monkeypatch.setattr("prismap.inspection._responses.BATCH_ROWS", 7)
    parts = Responder(model, X, Y)(X)
    assert (whole.value == parts.value).all()
    assert (whole.certainty == parts.certainty).all()


class Broken(BaseEstimator):
    classes_ = (0, 1)

    def predict(self, X):
        raise KeyError("no such table")


@pytest.mark.parametrize(
    ("model", "rows", "y", "message"),
    [
        (SVC().fit(X, Y), X[:, :3], Y, "trained on 4 columns and X has 3"),
        (SVC().fit(pd.DataFrame(X, columns=list("abcd")), Y), pd.DataFrame(X, columns=list("abce")), Y, "\\+e"),
        (DummyClassifier().fit(X, np.zeros(120)), X, None, "knows one class only \\('0.0'\\)"),
        (Broken(), X, None, "Broken raised KeyError when asked about rows: 'no such table'"),
        (SVC(), X, Y, "SVC raised NotFittedError"),
        (SVC().fit(X, CODES), X, Y, "they share no label"),
        (LinearRegression().fit(X, X[:, :2]), X, None, "must predict one value per row"),
        (StandardScaler(), X, None, "with predict; got StandardScaler"),
    ],
)
def test_models_that_cannot_be_shown_are_named(model, rows, y, message):
    with pytest.raises(InputError, match=message):
        Responder(model, rows, y)


def test_output_that_is_not_finite_is_refused():
    model = LinearRegression().fit(X, X[:, 0])
    responder = Responder(model, X, X[:, 0])
    model.coef_[:] = np.nan
    with pytest.raises(InputError, match="120 values that are not finite"):
        responder(X)
