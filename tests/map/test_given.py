"""Maps without a column of no interest: ``fit(X, y, given=batch)``, its laws, files and tables."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist

from metrics.test_shift import batches
from prismap import PrisMap, judge
from prismap.bundle import read_bundle, write_bundle
from prismap.exceptions import FileFormatError, InputError
from prismap.map._judged import MapMaker
from prismap.quality import knn_error
from prismap.target import decide_units, make_target

SITES = np.array(["north", "south", "west"])


def fitted(X, y=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PrisMap(perplexity=15, random_state=0, **options.pop("map", {})).fit(X, y, **options)


@pytest.fixture(scope="module")
def data():
    X, y, level = batches(n_rows=300, effect=3.0, correlation=0.5)
    return X, y, SITES[level]


@pytest.fixture(scope="module")
def model(data):
    X, y, site = data
    return fitted(X[:200], y[:200], given=site[:200])


def test_the_target_shows_and_the_level_does_not(data, model):
    X, y, site = data
    plain = fitted(X[:200], y[:200])
    placed = model.transform(X[200:], given=site[200:])
    assert knn_error(placed, y[200:], n_neighbors=10, Y_fit=model.embedding_, y_fit=y[:200]) < 0.2
    assert knn_error(plain.embedding_, site[:200], n_neighbors=10) < 0.1
    assert knn_error(model.embedding_, site[:200], n_neighbors=10) > 0.35


def test_one_level_is_the_plain_map_to_the_last_bit(data):
    X, y, _ = data
    plain, one = fitted(X[:120], y[:120]), fitted(X[:120], y[:120], given=["all"] * 120)
    assert np.array_equal(plain.embedding_, one.embedding_)
    assert np.array_equal(plain.transform(X[120:]), one.transform(X[120:], given=["all"] * 180))


def test_a_constant_in_a_level_is_the_same_map():
    """By stress, which forgets the rounding of its distances; t-SNE enlarges it."""
    X, y, level = batches(n_rows=100)
    moved = X + np.where(level[:, None] == 1, [500.0, -60.0, 0.0, 1.0, 3.0, 7.0], 0.0)
    options = {"method": "mds", "supervision": 0.8}
    once, again = (fitted(rows, y, given=level, map=options) for rows in (X, moved))
    np.testing.assert_allclose(once.metric_.pairwise(), again.metric_.pairwise(), atol=1e-6)
    np.testing.assert_allclose(pdist(once.embedding_), pdist(again.embedding_), atol=1e-3)


def test_fitted_rows_with_their_levels_fall_on_themselves(data, model):
    X, _, site = data
    assert np.array_equal(model.transform(X[:200], given=site[:200]), model.embedding_)
    assert np.array_equal(model.transform(X[7:8], given=site[7:8]), model.embedding_[7:8])
    other = np.where(site[:200] == "north", "south", "north")
    assert np.abs(model.transform(X[:200], given=other) - model.embedding_).max() > 1


def test_rows_that_were_not_embedded_are_placed_in_their_levels(data):
    X, y, site = data
    some = fitted(X, y, given=site, map={"fit_rows": 150})
    np.testing.assert_array_equal(some.positions(), some.transform(X, given=site))


def test_maps_for_comparison_are_made_of_rows_as_they_were_given(data, model):
    X, _, _ = data
    maker, some = MapMaker(model.map_), np.arange(150)
    np.testing.assert_array_equal(maker.map.place(maker.rows(some)), model.map_.positions[some])
    made = maker.make(some, model.map_.target.take(some))
    assert np.array_equal(made.fitted.given_rows, X[:150])
    assert not np.array_equal(made.fitted.shift.offsets, model.map_.shift.offsets)  # it is estimated without the others
    np.testing.assert_array_equal(made.place(maker.rows(some)), made.positions)


def test_a_stored_map_keeps_its_levels(data, model, tmp_path):
    X, _, site = data
    model.save(tmp_path / "sites.prismap")
    loaded = PrisMap.load(tmp_path / "sites.prismap")
    assert np.array_equal(loaded.transform(X, given=site), model.transform(X, given=site))
    assert np.array_equal(loaded.rows_, X[:200])
    assert loaded.map_.given.levels == model.map_.given.levels


@pytest.mark.parametrize(
    ("name", "forged"),
    [
        ("levels/codes", lambda codes: codes + 5),
        ("levels/codes", lambda codes: codes[:-1]),
        ("levels/offsets", lambda offsets: offsets[:1]),
        ("levels/offsets", None),
        ("levels/scales", lambda scales: 0 * scales),
        ("names", None),
    ],
)
def test_levels_that_do_not_go_with_their_map_are_refused(model, tmp_path, name, forged):
    model.save(tmp_path / "sites.prismap")
    bundle = read_bundle(tmp_path / "sites.prismap")
    header, arrays = dict(bundle.header), dict(bundle.arrays)
    if name == "names":
        header["levels"] = None
    elif forged is None:
        del arrays[name]
    else:
        arrays[name] = forged(arrays[name])
    write_bundle(tmp_path / "forged.prismap", arrays, header)
    with pytest.raises(FileFormatError, match="level"):
        PrisMap.load(tmp_path / "forged.prismap")


def test_new_rows_must_bring_known_levels(data, model):
    X, _, site = data
    with pytest.raises(InputError, match=r"the level of every row is needed: transform\(X, given=...\)"):
        model.transform(X)
    with pytest.raises(InputError, match="not fitted with \\('east'\\)"):
        model.place(X, given=["east"] * len(X))
    with pytest.raises(InputError, match="one level per row"):
        model.is_far(X, given=site[:5])
    with pytest.raises(InputError, match="partial_refit does not extend"):
        model.partial_refit(X)


def test_a_map_without_levels_has_no_use_for_them(data):
    X, y, site = data
    with pytest.raises(InputError, match="fitted without levels"):
        fitted(X[:60], y[:60]).transform(X, given=site)


@pytest.mark.parametrize(
    ("options", "rows", "kind"),
    [
        ({"data": "dissimilarity"}, lambda X: np.abs(X[:, :1] - X[:, :1].T), "data='dissimilarity'"),
        ({}, lambda X: pytest.importorskip("scipy.sparse").csr_array(X), "X is sparse"),
    ],
)
def test_only_dense_vectors_have_levels(data, options, rows, kind):
    X, y, site = data
    with pytest.raises(InputError, match=f"given needs dense vectors.*{kind}"):
        fitted(rows(X), y, given=site, map=options)


def test_a_table_brings_its_levels_along(data, tmp_path):
    X, y, site = data
    table = pd.DataFrame(X, columns=list("abcdef")).assign(kind=np.where(y, "ill", "well"), site=site)
    model = PrisMap.from_table(table[:200], "kind", given="site", perplexity=15, random_state=0)
    assert "site" not in model.encoding_.names
    assert np.array_equal(model.transform(table[:200]), model.embedding_)
    model.save(tmp_path / "table.prismap")
    again = PrisMap.load(tmp_path / "table.prismap")
    assert np.array_equal(again.transform(table[200:]), model.transform(table[200:]))
    with pytest.raises(InputError, match="the level of 'site' of every row is needed"):
        again.transform(table.drop(columns="site"))
    with pytest.raises(InputError, match="'kind' is the target and given, too"):
        PrisMap.from_table(table, "kind", given="kind")


def test_other_posteriors_and_trust_see_rows_without_levels(data):
    X, y, site = data
    model = fitted(X[:150], y[:150], given=site[:150], map={"supervision": "max"})
    assert model.report(budget="quick", n_permutations=1).confounding is not None
    trust = model.trust(X[150:], given=site[150:])
    assert trust.shape == (150,)
    assert model.trust_.value.shape == (150,)
    assert str(model.drift(X[150:], given=site[150:])).endswith("no need to refit.")
    assert model.inverse_transform(model.embedding_).shape == (150, 6)
    assert model.score(X[150:], y[150:], given=site[150:]) > 0.75


# --- rows that are not independent ------------------------------------------------------------------------------------


def measured_twice():
    """Samples that were measured in two batches, with a coin each, in any order."""
    rng = np.random.default_rng(0)
    row = rng.permutation(160)
    sample, site = row % 80, row // 80
    X = rng.normal(size=(80, 8))[sample] + 0.03 * rng.normal(size=(160, 8)) + 6 * site[:, None] * rng.normal(size=8)
    return X, rng.permutation(np.arange(80) % 2)[sample], site, sample


def same_units(units, expected):
    return np.array_equal(units[:, None] == units, expected[:, None] == expected)


def test_what_was_measured_twice_is_found_without_the_batches():
    X, y, site, sample = measured_twice()
    m = PrisMap(random_state=0).fit(X, y, given=site)
    assert same_units(m.map_.target.units, sample)
    found = m.report(n_permutations=1)
    assert found.statement("target_shows").answer in ("no", "cannot tell")
    assert not found.confounding.target_remains
    table = pd.DataFrame(X).add_prefix("x").assign(site=site, y=y)
    assert same_units(PrisMap.from_table(table, "y", given="site", random_state=0).map_.target.units, sample)
    assert judge(X, X[:, :2], y, given=site).n_units == 80
    assert judge(X, X[:, :2], y).n_units is None  # with the batches nothing is alike


def test_copies_are_copies_in_whatever_batch():
    X, y, site, sample = measured_twice()
    other = np.array([np.flatnonzero(sample == one) for one in range(80)])
    X[other[:, 1]] = X[other[:, 0]]
    assert same_units(PrisMap(random_state=0, copies="exact").fit(X, y, given=site).map_.target.units, sample)


def test_rows_of_a_batch_are_alike_because_of_it_and_not_by_their_order():
    rng = np.random.default_rng(0)
    site = np.repeat(np.arange(6), 40)
    X = rng.normal(size=(240, 8)) + 4 * site[:, None]
    y = (rng.random(240) < np.array([0.2, 0.8, 0.3, 0.7, 0.4, 0.6])[site]).astype(int)
    assert decide_units(X, make_target(y, 240)).suspected is not None
    m = PrisMap(random_state=0).fit(X, y, given=site)
    assert m.map_.given.dependence.units is m.map_.given.dependence.suspected is None
