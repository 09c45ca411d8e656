"""Trained models from files: skops without trust in what is unknown, ONNX, and pickles that are vouched for."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from prismap._optional import import_extra
from prismap.exceptions import FileFormatError, InputError

#: Bytes that a model may take once it is unpacked.
MODEL_BYTES = 2**32
PICKLES = (".joblib", ".pkl", ".pickle")
#: Types beyond those that skops trusts by itself. A file says what it holds, never what is to be trusted.
TRUSTED = frozenset({
    "numpy.dtype",
    "prismap.learners.gmlvq.GMLVQ",
    "prismap.learners.lgmlvq.LGMLVQ",
    "prismap.learners.rslvq.RSLVQ",
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


def load_model_file(path: Path, trust: list[str], *, pickles: bool = False) -> Any:
    """The model in a file, by its ending."""
    if not path.is_file():
        raise InputError(f"there is no file {path}: name a model written by skops.io.dump.")
    if path.suffix.lower() in PICKLES:
        return load_pickle(path, pickles)
    if path.suffix.lower() == ".onnx":
        from prismap.inspection.onnx_model import OnnxModel

        return OnnxModel.from_file(path)
    return load_trusted(path, trust)


def load_pickle(path: Path, trusted: bool) -> Any:
    """The model in a pickle, which can do anything that its reader may do."""
    if not trusted:
        raise InputError(
            f"{path} is a pickle: loading it runs whatever code it holds, with your rights. If you made the file, or "
            "trust who did, add --trust-pickle; safer is to write the model with skops.io.dump."
        )
    import joblib

    try:
        return joblib.load(path)
    except Exception as error:
        raise FileFormatError(f"{path} cannot be loaded by this installation: {error}") from error


def load_trusted(path: Path, trust: list[str]) -> Any:
    """The model in a skops file, unless it holds types that nobody has vouched for."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(one.file_size for one in archive.infolist())
    except (zipfile.BadZipFile, OSError) as error:
        raise FileFormatError(f"{path} is no skops file ({error}); write one with skops.io.dump.") from error
    if size > MODEL_BYTES:
        raise FileFormatError(f"{path} would take {size / 2**30:.1f} GiB, more than any model may.")
    skops = import_extra("skops.io", extra="models", feature="reading a model")
    try:
        unknown = sorted(set(skops.get_untrusted_types(file=path)) - TRUSTED - set(trust))
    except Exception as error:
        raise FileFormatError(f"{path} cannot be read as a skops file: {error}") from error
    if unknown:
        shown = ", ".join(unknown[:4]) + (f" and {len(unknown) - 4} more" if unknown[4:] else "")
        raise InputError(
            f"{path} holds types that are not trusted: {shown}. Loading them could run their code: if you made the "
            f"file, or trust who did, add {' '.join(f'--trust {name}' for name in unknown[:4])}."
        )
    try:
        return skops.load(path, trusted=sorted(TRUSTED | set(trust)))
    except Exception as error:
        raise FileFormatError(f"{path} cannot be loaded by this installation: {error}") from error
