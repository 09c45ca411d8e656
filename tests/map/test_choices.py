"""Every method, metric and mapping that `PrisMap` offers: new rows land near their kind, positions give rows back."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris

from prismap import PrisMap
from prismap.embeddings import MDS, ElasticMDS, Isomap, KernelDiscriminant, KernelPCA, NeRV
from prismap.exceptions import InputError, PrismapWarning
from prismap.map._judged import MapMaker
from prismap.map._methods import MAPPINGS, METHODS
from prismap.mappings import DirectPlacement, KernelMap, MapCost, VoteMap
from prismap.metrics import MixtureMetric

ROWS, LABELS = load_iris(return_X_y=True)
ROWS = ROWS + np.random.default_rng(1).normal(scale=0.05, size=ROWS.shape)
FITTED, HELD = np.arange(150) % 3 != 0, np.arange(150) % 3 == 0


def error_of_new_rows(model):
    Y = model.transform(ROWS[HELD])
    nearest = np.argmin(((Y[:, None] - model.embedding_[None]) ** 2).sum(axis=2), axis=1)
    return (LABELS[FITTED][nearest] != LABELS[HELD]).mean()


def fit(**options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrismapWarning)
        options = {"supervision": 0.8, "mapping": "fisher", **options}
        return PrisMap(random_state=0, perplexity=10, **options).fit(ROWS[FITTED], LABELS[FITTED])


@pytest.mark.parametrize(
    ("method", "target"),
    [
        (method, target)
        for target in ("class", "none")
        for method in sorted(METHODS)
        if (method, target) != ("kda", "none")
    ],
)
def test_every_method_places_new_rows_and_gives_rows_back(method, target):
    model = fit(method=method, target=target)
    assert error_of_new_rows(model) < 0.15
    back = model.inverse_transform(model.embedding_)
    assert np.corrcoef(back.ravel(), ROWS[FITTED].ravel())[0, 1] > 0.9


@pytest.mark.parametrize("method", ["kpca", "kda"])
def test_kernel_methods_by_name_are_those_of_the_room_and_can_be_kept(method, tmp_path):
    make = {"kpca": KernelPCA(), "kda": KernelDiscriminant(random_state=0)}[method]
    model, same = fit(method=method), fit(method=make)
    np.testing.assert_array_equal(model.embedding_, same.embedding_)
    np.testing.assert_array_equal(model.transform(ROWS[FITTED]), model.embedding_)
    for one in (model, same):
        one.save(tmp_path / "m.prismap")
        again = PrisMap.load(tmp_path / "m.prismap")
        np.testing.assert_array_equal(again.transform(ROWS[HELD]), model.transform(ROWS[HELD]))
    without_target = MapMaker(model.map_).make_plain(np.arange(40)).fitted.recipe.method
    assert type(without_target).__name__ == {"kpca": "KernelPCA", "kda": "TSNE"}[method]


@pytest.mark.parametrize("target", [None, LABELS[FITTED] + 0.5 * ROWS[FITTED, 0]])
def test_the_kernel_discriminant_needs_classes(target):
    with pytest.raises(InputError, match=r"\(method='kda'\) separates classes, and the target is"):
        PrisMap("kda", perplexity=10).fit(ROWS[FITTED], target)


@pytest.mark.parametrize("method", ["som", "gtm", "kpca", "kda"])
def test_some_methods_place_new_rows_by_themselves(method):
    model = fit(method=method, mapping="own")
    assert error_of_new_rows(model) < 0.15
    D = model.metric_.pairwise(ROWS[HELD])
    np.testing.assert_allclose(model.transform(ROWS[HELD]), model.map_.embedding.transform(D), atol=1e-3)


@pytest.mark.parametrize(
    "mapping", ["euclidean", KernelMap("elm"), KernelMap(solver="svr"), DirectPlacement("tsne", n_init=1)], ids=str
)
def test_every_mapping_places_new_rows(mapping):
    model = fit(mapping=mapping)
    assert error_of_new_rows(model) < 0.15
    np.testing.assert_array_equal(model.transform(ROWS[FITTED]), model.embedding_)


@pytest.mark.parametrize("mapping", ["svr", "cost", "elm", "direct", "vote"])
def test_mappings_by_name_are_those_of_the_room_and_can_be_kept(mapping, tmp_path):
    model = fit(mapping=mapping)
    assert error_of_new_rows(model) < 0.15
    np.testing.assert_array_equal(model.transform(ROWS[FITTED]), model.embedding_)
    placed = model.transform(ROWS[HELD])
    objects = {
        "elm": KernelMap("elm", random_state=0),
        "direct": DirectPlacement(MapCost(perplexity=10)),
        "vote": VoteMap(),
    }
    np.testing.assert_array_equal(np.vstack([model.transform(row[None]) for row in ROWS[HELD][:5]]), placed[:5])
    if mapping in objects:
        np.testing.assert_array_equal(fit(mapping=objects[mapping]).transform(ROWS[HELD]), placed)
    else:
        assert not np.allclose(fit().transform(ROWS[HELD]), placed)
    model.save(tmp_path / "m.prismap")
    np.testing.assert_allclose(PrisMap.load(tmp_path / "m.prismap").transform(ROWS[HELD]), placed, rtol=1e-9)


@pytest.mark.parametrize(
    ("mapping", "method", "settings"),
    [
        ("cost", "nerv", {"name": "nerv"}),
        ("cost", MDS(kind="sammon"), {"name": "sammon"}),
        ("cost", NeRV(kernel="student", gamma=0.3, perplexity=7), {"name": "tnerv", "gamma": 0.3, "perplexity": 7}),
        ("direct", "elastic", {"name": "elastic"}),
        ("direct", ElasticMDS(weights="uniform"), {"name": "mds"}),
        ("direct", Isomap(n_neighbors=30), {"name": "isomap", "n_neighbors": 30}),
        ("direct", "lle", {"name": "lle"}),
        ("direct", "mvu", {"name": "mvu"}),
    ],
    ids=str,
)
def test_cost_and_direct_take_the_cost_of_the_embedding(mapping, method, settings, tmp_path):
    model = fit(method=method, mapping=mapping)
    cost = getattr(model.map_.mapping, "solver" if mapping == "cost" else "cost")
    assert settings.items() <= cost.get_params().items()
    assert error_of_new_rows(model) < 0.15
    model.save(tmp_path / "m.prismap")
    placed = model.transform(ROWS[HELD])
    np.testing.assert_allclose(PrisMap.load(tmp_path / "m.prismap").transform(ROWS[HELD]), placed, rtol=1e-6)


@pytest.mark.parametrize(("mapping", "method"), [("cost", "isomap"), ("direct", "som")])
def test_a_method_without_such_a_cost_is_refused(mapping, method):
    with pytest.raises(InputError, match=f"mapping='{mapping}' needs a method whose cost is known for new rows"):
        fit(method=method, mapping=mapping)


def test_the_map_without_a_target_is_compared_at_its_best():
    def mapping_without_target(model):
        return MapMaker(model.map_).make_plain(np.arange(40)).fitted.mapping

    assert isinstance(mapping_without_target(fit()), VoteMap)
    assert isinstance(mapping_without_target(fit(mapping="direct")), DirectPlacement)


def test_the_command_line_offers_the_mappings_that_files_can_hold():
    from prismap.cli import map as command

    assert sorted(command.MAPPINGS) == sorted({*MAPPINGS, "auto"})


@pytest.mark.parametrize("metric", ["manhattan", MixtureMetric(["euclidean", "city_block"])], ids=str)
def test_another_metric_makes_the_map(metric, tmp_path):
    model = fit(metric=metric)
    assert model.target_ == "class"
    assert error_of_new_rows(model) < 0.15
    if isinstance(metric, str):
        assert model.report(n_permutations=1).scores
        model.save(tmp_path / "m.prismap")
        again = PrisMap.load(tmp_path / "m.prismap")
        np.testing.assert_array_equal(again.transform(ROWS[HELD]), model.transform(ROWS[HELD]))
    else:
        with pytest.raises(InputError, match="measures=.*is an object"):
            model.save(tmp_path / "m.prismap")


def test_choices_that_cannot_be_are_refused():
    with pytest.raises(InputError, match="mapping='own' needs"):
        fit(mapping="own")
    with pytest.raises(InputError, match="needs data='vectors'"):
        PrisMap(data="dissimilarity", metric="manhattan", perplexity=2).fit(
            np.ones((9, 9)) - np.eye(9), np.arange(9) % 2
        )
    with pytest.raises(InputError, match="is not known"):
        fit(metric="nonsense")


def test_the_report_warns_of_nothing_that_the_fit_did_not():
    model = PrisMap(random_state=0, perplexity=30).fit(ROWS[FITTED], LABELS[FITTED])
    model.report(n_permutations=1)  # refits on fewer rows lower the perplexity, which is nobody's business
