"""Whole fits beside other tools: CPU seconds, ten nearest neighbours of held-out rows, and the peak of memory.

Every map in a process of its own, one after the other: rows of mnist on 50 components, and its first 5,000 test rows
placed on the map.
"""

from __future__ import annotations

import warnings

import numpy as np
import openTSNE
from experiments.common import run_peer

from benchmarks.goals import FITS
from benchmarks.harness import clocked, on_its_own, peak_gb
from benchmarks.maps import mnist
from prismap import PrisMap
from prismap.quality import knn_error

N_TEST = 5_000
#: Tools of the other environment: how each makes its map and places rows on it. The code is compiled before the clock.
PEERS = {
    "PaCMAP": ("pacmap", "pacmap.PaCMAP(random_state=0)", "m.fit(X)", "m.transform(X_test, basis=X)"),
    "UMAP": ("umap", "umap.UMAP(random_state=0, n_jobs=1)", "m.fit(X)", "m.transform(X_test)"),
    "supervised UMAP": ("umap", "umap.UMAP(random_state=0, n_jobs=1)", "m.fit(X, y)", "m.transform(X_test)"),
}
CODE = """
import resource, {module}
def seconds():
    return sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
whole = X, y
X, y = X[:500], y[:500]
m = {make}
{fit}
X, y = whole
before = seconds()
m = {make}
{fit}
used = seconds() - before
with open("/proc/self/status") as lines:
    peak = next(int(line.split()[1]) * 1024 / 1e9 for line in lines if line.startswith("VmHWM:"))
out = {{"Y": np.asarray(m.embedding_), "Z": np.asarray({place}), "seconds": used, "peak": peak}}
"""


def own_map(who, X, y, X_test, y_test):
    """A map by prismap or openTSNE: one line."""
    warnings.simplefilter("ignore")
    if who == "openTSNE":
        model, seconds = clocked(lambda: openTSNE.TSNE(random_state=0, n_jobs=1).fit(X))
    else:
        model, seconds = clocked(lambda: PrisMap(fit_rows=len(X), random_state=0).fit(X, y))
    Y, peak = model if who == "openTSNE" else model.embedding_, peak_gb()
    return line(who, seconds, peak, np.asarray(Y), y, np.asarray(model.transform(X_test)), y_test)


def peer_map(who, python, X, y, X_test, y_test):
    """A map by a tool of the other environment: one line."""
    module, make, fit, place = PEERS[who]
    out = run_peer(python, CODE.format(module=module, make=make, fit=fit, place=place), X=X, y=y, X_test=X_test)
    return line(who, float(out["seconds"]), float(out["peak"]), out["Y"], y, out["Z"], y_test)


def line(who, seconds, peak, Y, y, Z, y_test):
    """One row of the table: rows placed at Z are named by their ten nearest ones at positions Y."""
    error = float(knn_error(Z, y_test, Y_fit=Y, y_fit=y, n_neighbors=10))
    return {
        "map": who, "rows": len(y), "fit, CPU s": round(seconds, 2), "10-NN, held out": f"{100 * (1 - error):.1f}",
        "peak GB": f"{peak:.2f}",
    }  # fmt: skip


def fits(n_rows):
    """The part of one size: all tools, and their CPU seconds over prismap's."""

    def part(options):
        X, y, X_test, y_test = mnist(options.data)
        rows = X[:n_rows], y[:n_rows], X_test[:N_TEST], y_test[:N_TEST]
        ours = None
        for who in ("prismap", "openTSNE", *(PEERS if options.peers else ())):
            made = peer_map(who, options.peers, *rows) if who in PEERS else on_its_own(own_map, who, *rows)
            ours = made["fit, CPU s"] if ours is None else ours
            yield {**made, "x prismap": f"{made['fit, CPU s'] / ours:.2f}"}

    return part


PARTS = {f"fits-of-{n_rows}": fits(n_rows) for n_rows in FITS}
