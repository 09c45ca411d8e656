"""Damaged and forged caches of compared objects: values are right, or evaluated again.

``python -m hardening.forging_caches FOLDER FIRST LAST``. Two thirds of the cases are damaged bytes: every value must be
the one that was stored, or unknown. In the others, records were changed under a digest that is right.
"""

import os
import shutil
import warnings
from pathlib import Path

import numpy as np

from hardening.cases import arguments, memory_of, run_cases
from hardening.forging import NUMBERS
from hardening.garbling import garbled
from prismap.bundle._records import Records
from prismap.comparisons import Objects
from prismap.comparisons._store import KIND, PAIR
from prismap.exceptions import PrismapWarning

THINGS = [float(k * k % 31) for k in range(25)]


def gap(a, b):
    """A dissimilarity of numbers."""
    return abs(a - b)


def evaluated(cache, memory):
    """All values between the objects, by one program."""
    evaluator = Objects(gap, "dissimilarity", cache=cache, memory=memory, n_jobs=1).over(THINGS)
    try:
        return np.vstack([evaluator.block(np.arange(k, k + 5)) for k in range(0, len(THINGS), 5)])
    finally:
        evaluator.close()


def forged(path, rng):
    """The same file with changed pairs or values, and digests that are right."""
    records = Records(path, kind=KIND, key=path.parent.name)
    raw = path.read_bytes()
    parts = [np.frombuffer(raw[start : start + length], PAIR).copy() for start, length in records.spans]
    part = parts[rng.integers(len(parts))]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        name = ("pair", "value")[rng.integers(2)]
        part[name][rng.integers(len(part))] = np.asarray(NUMBERS[rng.integers(len(NUMBERS))]).astype(PAIR[name])
    if rng.random() < 0.2:
        parts = [parts[k] for k in rng.permutation(len(parts))] * int(rng.integers(0, 3))
    path.unlink()
    records = Records(path, kind=KIND, key=path.parent.name)
    for part in parts:
        content = part.tobytes()
        records.append(content[: -int(rng.integers(1, 16))] if rng.random() < 0.1 else content)
    records.close()


def main(folder, first, last):
    """Run cases in this process."""
    os.fsync = lambda _: None
    folder = Path(folder)
    expected, wholes = None, []
    for k, memory in enumerate((10**6, 0, 2000)):
        whole = folder / f"whole{k}"
        shutil.rmtree(whole, ignore_errors=True)
        expected = evaluated(whole, memory)
        wholes.append((whole, memory))
    cache = folder / "cache"

    def use(memory, damaged):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", PrismapWarning)
            values = evaluated(cache, memory)
        if damaged and not np.array_equal(values, expected):
            return "another map"
        if not np.isfinite(values).all():
            return "values that are not finite"
        return "refused" if any(issubclass(one.category, PrismapWarning) for one in caught) else "used"

    def run(case):
        rng = np.random.default_rng([26, case])
        whole, memory = wholes[case % len(wholes)]
        shutil.rmtree(cache, ignore_errors=True)
        shutil.copytree(whole, cache)
        files = sorted(path for path in cache.rglob("*.pairs"))
        path = files[rng.integers(len(files))]
        damaged = rng.random() < 2 / 3
        if damaged:
            path.write_bytes(garbled(path.read_bytes(), rng))
        else:
            forged(path, rng)
        memory = (memory, 10**6, 0)[rng.integers(3)]
        return use(memory, damaged) if case % 10 else memory_of(lambda: use(memory, damaged), 2**20)

    run_cases(run, folder, first, last)


if __name__ == "__main__":
    main(*arguments())
