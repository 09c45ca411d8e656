"""Damaged and forged ONNX files: used, or refused in words. ``python -m hardening.garbling_onnx FOLDER FIRST LAST``."""

from pathlib import Path

import numpy as np

from hardening.cases import arguments, run_cases
from hardening.forging import OF_AN_ARRAY
from hardening.forked import forked
from hardening.garbling import garbled
from prismap.cli import view
from prismap.inspection import _onnx_model as onnx_model
from prismap.tables import Table


def whole_network():
    """A small network: probabilities of two classes."""
    import onnx
    from onnx import helper

    rng, floats = np.random.default_rng(0), onnx.TensorProto.FLOAT
    arrays = {
        "W0": rng.normal(size=(3, 5)),
        "b0": rng.normal(size=5),
        "W1": rng.normal(size=(5, 2)),
        "b1": rng.normal(size=2),
    }
    nodes = [
        helper.make_node("Gemm", ["x", "W0", "b0"], ["h"]), helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Gemm", ["r", "W1", "b1"], ["z"]), helper.make_node("Softmax", ["z"], ["out"], axis=1),
    ]  # fmt: skip
    graph = helper.make_graph(
        nodes, "network", [helper.make_tensor_value_info("x", floats, [None, 3])],
        [helper.make_tensor_value_info("out", floats, [None, 2])],
        [onnx.numpy_helper.from_array(array.astype(np.float32), name) for name, array in arrays.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=9)


def whole_trees():
    """Two trees of the operators for classical models."""
    import onnx
    from onnx import helper

    floats, int64, about = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, helper.make_tensor_value_info
    node = helper.make_node(
        "TreeEnsembleClassifier", ["x"], ["label", "out"], domain="ai.onnx.ml", classlabels_int64s=[0, 1],
        nodes_treeids=[0, 0, 0, 1, 1, 1], nodes_nodeids=[0, 1, 2, 0, 1, 2], nodes_featureids=[0, 0, 0, 2, 0, 0],
        nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"] * 2, nodes_values=[0.1, 0.0, 0.0, -0.2, 0.0, 0.0],
        nodes_truenodeids=[1, 0, 0, 1, 0, 0], nodes_falsenodeids=[2, 0, 0, 2, 0, 0], class_treeids=[0, 0, 1, 1],
        class_nodeids=[1, 2, 1, 2], class_ids=[0, 1, 0, 1], class_weights=[0.5, 0.5, 0.5, 0.5],
    )  # fmt: skip
    graph = helper.make_graph(
        [node],
        "trees",
        [about("x", floats, [None, 3])],
        [about("label", int64, [None]), about("out", floats, [None, 2])],
    )
    domains = [helper.make_opsetid("", 13), helper.make_opsetid("ai.onnx.ml", 1)]
    return helper.make_model(graph, opset_imports=domains, ir_version=9)


def forged(model, rng):
    """A graph with another number: in an array, or among the attributes of a node."""
    import onnx

    made = onnx.ModelProto()
    made.CopyFrom(model)
    if made.graph.initializer:
        place = rng.integers(len(made.graph.initializer))
        tensor = made.graph.initializer[place]
        array = OF_AN_ARRAY[rng.integers(len(OF_AN_ARRAY))](onnx.numpy_helper.to_array(tensor), rng)
        tensor.CopyFrom(onnx.numpy_helper.from_array(np.asarray(array, dtype=np.float32), tensor.name))
    else:
        (node,) = made.graph.node
        lists = [one for one in node.attribute if len(one.ints)]
        ints = lists[rng.integers(len(lists))].ints
        ints[rng.integers(len(ints))] = int(rng.choice((0, 1, -1, 3, 6, 2**31, 2**62, -(2**62))))
    return made.SerializeToString()


def main(folder, first, last):
    """Run cases in this process and in forks of it."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    models, path = (whole_network(), whole_trees()), Path(folder) / "m.onnx"
    rows = np.random.default_rng(1).normal(size=(20, 3))
    table = Table({f"c{j}": rows[:, j] for j in range(3)}, 20)
    view.SECONDS, onnx_model.SECONDS = 10.0, 5.0

    def work():
        model = onnx_model.OnnxModel.from_file(path)
        model.predict(rows)
        return "used"

    def run(case):
        rng = np.random.default_rng([24, case])
        model = models[case % len(models)]
        path.write_bytes(forged(model, rng) if rng.random() < 0.5 else garbled(model.SerializeToString(), rng))
        return forked(work, lambda: view.rehearse(path, [], table) or "used")

    run_cases(run, folder, first, last)


if __name__ == "__main__":
    main(*arguments())
