"""Fitted and new rows beside each other: the sampled curve, the training share, and the pictures."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from prismap.exceptions import InputError
from prismap.inspection import OutOfSampleDisplay
from prismap.inspection._out_of_sample import sampled_curve, share_curve
from prismap.mappings import KernelMap
from prismap.quality import q_local, q_nx


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(120, 3)) * [3.0, 2.0, 0.3]


def test_a_sample_of_all_rows_gives_q_nx_itself(X):
    Y = X[:, :1]
    np.testing.assert_allclose(sampled_curve(X, Y, size=500, n_repeats=2), q_nx(X, Y).value)


def test_the_sampled_curve_is_the_mean_over_samples(X):
    Y, rng = X[:, :2], np.random.default_rng(3)
    samples = [rng.choice(len(X), 40, replace=False) for _ in range(4)]
    slow = sum(q_nx(X[rows], Y[rows]).value for rows in samples) / 4
    np.testing.assert_allclose(sampled_curve(X, Y, size=40, n_repeats=4, random_state=3), slow)


def test_shares_are_judged_on_their_own_rows(X):
    found = share_curve(PCA(2), KernelMap(), X, (0.2, 0.75), n_repeats=2)
    assert [one.share for one in found] == [0.2, 0.75]
    fitted, new = [], []
    rng = np.random.default_rng(0)
    for _ in range(2):
        inside, outside = np.split(rng.permutation(len(X)), [90])
        Y = PCA(2).fit_transform(X[inside])
        fitted.append(q_local(X[inside], Y))
        new.append(q_local(X[outside], KernelMap().fit(X[inside], Y).transform(X[outside])))
    assert found[1].fitted == pytest.approx(np.mean(fitted))
    assert found[1].new == pytest.approx(np.mean(new))
    assert found[1].seconds > 0


def test_one_call_computes_and_draws_everything(X):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot as plt

    embeddings = {"first": PCA(2), "second": PCA(1)}
    display = OutOfSampleDisplay.from_estimators(embeddings, KernelMap(), X, n_fit=60, shares=(0.3, 0.6), n_repeats=1)
    assert list(display.curves) == ["first, fitted", "first, new", "second, fitted", "second, new"]
    assert [one.share for one in display.shares] == [0.3, 0.6]
    assert all(np.isclose(values.sum(), 1) for values in display.affinities.values())
    display.plot()
    left, middle, right = display.figure_.axes[:3]
    colors = [line.get_color() for line in left.get_lines()]
    assert colors[0] == colors[1] != colors[2] == colors[3]
    assert [line.get_linestyle() for line in left.get_lines()] == ["-", "--", "-", "--"]
    np.testing.assert_allclose(middle.get_lines()[1].get_ydata(), [one.new for one in display.shares])
    assert sum(bar.get_height() for bar in right.patches) == pytest.approx(0, abs=1e-9)
    plt.close("all")


@pytest.mark.parametrize(("options", "message"), [({"n_fit": 119}, "n_fit"), ({"embeddings": {}}, "at least one")])
def test_bad_input(X, options, message):
    arguments = {"embeddings": {"pca": PCA(2)}, "mapping": KernelMap(), "X": X} | options
    with pytest.raises(InputError, match=message):
        OutOfSampleDisplay.from_estimators(**arguments)
