"""The methods of the league, each in a process of its own: `PYTHON league_methods.py NAME IN OUT`.

Python is ours or, for the packages of others, that of `--peers`; both know prismap by PYTHONPATH, because the methods
are those of `prismap compare`. IN has the jobs as arrays (`X0`, `y0`, `new0`, `X1`, ...), OUT gets the positions of the
fitted rows (`Y0`) and, if the method places new rows, of those (`Z0`), the seconds of the processor and the megabytes
that the process had at most (`seconds0`, `memory0`), or the reason why there is no map (`failed0`). Where a job is to
be judged, OUT also gets what `prismap.judge` says of the method on its fitted rows (`judged0`, as JSON).
"""

from __future__ import annotations

import json
import resource
import sys
import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from prismap.cli import methods

#: How new rows are placed, and the only method that is told which rows belong together.
OWN, READING, NONE = "own", "own reading", "has none"
UNITS_TOLD = "prismap, units told"


class Job(NamedTuple):
    """Rows to be mapped with their classes, new rows, which fitted rows belong together, and whether to judge."""

    X: np.ndarray
    y: np.ndarray
    new: np.ndarray
    units: np.ndarray | None = None
    judged: bool | None = None


class Method(NamedTuple):
    """How a map is made; whether it is given labels; how new rows are placed; whether others' packages are needed.

    `make` gives positions and a function that places other rows, or None; `maker` what `prismap.judge` is given.
    """

    make: Callable[[Job], tuple]
    labels: bool = False
    placing: str = OWN
    peers: bool = False
    maker: Callable[[], object] | None = None


# --- prismap ----------------------------------------------------------------------------------------------------------


def fitted(model, job):
    """A `PrisMap` of a job."""
    fit = {} if job.units is None else {"groups": job.units}
    model.fit(job.X, job.y, **fit)
    return model.embedding_, model.transform


def prismap(**params):
    """As it comes, or with parameters."""

    def maker():
        from prismap import PrisMap

        return PrisMap(random_state=0, **params)

    return Method(lambda job: fitted(maker(), job), labels=True, maker=maker)


def published():
    """Fisher t-SNE with a Parzen posterior that saw the rows it judges, and kernels that take new rows along."""
    from prismap.metrics import FisherMetric

    metric = FisherMetric("class", posterior="parzen", cross_fit=False)
    return prismap(metric=metric, supervision=1, mapping="fisher").maker()


# --- methods of `prismap compare` -------------------------------------------------------------------------------------


def offered(name, placing=OWN):
    """A method by its name in `prismap compare`."""
    how = methods.METHODS[name]

    def maker():
        return how.make(0)

    def make(job):
        from prismap.judging._makers import EstimatorMethod

        np.random.seed(0)  # noqa: NPY002  TriMap has no seed of its own
        method = EstimatorMethod(maker(), supervised=how.supervised)
        Y, project = method.make(job.X, job.y if how.supervised else None)
        return Y, None if placing == NONE else project

    return Method(make, how.supervised, placing, bool(how.modules), maker)


#: Those of the pilot first, so that a table of them is complete early.
METHODS = {
    "no map": Method(lambda job: (job.X, np.asarray)), "prismap": prismap(), "PCA": offered("pca"),
    "t-SNE": offered("tsne"), "UMAP": offered("umap"), "supervised UMAP": offered("supervised-umap"),
    "PaCMAP": offered("pacmap"), "RF-PHATE": offered("rf-phate", READING), "prismap, max": prismap(supervision="max"),
    "prismap, as published": Method(lambda job: fitted(published(), job), labels=True, maker=published),
    "LDA": offered("lda"), "PLS": offered("pls"), "NCA": offered("nca"), "network (own reading)": offered("network"),
    "LocalMAP": offered("localmap"), "TriMap": offered("trimap", NONE), "PHATE": offered("phate"),
    "RF-t-SNE (own reading)": offered("rf-tsne", READING), "CEBRA": offered("cebra"),
    "InfoTSNE (TorchDR)": offered("infotsne"), "Neg-t-SNE (contrastive-ne)": offered("negtsne", NONE),
    UNITS_TOLD: prismap(),
}  # fmt: skip


# --- running them -----------------------------------------------------------------------------------------------------


def results_of(method, jobs):
    """What OUT gets, after a small map that nothing is measured of: some packages compile when they are first used."""
    rng = np.random.default_rng(0)
    attempt(method, Job(rng.normal(size=(60, 4)), np.arange(60) % 3, rng.normal(size=(5, 4))))
    out = {}
    for k, job in enumerate(jobs):
        start = time.process_time()
        made = attempt(method, job)
        out[f"seconds{k}"] = time.process_time() - start
        out[f"memory{k}"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        out |= {f"{name}{k}": value for name, value in made.items()}
        if job.judged and "Y" in made:
            out[f"judged{k}"] = json.dumps(said(method, job))
    return out


def attempt(method, job):
    """Positions, or why there are none; a map may be made and place no new rows."""
    found = {}
    try:
        Y, place = method.make(job)
        found["Y"] = finite(Y)
        if place is not None:
            found["Z"] = finite(place(job.new))
    except Exception as error:  # a method of others may fail in any way, which is an answer
        words = f"{type(error).__name__}: {str(error).strip()[:120]}"
        found["failed"] = f"placing new rows: {words}" if "Y" in found else words
    return found


def finite(rows):
    """Positions that can be judged."""
    if not np.isfinite(rows).all():
        raise ValueError("positions that are not finite")
    return np.asarray(rows)


def said(method, job):
    """What `judge` says of a method on its fitted rows: its error for new rows, and the answers on it."""
    from prismap import judge

    try:
        report = judge(method.maker(), job.X, job.y, supervised=method.labels, budget="quick")
    except Exception as error:  # a method that made this map may fail on fewer rows
        return {"failed": f"{type(error).__name__}: {str(error).strip()[:120]}"}
    known = {"shows": report.target_shows, "exaggerates": report.overstates}
    if report.scores:
        known |= {"stated": 100 * float(report.scores[0].value), "measure": report.scores[0].name}
    return known


def jobs_in(path):
    """The jobs of a file."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {key: file[key] for key in file.files}
    k = 0
    while f"X{k}" in arrays:
        yield Job(*(arrays.get(f"{name}{k}") for name in Job._fields))
        k += 1


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    name, source, destination = sys.argv[1:]
    np.savez(destination, **results_of(METHODS[name], list(jobs_in(source))))
