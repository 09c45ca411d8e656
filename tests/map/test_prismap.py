"""The main job end to end: fit, place, judge, save, and what bad input gets."""

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris

from prismap import PrisMap
from prismap._util.threads import limit_threads
from prismap.bundle import read_bundle, write_bundle
from prismap.embeddings import TSNE
from prismap.exceptions import FileFormatError, InputError, PrismapWarning
from prismap.metrics import FisherMetric


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X + np.random.default_rng(0).normal(scale=1e-3, size=X.shape), y


@pytest.fixture(scope="module")
def fitted(iris):
    return PrisMap(random_state=0).fit(*iris)


def test_map_shows_the_classes(fitted, iris):
    from prismap.quality import knn_error

    assert fitted.embedding_.shape == (150, 2)
    assert knn_error(fitted.embedding_, iris[1]) < 0.1
    assert fitted.target_ == "class"
    assert set(fitted.times_) == {"metric", "embedding", "mapping"}


def test_placing_is_row_by_row(fitted, iris):
    new = iris[0][:30] + 0.05
    whole = fitted.transform(new)
    single = np.concatenate([fitted.transform(new[i : i + 1]) for i in range(30)])
    np.testing.assert_allclose(whole, single, atol=1e-6)
    np.testing.assert_array_equal(fitted.transform(new[::-1])[::-1], whole)


def test_fitted_rows_keep_their_positions(fitted, iris):
    np.testing.assert_allclose(fitted.transform(iris[0]), fitted.embedding_, atol=1e-9)


def test_new_rows_land_among_their_kind(iris):
    X, y = iris
    held = np.arange(150) % 3 == 0
    m = PrisMap(random_state=0).fit(X[~held], y[~held])
    Y = m.transform(X[held])
    nearest = np.argmin(((Y[:, None] - m.embedding_[None]) ** 2).sum(axis=2), axis=1)
    assert (y[~held][nearest] == y[held]).mean() > 0.9


def test_same_seed_same_map_at_any_number_of_threads(iris):
    maps = []
    for most in (1, 2):
        with limit_threads(most):
            maps.append(PrisMap(supervision=0.8, random_state=3).fit(*iris))
    one, two = maps
    np.testing.assert_array_equal(one.embedding_, two.embedding_)
    assert np.abs(PrisMap(supervision=0.8, random_state=4).fit(*iris).embedding_ - one.embedding_).max() > 0.1


def test_no_supervision_is_exactly_the_unsupervised_map(iris):
    X, y = iris
    without = PrisMap(random_state=0).fit(X)
    np.testing.assert_array_equal(PrisMap(random_state=0, supervision=0).fit(X, y).embedding_, without.embedding_)
    np.testing.assert_array_equal(PrisMap(random_state=0, target="none").fit(X, y).embedding_, without.embedding_)
    np.testing.assert_array_equal(TSNE(random_state=0).fit(X).embedding_, without.embedding_)
    assert without.target_ == "none"


def test_three_kinds_of_data_give_maps_and_place_new_rows(iris):
    X, y = iris
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    new = X[:6] + 0.02
    D_new = np.sqrt(((new[:, None] - X[None]) ** 2).sum(axis=2))
    for data, matrix, entries in [("dissimilarity", D, D_new), ("similarity", X @ X.T, new @ X.T)]:
        m = PrisMap(data=data, random_state=0).fit(matrix, y)
        assert m.transform(entries).shape == (6, 2)
        np.testing.assert_allclose(m.transform(matrix), m.embedding_, atol=1e-6)
        with pytest.raises(InputError, match="inverse_transform needs data='vectors'"):
            m.inverse_transform(m.embedding_)


def test_more_rows_than_fit_rows_are_sampled_by_class_and_placed(iris):
    X, y = iris
    m = PrisMap(fit_rows=60, perplexity=10, random_state=0).fit(X, y)
    assert np.bincount(y[m.fit_rows_]).tolist() == [20, 20, 20]
    assert m.positions().shape == (150, 2)
    np.testing.assert_array_equal(m.positions()[m.fit_rows_], m.embedding_)
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    assert PrisMap(data="dissimilarity", fit_rows=60, perplexity=10, random_state=0).fit(D, y).transform(
        D[:5]
    ).shape == (5, 2)


def test_sparse_rows_give_the_same_classes_apart(iris):
    X, y = iris
    m = PrisMap(random_state=0).fit(sp.csr_array(X), y)
    assert m.transform(sp.csr_array(X[:4])).shape == (4, 2)


def test_far_rows_are_flagged_and_still_placed(fitted, iris):
    far = iris[0][:5] + 100
    assert fitted.is_far(far).all()
    assert not fitted.is_far(iris[0]).any()
    assert (fitted.distance_to_data(far) > 50).all()
    Y = fitted.transform(far)
    assert np.isfinite(Y).all()
    assert (np.abs(Y) > 1e-9).any()


def test_unlabelled_rows_are_mapped(iris):
    X, y = iris
    partly = np.where(np.arange(150) % 2, y, -1)
    m = PrisMap(perplexity=10, random_state=0).fit(X, partly)
    assert m.embedding_.shape == (150, 2)
    assert m.map_.given.target.labelled.sum() == 75
    assert m.report().n_judged == 75


def test_frames_keep_names_and_refuse_others(iris):
    X, y = iris
    names = ["a", "b", "c", "d"]
    m = PrisMap(random_state=0).fit(pd.DataFrame(X, columns=names), pd.Series(y).map({0: "x", 1: "y", 2: "z"}))
    assert m.feature_names_in_.tolist() == names
    assert m.classes_.tolist() == ["x", "y", "z"]
    assert m.get_feature_names_out().tolist() == ["prismap0", "prismap1"]
    frame = pl.DataFrame({name: X[:3, j] for j, name in enumerate(names)})
    assert m.transform(frame).shape == (3, 2)
    with pytest.raises(InputError, match=r"same order as they were in fit(.|\n)*X\[model.feature_names_in_\]"):
        m.transform(pd.DataFrame(X[:3, ::-1], columns=names[::-1]))
    with pytest.raises(InputError, match=r"unseen at fit time(.|\n)*- e(.|\n)*\+e"):
        m.transform(pd.DataFrame(X[:3], columns=["a", "b", "c", "e"]))
    with pytest.raises(InputError, match="not numbers: kind"):
        PrisMap().fit(pd.DataFrame({"a": X[:, 0], "kind": ["red", "blue", "red"] * 50}), y)


def test_inverse_gives_rows_back(fitted, iris):
    back = fitted.inverse_transform(fitted.embedding_)
    assert back.shape == iris[0].shape
    assert np.corrcoef(back.ravel(), iris[0].ravel())[0, 1] > 0.95


def test_saved_map_places_alike_in_a_new_process(fitted, iris, tmp_path):
    path = tmp_path / "iris.prismap"
    fitted.report()
    fitted.save(path, extra_header={"title": "flowers"})
    new = iris[0][:20] + 0.03
    np.save(tmp_path / "new.npy", new)
    code = (
        "import sys, numpy as np; from prismap import PrisMap; m = PrisMap.load(sys.argv[1]);"
        "np.save(sys.argv[3], m.transform(np.load(sys.argv[2])))"
    )
    subprocess.run([sys.executable, "-c", code, path, tmp_path / "new.npy", tmp_path / "out.npy"], check=True)
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), fitted.transform(new), atol=1e-12)
    loaded = PrisMap.load(path)
    assert loaded.extra_header_ == {"title": "flowers"}
    assert loaded.get_params() == fitted.get_params()
    assert str(loaded.report().verdict) == fitted.report().verdict
    assert loaded.is_far(iris[0][:2] + 100).all()


@pytest.mark.parametrize(
    "options", [{"metric": FisherMetric(posterior="parzen")}, {"target": "none"}, {"data": "similarity"}]
)
def test_every_kind_of_map_survives_the_file(iris, tmp_path, options):
    X, y = iris
    rows = X @ X.T if options.get("data") else X
    m = PrisMap(random_state=0, fit_rows=100, **options).fit(rows, y)
    m.save(tmp_path / "m.prismap")
    np.testing.assert_allclose(
        PrisMap.load(tmp_path / "m.prismap").transform(rows[:9]), m.transform(rows[:9]), atol=1e-12
    )


def test_foreign_and_damaged_files_are_refused(fitted, tmp_path):
    path = tmp_path / "m.prismap"
    write_bundle(path, {"a": np.zeros(2)}, {"kind": "somebody else's"})
    with pytest.raises(FileFormatError, match="holds no map"):
        PrisMap.load(path)
    fitted.save(path)
    bundle = read_bundle(path)
    arrays = {name: value for name, value in bundle.arrays.items() if name != "positions"}
    write_bundle(path, arrays, bundle.header)
    with pytest.raises(FileFormatError, match="not a complete map"):
        PrisMap.load(path)
    path.write_bytes(b"not a zip")
    with pytest.raises(FileFormatError):
        PrisMap.load(path)


def test_objects_cannot_be_saved(iris, tmp_path):
    from sklearn.linear_model import LogisticRegression

    m = PrisMap(metric=FisherMetric(posterior=LogisticRegression(max_iter=500)), random_state=0).fit(*iris)
    with pytest.raises(InputError, match="posterior=.* is an object"):
        m.save(tmp_path / "m.prismap")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("method", ["mds", "isomap", "som", TSNE(perplexity=5, max_iter=100)])
def test_other_methods(iris, method):
    m = PrisMap(method, random_state=0).fit(*iris)
    assert np.isfinite(m.transform(iris[0][:3] + 0.01)).all()


def test_bad_input_is_named(iris):
    X, y = iris
    bad = X.copy()
    bad[3, 1] = np.inf
    with pytest.raises(InputError, match=r"1 infinite values in 1 rows, by column: column 1 \(1\)"):
        PrisMap().fit(bad, y)
    with pytest.raises(InputError, match="only one class"):
        PrisMap().fit(X, np.ones(150))
    with pytest.raises(InputError, match="y has 149 entries and X has 150 rows"):
        PrisMap().fit(X, y[:-1])
    with pytest.raises(InputError, match="minimum of 2 is required"):
        PrisMap().fit(X[:1], y[:1])
    with pytest.raises(InputError, match="square matrix"):
        PrisMap(data="similarity").fit(X, y)
    with pytest.raises(ValueError, match="'method' parameter"):
        PrisMap("crayon").fit(X, y)
    with pytest.warns(PrismapWarning, match="1 of 5 columns are constant and carry no information"):
        PrisMap(random_state=0).fit(np.column_stack([X, np.ones(150)]), y)


def test_few_rows_lower_the_perplexity_and_say_so(iris):
    X, y = iris
    with pytest.warns(PrismapWarning, match="perplexity"):
        m = PrisMap(random_state=0).fit(X[::10], y[::10])
    assert m.embedding_.shape == (15, 2)


# --- honesty end to end ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(X))[:700]
    return X[chosen], y[chosen]


def test_true_labels_show_and_are_not_overstated(digits):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrismapWarning)
        report = PrisMap(random_state=0, fit_rows=450).fit(*digits).report()
    assert report.judged == "held-out rows"
    assert report.n_judged == 250
    assert report.target_shows
    assert not report.overstates
    assert report.scores[0].value < 0.1
    assert "show clearly" in report.verdict


def test_permuted_labels_do_not_show_and_the_verdict_says_so(digits):
    X, y = digits
    shuffled = np.random.default_rng(1).permutation(y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrismapWarning)
        report = PrisMap(random_state=0, fit_rows=450).fit(X, shuffled).report()
    assert not report.target_shows
    assert not report.overstates
    assert "do not show" in report.verdict
    assert report.scores[0].value > 0.8


def test_the_published_estimate_is_caught_inventing(digits):
    X, y = digits
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrismapWarning)
        m = PrisMap(
            metric=FisherMetric(cross_fit=False, posterior="parzen"), random_state=0, fit_rows=450, supervision=1.0
        ).fit(X, y)
        report = m.report()
    assert report.overstates
    assert "invents structure" in report.verdict
    assert any("cross_fit=False" in note for note in report.notes)


def test_few_rows_are_judged_in_all_five_fifths(iris, tmp_path):
    """Small folds make one permuted figure together, so that a clear target is not lost in their noise."""
    X, y = iris
    m = PrisMap(random_state=0, perplexity=10).fit(X[::2], y[::2])
    report = m.report()
    assert report.judged == "cross-validation"
    assert report.n_judged == 75
    assert len(report.scores[0].permuted.values) == 1
    assert report.target_shows
    m.save(tmp_path / "m.prismap")
    page = PrisMap.load(tmp_path / "m.prismap").to_html(tmp_path / "m.html")
    assert page.stat().st_size > 10_000


def test_place_gives_positions_and_far_rows_at_once(fitted, iris):
    rows = np.vstack([iris[0][:3] + 0.01, iris[0][:2] + 100])
    Y, far = fitted.place(rows)
    np.testing.assert_array_equal(Y, fitted.transform(rows))
    assert far.tolist() == [False, False, False, True, True]


def test_no_target_gets_a_report_of_structure_only(iris):
    report = PrisMap(random_state=0).fit(iris[0]).report()
    assert report.scores == ()
    assert list(report.structure) == ["map against data"]
    assert "neighbourhoods" in report.verdict
