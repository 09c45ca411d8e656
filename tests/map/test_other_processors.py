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


def choices_under(kernel):
    """Share, posterior, its width and mapping of three draws of a table, and the name of the kernels."""
    env = os.environ if kernel is None else {**os.environ, "OPENBLAS_CORETYPE": kernel}
    done = subprocess.run([sys.executable, "-c", CHOOSE], env=env, check=True, capture_output=True, text=True)
    *choices, name = done.stdout.splitlines()
    return choices, name


def test_clear_choices_are_the_same_under_other_kernels():
    """Of a table whose candidates are well apart or equal.

    Others are judged on quick maps, which carry a difference in the last digit on to whole rows: there another
    processor may still take another share.
    """
    expected, _ = choices_under(None)
    assert len(expected) == 3
    seen = 0
    for kernel in KERNELS:
        choices, name = choices_under(kernel)
        if KERNELS[kernel] in name:
            assert choices == expected, kernel
            seen += 1
    if not seen:
        pytest.skip("this machine's linear algebra has no kernels of other processors")
