"""Damaged and forged skops files: used, or refused in words.

``python -m hardening.garbling_skops FOLDER FIRST LAST`` uses the cases FIRST to LAST - 1.
"""

import io
import json
import zipfile
from pathlib import Path

import numpy as np

from hardening.cases import arguments, changed_plain, run_cases
from hardening.forging import NUMBERS, OF_AN_ARRAY
from hardening.forked import forked
from hardening.garbling import garbled
from prismap.cli import view
from prismap.cli.models import load_trusted
from prismap.tables import Table


def whole_models():
    """Models with compiled parts, and others, as bytes."""
    import skops.io as sio
    from sklearn import ensemble, linear_model, neighbors, pipeline, preprocessing, svm, tree

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    models = (
        tree.DecisionTreeClassifier(), ensemble.RandomForestClassifier(2, random_state=0),
        ensemble.HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5), svm.SVC(), svm.SVR(),
        ensemble.GradientBoostingClassifier(n_estimators=2),
        neighbors.KNeighborsClassifier(algorithm="kd_tree", leaf_size=5),
        pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression()),
    )  # fmt: skip
    return [sio.dumps(model.fit(X, y)) for model in models]


def forged(data, rng):
    """An archive without a fault, one part of which is another."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    arrays = [name for name in parts if name.endswith(".npy")]
    if arrays and rng.random() < 0.8:
        name = arrays[rng.integers(len(arrays))]
        parts[name] = forged_array(parts[name], rng)
    else:
        name = "schema.json"
        parts[name] = json.dumps(changed_plain(json.loads(parts[name]), rng)).encode()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


def forged_array(data, rng):
    """An array with other values: of a record, such as the nodes of a tree, one field."""
    array = np.load(io.BytesIO(data), allow_pickle=False)
    if array.dtype.names and array.size:
        field = array.dtype.names[rng.integers(len(array.dtype.names))]
        with np.errstate(all="ignore"):
            value = np.asarray(NUMBERS[rng.integers(len(NUMBERS))]).astype(array.dtype[field])
        array = array.copy()
        array[field][rng.integers(len(array), size=2)] = value
    else:
        array = OF_AN_ARRAY[rng.integers(len(OF_AN_ARRAY))](array, rng)
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def ask(model, rows):
    """Answers of a model, or errors of its own."""
    for name in ("predict", "predict_proba", "decision_function"):
        try:
            getattr(model, name)(rows)
        except MemoryError:
            raise
        except Exception:  # the model's own, which the view words
            continue
    return "used"


def main(folder, first, last):
    """Run cases in this process and in forks of it."""
    models, path = whole_models(), Path(folder) / "m.skops"
    rows = np.random.default_rng(1).normal(size=(20, 3))
    table = Table({f"c{j}": rows[:, j] for j in range(3)}, 20)
    view.SECONDS = 10.0

    def run(case):
        rng = np.random.default_rng([23, case])
        data = models[case % len(models)]
        try:
            path.write_bytes(garbled(data, rng) if rng.random() < 0.2 else forged(data, rng))
        except (TypeError, ValueError, RecursionError, OverflowError):
            return "not written"
        return forked(lambda: ask(load_trusted(path, []), rows), lambda: view.rehearse(path, [], table) or "used")

    run_cases(run, folder, first, last)


if __name__ == "__main__":
    main(*arguments())
