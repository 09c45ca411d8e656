"""The drawn view: colours, rings, signs and words."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.svm import SVC, SVR

from prismap.exceptions import InputError
from prismap.inspection import ModelDisplay, ModelView
from prismap.inspection._paint import DEEP, FAINT, class_palette, from_hex, paint_classes
from prismap.learners import RSLVQ

mpl.use("Agg")
X, Y = make_blobs(80, 5, centers=3, cluster_std=2.5, random_state=0)


@pytest.fixture(scope="module")
def view():
    return ModelView.from_estimator(SVC().fit(X, Y), X, Y, map=PCA(2), grid_resolution=30)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def legend_texts(ax):
    return [text.get_text().replace("\n", " ") for text in ax.get_legend().get_texts()]


def test_legend_and_caption_explain_every_sign(view):
    ax = view.plot()
    texts = legend_texts(ax)
    assert texts[:3] == ["0", "1", "2"]
    assert any("deeper where it is surer" in text for text in texts)
    assert any(f"shown wrongly ({view.misshown.sum()})" in text for text in texts)
    assert any("far from all rows" in text for text in texts)
    assert "what the model does off that surface is not shown" in ax.get_xlabel().replace("\n", " ")
    assert "of these rows are shown wrongly" in ax.get_xlabel().replace("\n", " ")


def test_caption_gives_the_held_out_figures_once_they_are_known():
    view = ModelView.from_estimator(SVC().fit(X, Y), X, Y, map=PCA(2), grid_resolution=20)
    agreement = view.fidelity_.agreement
    assert f"labels agree on {agreement:.1%}" in view.plot().get_xlabel().replace("\n", " ")


def test_rings_are_drawn_around_misshown_rows_only(view):
    rings = [drawn for drawn in view.plot().collections if drawn.get_zorder() == 4]
    assert view.misshown.sum() > 0
    assert len(rings) == 2
    np.testing.assert_allclose(rings[0].get_offsets(), view.positions[view.misshown])


def test_points_by_true_or_predicted_label(view):
    colours = np.array([mpl.colors.to_rgba(colour) for colour in class_palette(3)])
    for points, codes in (("true", view.truth), ("predicted", view.predicted)):
        drawn = next(one for one in view.plot(points=points).collections if len(one.get_offsets()) == len(X))
        np.testing.assert_allclose(drawn.get_facecolors(), colours[codes])
    assert not any(len(one.get_offsets()) == len(X) for one in view.plot(points="none").collections)


def test_prototypes_are_placed_on_the_map():
    model = RSLVQ(2, random_state=0).fit(X, Y)
    plane = PCA(2).fit(X)
    display = ModelDisplay.from_estimator(model, X, Y, map=plane, grid_resolution=20).plot()
    drawn = display.ax_.collections[-1]
    np.testing.assert_allclose(drawn.get_offsets(), plane.transform(model.prototypes_))
    assert "prototype" in legend_texts(display.ax_)
    assert "prototype" not in legend_texts(display.view.plot(exemplars=False))


def test_output_as_contours_and_as_a_surface():
    y = X[:, 0] ** 2
    view = ModelView.from_estimator(SVR(C=100).fit(X, y), X, y, map=PCA(2), grid_resolution=30)
    assert any("points: the target" in ax.get_ylabel() for ax in view.plot().figure.axes)
    ax = view.plot(surface=True)
    assert ax.name == "3d"
    assert ax.get_zlabel() == "output"


def test_paint_deepens_with_certainty_and_greys_far_places(view):
    rgba = paint_classes(view.grid, 3, 1.0).astype(float)
    colours = np.array([from_hex(colour) for colour in class_palette(3)])[view.grid.value]
    depth = (255 - rgba[..., :3]).sum(axis=-1) / (255 - colours).sum(axis=-1)
    near = ~view.grid.far
    expected = FAINT + (DEEP - FAINT) * np.clip(view.grid.certainty, 0, 1)
    np.testing.assert_allclose(depth[near], expected[near], atol=0.01)
    assert np.ptp(rgba[view.grid.far][:, :3], axis=1).max() < np.ptp(rgba[near][:, :3], axis=1).max()
    assert (rgba[..., 3] == 255).all()


@pytest.mark.parametrize("count", [2, 9, 26])
def test_palette_has_a_colour_a_class(count):
    assert len(set(class_palette(count))) == count


def test_bad_options_are_named(view):
    with pytest.raises(InputError, match="points must be 'true', 'predicted' or 'none'; got 'all'"):
        view.plot(points="all")
    with pytest.raises(InputError, match="surface=True draws the output of a regressor"):
        view.plot(surface=True)
