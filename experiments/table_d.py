"""Table D: out-of-sample maps of t-SNE on car, coil, olivetti and henon (Gisbrecht, Lueks, Mokbel, Hammer 2012).

    python -m experiments.table_d --data FOLDER [--quick] [--out DIR] [--sets car,coil] [--repeats N]

Local quality Q_local of rows that were not fitted, for training shares of 10, 50 and 90 %, paper beside ours. With
`--out`, also Fig. 1 to 3 of the kernel t-SNE paper (Gisbrecht, Schulz, Hammer 2015) on usps, as pictures and rows.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.decomposition import PCA

from prismap.embeddings import LLE, MVU, TSNE, Isomap
from prismap.exceptions import PrismapWarning
from prismap.mappings import DirectPlacement, KernelMap
from prismap.mappings.evaluation import affinity_distribution
from prismap.quality import q_local, q_nx

SHARES = (0.1, 0.5, 0.9)
#: 001_..., Table 1: local quality by method and data set, one figure a training share.
PRINTED = """
            car          coil         olivetti     henon
direct    | .18 .29 .35  .24 .62 .65  .19 .44 .25  .49 .58 .56
itp rbf   | .30 .34 .39  .44 .58 .61  .29 .41 .41  .72 .62 .59
svm rbf   | .28 .31 .32  .43 .51 .55  .31 .40 .37  .57 .35 .29
k rbf     | .28 .26 .40  .47 .57 .57  .37 .41 .35  .71 .62 .60
itp elm   | .30 .37 .37  .42 .55 .59  .27 .41 .40  .80 .72 .70
svm elm   | .28 .31 .31  .43 .48 .51  .31 .41 .39  .80 .63 .55
k elm     | .26 .28 .24  .46 .44 .42  .40 .37 .37  .50 .58 .58
"""
NOTES = {
    "car": "the 1,728 rows are a full lattice, so most ranks are ties",
    "coil": "32 x 32 pixels, the paper's are 128 x 128; 50 principal components",
    "olivetti": "50 principal components",
    "henon": "generated, x' = y, y' = z, z' = 0.7 x + 0.85 y - z^2; the paper does not print its parameters",
}
#: Why our default stays below the best printed figure where it does.
BELOW = {
    "car": "smoother widths give .40 here, but the same rule would cost usps and letter 2 and 5 points of accuracy",
    "henon": "the embedding, not the map: all maps agree, and with perplexity 50 they reach .78 (one split .81)",
}
PAPER = {
    line.split("|")[0].strip(): dict(
        zip(NOTES, np.array(line.split("|")[1].split(), dtype=float).reshape(4, 3), strict=True)
    )
    for line in PRINTED.strip().split("\n")[1:]
}
#: The paper's maps: no normalisation, the fifth-neighbour width. Its perplexity is not printed; ours is 30.
PUBLISHED = {"normalize": False, "ridge": 1e-3}
METHODS = {
    "direct": lambda: DirectPlacement("tsne"),
    "itp rbf": lambda: KernelMap("rbf", bandwidth="fifth", **(PUBLISHED | {"ridge": 1e-6})),
    "svm rbf": lambda: KernelMap("rbf", fit="svr", bandwidth="fifth", **PUBLISHED),
    "k rbf": lambda: KernelMap("rbf", fit="cost", bandwidth="fifth", **PUBLISHED),
    "itp elm": lambda: KernelMap("elm", bandwidth=1.0, **(PUBLISHED | {"ridge": 1e-6})),
    "svm elm": lambda: KernelMap("elm", fit="svr", bandwidth=1.0, **PUBLISHED),
    "k elm": lambda: KernelMap("elm", fit="cost", bandwidth=1.0, **PUBLISHED),
    "003 (representable)": lambda: KernelMap(bandwidth="representable", ridge=1e-6),
    "ours": KernelMap,
}


def henon(n=5000, skip=1000):
    """An orbit of the three-dimensional Henon map of Gonchenko et al. 2005 on its Lorenz-like attractor."""
    point, orbit = np.full(3, 0.1), []
    for _ in range(n + skip):
        x, y, z = point
        point = np.array([y, z, 0.7 * x + 0.85 * y - z * z])
        orbit.append(point)
    return np.array(orbit[skip:])


def load(name, folder):
    """The rows of one data set."""
    if name == "henon":
        return henon()
    file = {"car": "uci_car.npz", "coil": "coil20.npz", "olivetti": "olivetti.npz"}[name]
    with np.load(Path(folder) / file) as arrays:
        X = arrays["X"].astype(np.float64)
    return PCA(50, random_state=0).fit_transform(X) if X.shape[1] > 100 else X


def split_qualities(X, share, seed, methods):
    """Q_local of the rows left out, and seconds to fit and place, for each method, on one random split."""
    order = np.random.default_rng(seed).permutation(len(X))
    fitted, new = np.split(order, [round(share * len(X))])
    Y = TSNE(random_state=seed).fit_transform(X[fitted])
    found = {}
    for name in methods:
        start = perf_counter()
        Z = METHODS[name]().fit(X[fitted], Y).transform(X[new])
        found[name] = float(q_local(X[new], Z)), perf_counter() - start
    return found


def table(name, folder, quick, repeats):
    """The rows of the table for one data set."""
    X = load(name, folder)
    if quick and len(X) > 1200:
        X = X[np.random.default_rng(0).permutation(len(X))[:1200]]
    for share_index, share in enumerate(SHARES):
        runs = []
        for seed in range(repeats):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PrismapWarning)  # few rows: perplexity is lowered
                runs.append(split_qualities(X, share, seed, METHODS))
        best = max(figures[name][share_index] for figures in PAPER.values())
        for method in METHODS:
            values = np.array([found[method][0] for found in runs])
            note, paper = NOTES[name], PAPER[method][name][share_index] if method in PAPER else "-"
            if method == "ours":
                paper, reached = best, values.mean() >= best - 0.005
                note = "at or above the best" if reached else f"below the best: {BELOW.get(name, 'no reason known')}"
            yield {
                "table": "D", "data": name, "figure": f"{method}, {share:.0%} fitted", "paper": paper,
                "ours": f"{values.mean():.2f} ({values.std():.2f})",
                "note": f"{note}; {np.mean([found[method][1] for found in runs]):.1f} s",
            }  # fmt: skip


def run(data_folder, quick=False, out=None, *, sets=None, repeats=None):
    """Rows of the table, one dict each: table, data, figure, paper, ours, note; figures on usps into `out` if given."""
    return list(rows_of(data_folder, quick, out, sets, repeats))


def rows_of(data_folder, quick, out, sets, repeats):
    """The rows of `run` as they come."""
    for name in NOTES if sets is None else sets:
        yield from table(name, data_folder, quick, repeats or (1 if quick else 10))
    if out is not None:
        yield from usps_figures(Path(data_folder), Path(out), quick)


def usps_figures(folder, out, quick):
    """Fig. 1 to 3 of 003_...: kernel maps of four embeddings, training share against quality and time, q_ij."""
    with np.load(folder / "usps11000.npz") as file:
        X = file["X"].astype(np.float64)
    X = PCA(30, random_state=0).fit_transform(X)[np.random.default_rng(0).permutation(len(X))]
    X = X[:2000] if quick else X
    out.mkdir(parents=True, exist_ok=True)
    n_fit = 300 if quick else 1000
    curves, maps = four_embeddings(X, n_fit)
    shares = share_curve(X, (0.1, 0.5) if quick else (0.01, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9), 1 if quick else 3)
    histograms = [affinity_distribution(Y)[0] for Y in maps]
    draw(curves, shares, histograms, out / "usps_kernel_maps.png")
    rows = [figure_row(f"Fig. 1 Q(10 of 100), {name}", value) for name, value in at_ten(curves).items()]
    for share, fitted, new, seconds in shares:
        rows.append(
            figure_row(f"Fig. 2 Q_local, {share:.0%} fitted", f"train {fitted:.2f}, test {new:.2f}, {seconds:.0f} s")
        )
    gap = 0.5 * np.abs(histograms[0] - histograms[1]).sum()
    last = f"largest q: {histograms[0][-1]:.2%} of fitted pairs, {histograms[1][-1]:.2%} of new ones"
    return [*rows, figure_row("Fig. 3 pairs whose q differs in distribution", f"{gap:.1%}; {last}")]


def figure_row(figure, ours):
    """A row for a figure, whose values the paper does not print."""
    return {
        "table": "D",
        "data": "usps",
        "figure": figure,
        "paper": "picture",
        "ours": ours,
        "note": "11,000 rows, 30 PCs",
    }


def sampled_curve(X, Y, n_repeats=10, size=100):
    """Q_M(k) of random samples of 100 rows, averaged (003_..., section 5)."""
    curves = []
    for seed in range(n_repeats):
        rows = np.random.default_rng(seed).permutation(len(X))[:size]
        curves.append(q_nx(X[rows], Y[rows]).value)
    return np.mean(curves, axis=0)


def four_embeddings(X, n_fit):
    """Sampled quality curves of four embeddings and of their kernel maps; and t-SNE's fitted and mapped positions."""
    curves, maps = {}, None
    fitted, new = X[:n_fit], X[n_fit:]
    for name, embedding in {
        "t-SNE": TSNE(random_state=0), "Isomap": Isomap(), "LLE": LLE(), "MVU": MVU(random_state=0),
    }.items():  # fmt: skip
        Y = embedding.fit_transform(fitted)
        Z = KernelMap().fit(fitted, Y).transform(new)
        curves[f"{name} train"], curves[f"{name} test"] = sampled_curve(fitted, Y), sampled_curve(new, Z)
        maps = maps or (Y, Z)
    return curves, maps


def at_ten(curves):
    """Q at the tenth neighbour of a hundred rows."""
    return {name: f"{curve[9]:.2f}" for name, curve in curves.items()}


def share_curve(X, shares, repeats):
    """(share, Q_local of fitted rows, of new rows, seconds) for training shares, Q_local on at most 2,000 rows."""
    found = []
    for share in shares:
        values = []
        for seed in range(repeats):
            order = np.random.default_rng(seed).permutation(len(X))
            fitted, new = np.split(order, [round(share * len(X))])
            start = perf_counter()
            Y = TSNE(random_state=seed).fit_transform(X[fitted])
            Z = KernelMap().fit(X[fitted], Y).transform(X[new])
            seconds = perf_counter() - start
            values.append(
                (float(q_local(X[fitted[:2000]], Y[:2000])), float(q_local(X[new[:2000]], Z[:2000])), seconds)
            )
        found.append((share, *np.mean(values, axis=0)))
    return found


def draw(curves, shares, histograms, path):
    """The three figures side by side."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(18, 5), layout="constrained")
    for name, curve in curves.items():
        left.plot(np.arange(1, len(curve) + 1), curve, ls="--" if name.endswith("test") else "-", label=name)
    left.set(xlabel="k", ylabel="Q(k), samples of 100", title="Kernel maps of four embeddings")
    left.legend(fontsize="small")
    share, fitted, new, seconds = np.transpose(shares)
    middle.plot(100 * share, fitted, "o-", label="fitted rows")
    middle.plot(100 * share, new, "s--", label="new rows")
    middle.set(xlabel="training share in %", ylabel="Q_local", title="Quality and time against the training share")
    middle.legend()
    twin = middle.twinx()
    twin.plot(100 * share, seconds, "k:")
    twin.set_ylabel("seconds")
    for sign, histogram, name in ((1, histograms[0], "fitted"), (-1, histograms[1], "new")):
        right.bar(np.arange(len(histogram)) / len(histogram), sign * histogram, width=0.9 / len(histogram), label=name)
    right.set(xlabel="q, scaled", ylabel="share of pairs", ylim=(-0.02, 0.02), title="Distribution of q (zoomed)")
    right.legend()
    figure.savefig(path, dpi=80)
    plt.close(figure)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, help="folder of the data sets")
    parser.add_argument("--quick", action="store_true", help="one repeat, at most 1,200 rows")
    parser.add_argument("--out", help="folder for the figures on usps")
    parser.add_argument("--sets", help="some of car,coil,olivetti,henon; 'none' for the figures only")
    parser.add_argument("--repeats", type=int, help="random splits (10)")
    options = parser.parse_args()
    sets = options.sets and [name for name in options.sets.split(",") if name != "none"]
    print("| data | figure | paper | ours | note |\n|---|---|---|---|---|")
    for row in rows_of(options.data, options.quick, options.out, sets, options.repeats):
        print(f"| {row['data']} | {row['figure']} | {row['paper']} | {row['ours']} | {row['note']} |", flush=True)


if __name__ == "__main__":
    main()
