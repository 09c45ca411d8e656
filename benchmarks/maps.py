"""Parts of the large page on maps: neighbours, growth, 60,000 rows of mnist, settling, and threads.

Every line is a process of its own, so that its peak of memory is that of its work. Seconds are those of the processor.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import warnings

import numpy as np
import openTSNE
from experiments.common import accuracy, load, run_peer, split_rows
from experiments.run import ONE_THREAD
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from benchmarks.files import make_rows
from benchmarks.harness import clocked, on_its_own, peak_gb
from prismap import PrisMap
from prismap.embeddings import TSNE, GradientDescent
from prismap.metrics import FisherMetric
from prismap.neighbors import kneighbors
from prismap.quality import knn_error

N_NEIGHBORS, N_SAMPLED = 90, 1000
SUPERVISED_UMAP = """
import umap
start = time.process_time(); model = umap.UMAP(random_state=0).fit(X, y); out = {"Y": model.embedding_}
out["fit"] = np.array(time.process_time() - start); start = time.process_time()
out["Z"] = model.transform(X_test); out["seconds"] = np.array(time.process_time() - start)
"""


def mnist(folder):
    """60,000 training and 10,000 test rows in 50 principal components."""
    data = load(folder, "mnist")
    pca = PCA(50, random_state=0).fit(data["X"][:60_000].astype(np.float32))
    Z = pca.transform(data["X"].astype(np.float32)).astype(np.float32)
    return Z[:60_000], data["y"][:60_000], Z[60_000:], data["y"][60_000:]


def covertype(folder, n_rows=100_000):
    """A draw of standardised rows."""
    data = load(folder, "covertype")
    rows = np.random.default_rng(0).choice(len(data["X"]), n_rows, replace=False)
    return StandardScaler().fit_transform(data["X"][rows].astype(np.float32)).astype(np.float32), data["y"][rows]


# Neighbours


def search(name, folder, n_rows, sampled=True):
    """The neighbours of some rows under the metric with a fixed share of the target: one line."""
    X, y = (mnist(folder) if name == "mnist" else covertype(folder))[:2]
    n_rows = min(n_rows, len(X))
    metric, fit_seconds = clocked(lambda: FisherMetric(supervision=0.8, random_state=0).fit(X[:n_rows], y[:n_rows]))
    found, seconds = clocked(lambda: kneighbors(metric=metric, method="partition", random_state=0))
    peak = peak_gb()
    recall = sampled_recall(metric, found.indices) if sampled else found.recall
    return {
        "data": name, "rows": n_rows, "metric": metric.describe(), f"recall at {N_NEIGHBORS}": f"{recall:.3f}",
        "share of all pairs": f"{found.n_distances / n_rows**2:.1%}", "rounds": found.n_rounds,
        "search, CPU s": round(seconds, 1), "metric, CPU s": round(fit_seconds, 1), "peak GB": f"{peak:.2f}",
    }  # fmt: skip


def neighbours(options):
    """Recall at 90 against exact neighbours of 1,000 sampled rows."""
    for name, n_rows in {"mnist": 60_000, "covertype": 100_000}.items():
        yield on_its_own(search, name, options.data, 12_000 if options.quick else n_rows)


def sampled_recall(metric, found, n_parts=100):
    """Share of the exact 90 nearest neighbours of 1,000 rows that were found, a part of them at a time."""
    sample, hits = np.sort(np.random.default_rng(1).choice(len(found), N_SAMPLED, replace=False)), 0
    for part in np.array_split(sample, n_parts):
        D = np.array(metric.between(part, np.arange(len(found))))
        D[np.arange(len(part)), part] = np.inf
        exact = np.argpartition(D, N_NEIGHBORS - 1, axis=1)[:, :N_NEIGHBORS]
        hits += sum(len(np.intersect1d(a, b)) for a, b in zip(exact, found[part], strict=True))
    return hits / (N_NEIGHBORS * N_SAMPLED)


def growth(options):
    """How the time of the search grows from 10,000 to 60,000 rows; recall as the search itself estimates it."""
    sizes = (11_000, 12_000) if options.quick else (10_000, 20_000, 40_000, 60_000)
    seconds = []
    for n_rows in sizes:
        line = on_its_own(search, "mnist", options.data, n_rows, False)
        seconds.append(line["search, CPU s"])
        yield line
    slope = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    yield {"data": "growth of the search", "rows": f"{sizes[0]} to {sizes[-1]}", "exponent": f"{slope:.2f}"}


# 60,000 rows


def whole_map(who, folder, n_rows):
    """One map of mnist's training rows, and where the test rows come to lie: one line."""
    warnings.simplefilter("ignore")
    X, y, X_test, y_test = mnist(folder)
    X, y = X[:n_rows], y[:n_rows]
    if who == "permuted":
        rng = np.random.default_rng(0)
        y, y_test = rng.permutation(y), rng.permutation(y_test)
    if who == "openTSNE":
        model, seconds = clocked(lambda: openTSNE.TSNE(random_state=0, n_jobs=1).fit(X))
        Y, story = np.asarray(model), {"n_iter": 750}
    else:
        model, seconds = clocked(lambda: PrisMap(fit_rows=len(X), random_state=0).fit(X, y))
        Y, story = model.embedding_, model.map_.story
    peak = peak_gb()
    Z, place_seconds = clocked(lambda: np.asarray(model.transform(X_test)))
    return {
        "map": {"permuted": "prismap, permuted labels"}.get(who, who), "rows": len(X),
        "1-NN, fitted to test": accuracy(Z, y_test, Y, y), "1-NN, inside the test rows": accuracy(Z, y_test),
        "iterations": story.get("n_iter", ""), "fit, CPU s": round(seconds, 1), "peak GB": f"{peak:.2f}",
        "place 10,000, CPU s": round(place_seconds, 1),
    }  # fmt: skip


def map_of_mnist(options):
    """End to end against openTSNE on the same rows, permuted labels, and supervised UMAP where it is at hand."""
    n_rows = 12_000 if options.quick else 60_000
    for who in ("prismap", "openTSNE", "permuted"):
        yield on_its_own(whole_map, who, options.data, n_rows)
    if options.peers:
        X, y, X_test, y_test = mnist(options.data)
        X, y = X[:n_rows], y[:n_rows]
        out = run_peer(options.peers, SUPERVISED_UMAP, X=X, y=y, X_test=X_test)
        yield {
            "map": "supervised UMAP", "rows": n_rows, "1-NN, fitted to test": accuracy(out["Z"], y_test, out["Y"], y),
            "1-NN, inside the test rows": accuracy(out["Z"], y_test), "fit, CPU s": round(float(out["fit"]), 1),
            "place 10,000, CPU s": round(float(out["seconds"]), 1),
        }  # fmt: skip


# Settling


def settling(options):
    """Held-out 10-NN accuracy and kept neighbours of maps that stop when settled, and of all iterations."""
    warnings.simplefilter("ignore")
    bundled = {"iris": load_iris, "wine": load_wine, "digits": load_digits}
    names = ["iris", "wine", "digits"] if options.quick else ["iris", "wine", "digits", "usps11000", "letter"]
    names += [] if options.quick else ["phoneme_lvqpak"]
    iterations = []
    for name in names:
        if name in bundled:
            X, y = bundled[name](return_X_y=True)
            X = StandardScaler().fit_transform(X) if name == "wine" else X
        else:
            X, y = (load(options.data, name)[key] for key in ("X", "y"))
        n_rows = min(len(X), 600 if options.quick else 1500)
        row = {"data": name}
        for words, tol in {"": 0.03, ", all iterations": 0}.items():
            found = [one_settled(X, y, n_rows, tol, permuted) for permuted in (False, True)]
            row |= {
                f"iterations{words}": found[0]["n_iter"],
                f"held-out 10-NN{words}": found[0]["accuracy"], f"permuted{words}": found[1]["accuracy"][:4],
                f"kept{words}": found[0]["kept"],
            }  # fmt: skip
        iterations.append((row["iterations"], row["iterations, all iterations"]))
        yield row
    settled, whole = np.mean(iterations, axis=0)
    yield {"data": "mean", "iterations": round(settled), "iterations, all iterations": round(whole)}


def one_settled(X, y, n_rows, tol, permuted):
    """Iterations, accuracy of held-out rows, and the share of ten neighbours that the map of the others kept."""
    fit, y_fit, test, y_test = split_rows(X, y, 2 * n_rows // 3, n_rows - 2 * n_rows // 3, 0)
    if permuted:
        rng = np.random.default_rng(0)
        y_fit, y_test = rng.permutation(y_fit), rng.permutation(y_test)
    method = TSNE(descent=GradientDescent(tol=tol))
    model = PrisMap(method, supervision=0.8, mapping="fisher", random_state=0).fit(fit, y_fit)
    error = knn_error(model.transform(test), y_test, Y_fit=model.embedding_, y_fit=y_fit, n_neighbors=10)
    near = [kneighbors(A, 10).indices for A in (fit, model.embedding_)]
    kept = np.array([len(np.intersect1d(a, b)) / 10 for a, b in zip(*near, strict=True)])
    spread = 100 * np.sqrt(float(error) * (1 - float(error)) / len(test))
    return {
        "n_iter": model.map_.story["n_iter"], "accuracy": f"{100 * (1 - float(error)):.1f} ± {spread:.1f}",
        "kept": f"{kept.mean():.3f} ± {kept.std() / np.sqrt(len(kept)):.3f}",
    }  # fmt: skip


# Threads

MAP_BITS = """
import os, sys
n_threads, n_rows = int(sys.argv[1]), int(sys.argv[2])
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:n_threads])
from benchmarks.maps import map_bits
print(map_bits(n_rows))
"""


def map_bits(n_rows):
    """A digest of a map of all rows, of the rows that are placed on it, and the CPU seconds."""
    warnings.simplefilter("ignore")
    X, y = make_rows(n_rows + 2000, 0)
    model, seconds = clocked(
        lambda: PrisMap(supervision=0.8, fit_rows=n_rows, random_state=0).fit(X[:n_rows], y[:n_rows])
    )
    digests = [hashlib.sha256(np.ascontiguousarray(Y)).hexdigest() for Y in (model.embedding_, model.transform(X))]
    return f"{digests[0]} {digests[1]} {seconds:.1f}"


def threads(options):
    """The same seed on one and on two cores and threads of linear algebra, each in a process of its own."""
    for n_rows in (300, 500) if options.quick else (500, 5_000, 20_000):
        found = []
        for n_threads in (1, 2):
            env = os.environ | {name: str(n_threads) for name in ONE_THREAD}
            command = [sys.executable, "-c", MAP_BITS, str(n_threads), str(n_rows)]
            done = subprocess.run(command, check=True, env=env, capture_output=True, text=True)
            found.append(done.stdout.split()[-3:])
        (fitted, placed, one), (fitted_2, placed_2, two) = found
        yield {
            "rows": n_rows, "map at 1 and 2 threads": "same bits" if fitted == fitted_2 else "OTHER BITS",
            "placed rows": "same bits" if placed == placed_2 else "OTHER BITS", "CPU s at 1": one, "CPU s at 2": two,
        }  # fmt: skip
