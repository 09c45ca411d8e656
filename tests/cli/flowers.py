"""A made-up csv file, and the files below a folder."""

import os

import numpy as np


def tree(folder):
    """Every file below a folder with its size."""
    return sorted(
        (os.path.relpath(os.path.join(place, name), folder), os.path.getsize(os.path.join(place, name)))
        for place, _, names in os.walk(folder)
        for name in [*names, "."]
    )


def write_flowers(path, n_rows=90, seed=0, **changes):
    rng = np.random.default_rng(seed)
    kind = np.arange(n_rows) % 3
    X = rng.normal(size=(n_rows, 4)) + 3 * np.eye(3, 4)[kind]
    columns = {
        "key": [f"f{row}" for row in range(n_rows)],
        **{name: [f"{value:.4f}" for value in X[:, place]] for place, name in enumerate(("sl", "sw", "pl", "pw"))},
        "soil": [("sand", "clay")[row % 2] for row in range(n_rows)],
        "species": [("setosa", "virginica", "versicolor")[code] for code in kind],
    }
    columns.update(changes)
    names = [name for name, values in columns.items() if values is not None]
    lines = [",".join(names), *(",".join(row) for row in zip(*(columns[name] for name in names), strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
