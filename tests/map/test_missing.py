"""Maps of rows with missing values: made, kept, placed on, and read from tables."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from large_maps import count_as_large
from prismap import PrisMap
from prismap.exceptions import InputError, PrismapWarning
from prismap.tables import TableEncoding

QUICK = {"method": "mds", "perplexity": 8, "supervision": 0.8, "random_state": 0}


@pytest.fixture(scope="module")
def flowers():
    X, y = load_iris(return_X_y=True)
    X, y = X[::2].copy(), y[::2]
    X[:, :3][np.random.default_rng(0).random((75, 3)) < 0.2] = np.nan
    return X, y


@pytest.fixture(scope="module")
def made(flowers):
    with pytest.warns(PrismapWarning, match=r"\d+.\d% of the values are missing, in 3 of 4 columns. They are left out"):
        return PrisMap(**QUICK).fit(*flowers)


def test_a_map_is_made_and_says_what_is_missing(made, flowers):
    X, y = flowers
    assert np.isfinite(made.embedding_).all()
    assert "% of the values are missing" in made.notes_[0]
    assert made.score(X + 0.01, y) > 0.9
    assert np.array_equal(made.transform(X), made.embedding_)
    one_by_one = np.vstack([made.transform(row[None]) for row in X[:5] + 0.1])
    assert np.allclose(made.transform(X + 0.1)[:5], one_by_one, atol=1e-5 * np.ptp(made.embedding_))


def test_a_map_is_kept_with_its_gaps(made, flowers, tmp_path):
    made.save(tmp_path / "m.prismap")
    again = PrisMap.load(tmp_path / "m.prismap")
    assert np.array_equal(again.transform(flowers[0] + 0.1), made.transform(flowers[0] + 0.1))
    assert np.array_equal(again.map_.rows, flowers[0], equal_nan=True)


def test_a_complete_map_places_rows_that_lack_values(flowers):
    X, y = load_iris(return_X_y=True)
    model = PrisMap(**QUICK).fit(X[::3], y[::3])
    assert (model.notes_, np.isfinite(model.transform(flowers[0])).all()) == ((), True)


@pytest.mark.filterwarnings("ignore::prismap.exceptions.PrismapWarning")
def test_a_large_map_is_made_of_neighbours_over_common_columns(flowers, monkeypatch):
    X, y = flowers
    count_as_large(monkeypatch, 50, n_landmarks=30)
    model = PrisMap(perplexity=8, supervision=0.8, random_state=0).fit(X, y)
    assert model.map_.is_large
    assert model.score(X + 0.01, y) > 0.9


@pytest.mark.filterwarnings("ignore::prismap.exceptions.PrismapWarning")
def test_what_needs_all_values_says_so(made, flowers):
    X, y = flowers
    with pytest.raises(InputError, match="inverse_transform needs rows without missing values"):
        made.inverse_transform(made.embedding_[:2])
    with pytest.raises(InputError, match="contains NaN"):
        PrisMap(metric="manhattan").fit(X, y)
    with pytest.raises(InputError, match="1 of 1 rows of X hold no value at all"):
        made.transform(np.full((1, 4), np.nan))


def test_a_table_keeps_its_gaps():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = pandas.DataFrame({"a": rng.normal(size=40), "b": rng.normal(size=40), "soil": ["sand", "clay"] * 20})
    table.loc[3, "a"] = table.loc[5, "b"] = np.nan
    table.loc[7, "soil"] = None
    with pytest.warns(PrismapWarning, match="values are missing, in 4 of 4 columns"):
        model = PrisMap.from_table(table, **QUICK)
    assert "missing values stay missing (impute='median' fills them): 'a' 1, 'b' 1, 'soil' 1" in model.notes_
    X = model.rows_
    assert np.isnan(X[7, 2:]).all()
    assert np.isnan(X).sum() == 4
    assert np.allclose([np.nanmean(X, axis=0), np.nanmean(X, axis=0)], 0, atol=1e-12)
    assert np.allclose([np.nanvar(X[:, 0]), np.nanvar(X[:, 2:], axis=0).sum()], 1)
    later = table.iloc[:5].assign(soil=[None, "sand", "clay", "sand", None])
    assert np.isfinite(model.transform(later)).all()
    encoding = model.encoding_.to_dict()
    assert TableEncoding.from_dict(encoding).keep_missing
    strict = {**encoding, "keep_missing": False}
    with pytest.raises(InputError, match="missing or infinite values in 1 column, of 4 rows: 'soil' 2"):
        TableEncoding.from_dict(strict).apply(later.drop(index=3))
