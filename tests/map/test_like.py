"""A map that stays put: rows and groups keep the places of an earlier map, and what has changed is said."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from prismap import PrisMap
from prismap.embeddings import TSNE, GradientDescent
from prismap.embeddings._places import Places
from prismap.exceptions import FileFormatError, InputError
from prismap.map._held import Earlier, Moved, Movement, Version, movement_of, placed_on, versions_of
from prismap.map._store import save_map
from prismap.map._stored import _check_versions
from prismap.page._message import pack_page, unpack_page
from prismap.page._of_map import page_of
from prismap.target import ClassTarget, NoTarget

CENTRES = np.random.default_rng(5).normal(size=(7, 5)) * 6


def rows_of(*classes, n=30, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(classes, n)
    return CENTRES[y] + rng.normal(size=(len(y), 5)), y


def a_map(seed=0, **options):
    method = TSNE(max_iter=100, perplexity=10)
    return PrisMap(method, supervision=0.5, perplexity=10, random_state=seed, **options)


@pytest.fixture(scope="module")
def january():
    """A map of five groups, a hundred and fifty rows."""
    X, y = rows_of(0, 1, 2, 3, 4)
    return X, y, a_map().fit(X, y)


def test_another_seed_gives_the_same_picture(january):
    X, y, old = january
    free, held = a_map(1).fit(X, y), a_map(1).fit(X, y, like=old)
    earlier = placed_on(old, X)
    assert earlier.shared.all()
    laid = movement_of(earlier, earlier.laid_on(free.map_.positions, scale=True), free.map_.target, 0.0, 0)
    assert held.map_.given.earlier is None  # which would keep every map before it
    assert held.movement_.strength > 0
    assert held.movement_.path < 0.1 < laid.path
    assert held.movement_.kept > laid.kept
    assert held.movement_.moved == held.movement_.new == held.movement_.gone == ()
    assert str(held.movement_).endswith("No group has moved.")
    assert held.movement_.drift is None  # no row is new


def test_what_has_changed_is_said(january, tmp_path):
    X, y, old = january
    _, february = rows_of(5, seed=2)
    X_new = np.vstack([X[y != 4], rows_of(5, seed=2)[0]])
    y_new = np.concatenate([y[y != 4], february])
    m = a_map(1).fit(X_new, y_new, like=old)
    movement = m.movement_
    assert (movement.n_rows, movement.n_shared) == (150, 120)
    assert movement.n_far >= 25  # the new group is nowhere near
    assert (movement.new, movement.gone) == (("5",), ("4",))
    assert movement.path < 0.25
    words = str(movement)
    assert words.startswith(f"Like the earlier map (held with strength {movement.strength:g}): 120 of 150 rows were on")
    assert "New: 5. Gone: 4." in words
    drift = old.drift(X_new[120:])  # beside it, of the rows that are new
    assert movement.drift == drift
    assert drift.far_share > 0.8
    assert f"{drift.far_share:.0%} of 30 new rows are far from all that it knows (1% expected)" in words
    assert (
        f"what it expects of their target has moved by {drift.shift:.2f} ({drift.shift_noise:.2f} by chance)" in words
    )
    assert words in m.report(budget="quick").notes
    m.save(tmp_path / "map.prismap")
    again = PrisMap.load(tmp_path / "map.prismap")
    assert again.movement_ is None
    assert words in again.report().notes


def test_a_class_that_the_old_map_does_not_have_is_free(january):
    """Else a single row of it, which the old map puts among others, can be pushed out of the map."""
    _, _, old = january
    X, y = rows_of(0, 1, 2, seed=9)
    earlier = placed_on(old, X)
    target = ClassTarget(np.where(np.arange(90) < 5, 3, y // 2), names_of_classes=np.array(["0", "2", "x", "new"]))
    assert earlier.unknown(target).tolist() == [True] * 5 + [False] * 85
    groups = earlier.places(target, 0).groups
    assert (groups[:5] == -1).all()
    np.testing.assert_array_equal(groups[5:] >= 0, ~earlier.far[5:])
    assert not earlier.unknown(NoTarget.of(90)).any()
    assert not earlier.unknown(target.with_values(np.full(90, -1))).any()


def test_groups_without_shared_rows_stay_near_their_places(january):
    _, _, old = january
    X, y = rows_of(0, 1, 2, 3, 4, seed=9)
    m = a_map(1).fit(X, y, like=old)
    assert m.movement_.n_shared == 0
    assert np.isnan(m.movement_.kept)
    assert m.movement_.moved == ()


def test_a_group_that_moved_is_named_with_its_reason(january):
    X, y, old = january
    earlier = placed_on(old, X)
    Y = old.map_.positions.copy()
    radius = np.sqrt(Y.var(axis=0).sum())
    Y[y == 2] += [2 * radius, 0]
    movement = movement_of(earlier, Y, old.map_.target, 0.3, 0)
    assert [one.name for one in movement.moved] == ["2"]
    assert movement.moved[0].path == pytest.approx(2)
    assert movement.moved[0].new_share == 0
    assert str(movement.moved[0]).startswith("2 (by 200% of the radius; its rows keep 100% of their neighbours)")
    assert str(Moved("a", 0.5, 0.25, 0.5)) == (
        "a (by 50% of the radius; 25% of its rows are new, the others keep 50% of their neighbours)"
    )
    assert "Moved: 2 (by" in str(movement)


def test_clusters_are_the_groups_of_a_map_without_a_target():
    X, y = rows_of(0, 1, 2, 3, n=40)
    method = TSNE(max_iter=150, perplexity=10)
    old = PrisMap(method, supervision=0, random_state=0).fit(X)
    new_rows = np.vstack([X[y != 3], rows_of(6, n=40, seed=3)[0]])
    movement = PrisMap(method, supervision=0, random_state=1).fit(new_rows, like=old).movement_
    assert len(movement.new) == 1
    assert movement.new[0].startswith("new cluster ")
    assert len(movement.gone) == 1
    assert movement.gone[0].startswith("cluster ")


def test_other_methods_are_turned_and_reflected_only():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) * [3, 1]
    old = PrisMap("mds", supervision=0, random_state=0).fit(X)
    turned = old.map_.positions @ np.array([[0.0, 1.0], [1.0, 0.0]]) * 2 + 7
    earlier = Earlier(old.map_, old.map_.positions, np.ones(60, dtype=bool), np.zeros(60, dtype=bool))
    np.testing.assert_allclose(earlier.laid_on(turned, scale=True), old.map_.positions, atol=1e-9)
    unscaled = earlier.laid_on(turned, scale=False)
    np.testing.assert_allclose(
        unscaled - unscaled.mean(axis=0), 2 * (old.map_.positions - old.map_.positions.mean(axis=0))
    )
    again = PrisMap("mds", supervision=0, random_state=1).fit(X[10:], like=old)
    assert again.movement_.strength == 0
    assert again.movement_.path < 0.05
    assert "turned and reflected only" in str(again.movement_)


def test_nothing_in_common_leaves_the_map_free(january):
    _, _, old = january
    X, y = rows_of(0, 1, 2, 3)
    free, held = a_map().fit(X + 1000, y), a_map().fit(X + 1000, y, like=old)
    np.testing.assert_array_equal(free.embedding_, held.embedding_)
    assert held.movement_.n_far == 120


def test_an_earlier_map_reads_tables_by_its_own_encoding():
    """Standardised anew, no row of February would equal one of January."""
    X, y = rows_of(0, 1, 2, 3)
    table = pd.DataFrame(X, columns=list("abcde")).assign(kind=[f"k{c}" for c in y])
    options = {"method": TSNE(max_iter=100, perplexity=10), "supervision": 0.5, "perplexity": 10, "random_state": 0}
    old = PrisMap.from_table(table[:90], "kind", **options)
    new = PrisMap.from_table(table[30:], "kind", like=old, **options)
    assert new.movement_.n_shared == 60
    assert new.movement_.new == ("k3",)
    assert new.movement_.gone == ("k0",)


@pytest.mark.parametrize(
    ("options", "like", "message"),
    [
        ({}, PrisMap(), "like must be a fitted PrisMap"),
        ({}, "out/", "like must be a fitted PrisMap"),
        ({"method": "som"}, None, "lattices of method='som'"),
        ({"mapping": "own", "method": "kpca"}, None, "mapping='own'"),
    ],
)
def test_what_cannot_be_held_is_refused(january, options, like, message):
    X, y, old = january
    with pytest.raises(InputError, match=message):
        PrisMap(supervision=0.5, **options).fit(X, y, like=old if like is None else like)


def test_a_map_in_other_dimensions_is_refused(january):
    X, y, old = january
    with pytest.raises(InputError, match="like is a map in 2 dimensions, and the method makes one in 3"):
        PrisMap(TSNE(3, max_iter=10), supervision=0.5, mapping="vote").fit(X, y, like=old)


@pytest.mark.filterwarnings("ignore:perplexity=:prismap.exceptions.PrismapWarning")
def test_few_labels_do_not_decide_how_strong_a_hold_is(january):
    X, y, old = january
    few = np.where(np.arange(150) % 15 == 0, y, -1)
    assert a_map(1).fit(X, few, like=old).movement_.strength > 0


def test_an_earlier_map_of_pairs_is_refused():
    X, _ = rows_of(0, 1)
    D = np.linalg.norm(X[:, None] - X, axis=2)
    old = PrisMap("mds", data="dissimilarity", random_state=0).fit(D)
    with pytest.raises(InputError, match="not a matrix of pairs"):
        PrisMap("mds", data="dissimilarity", random_state=0).fit(D, like=old)


def test_places_of_some_rows():
    places = Places(np.array([0, 2, -1, 2, 1]), np.arange(6.0).reshape(3, 2), 0.5)
    some = places.take(np.array([1, 2, 3]))
    assert some.groups.tolist() == [0, -1, 0]
    assert some.positions.tolist() == [[4.0, 5.0]]
    assert some.strength == 0.5


def test_the_hold_is_no_stronger_than_neighbours_can_afford(january, monkeypatch):
    from prismap.map import _held

    X, y, old = january
    monkeypatch.setattr(_held, "arranged", lambda embedding, D, places: places.strength)
    monkeypatch.setattr(_held, "predicted", lambda s, *_: np.arange(150) / 150 + (s > 0.3))
    assert a_map(1).fit(X, y, like=old).movement_.strength == 0.3
    monkeypatch.setattr(_held, "predicted", lambda s, *_: np.arange(150) / 150 + (s > 0))
    movement = a_map(1).fit(X, y, like=old).movement_
    assert movement.strength == 0
    assert isinstance(movement, Movement)
    assert "turned and reflected only, not held" in str(movement)


def test_the_free_map_is_the_default(january):
    X, y, old = january
    np.testing.assert_array_equal(a_map().fit(X, y, like=None).embedding_, old.embedding_)
    assert old.movement_ is None
    assert GradientDescent().arrangement == 0


def test_a_map_keeps_where_its_rows_were_on_the_maps_before(january, tmp_path):
    X, y, old = january
    february = a_map(1).fit(X[30:], y[30:], like=placed_on(old, X[30:], label="january"))
    february.save(tmp_path / "february.prismap")
    again = PrisMap.load(tmp_path / "february.prismap")
    more, of = rows_of(5, seed=2)
    rows, labels = np.vstack([X[60:], more]), np.concatenate([y[60:], of])
    march = a_map(2).fit(rows, labels, like=placed_on(again, rows, label="february"))
    first, second = march.map_.versions
    assert (first.label, second.label) == ("january", "february")
    expected = np.vstack([old.map_.positions[60:], np.full((30, 2), np.nan)])
    np.testing.assert_allclose(first.positions, expected, rtol=1e-6)
    np.testing.assert_allclose(second.positions[:90], february.map_.positions[30:], rtol=1e-6)
    assert np.isnan(second.positions[90:]).all()
    # Gone since January: its own first thirty rows, and those that February still had.
    np.testing.assert_allclose(np.sort(first.gone, axis=0), np.sort(old.map_.positions[:60], axis=0), rtol=1e-6)
    np.testing.assert_allclose(second.gone, february.map_.positions[:30], rtol=1e-6)
    assert len(versions_of(placed_on(march, rows), most=2)) == 2  # no more than a year


def test_without_shared_rows_the_old_map_places_the_new_ones(january):
    _, _, old = january
    X, _ = rows_of(0, 1, 2, 3, 4, seed=9)
    earlier = placed_on(old, X)
    (version,) = versions_of(earlier)
    np.testing.assert_array_equal(np.isfinite(version.positions[:, 0]), ~earlier.far)
    assert len(version.gone) == 150


def test_positions_on_earlier_maps_must_go_with_the_map(january, tmp_path):
    forged = replace(january[2].map_, versions=(Version("a", np.zeros((9, 2)), np.zeros((0, 2))),))
    save_map(forged, tmp_path / "forged.prismap", None, {})
    with pytest.raises(FileFormatError, match="earlier maps"):
        PrisMap.load(tmp_path / "forged.prismap")
    good = {"positions": np.zeros((4, 2)), "versions": np.zeros((1, 4, 2)), "gone": np.zeros((3, 3))}
    _check_versions(["a"], good, 4)
    _check_versions([], {"positions": good["positions"]}, 4)
    for labels, changes in [
        ("a", {}), ([1], {}), (["a", "b"], {}), ([], {}), (["a"], {"versions": np.zeros((1, 5, 2))}),
        (["a"], {"gone": np.zeros((3, 2))}), (["a"], {"gone": np.zeros(3)}),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match="earlier maps"):
            _check_versions(labels, {**good, **changes}, 4)


def test_the_page_has_all_rows_on_the_maps_before(january):
    X, y, old = january
    m = a_map(1, fit_rows=100).fit(X, y, like=old)
    page = page_of(m, judge=False)
    (version,) = page.versions
    assert version.label == "the map before"
    np.testing.assert_allclose(version.positions[m.fit_rows_], old.map_.positions[m.fit_rows_], rtol=1e-6)
    assert np.isfinite(version.positions[:, 0]).sum() == 100
    assert page.changes == m.movement_.changes
    again = unpack_page(pack_page(page))
    assert [one.label for one in again.versions] == ["the map before"]
    np.testing.assert_allclose(again.versions[0].gone, version.gone, rtol=1e-5)
    assert list(again.changes) == list(page.changes)
    with pytest.raises(InputError, match="positions of the version"):
        pack_page(replace(page, versions=[replace(version, positions=version.positions[:9])]))
