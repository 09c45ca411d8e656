"""Maps as pictures: colours of the page, names, legends of any length."""

import numpy as np
import pytest

from prismap.exceptions import InputError
from prismap.inspection import MapDisplay
from prismap.inspection._paint import class_palette

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def close():
    yield
    matplotlib.pyplot.close("all")


def groups(n_classes, n_rows=400):
    codes = np.arange(n_rows) % n_classes
    return (
        RNG.normal(size=(n_classes, 2))[codes] * 20 + RNG.normal(size=(n_rows, 2)),
        codes,
        [f"class {i}" for i in range(n_classes)],
    )


def legend_of(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_classes_have_the_colours_of_the_page_and_one_word_for_no_class():
    Y, codes, names = groups(3)
    codes[:5] = -1
    display = MapDisplay(Y, codes, names).plot()
    assert legend_of(display) == ["unlabelled", *names]
    drawn = [matplotlib.colors.to_hex(c.get_facecolor()[0]) for c in display.ax_.collections]
    assert drawn[1:] == class_palette(3)
    assert len(display.ax_.collections[0].get_offsets()) == 5


@pytest.mark.parametrize("n_classes", [41, 100])
def test_many_classes_have_a_legend_of_the_largest_and_names_on_the_map(n_classes):
    display = MapDisplay(*groups(n_classes, 2000)).plot()
    assert len(legend_of(display)) == 39
    assert display.ax_.get_legend().get_title().get_text() == f"the largest 39 of {n_classes}"
    display.figure_.draw_without_rendering()
    boxes = [text.get_window_extent() for text in display.ax_.texts]
    assert len(boxes) > 5
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def boxes_and_points(display):
    """Boxes of the names, and the points, in pixels."""
    display.figure_.draw_without_rendering()
    boxes = [text.get_window_extent() for text in display.ax_.texts]
    return boxes, display.ax_.transData.transform(np.vstack([c.get_offsets() for c in display.ax_.collections]))


@pytest.mark.parametrize(("n_classes", "least"), [(4, 4), (60, 30)])
def test_names_stand_beside_their_class_over_no_point_and_inside_the_frame(n_classes, least):
    angle = np.arange(n_classes)[:, None] * [2.4, 2.4] + [0, np.pi / 2]
    centres = 30 * np.sqrt(np.arange(n_classes) / n_classes)[:, None] * np.sin(angle)
    codes = np.arange(2400) % n_classes
    Y = centres[codes] + 0.5 * RNG.normal(size=(2400, 2))
    names = [f"species {i}" for i in range(n_classes)]
    figure = matplotlib.pyplot.figure(figsize=(8, 8))
    display = MapDisplay(Y, codes, names).plot(figure.add_subplot(), labels=True, legend=False)
    boxes, points = boxes_and_points(display)
    assert len(boxes) >= least
    frame = display.ax_.get_window_extent()
    for i, box in enumerate(boxes):
        assert not box.count_contains(points)
        assert frame.x0 <= box.x0 < box.x1 <= frame.x1
        assert frame.y0 <= box.y0 < box.y1 <= frame.y1
        assert not any(box.overlaps(other) for other in boxes[:i])
    if n_classes == 4:
        for text, box in zip(display.ax_.texts, boxes, strict=True):
            middle = [(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2]
            home = display.ax_.transData.transform(centres)
            assert np.linalg.norm(home - middle, axis=1).argmin() == names.index(text.get_text())


def test_a_line_leads_from_a_name_to_points_that_others_surround():
    far = np.sqrt(np.linspace(0, 1, 6000))
    angle = 2.4 * np.arange(6000)
    Y, codes = far[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), (far > 0.4).astype(int)
    display = MapDisplay(Y, codes, ["inner", "outer"]).plot(labels=True, legend=False)
    boxes, points = boxes_and_points(display)
    assert len(boxes) == 2
    assert not any(box.count_contains(points) for box in boxes)
    ends = [display.ax_.transAxes.transform(line.get_xydata())[1] for line in display.ax_.lines]
    inner = display.ax_.transData.transform(Y[codes == 0])
    assert min(np.linalg.norm(inner - end, axis=1).min() for end in ends) < 8


def test_other_values_colours_and_looks():
    Y, codes, names = groups(3)
    display = MapDisplay(Y, codes, names).plot(palette={"class 0": "red", "class 1": "lime", "class 2": "blue"})
    assert [matplotlib.colors.to_hex(c.get_facecolor()[0]) for c in display.ax_.collections] == [
        "#ff0000", "#00ff00", "#0000ff",
    ]  # fmt: skip
    display = MapDisplay(Y, codes, names).plot(color=Y[:, 0], palette="magma", size=3, alpha=0.5)
    (points,) = display.ax_.collections
    np.testing.assert_allclose(points.get_array(), Y[:, 0])
    assert (points.get_cmap().name, points.get_sizes()[0], points.get_alpha()) == ("magma", 3, 0.5)
    words = np.array(["b", None, "a", "b"] * 100, dtype=object)
    display = MapDisplay(Y, codes, names).plot(color=words)
    assert legend_of(display) == ["unlabelled", "a", "b"]
    assert [len(c.get_offsets()) for c in display.ax_.collections] == [100, 100, 200]


@pytest.mark.parametrize(("height", "below"), [(0.3, True), (0.8, False), (2.0, False)])
def test_the_colour_bar_of_a_low_map_lies_below_it(height, below):
    Y = RNG.uniform(size=(50, 2)) * [1, height]
    display = MapDisplay(Y, Y[:, 0]).plot()
    display.figure_.draw_without_rendering()
    box = display.ax_.get_position()
    (bar,) = (ax.get_position() for ax in display.figure_.axes if ax is not display.ax_)
    assert (bar.y1 < box.y0, bar.x0 > box.x1) == (below, not below)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"palette": ["red"]}, "a colour for each of the 3 classes"),
        ({"palette": {"class 0": "red"}}, "no colour for 'class 1', 'class 2'"),
        ({"palette": "viridis"}, "a colour for each of the 3 classes"),
        ({"color": [1, 2]}, "400"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(InputError, match=message):
        MapDisplay(*groups(3)).plot(**options)


@pytest.mark.parametrize("classes", [["a", "b", "c"], None])
def test_one_legend_beside_several_panels_leaves_them_even(classes):
    figure = matplotlib.pyplot.figure(figsize=(11, 5), layout="constrained")
    displays = []
    for j, shape in enumerate(([1, 1], [8, 1])):
        Y, codes, _ = groups(3)
        axes = figure.add_subplot(1, 2, j + 1, box_aspect=1, adjustable="datalim")
        displays.append(MapDisplay(Y * shape, codes if classes else Y[:, 0], classes).plot(axes, legend=False))
    displays[0].explain(figure)
    figure.draw_without_rendering()
    first, second = (display.ax_.get_window_extent() for display in displays)
    np.testing.assert_allclose(first.size, second.size, rtol=1e-6)
    np.testing.assert_allclose(first.width, first.height, rtol=1e-6)
    if classes:
        assert [text.get_text() for text in figure.legends[0].get_texts()] == classes
