"""A fitted map as an ONNX graph of a handful of nodes, so that it runs outside Python. Needs the extra `onnx`."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from prismap._optional import import_extra
from prismap._version import __version__
from prismap.exceptions import InputError

#: Old enough for common runtimes.
OPSET, IR_VERSION = 17, 8


def to_onnx(model, *, dtype="float64"):
    """The ONNX model of a fitted `KernelMap` (kernel "rbf", Euclidean) or `InverseMap`.

    Input "X" (n, n_features), output "Y" (n, d), both of `dtype`. The row-normalised Gaussian kernel is the softmax of
    its exponents, so the graph is as safe far from the data as `transform` is. Float64 agrees with it to rounding;
    "float32" halves the file and agrees to about 1e-5 of the size of the map.

    Returns an ``onnx.ModelProto``; save it with ``onnx.save(to_onnx(model), "map.onnx")``.
    """
    onnx = import_extra("onnx", extra="onnx", feature="Export to ONNX")
    if dtype not in ("float32", "float64"):
        raise InputError(f"dtype must be 'float32' or 'float64'; got {dtype!r}.")
    check_is_fitted(model, "coefficients_")
    if getattr(model, "exponents_", None) is None:
        raise InputError(
            "Only maps with kernel='rbf' and metric='euclidean' can be exported: others need their metric."
        )
    graph = _graph(onnx, model, np.dtype(dtype))
    opset = [onnx.helper.make_opsetid("", OPSET)]
    exported = onnx.helper.make_model(
        graph, opset_imports=opset, producer_name="prismap", producer_version=__version__, ir_version=IR_VERSION
    )
    onnx.checker.check_model(exported)
    return exported


def _graph(onnx, model, dtype):
    """``softmax([c, |c|^2, 1] W) A + center`` with c = x - mean, or exp in place of softmax without normalisation."""
    make = onnx.helper.make_node
    weights = model.exponents_.weights
    constants = {
        "mean": model.exponents_.center, "landmarks": weights[:-2], "precision": weights[-2:-1], "offset": weights[-1],
        "coefficients": model.coefficients_, "center": model.center_,
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
    if getattr(model, "normalize", True):
        nodes += [make("Softmax", ["exponents"], ["kernels"], axis=-1)]
    else:
        constants["zero"] = np.zeros(1)
        nodes += [make("Min", ["exponents", "zero"], ["capped"]), make("Exp", ["capped"], ["kernels"])]
    nodes += [make("MatMul", ["kernels", "coefficients"], ["relative"]), make("Add", ["relative", "center"], ["Y"])]
    initializers = [onnx.numpy_helper.from_array(value.astype(dtype), name) for name, value in constants.items()]
    initializers.append(onnx.numpy_helper.from_array(np.array([1], dtype=np.int64), "last_axis"))
    kind = onnx.helper.np_dtype_to_tensor_dtype(dtype)
    ends = [
        onnx.helper.make_tensor_value_info(name, kind, ["n", width])
        for name, width in (("X", model.n_features_in_), ("Y", model.coefficients_.shape[1]))
    ]
    return onnx.helper.make_graph(nodes, "prismap", ends[:1], ends[1:], initializers)
