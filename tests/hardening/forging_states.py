"""Damaged and forged checkpoints: the work goes on to the same map, or begins anew, and never ends in an error.

``python -m hardening.forging_states FOLDER FIRST LAST``. Half of the cases are damaged bytes, which must be noticed:
the map is that of a run that was never stopped, to the last bit. In the others, arrays were changed under a digest that
is right; then the map may be another one, but all of it is finite. Memory is compared with that of an honest run.
"""

import copy
import os
import shutil
import warnings
from pathlib import Path

import numpy as np

from hardening.cases import arguments, changed_plain, memory_of, peak_of, run_cases
from hardening.forging import OF_AN_ARRAY
from hardening.garbling import garbled
from prismap.bundle import _checkpoint, read_bundle, write_bundle
from prismap.bundle._checkpoint import Checkpoint
from prismap.embeddings import TSNE, GradientDescent
from prismap.exceptions import InputError, PrismapWarning
from prismap.map._methods import kept_neighbors
from prismap.neighbors import kneighbors


class Killed(Exception):
    """Stands for the end of a process."""


def fit(X, folder=None, killed_at=None):
    """A short t-SNE."""

    def callback(iteration, *_):
        if killed_at is not None and iteration >= killed_at:
            raise Killed

    descent = GradientDescent(tol=0, checkpoint=folder)
    return TSNE(perplexity=5, max_iter=50, random_state=0, callback=callback, descent=descent).fit(X).embedding_


class Descents:
    """The state of a gradient descent, by one of the engines."""

    name = "descent.npz"

    def __init__(self, folder, n_rows):
        rng = np.random.default_rng(n_rows)
        self.X = np.vstack([rng.normal(k, 0.7, size=(n_rows // 3, 4)) for k in (0, 2, 5)])
        self.expected = self.work(None)
        try:
            self.work(folder, killed_at=50)
        except Killed:
            self.raw = (folder / self.name).read_bytes()
        shutil.rmtree(folder)

    def work(self, folder, **options):
        return fit(self.X, folder, **options)


class NeighborLists:
    """Neighbours that were found before the descent."""

    name = "neighbors.npz"

    def __init__(self, folder):
        self.X = np.random.default_rng(1).normal(size=(50, 3))
        self.expected = self.work(folder)
        self.raw = (folder / self.name).read_bytes()
        shutil.rmtree(folder)

    def work(self, folder):
        kept = Checkpoint(folder, "neighbors", "key")
        neighbors = kept_neighbors(kept, (50, 6), lambda: kneighbors(self.X, 6))
        repr(neighbors)
        return np.hstack([neighbors.distances, neighbors.indices])


def forged(raw, folder, rng):
    """A file with a few changes of its arrays or its header, and the right digest."""
    path = folder / "whole.npz"
    path.write_bytes(raw)
    bundle = read_bundle(path)
    arrays, header = dict(bundle.arrays), copy.deepcopy(bundle.header)
    if rng.random() < 0.3:  # a state that could be one
        name = rng.choice([name for name, array in arrays.items() if array.dtype.kind == "f"])
        write_bundle(path, {**arrays, name: arrays[name] * rng.uniform(0.5, 1)}, header)
        return path.read_bytes()
    for _ in range(rng.integers(1, 4)):
        name = sorted(arrays)[rng.integers(len(arrays))]
        arrays[name] = OF_AN_ARRAY[rng.integers(len(OF_AN_ARRAY))](arrays[name], rng)
    if rng.random() < 0.2:
        header["state"] = changed_plain(header["state"], rng)
    if rng.random() < 0.05:
        header = changed_plain(header, rng)
    write_bundle(path, arrays, header)
    return path.read_bytes()


def main(folder, first, last):
    """Run cases in this process."""
    os.fsync = lambda _: None
    folder, kept = Path(folder), Path(folder) / "kept"
    _checkpoint.SECONDS_BETWEEN = 0.0
    works = [Descents(kept, 30), NeighborLists(kept), Descents(kept, 330)]
    _checkpoint.SECONDS_BETWEEN = 1e9
    peaks = [peak_of(lambda work=work: work.work(kept)) for work in works]

    def use(work, damaged):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", PrismapWarning)
            try:
                result = work.work(kept)
            except InputError as error:  # a state of other work: the user decides what becomes of it
                words = str(error)
                return "refused" if "belongs to a fit of other samples" in words and not damaged else words[:200]
        refused = any(issubclass(one.category, PrismapWarning) for one in caught)
        if (damaged or refused) and not np.array_equal(result, work.expected):
            return "another map"
        return ("refused" if refused else "used") if np.isfinite(result).all() else "positions that are not finite"

    def run(case):
        rng = np.random.default_rng([25, case])
        number = 2 + case // 50 % 2 if case % 50 < 3 else case // 2 % 2
        work, damaged = works[number], case % 2 == 0
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir()
        try:
            raw = garbled(work.raw, rng) if damaged else forged(work.raw, folder, rng)
        except (InputError, UnicodeEncodeError):
            return "not written"
        (kept / work.name).write_bytes(raw)
        return use(work, damaged) if case % 11 else memory_of(lambda: use(work, damaged), peaks[number])

    run_cases(run, folder, first, last)


if __name__ == "__main__":
    main(*arguments())
