"""Maps in the hands of other plotting libraries, where these are installed: the lines of docs/guide/other_tools.md."""

import numpy as np
import pytest

from prismap import PrisMap


@pytest.fixture(scope="module")
def drawn():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 20)
    X = rng.normal(size=(60, 4)) + 3 * np.eye(3, 4)[np.repeat(range(3), 20)]
    return PrisMap(random_state=0, method="mds", perplexity=8).fit(X, y), y


def test_a_frame_of_positions_is_what_they_take(drawn):
    m, _ = drawn
    frame = m.positions(as_frame=True)
    assert list(frame.columns) == ["prismap0", "prismap1"]
    np.testing.assert_array_equal(frame.to_numpy(), m.embedding_)


def test_plotly(drawn):
    m, names = drawn
    px = pytest.importorskip("plotly.express")
    figure = px.scatter(m.positions(as_frame=True), x="prismap0", y="prismap1", color=names)
    assert sum(len(trace.x) for trace in figure.data) == 60


@pytest.mark.filterwarnings("ignore")  # their own, of what they use
def test_datamapplot(drawn):
    m, names = drawn
    datamapplot = pytest.importorskip("datamapplot")
    figure, _ = datamapplot.create_plot(m.positions(), names, font_family="DejaVu Sans")
    assert figure.axes


@pytest.mark.filterwarnings("ignore")
def test_holoviews(drawn):
    m, _ = drawn
    holoviews = pytest.importorskip("holoviews")
    points = holoviews.Points(m.positions(as_frame=True), ["prismap0", "prismap1"])
    assert len(points) == 60


@pytest.mark.filterwarnings("ignore")
def test_scanpy(drawn):
    m, names = drawn
    scanpy = pytest.importorskip("scanpy")
    anndata = pytest.importorskip("anndata")
    adata = anndata.AnnData(m.rows_)
    adata.obsm["X_prismap"], adata.obs["kind"] = m.positions(), names
    assert scanpy.pl.embedding(adata, basis="prismap", color="kind", show=False) is not None
