"""A map made under one processor's matrix kernels is read under another's and places rows alike.

OpenBLAS takes the kernels of another x86 processor where ``OPENBLAS_CORETYPE`` names one. ``make portable`` runs the
tests that depend on rounding under each of them.
"""

import os
import subprocess
import sys

import numpy as np
import pytest
import threadpoolctl
from sklearn.datasets import load_digits

from prismap import PrisMap
from prismap.embeddings import TSNE
from prismap.metrics import FisherMetric

#: Names of the variable, and what OpenBLAS then calls itself.
KERNELS = {"Haswell": "Haswell", "Sandybridge": "Sandybridge", "Prescott": "Katmai"}
#: What the documentation promises, as a share of the map's spread.
BOUND = 1e-5
PLACE = """
import sys, numpy as np, threadpoolctl
from pathlib import Path
from prismap import PrisMap
folder, kernel = Path(sys.argv[1]), sys.argv[2]
for path in folder.glob("*.prismap"):
    np.save(folder / f"{path.stem}-{kernel}.npy", PrisMap.load(path).transform(np.load(folder / "new.npy")))
print({entry.get("architecture") for entry in threadpoolctl.threadpool_info() if entry["user_api"] == "blas"})
"""
CHOOSE = """
import sys, numpy as np, threadpoolctl
from sklearn.datasets import load_iris
from prismap import PrisMap
X, y = load_iris(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
for seed in range(3):
    rows = np.random.default_rng(seed).permutation(len(X))[:140]
    made = PrisMap(supervision="auto", mapping="auto", random_state=seed).fit(X[rows], y[rows])
    posterior = getattr(made.map_.metric, "posterior_", None)
    width = getattr(getattr(posterior, "machine", None), "gamma", 0.0)
    print(made.supervision_, getattr(posterior, "name", None), f"{width:.6g}", type(made.map_.mapping).__name__)
print({entry.get("architecture") for entry in threadpoolctl.threadpool_info() if entry["user_api"] == "blas"})
"""
CHOOSE_AMONG_EQUALS = """
import threadpoolctl
from sklearn.datasets import make_hastie_10_2
from prismap.map._choose import choose
from prismap.metrics import FisherMetric
from prismap.metrics._geometry import data_metric
from prismap.target import make_target
for seed in range(2):
    X, y = make_hastie_10_2(300, random_state=seed)
    data = data_metric("vectors").over(X[:, :6])
    found = choose(FisherMetric(random_state=0), data, make_target((y > 0).astype(int), 300), "auto", 0)
    scores = [f"{one['map_score']:.4f}" for one in found.curve if one["map_score"] is not None]
    print(found.supervision, getattr(getattr(found.metric, "posterior_", None), "name", None), *scores)
print({entry.get("architecture") for entry in threadpoolctl.threadpool_info() if entry["user_api"] == "blas"})
"""
#: Parts of a map that are placed in different ways.
CHOICES = {
    "lssvm": {"metric": FisherMetric(posterior="lssvm")},
    "parzen": {"metric": FisherMetric(posterior="parzen")},
    "vote": {"mapping": "vote"},
}


def architectures():
    return {entry.get("architecture") for entry in threadpoolctl.threadpool_info() if entry["user_api"] == "blas"}


def test_the_variable_took_effect():
    wanted = os.environ.get("OPENBLAS_CORETYPE")
    if wanted is None:
        assert architectures()
    else:
        assert architectures() == {KERNELS.get(wanted, wanted)}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A folder of maps, where each of them puts new rows here, and its spread."""
    X, y = load_digits(return_X_y=True)
    X = X[:, X[:500].std(axis=0) > 0]
    folder, expected = tmp_path_factory.mktemp("maps"), {}
    np.save(folder / "new.npy", X[500:800])
    for name, options in CHOICES.items():
        model = PrisMap(TSNE(max_iter=50), random_state=0, supervision=0.8, **options).fit(X[:500], y[:500])
        model.set_params(method="tsne").save(folder / f"{name}.prismap")
        expected[name] = model.transform(X[500:800]), np.ptp(model.embedding_)
    return folder, expected


@pytest.mark.parametrize("kernel", KERNELS)
def test_saved_maps_place_rows_alike_under_other_kernels(saved, kernel):
    folder, expected = saved
    done = subprocess.run(
        [sys.executable, "-c", PLACE, str(folder), kernel], env={**os.environ, "OPENBLAS_CORETYPE": kernel}, check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    if KERNELS[kernel] not in done.stdout:
        pytest.skip(f"this machine's linear algebra has no kernels of {kernel}: {done.stdout.strip()}")
    for name, (positions, spread) in expected.items():
        placed = np.load(folder / f"{name}-{kernel}.npy")
        np.testing.assert_allclose(placed, positions, rtol=0, atol=BOUND * spread, err_msg=name)


def choices_under(kernel, script=CHOOSE):
    """What a script prints that chooses, a line each, and the name of the kernels."""
    env = os.environ if kernel is None else {**os.environ, "OPENBLAS_CORETYPE": kernel}
    done = subprocess.run([sys.executable, "-c", script], env=env, check=True, capture_output=True, text=True)
    *choices, name = done.stdout.splitlines()
    return choices, name


@pytest.mark.parametrize(("script", "n_choices"), [(CHOOSE, 3), (CHOOSE_AMONG_EQUALS, 2)])
def test_choices_are_the_same_under_other_kernels(script, n_choices):
    """Share and posterior, with the scores of quick maps; of a clear table the mapping as well.

    Among near equals the mapping may still be another one: it is judged on the map itself, whose hundreds of steps
    carry a difference in the last digit on to whole rows.
    """
    expected, _ = choices_under(None, script)
    assert len(expected) == n_choices
    seen = 0
    for kernel in KERNELS:
        choices, name = choices_under(kernel, script)
        if KERNELS[kernel] in name:
            assert choices == expected, kernel
            seen += 1
    if not seen:
        pytest.skip("this machine's linear algebra has no kernels of other processors")
