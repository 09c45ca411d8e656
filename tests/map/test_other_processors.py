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
from prismap import PrisMap
model = PrisMap.load(sys.argv[1])
np.save(sys.argv[3], model.transform(np.load(sys.argv[2])))
print({entry.get("architecture") for entry in threadpoolctl.threadpool_info() if entry["user_api"] == "blas"})
"""


def architectures():
    return {entry.get("architecture") for entry in threadpoolctl.threadpool_info() if entry["user_api"] == "blas"}


def test_the_variable_took_effect():
    wanted = os.environ.get("OPENBLAS_CORETYPE")
    if wanted is None:
        assert architectures()
    else:
        assert architectures() == {KERNELS.get(wanted, wanted)}


@pytest.fixture(scope="module", params=["lssvm", "parzen", "vote"])
def saved(request, tmp_path_factory):
    X, y = load_digits(return_X_y=True)
    X = X[:, X[:500].std(axis=0) > 0]
    options = {"mapping": "vote"} if request.param == "vote" else {"metric": FisherMetric(posterior=request.param)}
    model = PrisMap(TSNE(n_iter=50), random_state=0, **options).fit(X[:500], y[:500])
    folder = tmp_path_factory.mktemp(request.param)
    model.set_params(method="tsne").save(folder / "map.prismap")
    np.save(folder / "new.npy", X[500:1500])
    return folder, model.transform(X[500:1500]), np.ptp(model.embedding_)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_saved_map_places_rows_alike_under_other_kernels(saved, kernel):
    folder, expected, spread = saved
    arguments = [str(folder / name) for name in ("map.prismap", "new.npy", f"{kernel}.npy")]
    done = subprocess.run(
        [sys.executable, "-c", PLACE, *arguments], env={**os.environ, "OPENBLAS_CORETYPE": kernel}, check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    if KERNELS[kernel] not in done.stdout:
        pytest.skip(f"this machine's linear algebra has no kernels of {kernel}: {done.stdout.strip()}")
    np.testing.assert_allclose(np.load(arguments[-1]), expected, rtol=0, atol=BOUND * spread)
