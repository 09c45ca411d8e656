"""Models in files: skops without trust in what is unknown, ONNX, and pickles that the user vouches for.

A type can be trusted and its numbers not: trees and neighbour searches are compiled, and follow whatever indices a file
gives them. So every compiled part is checked against the model that it belongs to, before a row is shown to it.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from prismap._util.optional import import_extra
from prismap.exceptions import FileFormatError, InputError

#: Bytes that a model may take once it is unpacked.
MODEL_BYTES = 2**32
#: Models that show rows to their members without a look at the number of columns.
MEMBERS = ("sklearn.ensemble._forest", "sklearn.ensemble._gb", "sklearn.ensemble._hist_gradient_boosting.gradient")
PICKLES = (".joblib", ".pkl", ".pickle")
#: Types beyond those that skops trusts by itself. A file says what it holds, never what is to be trusted.
TRUSTED = frozenset({
    "numpy.dtype",
    "prismap.learners._gmlvq.GMLVQ",
    "prismap.learners._gmlvq.LGMLVQ",
    "prismap.learners._rslvq.RSLVQ",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
    "sklearn.gaussian_process.kernels.ConstantKernel",
    "sklearn.gaussian_process.kernels.Product",
    "sklearn.gaussian_process.kernels.RBF",
    "sklearn.gaussian_process.kernels.Sum",
    "sklearn.gaussian_process.kernels.WhiteKernel",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.tree._tree.Tree",
})  # fmt: skip


def in_a_line(error: Exception) -> str:
    """What an error says, in one line."""
    return " ".join(str(error).split())[:300] or type(error).__name__


def is_pickle(path: Path) -> bool:
    """Whether a file is a pickle by the end of its name."""
    return path.suffix.lower() in PICKLES


def load_model_file(path: Path, trust: list[str], *, pickles: bool = False) -> Any:
    """The model in a file, by its ending."""
    check_model_file(path, pickles=pickles)
    if is_pickle(path):
        return load_pickle(path)
    if path.suffix.lower() == ".onnx":
        from prismap.inspection._onnx_model import OnnxModel

        return OnnxModel.from_file(path)
    return load_trusted(path, trust)


def check_model_file(path: Path, *, pickles: bool) -> None:
    """Refuse a file that is not there, and a pickle that the user has not vouched for."""
    if not path.is_file():
        raise InputError(f"there is no file {path}: name a model written by skops.io.dump.")
    if is_pickle(path) and not pickles:
        raise InputError(
            f"{path} is a pickle: loading it runs whatever code it holds, with your rights. If you made the file, or "
            "trust who did, add --trust-pickle; safer is to write the model with skops.io.dump."
        )


def load_pickle(path: Path) -> Any:
    """The model in a pickle, which can do anything that its reader may do."""
    import joblib

    try:
        return joblib.load(path)
    except Exception as error:
        raise FileFormatError(f"{path} cannot be loaded by this installation: {in_a_line(error)}") from error


def load_trusted(path: Path, trust: list[str]) -> Any:
    """The model in a skops file, unless it holds types that are not trusted."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(one.file_size for one in archive.infolist())
    except Exception as error:  # zipfile raises nearly everything on damaged bytes
        raise FileFormatError(f"{path} is no skops file ({in_a_line(error)}); write one with skops.io.dump.") from error
    if size > MODEL_BYTES:
        raise FileFormatError(f"{path} would take {size / 2**30:.1f} GiB, more than any model may.")
    skops = import_extra("skops.io", extra="models", feature="reading a model")
    try:
        unknown = sorted(set(skops.get_untrusted_types(file=path)) - TRUSTED - set(trust))
    except Exception as error:
        raise FileFormatError(f"{path} cannot be read as a skops file: {in_a_line(error)}") from error
    if unknown:
        unknown = [name[:100] for name in unknown]
        shown = ", ".join(unknown[:4]) + (f" and {len(unknown) - 4} more" if unknown[4:] else "")
        raise InputError(
            f"{path} holds types that are not trusted: {shown}. Loading them could run their code: if you made the "
            f"file, or trust who did, add {' '.join(f'--trust {name}' for name in unknown[:4])}."
        )
    try:
        model = skops.load(path, trusted=sorted(TRUSTED | set(trust)))
        for part, width in compiled_parts(model):
            CHECKS[type(part).__name__](part, width)
    except Exception as error:
        raise FileFormatError(f"{path} cannot be loaded by this installation: {in_a_line(error)}") from error
    return model


# --- compiled parts, each with the number of columns of the model that shows rows to it ---


def compiled_parts(model: Any) -> Iterator[tuple[Any, int]]:
    """The compiled parts of a model and of the models inside it, and the fewest columns that a row may have."""
    waiting: list[tuple[Any, Any]] = [(model, None)]
    seen: set[int] = set()
    while waiting:
        thing, width = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if type(thing).__name__ in CHECKS:
            yield thing, width
        if isinstance(thing, (list, tuple, set)):
            waiting += [(one, width) for one in thing]
        elif isinstance(thing, dict):
            waiting += [(one, width) for one in thing.values()]
        elif isinstance(thing, np.ndarray):
            waiting += [(one, width) for one in thing.ravel()] if thing.dtype == object else []
        elif hasattr(thing, "__dict__") and not isinstance(thing, type):
            waiting += [(one, _width_inside(thing, width)) for one in vars(thing).values()]


def _width_inside(model: Any, width: Any) -> Any:
    """The columns of the rows that a model shows to its parts: a member of a forest gets those of the forest."""
    own = vars(model).get("n_features_in_")
    if own is None:
        _require(not type(model).__module__.startswith(MEMBERS), "a forest does not say how many columns it has")
        return width
    if type(own) is not int and not isinstance(own, np.integer):
        raise ValueError(f"a model has {own!r} columns")
    forest = width is not None and type(model).__module__.startswith("sklearn.tree")
    return min(int(own), width) if forest else int(own)


def _require(holds: Any, what: str) -> None:
    if not holds:
        raise ValueError(f"{what}: the file is damaged or forged")


def check_tree(tree: Any, width: int | None) -> None:
    """A tree whose paths go down, from node to later node, and look at columns that a row has."""
    nodes = tree.__getstate__()["nodes"]
    _check_nodes(nodes["left_child"], nodes["right_child"], nodes["left_child"] == -1)
    inner = nodes["feature"][nodes["left_child"] != -1]
    _require(width is not None and tree.n_features == width, "a tree has other columns than its model")
    _require(((inner >= 0) & (inner < tree.n_features)).all(), "a tree looks at a column that no row has")


def check_predictor(tree: Any, width: int | None) -> None:
    """A tree of histogram gradient boosting."""
    nodes, bits = tree.nodes, tree.raw_left_cat_bitsets
    leaf = nodes["is_leaf"] != 0
    _check_nodes(nodes["left"].astype(np.int64), nodes["right"].astype(np.int64), leaf)
    inner = nodes[~leaf]
    below = width is not None and ((inner["feature_idx"] >= 0) & (inner["feature_idx"] < width)).all()
    _require(below, "a tree looks at a column that no row has")
    sorted_out = inner["bitset_idx"][inner["is_categorical"] != 0]
    _require(bits.ndim == 2 and bits.shape[1] == 8 and (sorted_out < len(bits)).all(), "a tree lacks its categories")


def _check_nodes(left: Any, right: Any, leaf: Any) -> None:
    place = np.arange(len(leaf))
    down = (left > place) & (left < len(leaf)) & (right > place) & (right < len(leaf))
    _require(len(leaf) and (down | leaf).all(), "a tree has paths that lead nowhere")


def check_search_tree(tree: Any, width: int | None) -> None:
    """A tree of neighbours: its leaves hold rows that it has, and its lowest nodes are leaves."""
    data, order, nodes, bounds = (np.asarray(part) for part in tree.get_arrays())
    n, places = len(data), np.arange(len(nodes))
    _require(width is None or data.shape[1] == width, "a search tree has other columns than its model")
    _require(len(order) == n and ((order >= 0) & (order < n)).all(), "a search tree names rows that it does not have")
    inside = (nodes["idx_start"] >= 0) & (nodes["idx_start"] <= nodes["idx_end"]) & (nodes["idx_end"] <= n)
    _require(len(nodes) and inside.all(), "a search tree names rows that it does not have")
    _require(
        ((2 * places + 2 < len(nodes)) | (nodes["is_leaf"] != 0)).all(), "a search tree has paths that lead nowhere"
    )
    _require(bounds.shape[1:] == (len(nodes), data.shape[1]), "a search tree lacks the bounds of its nodes")


def check_machine(machine: Any, _: int | None) -> None:
    """A support vector machine: as many coefficients as it has vectors, of each class as many as it says."""
    if not hasattr(machine, "support_vectors_"):
        return
    parts = vars(machine)  # those that are handed to libsvm
    n, counts, own = len(machine.support_), np.asarray(parts["_n_support"]), np.asarray(machine.support_)
    coefficients, intercept = parts["_dual_coef_"], np.asarray(parts["_intercept_"])
    several = type(machine).__name__ in ("SVC", "NuSVC")
    n_classes = len(machine.classes_) if several else 2
    pairs = n_classes * (n_classes - 1) // 2
    _require(counts.ndim == 1 and (counts >= 0).all(), "a machine counts its vectors wrongly")
    _require(not several or (len(counts) == n_classes and counts.sum() == n), "a machine counts its vectors wrongly")
    _require(coefficients.shape == (n_classes - 1, n) and intercept.shape == (pairs,), "a machine lacks coefficients")
    named = own.ndim == 1 and ((own >= 0) & (own < machine.shape_fit_[0])).all()
    _require(named, "a machine names vectors that it was not fitted on")
    if machine.kernel != "precomputed" and not callable(machine.kernel):
        shape = (n, machine.n_features_in_)
        _require(
            machine.support_vectors_.shape == shape and machine.shape_fit_[1] == shape[1], "a machine lacks columns"
        )


#: The parts that follow indices of a file in compiled code, by the name of their type.
CHECKS = {
    "Tree": check_tree, "TreePredictor": check_predictor, "KDTree": check_search_tree, "BallTree": check_search_tree,
    "SVC": check_machine, "NuSVC": check_machine, "SVR": check_machine, "NuSVR": check_machine,
    "OneClassSVM": check_machine,
}  # fmt: skip
