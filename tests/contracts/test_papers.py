"""The page of the papers: every call on it can be made, every slow version and every page of figures is there."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from prismap import PrisMap, published
from prismap.inspection import ModelView
from prismap.metrics import FisherMetric, Metric

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
ROOMS = (
    "prismap", "prismap.metrics", "prismap.metrics.posteriors", "prismap.embeddings", "prismap.mappings",
    "prismap.inspection", "prismap.quality", "prismap.relevance", "prismap.learners", "prismap.transfer",
    "prismap.neighbors",
)  # fmt: skip
TESTS = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__)]
LINES = [line for line in PAGE.splitlines() if line.count("|") == 5 and "](" in line]
#: Lines without a formula of their own: the tree is compared with exact search, a grown map with a fit of all samples.
WITHOUT_SLOW = {"exact search over all pairs", "a fit of all samples"}


def resolved(node):
    """What a name, or a name of a class and its method, stands for."""
    if isinstance(node, ast.Attribute):
        return getattr(resolved(node.value), node.attr)
    for room in ROOMS:
        if hasattr(found := importlib.import_module(room), node.id):
            return getattr(found, node.id)
    raise AssertionError(f"{node.id} is in none of the public rooms")


def is_value(node):
    """Whether an argument is written out, and not the name of something that the reader has."""
    return isinstance(node, ast.Constant)


def test_the_page_has_its_lines():
    assert len(LINES) == 59


def calls(cell):
    """The calls in a cell, parsed."""
    parsed = (ast.parse(text, mode="eval").body for text in re.findall(r"`([^`]+)`", cell))
    return [made for made in parsed if isinstance(made, ast.Call)]


def check_call(made):
    """A call can be made: its parameters are there, and written values are allowed."""
    parameters = inspect.signature(resolved(made.func)).parameters
    assert {word.arg for word in made.keywords} <= set(parameters)
    assert len(made.args) <= len(parameters)
    values = [ast.literal_eval(one) for one in made.args if is_value(one)]
    given = {word.arg: ast.literal_eval(word.value) for word in made.keywords if is_value(word.value)}
    makes = hasattr(resolved(made.func), "_parameter_constraints") or ast.unparse(made.func).startswith("published.")
    if makes and len(values) == len(made.args):
        resolved(made.func)(*values, **given)._validate_params()


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.split("`")[1])
def test_calls_slow_versions_and_figures_are_there(line):
    _, call, slow, figures = (cell.strip() for cell in line.strip("|").split("|"))
    assert calls(call)
    for made in calls(call):
        check_call(made)
    if slow not in WITHOUT_SLOW:
        module, function = slow.strip("`").split(".")
        assert callable(getattr(importlib.import_module(f"reference.{module}"), function))
        assert any(function in text for text in TESTS)
    for link in re.findall(r"\]\(([^)]+)\)", figures):
        assert (ROOT / "docs" / link).exists()
    assert "](" in figures


# --- every call is made, and what it makes is fitted ------------------------------------------------------------------

rng = np.random.default_rng(0)
y = np.repeat([0, 1], 32)
X = rng.normal(size=(64, 5)) + 1.5 * y[:, None]
Y, S, amount = X[:, :2], X @ X.T, X[:, 0] + 0.1 * rng.normal(size=64)
words = ["".join(rng.choice(list("ab" if k else "cd"), 6)) for k in y[::4]]
#: What a call is fitted to, where it is not rows and their classes.
FIT = {
    "FisherMetric(data='similarity', posterior=model)": (S, y),
    "SimilarityMetric(repair='none')": (S,),
    "published.regression_metric()": (X, amount),
    "published.inverse_map(metric)": (Y, X),
    "published.feature_relevance('weights')": (X, Y),
    "published.relevance_bounds(9)": (X, np.ones(5)),
    "RelevanceBounds(method='hinge')": (X, np.ones(5), y),
    "published.mixture_metric()": (X[:20],),
    "published.shared_embedding('kernel')": (X, X[:, :3], y),
}
OF_SIMILARITIES = (
    "published.fisher_metric()", "published.fisher_tsne()", "published.barnes_hut_fisher_tsne()",
    "published.kernel_pca()", "published.kernel_discriminant()",
)  # fmt: skip
MAPPINGS = ("KernelMap", "DirectPlacement", "ParametricMap")


@pytest.fixture(scope="module")
def names():
    """What the names of the page stand for, if they are no names of prismap."""
    model = LogisticRegression().fit(X, y)
    view = ModelView.from_estimator(model, X, map=PrisMap(random_state=0).fit(X, y))
    metric = FisherMetric(data="vectors", random_state=0).fit(X, y)
    plane = FisherMetric(posterior="parzen", random_state=0).fit(Y, y)
    return {
        "published": published, "X": X, "y": y, "Y": Y, "a": X[0], "b": X[50], "metric": metric, "plane": plane,
        "model": model, "view": view, "classes": model.classes_, "prediction": model.predict(X),
        "prediction_back": model.predict(X + 0.5), "X_new": X[:12] + 0.1, "objects": words,
        "comparisons": {"edits": "edit", "letters": "compression"},
    }  # fmt: skip


def names_of(text, names):
    """The same names, with another model or metric where the line is of one."""
    if text.startswith("FisherDisplay"):
        return names | {"metric": names["plane"]}
    if text.startswith("PrisMap.partial_refit"):
        return names | {"model": PrisMap(random_state=0).fit(X, y)}
    if text.startswith("kneighbors"):
        return names | {"metric": FisherMetric()}
    if "similarity" in text:
        return names | {"model": SVC(kernel="precomputed", probability=True, random_state=0).fit(S, y), "X": S}
    return names


def fitted(made, text):
    """What a call made, fitted to what it is for; figures, positions and displays as they are."""
    if text.startswith(("Parzen", "PredictedLabels")):
        return FisherMetric(posterior=made, cross_fit=False, random_state=0).fit(X, y)
    if not hasattr(made, "fit") or hasattr(made, "map_"):
        return made
    if type(made).__name__ in MAPPINGS:
        return made.fit(X, Y)
    if type(made).__name__ == "MixtureMetric":
        return made.fit(X[:20])
    return made.fit(*(S, y) if text in OF_SIMILARITIES else FIT.get(text, (X, y)))


CALLS = [(text, made) for line in LINES for made in calls(line.split("|")[2]) for text in [ast.unparse(made)]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("text", "made"), CALLS, ids=[text for text, _ in CALLS])
def test_calls_run_and_what_they_make_can_be_fitted(text, made, names):
    known = names_of(text, names)
    known |= {one.id: resolved(one) for one in ast.walk(made) if isinstance(one, ast.Name) and one.id not in known}
    result = fitted(eval(text, known), text)
    assert result is not None
    if isinstance(result, BaseEstimator):
        check_is_fitted(result)
    if hasattr(result, "embedding_"):
        assert np.isfinite(result.embedding_).all()
    if isinstance(result, Metric):
        assert np.isfinite(result.pairwise()).all()


def test_every_published_method_is_on_the_page():
    assert not [name for name in published.__all__ if f"published.{name}(" not in PAGE]
