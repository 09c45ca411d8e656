"""Table G: transfer between spaces without correspondences (thesis Table 5.1) on iris and coil.

    python -m experiments.table_g --data FOLDER [--quick] [--out DIR] [--rows N ...]

A linear support vector machine learns the source's classes in the shared space and is counted on the target, whose
classes nothing else sees. Iris: random halves, the target through a random 4 x 10 matrix. Coil: the upper three
quarters of an image are the source, the lower ones the target. The thesis does not name its four objects, so both the
first four and four drawn at random in each run are shown. Ten runs each: mean and spread (standard deviation). The note
says in how many runs the match was called ambiguous, what the target's accuracy was in the other ones, and how many of
those were wrong all the same: the target below three quarters of the source's accuracy.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from prismap.exceptions import PrismapWarning
from prismap.transfer import SharedEmbedding

#: Source and target accuracy in %, thesis Table 5.1.
PAPER = {("iris", "linear"): (91, 83), ("coil", "linear"): (70, 66), ("coil", "kernel"): (92, 83)}


def iris(seed, folder):
    """Random halves; the target through a random matrix into ten dimensions."""
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(X))
    a, b = order[:75], order[75:]
    return X[a], y[a], X[b] @ rng.normal(size=(4, 10)), y[b]


def coil(seed, folder, *, drawn):
    """Upper and lower three quarters of the images of four objects, the target rows shuffled."""
    with np.load(Path(folder) / "coil20.npz") as file:
        images, y = file["X"].reshape(-1, 32, 32).transpose(0, 2, 1).astype(np.float64), file["y"]
    rng = np.random.default_rng(seed)
    chosen = np.isin(y, rng.choice(20, 4, replace=False) if drawn else np.unique(y)[:4])
    images, y = images[chosen], y[chosen]
    order = rng.permutation(len(y))
    return images[:, :24].reshape(len(y), -1), y, images[order, 8:].reshape(len(y), -1), y[order]


#: A match is wrong if the target's accuracy is below this share of the source's.
WRONG = 0.75
#: Two linear components cannot hold four objects, on the source neither (63 % on the first four); five can.
FIVE = {"n_components": 5}
#: Data, title, how to load it, parameters.
STUDIES = (
    ("iris", "one-sided likelihood (eq. 5.3), PCA", iris, {"kind": "linear", "mutual": 0.0}),
    ("iris", "ours, PCA", iris, {"kind": "linear"}),
    ("iris", "ours, LDA (source labels)", iris, {"kind": "linear", "source": "lda"}),
    ("coil", "first four objects", lambda s, f: coil(s, f, drawn=False), {"kind": "linear"}),
    ("coil", "four drawn objects", lambda s, f: coil(s, f, drawn=True), {"kind": "linear"}),
    ("coil", "first four objects, 5 components", lambda s, f: coil(s, f, drawn=False), {"kind": "linear", **FIVE}),
    ("coil", "four drawn objects, 5 components", lambda s, f: coil(s, f, drawn=True), {"kind": "linear", **FIVE}),
    ("coil", "first four objects", lambda s, f: coil(s, f, drawn=False), {"kind": "kernel"}),
    ("coil", "four drawn objects", lambda s, f: coil(s, f, drawn=True), {"kind": "kernel"}),
    (
        "coil", "four drawn, Fisher t-SNE (source labels)", lambda s, f: coil(s, f, drawn=True),
        {"kind": "kernel", "source": "fisher"},
    ),
)  # fmt: skip


def one_run(X, y, Z, y_target, seed, params):
    """Accuracy on source and target, whether the match was called ambiguous, and the agreement."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrismapWarning)
        model = SharedEmbedding(random_state=seed, **params).fit(X, Z, y)
    classifier = SVC(kernel="linear").fit(model.source_positions_, y)
    accuracy = [
        100 * classifier.score(positions, labels)
        for positions, labels in ((model.source_positions_, y), (model.target_positions_, y_target))
    ]
    return (*accuracy, model.ambiguous_, model.agreement_)


def study(data, title, load, params, folder, n_runs):
    """One row of the table."""
    runs = [one_run(*load(seed, folder), seed, params) for seed in range(n_runs)]
    return summary(data, title, params, np.array(runs, dtype=float))


def summary(data, title, params, runs):
    """The row of some runs."""
    sure = runs[runs[:, 2] == 0]
    unnoticed = int((sure[:, 1] < WRONG * sure[:, 0]).sum())
    paper = PAPER[data, params["kind"]]
    return {
        "table": "G",
        "data": data,
        "figure": f"{params['kind']}, {title}",
        "paper": f"{paper[0]} / {paper[1]}",
        "ours": " / ".join(f"{runs[:, k].mean():.1f} +- {runs[:, k].std():.1f}" for k in (0, 1)),
        "note": f"{int(runs[:, 2].sum())} of {len(runs)} called ambiguous, the others "
        + (f"{sure[:, 1].mean():.1f}, {unnoticed} of them wrong" if len(sure) else "none")
        + f"; median {np.median(runs[:, 1]):.1f}, lowest {runs[:, 1].min():.1f}; agreement {runs[:, 3].mean():.2f}",
    }


def run(data_folder, quick=False):
    """Rows of the table, one dict each: table, data, figure, paper, ours, note."""
    return [study(*entry, data_folder, 2 if quick else 10) for entry in STUDIES]


def main():
    """Print the table, and write it as Markdown into a folder if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder of the data sets (coil20.npz)")
    parser.add_argument("--quick", action="store_true", help="two runs instead of ten")
    parser.add_argument("--out", help="folder for table_g.md")
    parser.add_argument("--rows", type=int, nargs="+", default=range(len(STUDIES)), help="rows of the table, from 0")
    arguments = parser.parse_args()
    lines = ["| data | map | paper source / target | ours source / target | note |", "|---|---|---|---|---|"]
    print("\n".join(lines), flush=True)
    for number in arguments.rows:
        row = study(*STUDIES[number], arguments.data, 2 if arguments.quick else 10)
        lines.append(f"| {row['data']} | {row['figure']} | {row['paper']} | {row['ours']} | {row['note']} |")
        print(lines[-1], flush=True)
        if arguments.out:  # after every row: the last ones take minutes
            write(Path(arguments.out) / "table_g.md", lines)


def write(path, lines):
    """The table as a page."""
    path.parent.mkdir(parents=True, exist_ok=True)
    head = ["# Table G: transfer without correspondences", "", *(__doc__ or "").strip().splitlines()[4:], ""]
    path.write_text("\n".join([*head, *lines]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
