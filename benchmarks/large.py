"""Maps of many rows: neighbours, growth, end to end against openTSNE, and held-out figures. Minutes, not seconds.

    python -m benchmarks.large --data FOLDER [--only neighbours|growth|map] [--peers PYTHON]

Needs mnist.npz and covertype.npz. Times are CPU seconds of this process as well as wall time, since a busy machine
stretches only the latter.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings

import numpy as np
import openTSNE
from experiments.common import accuracy, load, run_peer
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from prismap import PrisMap
from prismap.metrics import FisherMetric
from prismap.neighbors import kneighbors

SUPERVISED_UMAP = """
import umap
start = time.time(); model = umap.UMAP(random_state=0).fit(X, y); out = {"Y": model.embedding_}
out["fit"] = np.array(time.time() - start); start = time.time()
out["Z"] = model.transform(X_test); out["seconds"] = np.array(time.time() - start)
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


def clocked(work):
    """Result, wall seconds, CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def neighbours(folder):
    """Recall at 90 against exact neighbours of 1,000 sampled rows."""
    for name, (X, y) in {"mnist 60k": mnist(folder)[:2], "covertype 100k": covertype(folder)}.items():
        metric, fit_wall, fit_cpu = clocked(lambda X=X, y=y: FisherMetric(supervision=0.8, random_state=0).fit(X, y))
        found, wall, cpu = clocked(lambda metric=metric: kneighbors(metric=metric, method="partition", random_state=0))
        recall = sampled_recall(metric, found.indices)
        print(
            f"{name}: {metric.describe()}; recall@90 {recall:.3f} on 1,000 rows; {found!r}, {found.n_rounds} "
            f"rounds; "
            f"metric {fit_wall:.0f} s ({fit_cpu:.0f} CPU), search {wall:.0f} s ({cpu:.0f} CPU); peak {peak():.2f} GB",
            flush=True,
        )


def sampled_recall(metric, found, n_parts=100):
    """Share of the exact 90 nearest neighbours of 1,000 rows that were found, a part of them at a time."""
    sample, hits = np.sort(np.random.default_rng(1).choice(len(found), 1000, replace=False)), 0
    for part in np.array_split(sample, n_parts):
        D = np.array(metric.between(part, np.arange(len(found))))
        D[np.arange(len(part)), part] = np.inf
        exact = np.argpartition(D, 89, axis=1)[:, :90]
        hits += sum(len(np.intersect1d(a, b)) for a, b in zip(exact, found[part], strict=True))
    return hits / 90_000


def growth(folder):
    """How the time of the search grows from 10,000 to 60,000 rows."""
    X, y, _, _ = mnist(folder)
    seconds = {}
    for n in (10_000, 20_000, 40_000, 60_000):
        metric = FisherMetric(supervision=0.8, random_state=0).fit(X[:n], y[:n])
        found, wall, cpu = clocked(lambda metric=metric: kneighbors(metric=metric, method="partition", random_state=0))
        seconds[n] = cpu
        print(f"{n} rows: {wall:.1f} s ({cpu:.1f} CPU), recall {found.recall:.3f}, {found.n_rounds} rounds", flush=True)
    slope = np.polyfit(np.log(list(seconds)), np.log(list(seconds.values())), 1)[0]
    print(f"growth exponent from 10,000 to 60,000 rows (CPU seconds): {slope:.2f}")


def whole_map(folder, peers):
    """End to end against openTSNE on the same rows, and 1-NN accuracies of the 10,000 test rows."""
    warnings.simplefilter("ignore")
    X, y, X_test, y_test = mnist(folder)
    ours, wall, cpu = clocked(lambda: PrisMap(fit_rows=len(X), random_state=0).fit(X, y))
    Y, place_wall, place_cpu = clocked(lambda: ours.transform(X_test))
    print(
        f"prismap: fit {wall:.0f} s ({cpu:.0f} CPU) {ours.times_}, "
        f"{ours.parts_.story}, place {place_wall:.1f} s ({place_cpu:.1f} CPU), "
        f"{figures(ours.embedding_, y, Y, y_test)}; {ours.metric_.describe()}; peak {peak():.2f} GB",
        flush=True,
    )
    theirs, peer_wall, peer_cpu = clocked(lambda: openTSNE.TSNE(random_state=0, n_jobs=2).fit(X))
    Z, z_wall, z_cpu = clocked(lambda: theirs.transform(X_test))
    print(
        f"openTSNE: fit {peer_wall:.0f} s ({peer_cpu:.0f} CPU), place {z_wall:.1f} s ({z_cpu:.1f} CPU), "
        f"{figures(np.asarray(theirs), y, np.asarray(Z), y_test)}; ours / theirs {wall / peer_wall:.2f} "
        f"({cpu / peer_cpu:.2f} in CPU)",
        flush=True,
    )
    rng = np.random.default_rng(0)
    shuffled, shuffled_test = rng.permutation(y), rng.permutation(y_test)
    null = PrisMap(fit_rows=len(X), random_state=0).fit(X, shuffled)
    print(f"permuted: {figures(null.embedding_, shuffled, null.transform(X_test), shuffled_test)}", flush=True)
    if peers:
        out = run_peer(peers, SUPERVISED_UMAP, X=X, y=y, X_test=X_test)
        words = figures(out["Y"], y, out["Z"], y_test)
        print(f"supervised UMAP: fit {out['fit']:.0f} s, place {out['seconds']:.0f} s, {words}")


def figures(Y_fit, y_fit, Y, y):
    """1-NN accuracies, in words."""
    return f"1-NN fitted to test {accuracy(Y, y, Y_fit, y_fit):.1f} %, inside the test rows {accuracy(Y, y):.1f} %"


def peak():
    """Largest memory of this process so far, GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--only", choices=("neighbours", "growth", "map"))
    parser.add_argument("--peers", help="Python of an environment with umap-learn")
    args = parser.parse_args()
    for name, work in {"neighbours": neighbours, "growth": growth}.items():
        if args.only in (None, name):
            work(args.data)
    if args.only in (None, "map"):
        whole_map(args.data, args.peers)


if __name__ == "__main__":
    main()
