"""The pictures of docs/guide/models.md: one for each question of thesis 3.1, on sets whose truth is known.

python -m experiments.guide_models [--out docs/images/models] [--only NAME]
"""

from __future__ import annotations

import argparse
import io
import warnings
from pathlib import Path

import matplotlib as mpl
import numpy as np
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeRegressor

from experiments import toys
from prismap import PrisMap
from prismap.inspection import ModelDisplay, ModelView
from prismap.learners import RSLVQ
from prismap.metrics import FisherMetric

mpl.use("Agg")
#: Colours that a picture is saved with; enough for its shades and small enough for a repository.
COLOURS = 96


def modes():
    """Two discs of class 1 around a disc of class 2: one class, two regions."""
    X, y = toys.three_discs()
    model = SVC(gamma=1.0, C=100).fit(X, y)
    pure = PrisMap(metric=FisherMetric(posterior="parzen"), supervision=1.0, random_state=0)
    return [
        ("PCA: three discs on top of each other", ModelView.from_estimator(model, X, y, map=PCA(2))),
        ("Fisher t-SNE: class 1 has two modes", ModelView.from_estimator(model, X, y, map=pure)),
    ]


def outliers():
    """A row of class 1 among class 2, and two machines that treat it differently."""
    X, y = toys.plate_in_ring()
    narrow, wide = SVC(gamma=20, C=100).fit(X, y), SVC(gamma=0.3).fit(X, y)
    return [
        ("narrow kernels: a region for one row", ModelView.from_estimator(narrow, X, y, map=PCA(2))),
        ("wide kernels: the row is passed by", ModelView.from_estimator(wide, X, y, map=PCA(2))),
    ]


def overlap():
    """A plane through a cube, and labels at random, which no map should tidy up."""
    views = []
    for labelling, words in (("plane", "one border"), ("random", "labels at random")):
        X, y = toys.cube(labelling=labelling, n=400)
        views.append((words, ModelView.from_estimator(SVC(C=10).fit(X, y), X, y)))
    return views


def complexity():
    """The digits 3, 5 and 8 by a machine that is smooth and one that learns rows by heart."""
    X, y = load_digits(return_X_y=True)
    chosen = np.isin(y, [3, 5, 8])
    X, y = X[chosen], y[chosen]
    plane = PrisMap(random_state=0).fit(X, y)
    smooth, heart = SVC(gamma=0.0005).fit(X, y), SVC(gamma=0.02, C=100).fit(X, y)
    return [
        ("a smooth machine: whole regions", ModelView.from_estimator(smooth, X, y, map=plane)),
        ("rows by heart: sure at rows, not between", ModelView.from_estimator(heart, X, y, map=plane)),
    ]


def prototypes():
    """RSLVQ with four prototypes a class on a tube with a gap: it cannot show the gap."""
    X, y = toys.tube_in_ball()
    model = RSLVQ(4, random_state=0).fit(X, y)
    return [
        ("map of the labels", ModelView.from_estimator(model, X, y)),
        ("map of the model's answers", ModelView.from_estimator(model, X, y, supervision_from="model")),
    ]


def clouds():
    """A smooth regressor and a tree on two clouds with an outlier between them."""
    X, y = toys.two_clouds()
    plane = PrisMap(supervision=0.3, random_state=0).fit(X, y)  # enough of the rows themselves to keep the clouds apart
    smooth, tree = SVR(C=30, gamma=1.0).fit(X, y), DecisionTreeRegressor(min_samples_split=10, random_state=0).fit(X, y)
    return [
        ("SVR", ModelView.from_estimator(smooth, X, y, map=plane)),
        ("decision tree", ModelView.from_estimator(tree, X, y, map=plane)),
    ]


FLAT = {"modes": modes, "outliers": outliers, "overlap": overlap, "complexity": complexity, "prototypes": prototypes}


def draw(views, path, *, surface=False):
    """Views side by side under their titles, the key beside the last one."""
    from matplotlib import pyplot as plt

    shape = {"projection": "3d"} if surface else {}
    figure, axes = plt.subplots(
        1, len(views), figsize=(5.2 * len(views), 4.4 if surface else 4), layout="constrained", subplot_kw=shape
    )
    for ax, (title, view) in zip(axes, views, strict=True):
        last = ax is axes[-1]
        ModelDisplay(view).plot(ax, caption=False, legend=last and not surface, surface=surface, size=10)
        ax.set_title(title, fontsize=11, loc="left")
    save(figure, path)
    plt.close(figure)


def save(figure, path):
    """A small PNG with few colours."""
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=75, bbox_inches="tight")
    image = Image.open(buffer).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    image.save(path, optimize=True)
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB", flush=True)


def main():
    """Write all pictures, or one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/images/models"))
    parser.add_argument("--only", choices=(*FLAT, "clouds"))
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    args.out.mkdir(parents=True, exist_ok=True)
    for name, make in FLAT.items():
        if args.only in (None, name):
            draw(make(), args.out / f"{name}.png")
    if args.only in (None, "clouds"):
        views = clouds()
        draw(views, args.out / "regression.png")
        draw(views, args.out / "surfaces.png", surface=True)


if __name__ == "__main__":
    main()
