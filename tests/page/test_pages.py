"""What the live explorer asks of a map."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris

from prismap import PrisMap
from prismap._util.validation import changed
from prismap.exceptions import InputError
from prismap.page import page_of
from prismap.page._live import live_compute
from prismap.page._of_map import show_page
from prismap.page._packing import unpack
from prismap.relevance import FeatureRelevance, fisher_relevance


@pytest.fixture(scope="module")
def live():
    X, y = load_iris(return_X_y=True)
    X = X + np.random.default_rng(0).normal(scale=1e-3, size=X.shape)
    model = PrisMap(random_state=0, fit_rows=90, perplexity=10).fit(X, y)
    page = page_of(model)
    return model, page, live_compute(model, page)


def test_page_has_the_map_its_twins_and_all_rows(live):
    model, page, _ = live
    assert [layer.id for layer in page.layers] == ["map", "unsupervised", "permuted"]
    assert page.n_rows == 150
    np.testing.assert_allclose(page.layers[0].positions, model.positions())
    assert np.isnan(page.quality).sum() == 60
    assert sorted(set(page.split)) == ["fitted", "placed"]
    own = page.layers[2].own
    assert own.name == "shuffled labels"
    permuted = model.judgement_.comparison.permuted[0]
    fitted = model.fit_rows_[permuted.rows]
    np.testing.assert_array_equal(own.codes[fitted], permuted.target.values)
    np.testing.assert_array_equal(np.bincount(own.codes), np.bincount(model.y_))
    score = model.report().scores[0]
    assert (
        f"{score.name} is {100 * score.permuted.mean:.0f} %, by chance {100 * score.chance:.0f} %"
        in page.layers[2].own_note
    )
    relevance = page.relevance
    assert [*relevance.names, "trust"] == list(page.columns)
    np.testing.assert_array_equal(page.columns["trust"], model.trust_.value)
    rows, positions = model.rows_[model.fit_rows_], model.embedding_
    again = FeatureRelevance(n_samples=1000, random_state=model.seed_).fit(rows, positions)
    np.testing.assert_allclose(relevance.values, again.relevance_)
    assert (relevance.baseline, relevance.threshold) == (again.baseline_, again.threshold_)


def test_fitted_rows_know_their_neighbours_in_the_data_and_in_the_metric(live):
    model, page, _ = live
    found = page.neighbors
    np.testing.assert_array_equal(found.rows, model.fit_rows_)
    for table, D in ((found.data, cdist(model.map_.rows, model.map_.rows)), (found.metric, model.metric_.pairwise())):
        D = np.array(D, dtype=float)
        np.fill_diagonal(D, np.inf)
        got = np.take_along_axis(D, np.asarray(table), axis=1)
        np.testing.assert_allclose(got, np.sort(D, axis=1)[:, :10], rtol=1e-5)
    np.testing.assert_allclose(found.distances, got, rtol=1e-5)  # those in the metric


@pytest.mark.parametrize("data", ["dissimilarity", "similarity"])
def test_neighbours_of_matrix_data_are_those_of_its_vectors(data):
    X = np.random.default_rng(0).normal(size=(40, 3))
    matrix = cdist(X, X) if data == "dissimilarity" else X @ X.T
    model = PrisMap(data=data, random_state=0, perplexity=5).fit(matrix)
    found = page_of(model, judge=False).neighbors
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    np.testing.assert_array_equal(found.data, D.argsort(axis=1)[:, :10])
    np.testing.assert_allclose(found.distances, np.sort(D, axis=1)[:, :10], atol=1e-6)
    assert found.metric is None


def test_another_supervision_moves_the_fitted_rows_and_can_be_stopped(live):
    model, page, compute = live
    heard = []
    start = np.asarray(page.layers[0].positions, dtype=np.float32)
    Y = compute.reembed(0.0, start=start, progress=lambda share, positions: heard.append(share), cancel=lambda: False)
    assert np.isfinite(Y[model.fit_rows_]).all()
    assert np.isnan(Y).any(axis=1).sum() == 60
    assert heard == sorted(heard)
    assert 0 < heard[-1] <= 1
    few = []
    compute.reembed(0.5, start=start, progress=lambda share, positions: few.append(share), cancel=lambda: True)
    assert len(few) == 1


def test_selection_is_told_apart_by_its_columns(live):
    _, _, compute = live
    names, values = compute.relevance(np.arange(50), progress=lambda share: None, cancel=lambda: False)
    assert len(names) == len(values) == 5  # four features, and how far rows can be trusted
    assert np.isfinite(values).all()


def test_the_names_of_target_and_rows_are_kept():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=list("abc"))
    y = pd.Series(np.arange(30) % 2, name="sex")
    model = PrisMap(random_state=0, perplexity=5).fit(X, y)
    page = page_of(model, judge=False)
    assert page.target.name == "sex"
    assert page.row_ids is None  # rows that are only counted have no names
    X.index = [f"p{i}" for i in range(30)]
    page = page_of(model.fit(X, y), judge=False)
    assert page.row_ids[:2] == ["p0", "p1"]
    assert page_of(model, judge=False, target_name="s").target.name == "s"


def test_it_is_told_what_changes_the_target_around_fitted_rows(live):
    model, page, compute = live
    rows = model.fit_rows_[:30]
    names, here, everywhere = compute.target_relevance(rows)
    assert names == [name for name in page.columns if name != "trust"]
    # The posterior of this map has no tensor: that of a Parzen posterior stands in for it.
    parzen = changed(model.metric_, posterior="parzen", supervision=1.0).fit(model.map_.rows, model.map_.target.values)
    np.testing.assert_allclose(here, fisher_relevance(parzen, np.arange(30)))
    np.testing.assert_allclose([here.sum(), everywhere.sum()], 1)
    with pytest.raises(InputError, match="none of these rows was fitted"):
        compute.target_relevance(np.setdiff1d(np.arange(150), model.fit_rows_))


def test_a_notebook_gets_map_picture_and_verdict(live):
    model, _, _ = live
    widget = show_page(model)  # judged before: the verdict is there at once
    assert unpack(widget._page)[0]["report"] is not None
    assert widget._judging == -1
    assert widget._picture.startswith(b"\x89PNG")
    unjudged = show_page(model, judge=False)
    assert unpack(unjudged._page)[0]["report"] is None


def test_levels_of_a_category_belong_to_their_column():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"a": np.random.default_rng(0).normal(size=40), "c": list("uvwu") * 10, "y": ["p", "q"] * 20})
    model = PrisMap.from_table(table, target="y", perplexity=5, random_state=0)
    names, here, _ = live_compute(model, page_of(model, judge=False)).target_relevance(np.arange(40))
    assert list(names) == ["a", "c"]
    np.testing.assert_allclose(here.sum(), 1)
