"""A fitted map as an ONNX graph, so that it runs outside Python. Needs the extra `onnx`."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from prismap._util.optional import import_extra
from prismap._version import __version__
from prismap.exceptions import InputError
from prismap.mappings._vote_map import N_SPREAD_STEPS, N_STEPS, VoteMap
from prismap.metrics._base import NamedMetric

#: Old enough for common runtimes.
OPSET, IR_VERSION = 17, 8


def to_onnx(model, *, dtype="float64"):
    """The ONNX model of a fitted `KernelMap` (kernel "rbf"), `VoteMap` or `InverseMap` on Euclidean distances.

    Input "X" (n, n_features), output "Y" (n, d), both of `dtype`. Float64 agrees with `transform` to rounding;
    "float32" halves the file and agrees to about 1e-5 of the size of the map, but for rows whose votes are near a tie.

    Returns an ``onnx.ModelProto``; save it with ``onnx.save(to_onnx(model), "map.onnx")``.
    """
    onnx = import_extra("onnx", extra="onnx", feature="Export to ONNX")
    if dtype not in ("float32", "float64"):
        raise InputError(f"dtype must be 'float32' or 'float64'; got {dtype!r}.")
    votes = isinstance(model, VoteMap)
    check_is_fitted(model, "scale_" if votes else "coefficients_")
    if not (is_euclidean(model) if votes else getattr(model, "exponents_", None) is not None):
        raise InputError(
            "Only maps with metric='euclidean' (kernels: and kernel='rbf') can be exported: others need their metric."
        )
    nodes, constants = (vote_nodes if votes else kernel_nodes)(onnx.helper.make_node, model)
    graph = graph_of(onnx, model, nodes, constants, np.dtype(dtype))
    opset = [onnx.helper.make_opsetid("", OPSET)]
    exported = onnx.helper.make_model(
        graph, opset_imports=opset, producer_name="prismap", producer_version=__version__, ir_version=IR_VERSION
    )
    onnx.checker.check_model(exported)
    return exported


def is_euclidean(model):
    """Whether a map knows its fitted rows and measures straight distances to them."""
    return isinstance(model.metric_, NamedMetric) and model.metric_.name == "euclidean"


def graph_of(onnx, model, nodes, constants, dtype):
    """Nodes and constants from X to Y; whole numbers stay what they are, all others are of `dtype`."""
    initializers = [
        onnx.numpy_helper.from_array(value if value.dtype == np.int64 else value.astype(dtype), name)
        for name, value in constants.items()
    ]
    kind = onnx.helper.np_dtype_to_tensor_dtype(dtype)
    ends = [
        onnx.helper.make_tensor_value_info(name, kind, ["n", width])
        for name, width in (("X", model.n_features_in_), ("Y", model._n_features_out))
    ]
    return onnx.helper.make_graph(nodes, "prismap", ends[:1], ends[1:], initializers)


def kernel_nodes(make, model):
    """``softmax([c, |c|^2, 1] W) A + center`` with c = x - mean, or exp in place of softmax without normalisation.

    The row-normalised Gaussian kernel is the softmax of its exponents: the graph is as safe far from the data as
    `transform` is.
    """
    weights = model.exponents_.weights
    constants = {
        "mean": model.exponents_.center, "landmarks": weights[:-2], "precision": weights[-2:-1], "offset": weights[-1],
        "coefficients": model.coefficients_, "center": model.center_, "last_axis": np.array([1], dtype=np.int64),
    }  # fmt: skip
    nodes = [
        make("Sub", ["X", "mean"], ["centered"]),
        make("Mul", ["centered", "centered"], ["squared"]),
        make("ReduceSum", ["squared", "last_axis"], ["norm"], keepdims=1),
        make("Mul", ["norm", "precision"], ["spread"]),
        make("MatMul", ["centered", "landmarks"], ["inner"]),
        make("Add", ["inner", "spread"], ["shifted"]),
        make("Add", ["shifted", "offset"], ["exponents"]),
    ]
    if getattr(model, "normalizes", True):
        nodes += [make("Softmax", ["exponents"], ["kernels"], axis=-1)]
    else:
        constants["zero"] = np.zeros(1)
        nodes += [make("Min", ["exponents", "zero"], ["capped"]), make("Exp", ["capped"], ["kernels"])]
    nodes += [make("MatMul", ["kernels", "coefficients"], ["relative"]), make("Add", ["relative", "center"], ["Y"])]
    return nodes, constants


def vote_nodes(make, model):
    """`prismap.mappings._vote_map.vote` step by step: the nearest rows, their weights, the best voter, means from
    there.

    The nearest are found by ``|a|^2 - 2 c^T a``, one matrix product; how near these few are is then computed from
    differences, which do not cancel.
    """
    rows = model.metric_.rows_
    rows = np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64)
    mean = rows.mean(axis=0)
    rows = rows - mean
    axes = {f"axis_{k}": np.array([k], dtype=np.int64) for k in (1, 2, 3)}
    constants = {
        "mean": mean, "rows": rows, "minus_twice": -2 * rows.T, "norms": np.square(rows).sum(axis=1),
        "positions": model.embedding_, "scale": np.array(model.scale_), "one": np.array(1.0), "fall": np.array(-2.0),
        "tiny": np.array(np.finfo(np.float32).tiny), "k": np.array([min(model.n_neighbors, len(rows))], dtype=np.int64),
        "place": np.array([1, 1, model.embedding_.shape[1]], dtype=np.int64), **axes,
    }  # fmt: skip
    nodes = [
        make("Sub", ["X", "mean"], ["centered"]),
        make("MatMul", ["centered", "minus_twice"], ["inner"]),
        make("Add", ["inner", "norms"], ["order"]),
        make("TopK", ["order", "k"], ["nearest", "near"], axis=1, largest=0),
        make("Gather", ["rows", "near"], ["voters"]),
        make("Gather", ["positions", "near"], ["at"]),
        make("Unsqueeze", ["centered", "axis_1"], ["row"]),
        make("Sub", ["voters", "row"], ["apart"]),
        make("Mul", ["apart", "apart"], ["apart2"]),
        make("ReduceSum", ["apart2", "axis_2"], ["D2"], keepdims=0),
        make("ReduceMin", ["D2"], ["least"], axes=[1], keepdims=1),
        make("Sub", ["D2", "least"], ["gap"]),
        make("ReduceMax", ["gap"], ["widest"], axes=[1], keepdims=1),
        make("Max", ["widest", "tiny"], ["range"]),
        make("Div", ["gap", "range"], ["fallen"]),
        make("Mul", ["fallen", "fall"], ["exponents"]),
        make("Exp", ["exponents"], ["weights"]),
        make("Unsqueeze", ["at", "axis_2"], ["candidates"]),
        make("Unsqueeze", ["at", "axis_1"], ["others"]),
        *robust(make, "candidates", "others", "axis_3", "cost_"),
        make("Div", ["cost_r2", "cost_one_r2"], ["share"]),
        make("Unsqueeze", ["weights", "axis_1"], ["weights_1"]),
        make("Mul", ["share", "weights_1"], ["shares"]),
        make("ReduceSum", ["shares", "axis_2"], ["cost"], keepdims=0),
        make("ArgMin", ["cost"], ["best"], axis=1, keepdims=1),
        make("Unsqueeze", ["best", "axis_2"], ["best_1"]),
        make("Expand", ["best_1", "place"], ["best_2"]),
        make("GatherElements", ["at", "best_2"], ["place_0"], axis=1),
    ]
    for step in range(N_STEPS):
        name = f"step_{step}_"
        nodes += [
            *robust(make, "at", f"place_{step}", "axis_2", name),
            make("Mul", [f"{name}one_r2", f"{name}one_r2"], [f"{name}square"]),
            make("Div", ["weights", f"{name}square"], [f"{name}pull"]),
            make("ReduceSum", [f"{name}pull", "axis_1"], [f"{name}sum"], keepdims=1),
            make("Div", [f"{name}pull", f"{name}sum"], [f"{name}shares"]),
            make("Unsqueeze", [f"{name}shares", "axis_2"], [f"{name}shares_1"]),
            make("Mul", [f"{name}shares_1", "at"], [f"{name}parts"]),
            make("ReduceSum", [f"{name}parts", "axis_1"], [f"place_{step + 1}"], keepdims=1),
        ]
    last = f"place_{N_STEPS}"
    if model.spread_ > 0:
        constants["spread"] = np.array(model.spread_)
        nodes += spread_nodes(make, last)
        last = f"spread_{N_SPREAD_STEPS}"
    nodes.append(make("Squeeze", [last, "axis_1"], ["Y"]))
    return nodes, constants


def spread_nodes(make, start):
    """`prismap.mappings._vote_map.spread_out` from the place named `start`, step by step."""
    nodes = [
        *robust(make, "at", start, "axis_2", "agree_"),
        make("Mul", ["agree_one_r2", "agree_one_r2"], ["agree_square"]),
        make("Div", ["weights", "agree_square"], ["agree_pull"]),
        make("ReduceSum", ["agree_pull", "axis_1"], ["agree_sum"], keepdims=1),
        make("Div", ["agree_pull", "agree_sum"], ["agree"]),
        make("Unsqueeze", ["agree", "axis_2"], ["agree_1"]),
        make("Sqrt", ["D2"], ["distances"]),
        *lengths(make, start, "from_"),
        make("Mul", ["agree", "from_size"], ["from_sizes"]),
        make("ReduceSum", ["from_sizes", "axis_1"], ["mean_gap"], keepdims=1),
        make("Mul", ["agree", "distances"], ["agree_distances"]),
        make("ReduceSum", ["agree_distances", "axis_1"], ["mean_distance"], keepdims=1),
        make("Max", ["mean_distance", "tiny"], ["mean_distance_1"]),
        make("Div", ["mean_gap", "mean_distance_1"], ["ratio"]),
        make("Mul", ["ratio", "spread"], ["ratio_1"]),
        make("Mul", ["ratio_1", "distances"], ["wanted"]),
        make("Identity", [start], ["spread_0"]),
    ]
    for step in range(N_SPREAD_STEPS):
        name = f"spread_{step}_"
        nodes += [
            *lengths(make, f"spread_{step}", name),
            make("Max", [f"{name}size", "tiny"], [f"{name}size_1"]),
            make("Div", ["wanted", f"{name}size_1"], [f"{name}stretch"]),
            make("Unsqueeze", [f"{name}stretch", "axis_2"], [f"{name}stretch_1"]),
            make("Mul", [f"{name}stretch_1", f"{name}gap"], [f"{name}arm"]),
            make("Add", ["at", f"{name}arm"], [f"{name}ends"]),
            make("Mul", ["agree_1", f"{name}ends"], [f"{name}parts"]),
            make("ReduceSum", [f"{name}parts", "axis_1"], [f"spread_{step + 1}"], keepdims=1),
        ]
    return nodes


def lengths(make, place, name):
    """The vectors from the voters to a place, and their lengths."""
    return [
        make("Sub", [place, "at"], [f"{name}gap"]),
        make("Mul", [f"{name}gap", f"{name}gap"], [f"{name}gap2"]),
        make("ReduceSum", [f"{name}gap2", "axis_2"], [f"{name}size2"], keepdims=0),
        make("Sqrt", [f"{name}size2"], [f"{name}size"]),
    ]


def robust(make, a, b, axis, name):
    """``r^2 = |a - b|^2 / s^2`` along the last axis, and ``1 + r^2``."""
    return [
        make("Sub", [a, b], [f"{name}gap"]),
        make("Div", [f"{name}gap", "scale"], [f"{name}r"]),
        make("Mul", [f"{name}r", f"{name}r"], [f"{name}r_r"]),
        make("ReduceSum", [f"{name}r_r", axis], [f"{name}r2"], keepdims=0),
        make("Add", [f"{name}r2", "one"], [f"{name}one_r2"]),
    ]
