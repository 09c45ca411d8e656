"""One word for one thing: what every estimator calls its iterations and starts, and what it says to the old words."""

import inspect
from importlib import import_module

import pytest

from prismap.embeddings import GTM, MDS, MVU, SOM, ElasticMDS, KernelDiscriminant, KernelPCA, NeRV
from prismap.learners import GMLVQ, LMNN, RSLVQ
from prismap.mappings import DirectPlacement, KernelMap
from prismap.relevance import FeatureRelevance, RelevanceBounds

RENAMED = [
    *((estimator, "max_iter", "n_iter") for estimator in (GTM, MDS, MVU, SOM, ElasticMDS, NeRV, GMLVQ, LMNN, RSLVQ)),
    (FeatureRelevance, "max_iter", "n_iter"),
    (FeatureRelevance, "n_starts", "n_init"),
    (DirectPlacement, "n_starts", "n_init"),
    (DirectPlacement, "trade_off", "gamma"),
    (RelevanceBounds, "n_steps", "n_iter"),
    (KernelMap, "fit", "solver"),
    (KernelPCA, "gamma", "bandwidth"),
    (KernelDiscriminant, "gamma", "bandwidth"),
]


@pytest.mark.parametrize(("estimator", "old", "new"), RENAMED)
def test_old_names_are_refused_with_the_new_ones(estimator, old, new):
    with pytest.raises(TypeError, match=f"{estimator.__name__} has no parameter '{old}'; it is called '{new}' now"):
        estimator(**{old: 1})
    assert new in estimator().get_params()
    assert old not in estimator().get_params()


def test_no_estimator_has_another_word():
    names = ("embeddings", "learners", "mappings", "metrics", "relevance", "transfer")
    rooms = [import_module(f"prismap.{name}") for name in names]
    public = [getattr(room, name) for room in rooms for name in room.__all__]
    estimators = {item for item in public if inspect.isclass(item) and hasattr(item, "get_params")}
    assert len(estimators) > 20
    other_words = {"max_iter", "n_steps", "n_starts", "n_restarts", "trade_off", "fit"}
    assert not {f"{e.__name__}.{name}" for e in estimators for name in other_words & set(e._get_param_names())}
