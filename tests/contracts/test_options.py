"""Options objects: settings that belong together, as one parameter that can be cloned, set by name and saved."""

from __future__ import annotations

import inspect
from importlib import import_module

import pytest
from sklearn.base import BaseEstimator, clone

from prismap.embeddings import TSNE, GradientDescent
from prismap.map._params_json import from_spec, to_spec
from prismap.mappings import DirectPlacement, KernelMap, MapCost, ParametricMap
from prismap.transfer import Matching, SharedEmbedding

ROOMS = ("embeddings", "learners", "mappings", "relevance", "transfer")
#: An estimator with an options object, the parameter that holds it, and one of its settings with another value.
HOLDERS = [
    (TSNE(descent=GradientDescent(early_exaggeration=4)), "descent", {"tol": 0.1}),
    (KernelMap(solver=MapCost("nerv", gamma=0.2)), "solver", {"perplexity": 7}),
    (ParametricMap(cost=MapCost("sammon")), "cost", {"name": "mds"}),
    (DirectPlacement(MapCost("lle", n_neighbors=9)), "cost", {"n_neighbors": 12}),
    (SharedEmbedding(matching=Matching(outliers=0.3)), "matching", {"mutual": 0.0}),
]


def public_classes():
    rooms = [import_module(f"prismap.{name}") for name in ROOMS]
    found = {getattr(room, name) for room in rooms for name in room.__all__}
    return sorted((kind for kind in found if inspect.isclass(kind)), key=lambda kind: kind.__name__)


def test_no_constructor_has_more_than_ten_parameters():
    estimators = [kind for kind in public_classes() if issubclass(kind, BaseEstimator)]
    assert len(estimators) > 20
    assert not [kind.__name__ for kind in estimators if len(inspect.signature(kind).parameters) > 10]


@pytest.mark.parametrize(("holder", "name", "change"), HOLDERS, ids=repr)
def test_options_are_parameters_of_their_estimator(holder, name, change):
    options = getattr(holder, name)
    nested = {f"{name}__{key}": value for key, value in options.get_params().items()}
    assert nested.items() <= holder.get_params().items()
    copy = clone(holder)
    assert getattr(copy, name) is not options
    assert getattr(copy, name).get_params() == options.get_params()
    (key, value), before = next(iter(change.items())), options.get_params()
    assert getattr(copy.set_params(**{f"{name}__{key}": value}), name).get_params() == {**before, key: value}
    assert options.get_params() == before


@pytest.mark.parametrize(("holder", "name", "change"), HOLDERS[:-1], ids=repr)  # a file holds no shared embedding
def test_options_are_kept_in_a_file(holder, name, change):
    again = from_spec(to_spec(holder, "mapping"), "mapping")
    assert repr(again) == repr(holder)
