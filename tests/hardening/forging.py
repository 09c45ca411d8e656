"""Forged model files: archives without a fault whose header or arrays are not those of any map.

``python -m hardening.forging FOLDER FIRST LAST`` loads and uses the cases FIRST to LAST - 1.
"""

import copy
import os
import tracemalloc
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from hardening.cases import MOST_TIMES, PLAIN, SLACK, arguments, in_words, run_cases
from prismap import PrisMap
from prismap.bundle import read_bundle, write_bundle
from prismap.exceptions import InputError
from prismap.map._stored import is_matrix, load_bytes

GOLDEN = Path(__file__).parent.parent / "golden"
#: Memory is measured in one of so many cases: it slows them down.
MEASURED = 10

NUMBERS = (0, 1, -1, 2, 59, 60, 61, 2**31 - 1, -(2**31), 2**62, -(2**62), 0.5, np.nan, np.inf, -np.inf, 1e308, 1e-308)
#: Values of a header that look like those of an estimator.
SPECS = (
    10**9, {"class": "TSNE", "params": {}}, {"class": "FisherMetric", "params": {}}, {"class": "VoteMap", "params": {}},
    {"class": "FisherMetric", "params": {"n_segments": 10**9}}, {"class": "MDS", "params": {"max_iter": 10**9}},
    {"class": "PredictedLabels", "params": {"model": "x"}}, {"class": "PrecomputedMetric", "params": {}},
    {"class": "Metric", "params": {}}, {"class": "os.system", "params": {"command": "x"}}, {"class": ["TSNE"]},
    {"class": "AlternatingDescent", "params": {"max_iter": 10**9}},
    {"class": "SimilarityMetric", "params": {"repair": 3}},
    {"class": "KernelMap", "params": {"metric": {"class": "KernelMap", "params": {}}}}, "fisher", "vote", "cost",
)  # fmt: skip


def golden_bundles():
    """The golden maps, by name."""
    return {path.stem: read_bundle(path) for path in sorted(GOLDEN.glob("*/*.prismap"))}


def present_bundles(folder):
    """The same maps as this version writes them, by name; made once in a folder."""
    from tools import make_golden

    if not (folder / "present").exists():
        make_golden.main("present", folder)
    return {f"{path.stem} now": read_bundle(path) for path in sorted((folder / "present").glob("*.prismap"))}


# Forgeries of one array


def _some_values(array, rng):
    out = array.copy().reshape(-1)
    if array.dtype.kind not in "iuf" or not out.size:
        return out[::-1].reshape(array.shape)
    places = rng.integers(out.size, size=rng.integers(1, 4))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for place in places:
            out[place] = np.asarray(NUMBERS[rng.integers(len(NUMBERS))]).astype(array.dtype)
    return out.reshape(array.shape)


def _same_value(array, rng):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = np.asarray(NUMBERS[rng.integers(len(NUMBERS))])
        return np.full(array.shape, value.astype(array.dtype if array.dtype.kind in "iuf" else float))


def _other_dtype(array, rng):
    kinds = ("<f4", "<f2", ">f8", "<i4", ">i8", "|i1", "|u1", "<u8", "|b1", "<U3", "<c16")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return array.astype(kinds[rng.integers(len(kinds))])
        except (TypeError, ValueError):
            return array


def _other_shape(array, rng):
    shapes = (
        lambda a: a[: len(a) // 2], lambda a: a[:0], lambda a: a[:1], lambda a: np.concatenate([a, a]),
        lambda a: a[:, None], lambda a: a.reshape(-1), lambda a: a.T, lambda a: np.concatenate([a, a[:1]]),
        lambda a: a[:-1],
    )  # fmt: skip
    return np.atleast_1d(array) if array.ndim == 0 else shapes[rng.integers(len(shapes))](array)


def _other_order(array, rng):
    return rng.permutation(array) if array.ndim else array


OF_AN_ARRAY = (_some_values, _some_values, _some_values, _same_value, _other_dtype, _other_shape, _other_order)


# Forgeries of a whole file


def _change_array(arrays, header, rng, bundles):
    names = sorted(arrays)
    sparse = [name for name in names if name.startswith("rows/")]
    if sparse and rng.random() < 0.5:
        names = sparse
    name = names[rng.integers(len(names))]
    arrays[name] = OF_AN_ARRAY[rng.integers(len(OF_AN_ARRAY))](arrays[name], rng)


def _take_array(arrays, header, rng, bundles):
    """An array of another map, under its own name."""
    other = bundles[sorted(bundles)[rng.integers(len(bundles))]].arrays
    name = sorted(other)[rng.integers(len(other))]
    arrays[name] = other[name]


def _drop_array(arrays, header, rng, bundles):
    arrays.pop(sorted(arrays)[rng.integers(len(arrays))])


def _change_header(arrays, header, rng, bundles):
    where = header
    if rng.random() < 0.6:
        where = header[("params", "story", "times")[rng.choice(3, p=[0.8, 0.1, 0.1])]]
    if not isinstance(where, dict) or not where:
        return
    name = sorted(where)[rng.integers(len(where))]
    if isinstance(where[name], dict) and where[name] and rng.random() < 0.7:  # the parameters of a part
        where = where[name].get("params") or where[name]
        name = sorted(where)[rng.integers(len(where))]
    values = SPECS if rng.random() < 0.3 else PLAIN
    where[name] = copy.deepcopy(values[rng.integers(len(values))])


def _take_params(arrays, header, rng, bundles):
    header["params"] = copy.deepcopy(bundles[sorted(bundles)[rng.integers(len(bundles))]].header["params"])


def _many_rows(arrays, header, rng, bundles):
    if "positions" in arrays and arrays["positions"].ndim:
        repeat_rows(arrays, header, int(rng.integers(2, 8)))


def repeat_rows(arrays, header, times):
    """The same few rows many times over, which is a small file of a large map."""
    n = len(arrays["positions"])
    for name, array in arrays.items():
        if array.ndim and len(array) == n and name not in ("rows/data", "rows/indices", "fit_rows"):
            arrays[name] = np.concatenate([array] * times)
    if "rows" in arrays and is_matrix(header):
        arrays["rows"] = np.concatenate([arrays["rows"]] * times, axis=1)
        header["n_features"] = n * times
    if "rows/indptr" in arrays:
        steps = np.tile(np.diff(arrays["rows/indptr"]), times)
        arrays["rows/indptr"] = np.concatenate([[0], np.cumsum(steps)]).astype(arrays["rows/indptr"].dtype)
        arrays["rows/data"], arrays["rows/indices"] = (np.tile(arrays[f"rows/{k}"], times) for k in ("data", "indices"))
        arrays["rows/shape"] = arrays["rows/shape"] * [times, 1]
    arrays["fit_rows"] = np.arange(n * times)
    header["n_given"] = n * times


def _wide_rows(arrays, header, rng, bundles):
    """Sparse rows of so many columns that no array should have one value for each."""
    header["n_features"] = int(10 ** rng.integers(3, 13))
    if "rows/shape" in arrays:
        arrays["rows/shape"] = np.array([arrays["rows/shape"][0], header["n_features"]])


OF_A_FILE = (_change_array, _take_array, _drop_array, _change_header, _take_params, _many_rows, _wide_rows)
SHARES = (0.56, 0.08, 0.03, 0.22, 0.05, 0.02, 0.04)


def forged(case, bundles):
    """Name of the map, arrays and header of a case; the same for the same number."""
    rng = np.random.default_rng([20, case])
    names = sorted(bundles)
    # Sparse rows go to compiled code: a quarter of all cases.
    some = [name for name in names if name.startswith("sparse")] if case % 4 == 0 else names
    name = some[rng.integers(len(some))]
    arrays, header = dict(bundles[name].arrays), copy.deepcopy(bundles[name].header)
    for _ in range(rng.integers(1, 4)):
        with suppress(KeyError, IndexError, TypeError, ValueError):  # what an earlier forgery has left nothing of
            OF_A_FILE[rng.choice(len(OF_A_FILE), p=SHARES)](arrays, header, rng, bundles)
    return name, arrays, header


# Use


def use(path, rows):
    """Load a map and place rows on it: "refused" in words, or "used", with positions that are all finite."""
    try:
        model = PrisMap.load(path)
        width = rows.shape[1] if model.map_.data.is_matrix else model.n_features_in_
        if width == rows.shape[1]:
            Y, far = model.place(rows)
            if not np.isfinite(Y).all() or far.shape != (rows.shape[0],):
                return "positions that are not finite"
        repr(model), str(model.metric_)
    except InputError as error:
        return in_words(error)
    return "used"


def run_case(case, bundles, rows, path):
    """What became of a case, and the memory it took as a multiple of what its header declares."""
    name, arrays, header = forged(case, bundles)
    try:
        write_bundle(path, arrays, header)
    except (InputError, UnicodeEncodeError):
        return "not written", 0.0
    if case % MEASURED:
        return use(path, rows[name]), 0.0
    tracemalloc.start()
    try:
        found = use(path, rows[name])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return found, peak / (MOST_TIMES * declared_bytes(path, arrays, header) + SLACK)


def declared_bytes(path, arrays, header):
    """Memory that the header of a file declares, or its size where that cannot be known."""
    try:
        return max(load_bytes(header, arrays), path.stat().st_size)
    except Exception:
        return path.stat().st_size


def main(folder, first, last):
    """Run cases in this process."""
    os.fsync = lambda _: None  # thousands of files that nobody keeps
    folder = Path(folder)
    bundles = golden_bundles() | present_bundles(folder)
    rows = {}
    for path in GOLDEN.glob("*/*.npz"):
        with np.load(path) as found:
            new = found["rows"][:3]
            rows[path.stem] = rows[f"{path.stem} now"] = sp.csr_array(new) if "sparse" in found else new

    def run(case):
        found, share = run_case(case, bundles, rows, folder / "m.prismap")
        return found if share <= 1 else f"{share:.1f} times the memory it may take"

    run_cases(run, folder, first, last)


if __name__ == "__main__":
    main(*arguments())
