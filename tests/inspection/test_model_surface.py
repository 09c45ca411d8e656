"""The rows behind places, and a model as the map's own knowledge of the target."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from prismap import PrisMap
from prismap.inspection import ModelView
from prismap.inspection._inverse import LocalSurface
from prismap.inspection._paint import class_palette, from_hex
from prismap.inspection._responses import ModelPosterior, Responder
from prismap.page import Layer, PageData
from prismap.page._folder import read_page

X, CODES = make_blobs(100, 4, centers=3, cluster_std=2.0, random_state=5)
Y = np.array(["ash", "birch", "cedar"])[CODES]


def mean_row(positions, rows, place, k):
    """The formula of the module, one place at a time."""
    order = np.argsort(np.linalg.norm(positions - place, axis=1), kind="stable")
    d = np.linalg.norm(positions - place, axis=1)[order]
    among = np.linalg.norm(positions[:, None] - positions[None], axis=2)
    s = np.median(np.sort(among, axis=1)[:, 1])
    w = (1 - d[:k] / d[k]) / np.sqrt(d[:k] ** 2 + s**2)
    near = rows[order[:k]]
    h = 1.5 * np.median(np.sort(np.linalg.norm(rows[:, None] - rows[None], axis=2), axis=1)[:, 5])
    together = np.exp(-(np.linalg.norm(near[:, None] - near[None], axis=2) ** 2) / (2 * h**2))
    w = w * together[np.argmax(together @ w)]
    return (w[:, None] * near).sum(axis=0) / w.sum()


def test_surface_is_the_weighted_mean_of_the_rows_nearby():
    rng = np.random.default_rng(0)
    positions, rows, places = rng.normal(size=(40, 2)), rng.normal(size=(40, 3)), rng.normal(size=(5, 2))
    expected = [mean_row(positions, rows, place, 15) for place in places]
    np.testing.assert_allclose(LocalSurface(positions, rows).transform(places), expected, atol=1e-6)


def test_surface_is_continuous_stays_among_the_rows_and_follows_a_plane():
    rng = np.random.default_rng(1)
    positions = rng.uniform(size=(400, 2))
    rows = positions @ rng.normal(size=(2, 3))
    surface = LocalSurface(positions, rows)
    line = np.column_stack([np.linspace(-1, 2, 3001), np.full(3001, 0.4)])
    found = surface.transform(line)
    assert np.abs(np.diff(found, axis=0)).max() < 0.05 * np.ptp(rows, axis=0).max()
    assert (found.min(axis=0) >= rows.min(axis=0) - 1e-9).all()
    assert (found.max(axis=0) <= rows.max(axis=0) + 1e-9).all()
    inside = rng.uniform(0.2, 0.8, size=(50, 2))
    slope = np.linalg.lstsq(positions, rows, rcond=None)[0]
    assert np.abs(surface.transform(inside) - inside @ slope).max() < 0.1 * np.ptp(rows)


def test_rows_from_two_parts_of_the_data_at_one_place_are_not_averaged():
    """The mean of two far clouds lies in neither; the place shows the one that most of its rows are from."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(90, 3)) + np.repeat([[0, 0, 0], [40, 0, 0]], [60, 30], axis=0)
    found = LocalSurface(rng.normal(size=(90, 2)), rows).transform(rng.normal(size=(20, 2)))
    assert ((np.abs(found[:, 0]) < 5) | (np.abs(found[:, 0] - 40) < 5)).all()


def test_surface_of_coinciding_and_few_rows():
    assert LocalSurface(np.zeros((3, 2)), np.eye(3)).transform([[5.0, 5.0]]).sum() == pytest.approx(1)


@pytest.mark.parametrize("model", [SVC(), LinearSVC(), LogisticRegression()])
def test_a_model_states_probabilities_that_agree_with_its_labels(model):
    model = model.fit(X, Y)
    posterior = ModelPosterior(Responder(model, X, Y))
    P = posterior.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert (posterior.classes_[P.argmax(axis=1)] == model.predict(X)).mean() > 0.97
    assert (posterior.predict(X) == model.predict(X)).all()
    assert clone(posterior) is posterior
    assert not hasattr(ModelPosterior(Responder(Ridge().fit(X, X[:, 0]), X, X[:, 0])), "predict_proba")


def test_at_the_border_of_two_classes_a_machine_finds_both_alike():
    model = SVC(kernel="linear").fit(X, Y)
    a, b = X[CODES == 0].mean(axis=0), X[CODES == 1].mean(axis=0)
    steps = np.linspace(0, 1, 2001)[:, None]
    path = (1 - steps) * a + steps * b
    labels = model.predict(path)
    border = np.flatnonzero(labels[1:] != labels[:-1])[0]
    P = np.sort(ModelPosterior(Responder(model, X, Y)).predict_proba(path[[border]]), axis=1)[0]
    assert P[-1] == pytest.approx(P[-2], abs=0.02)


@pytest.mark.parametrize("scaled", [False, True])
def test_a_map_supervised_by_the_model_measures_with_the_model(scaled):
    model = make_pipeline(StandardScaler(), SVC()).fit(X, Y) if scaled else SVC().fit(X, Y)
    view = ModelView.from_estimator(model, X, Y, supervision_from="model", grid_resolution=10)
    plane = view.map[-1] if scaled else view.map
    assert isinstance(plane.metric.posterior, ModelPosterior)
    rows = view.map[:-1].transform(X) if scaled else X
    assert (plane.metric.posterior.predict(rows) == model.predict(X)).all()
    assert view.cross_validate(2).agreement > 0.95


def test_page_shows_the_decisions_behind_the_points(tmp_path, monkeypatch):
    model = SVC().fit(X, Y)
    fitted = PrisMap(random_state=0, perplexity=10, fit_rows=80).fit(X, Y)
    bare = PageData([Layer("map", "map", fitted.positions())])
    monkeypatch.setattr("prismap.page._of_map.page_of", lambda *_, **__: bare)  # its report takes seconds
    page = read_page(fitted.to_html(tmp_path / "view.html", model=model))
    view = ModelView.from_estimator(model, X, Y, map=fitted)
    assert page.raster.rgba.shape == (200, 200, 4)
    assert page.raster.legend == "Decisions of SVC behind the points"
    np.testing.assert_allclose(page.raster.extent, view.grid.extent, rtol=1e-6)
    np.testing.assert_allclose(page.layers[0].positions, view.positions, rtol=1e-5, atol=1e-5)
    codes = np.unique(Y)
    assert (codes[page.target.predicted] == model.predict(X)).all()
    assert (codes[page.target.codes] == Y).all()
    assert (np.asarray(page.misshown, dtype=bool) == view.misshown).all()
    colours = np.array([from_hex(colour) for colour in class_palette(3)])
    assert (page.raster.rgba[0, :, :3] == colours[view.grid.value[-1]]).all()
    assert read_page(fitted.to_html(tmp_path / "bare.html")).raster is None
