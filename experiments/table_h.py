"""Table H: mixtures of dissimilarities (Rice 2016) on the open box, the swiss roll, mnist 0/1/6 and the isomap faces.

    python -m experiments.table_h --data FOLDER [--quick] [--out table_h.png] [--markdown table_h.md] [--only NAME ...]

The paper prints no stress, only pictures, weights as bars and the largest |lambda - alpha|; our stress figures stand
beside plain elastic MDS instead. Where data or protocol differ from the paper a note says so.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from prismap.embeddings.elastic import ElasticMDS
from prismap.metrics.dissimilarities import DISSIMILARITIES, dissimilarity, smallest_connected
from prismap.metrics.mixture import MixtureMetric
from prismap.quality import knn_error, knn_nrmse

NAMES = tuple(DISSIMILARITIES)[:15]
#: Largest |lambda - alpha|, dominant measures as the text names them, and the two neighbourhood sizes of Isomap.
PAPER = {
    "open box": (0.16, "all alike; correlation2 negative", (4, 14)),
    "swiss roll": (0.09, "bray_curtis, correlation2", (6, 10)),
    "mnist 0/1/6": (0.01, "ware_hedges, city_block, minkowski", (15, 28)),
    "faces": (0.01, "ware_hedges, city_block, minkowski", (8, 16)),
}
NOTES = {
    "open box": "316 points as in the paper, generated: faces of 8 x 8, lid open by 45 degrees",
    "swiss roll": "300 points, other draw; shifted to be non-negative for measures 11-14",
    "mnist 0/1/6": "first 50 of each digit, pixels / 255; the paper's choice is not known",
    "faces": "32 x 32 pixels, the paper's are 64 x 64",
}


def open_box(m=8, angle=45.0):
    """A cube of six faces with m x m points each, shared edges once, the lid turned open at its hinge.

    >>> open_box().shape
    (316, 3)
    """
    side = range(m)
    walls = {
        point for u in side for v in side for point in ((u, 0, v), (u, m - 1, v), (0, u, v), (m - 1, u, v), (u, v, 0))
    }
    u, v = np.meshgrid(np.arange(m), np.arange(1, m), indexing="ij")
    turn = np.deg2rad(angle)
    lid = np.column_stack([u.ravel(), m - 1 + v.ravel() * np.cos(turn), m - 1 + v.ravel() * np.sin(turn)])
    return np.vstack([np.array(sorted(walls), dtype=float), lid]) / (m - 1)


def swiss_roll(n=300, seed=0):
    """Points of a roll, with their place along it and across it."""
    rng = np.random.default_rng(seed)
    t, height = 1.5 * np.pi * (1 + 2 * rng.random(n)), 21 * rng.random(n)
    X = np.column_stack([t * np.cos(t), height, t * np.sin(t)])
    return X - X.min(axis=0), np.column_stack([t, height])


def load(name, folder, quick):
    """Rows, targets to judge the map with (never shown to it), and thumbnails where rows are images."""
    if name == "open box":
        return open_box(), None, None
    if name == "swiss roll":
        return *swiss_roll(), None
    if name == "mnist 0/1/6":
        with np.load(Path(folder) / "mnist.npz") as file:
            X, y = file["X"][:20_000], file["y"][:20_000]
        chosen = np.concatenate([np.flatnonzero(y == digit)[:50] for digit in (0, 1, 6)])
        return X[chosen] / 255.0, y[chosen], X[chosen].reshape(-1, 28, 28)
    with np.load(Path(folder) / "isomap_faces_32.npz") as file:
        step = 4 if quick else 1
        X, y = file["X"][::step].astype(np.float64), file["y"][::step]
    return X, y, X.reshape(-1, 32, 32).transpose(0, 2, 1)


def judge(name, Y, y):
    """How well neighbours in a map tell what the map was not shown."""
    if name == "mnist 0/1/6":
        return f"1-NN error {100 * float(knn_error(Y, y)):.1f} %"
    labels = ("along", "across") if name == "swiss roll" else ("light", "pan", "tilt")
    return "nRMSE " + ", ".join(f"{label} {float(knn_nrmse(Y, y[:, k])):.2f}" for k, label in enumerate(labels))


def spread(stresses):
    """Range of the stress over starts, in per cent of the lowest."""
    return f"{100 * (stresses.max() / stresses.min() - 1):.1f} %"


def leading(weights, most=3):
    """The measures of largest weight."""
    order = np.argsort(-np.abs(weights))[:most]
    return ", ".join(f"{NAMES[k]} {weights[k]:+.2f}" for k in order)


def study(name, folder, quick):
    """All figures of one data set, and what its picture needs."""
    X, y, images = load(name, folder, quick)
    matrices = tuple(np.maximum(dissimilarity(measure, X), 0.0) for measure in NAMES)
    n_random = 2 if quick else 5
    common = {"random_state": 0, **({"n_epochs": 3, "n_iter": 40} if quick else {})}
    plain = ElasticMDS(metric="precomputed", n_init=1 + n_random, random_state=0).fit(matrices[0])
    paper = {"scale": None, "solver": "scg", "n_weight_iter": 1, "init": "eigenvalues", "n_init": 1 + n_random}
    runs = {
        "as published (raw matrices, SCG)": MixtureMetric(matrices, **paper, **common),
        "ours": MixtureMetric(matrices, **common),
        "ours, no negative weights": MixtureMetric(matrices, allow_negative=False, **common),
        "eigenvalues alone": MixtureMetric(matrices, init="eigenvalues", n_init=1, **common),
        "random starts": MixtureMetric(matrices, init="random", n_init=n_random, **common),
        "random starts, no negative weights": MixtureMetric(
            matrices, init="random", n_init=n_random, allow_negative=False, **common
        ),
    }
    runs = {title: metric.fit(X) for title, metric in runs.items()}
    return X, y, images, plain, runs


def figures(name, y, plain, runs):
    """The rows of the table for one data set."""
    deviation, dominant, (k_plain, k_learnt) = PAPER[name]

    def row(figure, paper, ours, note=""):
        return {"table": "H", "data": name, "figure": figure, "paper": paper, "ours": ours, "note": note}

    n = len(plain.embedding_)
    error = f"mean relative error {100 * np.sqrt(2 * plain.stress_ / (n * (n - 1))):.1f} %"
    yield row("stress, plain elastic MDS", "-", f"{plain.stress_:.0f}", f"{error}; {NOTES[name]}")
    yield row("  spread of random starts", "same map", spread(plain.start_stress_[1:]))
    yield row("  smallest k of Isomap", k_plain, smallest_connected(plain.metric_.pairwise()))
    if y is not None:
        yield row("  map judged by what it was not shown", "-", judge(name, plain.embedding_, y))
    for title, metric in runs.items():
        published = title.startswith("as published")
        gap = np.abs(metric.weights_ - metric.start_weights_).max()
        note = f"{metric.stress_ / plain.stress_:.2f} of plain; {metric.history_[0]:.0f} before the weights moved"
        yield row(f"stress, {title}", "-", f"{metric.stress_:.0f}", note)
        if len(metric.start_stress_) > 1:
            every = ", ".join(f"{value:.0f}" for value in metric.start_stress_)
            drawn = metric.start_stress_[1:] if published else metric.start_stress_
            yield row(
                "  spread of its starts", "same map" if published else "-", spread(drawn), f"every start: {every}"
            )
        yield row("  largest |lambda - alpha|", deviation if published else "-", f"{gap:.2f}")
        yield row("  largest weights", dominant if published else "-", leading(metric.weights_))
        if published:
            yield row("  largest lambda", "-", leading(metric.start_weights_))
            yield row("  smallest k of Isomap", k_learnt, smallest_connected(metric.pairwise()))
        if y is not None:
            yield row("  map judged by what it was not shown", "-", judge(name, metric.positions_, y))


def run(data_folder, quick=False, out=None, only=tuple(PAPER)):
    """Rows of the table, one dict each: table, data, figure, paper, ours, note. Draws a picture into `out` if given."""
    return list(rows_as_they_come(data_folder, quick, out, only))


def rows_as_they_come(data_folder, quick, out, only):
    """The rows of one data set after the other, then the picture."""
    pictures = []
    for name in only:
        X, y, images, plain, runs = study(name, data_folder, quick)
        yield from figures(name, y, plain, runs)
        colour = X[:, -1] if y is None else np.asarray(y, dtype=float).reshape(len(X), -1)[:, 0]
        pictures.append((name, plain, runs, images, colour))
    if out is not None:
        draw(pictures, Path(out))


def draw(pictures, path):
    """A line of panels for each data set: plain map, learnt map, weights, stress by epoch."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    from prismap.inspection.mixture import MixtureDisplay

    figure, axes = plt.subplots(
        len(pictures), 4, figsize=(22, 5.5 * len(pictures)), layout="constrained", squeeze=False
    )
    for line, (name, plain, runs, images, colour) in zip(axes, pictures, strict=True):
        title, metric = next(iter(runs.items()))
        display = MixtureDisplay(NAMES, metric.weights_, metric.start_weights_, metric.positions_, metric.history_)
        flat = MixtureDisplay([], [], [], plain.embedding_, [])
        flat.plot_positions(line[0], images=images, c=colour)
        display.plot_positions(line[1], images=images, c=colour)
        display.plot_weights(line[2])
        display.plot_stress(line[3])
        line[0].set_title(f"{name}: plain elastic MDS, stress {plain.stress_:.0f}")
        line[1].set_title(f"{title}, stress {metric.stress_:.0f}")
    path = path / "table_h.png" if path.is_dir() else path
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=70)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, help="folder of the data sets")
    parser.add_argument("--quick", action="store_true", help="fewer starts, epochs and faces")
    parser.add_argument("--out", help="where to write the picture (PNG)")
    parser.add_argument("--only", nargs="+", choices=tuple(PAPER), default=tuple(PAPER), help="data sets")
    parser.add_argument("--markdown", help="where to write the table as a page")
    options = parser.parse_args()
    lines = ["| data | figure | paper | ours | note |", "|---|---|---|---|---|"]
    for row in rows_as_they_come(options.data, options.quick, options.out, options.only):
        cells = [str(row[key]).strip().replace("|", r"\|") for key in ("data", "figure", "paper", "ours", "note")]
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    if options.markdown:
        head = ["# Table H: mixtures of dissimilarities", "", *(__doc__ or "").strip().splitlines()[4:], ""]
        Path(options.markdown).write_text("\n".join([*head, *lines]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
