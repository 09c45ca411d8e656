"""One word for one thing: what every estimator calls its iterations, starts and trade-offs."""

import inspect
from importlib import import_module


def test_no_estimator_has_another_word():
    names = ("embeddings", "learners", "mappings", "metrics", "relevance", "transfer")
    rooms = [import_module(f"prismap.{name}") for name in names]
    public = [getattr(room, name) for room in rooms for name in room.__all__]
    estimators = {item for item in public if inspect.isclass(item) and hasattr(item, "get_params")}
    assert len(estimators) > 20
    other_words = {"n_iter", "n_steps", "n_starts", "n_restarts", "trade_off", "fit"}
    assert not {f"{e.__name__}.{name}" for e in estimators for name in other_words & set(e._get_param_names())}
