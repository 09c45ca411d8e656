"""Table H: mixtures of dissimilarities (Rice 2016).

**Protocol.** One data set per part, all rows embedded, no test rows: stress is an in-sample figure. The paper prints no
stress, only pictures, weights as bars and the largest |lambda - alpha|, so our stress figures stand beside those of
plain elastic MDS. Every mixture is learnt from several starts. The best is shown, and the spread of all of them beside
it. *Isomap* (Fig. 4 to 14) is that of the paper, over the smallest connected neighbour graph, of the Euclidean metric
and of the learnt mixtures. *t-SNE, NeRV, Isomap cost*: weights learnt by these costs, which the paper leaves to further
research (section 4).

**What differs.** The sets are drawn anew or have other sizes than the paper's; the notes of the rows say which.
"""

from __future__ import annotations

import json
import re
import sys
from functools import partial

import numpy as np

from experiments.common import load
from experiments.ledger import file_name, main, rows_path
from prismap.embeddings import ElasticMDS, Isomap
from prismap.metrics import DISSIMILARITIES, AlternatingDescent, MixtureMetric, dissimilarity
from prismap.quality import knn_error, knn_nrmse

READING = """
The learnt mixture has {ratio_least} to {ratio_most} of the stress of plain elastic MDS, which is less than
eigenvalues alone or the best of five random starts give (on the open box by {box_gain} %, and in a run with
other rounding one random start was 3 % lower). The problem has many minima: our starts differ by {spread_least}
to {spread_most} %, which is why there are several. As published, from raw matrices, the mixture has
{box_published} of the stress of plain on the open box and {faces_published} on the faces. Where values of
`correlation2` below zero are kept, the published method finds a map of the open box from one start of six
({box_kept} of plain), none of the swiss roll, and about the same maps of mnist and the faces.

The paper's small distances of the weights from their start and its neighbourhood sizes of Isomap have
[reasons](reasons.md): fewer epochs, and mutual neighbours.

Isomap on the learnt metric has {mnist_isomap} % error for {mnist_isomap_plain} on mnist, about the same map of
the swiss roll, and of the faces pan {pan_isomap} for {pan_isomap_plain} and tilt {tilt_isomap} for
{tilt_isomap_plain}. Of the other costs those of t-SNE and NeRV unroll the swiss roll as the stress does, and
Isomap's, which shares the weight among many measures, does not (across {across_isomap_cost} for {across}). On
mnist they have {mnist_tsne}, {mnist_nerv} and {mnist_isomap_cost} % error, for {mnist_ours} by the stress and
{mnist_plain} by plain elastic MDS. On the faces those of t-SNE and NeRV show light and pose (light {light_tsne}
and {light_nerv}, pan {pan_tsne} and {pan_nerv}, tilt {tilt_tsne} and {tilt_nerv}), where the stress gives up
the light ({light_ours}, {pan_ours}, {tilt_ours}).
"""
NAMES = tuple(DISSIMILARITIES)[:15]
#: Largest |lambda - alpha|, dominant measures as the text names them, and the two neighbourhood sizes of Isomap.
PAPER = {
    "open box": ("0.16", "all alike; correlation2 negative", (4, 14)),
    "swiss roll": ("0.09", "bray_curtis, correlation2", (6, 10)),
    "mnist 0/1/6": ("0.01", "ware_hedges, city_block, minkowski", (15, 28)),
    "faces": ("0.01", "ware_hedges, city_block, minkowski", (8, 16)),
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


def rows_and_images(name, folder, quick):
    """Rows, targets to judge the map with (never shown to it), and thumbnails where rows are images."""
    if name == "open box":
        return open_box(), None, None
    if name == "swiss roll":
        return *swiss_roll(), None
    if name == "mnist 0/1/6":
        data = load(folder, "mnist")
        X, y = data["X"][:20_000], data["y"][:20_000]
        chosen = np.concatenate([np.flatnonzero(y == digit)[:50] for digit in (0, 1, 6)])
        return X[chosen] / 255.0, y[chosen], X[chosen].reshape(-1, 28, 28)
    data = load(folder, "isomap_faces_32")
    step = 4 if quick else 1
    X, y = data["X"][::step].astype(np.float64), data["y"][::step]
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
    X, y, images = rows_and_images(name, folder, quick)
    matrices = tuple(np.maximum(dissimilarity(measure, X), 0.0) for measure in NAMES)
    n_random = 2 if quick else 5
    steps = {"n_epochs": 3, "max_iter": 40} if quick else {}
    common = {"random_state": 0, "descent": AlternatingDescent(**steps)}
    plain = ElasticMDS(metric="precomputed", n_init=1 + n_random, random_state=0).fit(matrices[0])
    published = AlternatingDescent(solver="scg", n_weight_iter=1, **steps)
    paper = {"scale": None, "init": "eigenvalues", "n_init": 1 + n_random, "random_state": 0, "descent": published}
    others = {"n_init": 2, **common}
    runs = {
        "as published (raw matrices, SCG)": MixtureMetric(matrices, **paper),
        "as published, values below zero kept": MixtureMetric(NAMES, negative="keep", **paper),
        "ours": MixtureMetric(matrices, **common),
        "ours, no negative weights": MixtureMetric(matrices, allow_negative=False, **common),
        "eigenvalues alone": MixtureMetric(matrices, init="eigenvalues", n_init=1, **common),
        "random starts": MixtureMetric(matrices, init="random", n_init=n_random, **common),
        "random starts, no negative weights": MixtureMetric(
            matrices, init="random", n_init=n_random, allow_negative=False, **common
        ),
        **{
            f"{title} cost": MixtureMetric(matrices, cost=cost, allow_negative=False, **others)
            for title, cost in (("t-SNE", "tsne"), ("NeRV", "nerv"), ("Isomap", "isomap"))
        },
    }
    runs = {title: metric.fit(X) for title, metric in runs.items()}
    return X, y, images, plain, runs


def figures(name, y, plain, runs):
    """The rows of the table for one data set."""
    deviation, dominant, (k_plain, k_learnt) = PAPER[name]

    def row(figure, paper, ours, note=""):
        return {"figure": figure, "paper": paper, "ours": ours, "note": note}

    n = len(plain.embedding_)
    error = f"mean relative error {100 * np.sqrt(2 * plain.stress_ / (n * (n - 1))):.1f} %"
    yield row("stress, plain elastic MDS", "-", f"{plain.stress_:.0f}", f"{error}; {NOTES[name]}")
    yield row("  spread of random starts", "same map", spread(plain.start_stress_[1:]))
    yield row("  smallest k of Isomap", k_plain, smallest_k(plain.metric_.pairwise()))
    if y is not None:
        yield row("  map judged by what it was not shown", "-", judge(name, plain.embedding_, y))
        yield row("  Isomap judged likewise", "-", judge(name, isomap_of(plain.metric_.pairwise()), y))
    for title, metric in runs.items():
        if title.endswith("cost"):
            yield from figures_of_cost(name, y, title, metric, row)
            continue
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
            yield row("  smallest k of Isomap", k_learnt, smallest_k(metric.pairwise()))
        if y is not None:
            yield row("  map judged by what it was not shown", "-", judge(name, metric.positions_, y))
            if published or title == "ours":
                yield row("  Isomap of the mixture judged likewise", "-", judge(name, isomap_of(metric.pairwise()), y))


def figures_of_cost(name, y, title, metric, row):
    """The rows of a mixture that was learnt by another cost."""
    yield row(f"{title}, no negative weights", "-", f"{metric.stress_:.3g}", f"{metric.history_[0]:.3g} at the start")
    yield row("  largest weights", "-", leading(metric.weights_))
    if y is not None:
        yield row("  map judged by what it was not shown", "-", judge(name, metric.positions_, y))


def smallest_k(D):
    """The smallest number of neighbours that connects all rows."""
    return Isomap(metric="precomputed").fit(D).n_neighbors_


def isomap_of(D):
    """Isomap's positions over the smallest connected neighbour graph."""
    return Isomap(metric="precomputed").fit_transform(D)


def rows_of(name, options):
    """The rows of one data set, then its picture."""
    X, y, images, plain, runs = study(name, options.data, options.quick)
    yield from figures(name, y, plain, runs)
    if options.out:
        colour = X[:, -1] if y is None else np.asarray(y, dtype=float).reshape(len(X), -1)[:, 0]
        draw(name, plain, runs, images, colour, options.out / f"table_h_{file_name(name)}.png")


def draw(name, plain, runs, images, colour, path):
    """Plain map, learnt map, weights, stress by epoch."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    from prismap.inspection._mixture import MixtureDisplay

    figure, axes = plt.subplots(1, 4, figsize=(22, 5.5), layout="constrained")
    metric = runs["ours"]
    display = MixtureDisplay(NAMES, metric.weights_, metric.start_weights_, metric.positions_, metric.history_)
    flat = MixtureDisplay([], [], [], plain.embedding_, [])
    flat.plot_positions(axes[0], images=images, c=colour)
    display.plot_positions(axes[1], images=images, c=colour)
    display.plot_weights(axes[2])
    display.plot_stress(axes[3])
    axes[0].set_title(f"{name}: plain elastic MDS, stress {plain.stress_:.0f}")
    axes[1].set_title(f"mixture, stress {metric.stress_:.0f}")
    figure.savefig(path, dpi=70)
    plt.close(figure)


def summary(out):
    """The stresses of all sets as a table, for the page of the method: from the kept rows."""
    found = {name: kept_rows(out, name) for name in PAPER}

    def line(title, figures):
        return f"| {title} | {' | '.join(figures)} |"

    def stresses(title):
        return [rows[f"stress, {title}"]["ours"] for rows in found.values()]

    def spreads(rows):
        parts = [rows[f"{title}  spread of its starts"]["ours"] for title in RANDOM]
        return ", ".join(f"{float(part.split()[0]):.0f}" for part in parts)

    def moved(rows):
        row = rows["as published (raw matrices, SCG)  largest |lambda - alpha|"]
        return f"{row['paper']} / {row['ours']}".replace("0.", ".")

    return "\n".join(
        [
            line("", found),
            "|---" * (1 + len(found)) + "|",
            line("plain elastic MDS", stresses("plain elastic MDS")),
            line(
                "as published (raw matrices, SCG, one step of the weights per epoch), best of 6",
                stresses("as published (raw matrices, SCG)"),
            ),
            line("defaults here (4 starts)", stresses("ours")),
            line("defaults, no negative weights", stresses("ours, no negative weights")),
            line("eigenvalues alone", stresses("eigenvalues alone")),
            *(line(f"best of 5 {title}", stresses(title)) for title in RANDOM),
            line(
                "spread of the 5 random starts, with and without negative weights, in %", map(spreads, found.values())
            ),
            line("largest distance of a weight from its start, paper / as published here", map(moved, found.values())),
        ]
    )


RANDOM = ("random starts", "random starts, no negative weights")


def expectations(out):
    """What starts do, and what the maps show of what they were not shown: sentences for the page of the method."""
    found = {name: {"rows": kept_list(out, name)} for name in PAPER}
    eigen, random = "eigenvalues alone", RANDOM[0]

    def gap(name):
        gain = 100 * (stress(found, name, eigen) / stress(found, name, random) - 1)
        return f"{abs(gain):.0f} % {'higher' if gain > 0 else 'lower'} on {name}"

    def share(ours, *others):
        shares = [stress(found, name, ours) / min(stress(found, name, one) for one in others) for name in PAPER]
        return f"{min(shares):.2f} to {max(shares):.2f}"

    def of(name, what):
        return [judged(found, name, title, what) for title in ("ours", eigen, random, "plain elastic MDS")]

    along, error = of("swiss roll", "along"), of("mnist 0/1/6", "error")
    (pan, _, _, pan_plain), (tilt, _, _, tilt_plain), (light, _, _, light_plain) = (
        of("faces", what) for what in ("pan", "tilt", "light")
    )
    weights = [keyed(found[name]["rows"])["ours  largest weights"]["ours"].split(",")[0] for name in list(PAPER)[1:]]
    return (
        "Compared with the best of five random starts, the stress of the eigenvalues alone is "
        f"{', '.join(gap(name) for name in PAPER)}. "
        f"The default has {share('ours', eigen, random)} of the lower of the two, and without negative weights "
        f"{share('ours, no negative weights', RANDOM[1])} of that of random starts.",
        f"The length along the roll has an nRMSE of {along[0]} (eigenvalues {along[1]}, random starts {along[2]}, "
        f"plain {along[3]}). The 1-NN error on mnist is {error[0]} % (eigenvalues {error[1]}, random starts "
        f"{error[2]}, plain {error[3]}). Of the faces pan has {pan} and tilt {tilt} (plain {pan_plain} and "
        f"{tilt_plain}), and light {light} (plain {light_plain}). The largest weights of the three are "
        f"{weights[0]}, {weights[1]} and {weights[2]}.",
    )


def stress(found, name, title):
    """The stress of a map."""
    return float(keyed(found[name]["rows"])[f"stress, {title}"]["ours"])


def judged(found, name, title, what, by="map judged by what it was not shown"):
    """What a map shows of something that it was not shown, as printed."""
    if name not in found:
        return "-"
    return re.search(rf"{what} (-?[\d.]+)", keyed(found[name]["rows"])[f"{title}  {by}"]["ours"])[1]


def ratio(name, title):
    """A place of the stress of a map divided by that of plain elastic MDS."""

    def place(found):
        if name not in found:
            return "-"
        return f"{stress(found, name, title) / stress(found, name, 'plain elastic MDS'):.2f}"

    return place


def extreme(choose, of_set, form):
    """The smallest or largest figure over the sets that are done."""
    return lambda found: form.format(choose([of_set(found, name) for name in found])) if found else "-"


def own_share(found, name):
    """The stress of the default divided by that of plain elastic MDS."""
    return stress(found, name, "ours") / stress(found, name, "plain elastic MDS")


def own_spread(found, name):
    """How far the starts of the default differ, in %."""
    return float(keyed(found[name]["rows"])["ours  spread of its starts"]["ours"].split()[0])


def shown(name, title, what, by="map judged by what it was not shown"):
    """A place of what a map shows."""
    return lambda found: judged(found, name, title, what, by)


def box_gain(found):
    """By how much the default is below the best random start on the open box, in %."""
    if "open box" not in found:
        return "-"
    return f"{100 * (1 - stress(found, 'open box', 'ours') / stress(found, 'open box', RANDOM[0])):.1f}"


OF_ISOMAP = ("ours", "Isomap of the mixture judged likewise"), ("plain elastic MDS", "Isomap judged likewise")
COSTS = {
    short: f"{name} cost, no negative weights"
    for short, name in (("tsne", "t-SNE"), ("nerv", "NeRV"), ("isomap_cost", "Isomap"))
}
QUOTED = {
    "ratio_least": extreme(min, own_share, "{:.2f}"),
    "ratio_most": extreme(max, own_share, "{:.2f}"),
    "spread_least": extreme(min, own_spread, "{:.0f}"),
    "spread_most": extreme(max, own_spread, "{:.0f}"),
    "box_gain": box_gain,
    "box_published": ratio("open box", "as published (raw matrices, SCG)"),
    "faces_published": ratio("faces", "as published (raw matrices, SCG)"),
    "box_kept": ratio("open box", "as published, values below zero kept"),
    **{
        f"{short}_isomap{end}": shown(name, title, what, by)
        for short, name, what in (
            ("mnist", "mnist 0/1/6", "error"), ("pan", "faces", "pan"), ("tilt", "faces", "tilt")
        )
        for end, (title, by) in zip(("", "_plain"), OF_ISOMAP, strict=True)
    },
    **{f"mnist_{short}": shown("mnist 0/1/6", cost, "error") for short, cost in COSTS.items()},
    **{
        f"{what}_{short}": shown("faces", cost, what)
        for what in ("light", "pan", "tilt") for short, cost in COSTS.items()
    },
    **{f"{what}_ours": shown("faces", "ours", what) for what in ("light", "pan", "tilt")},
    "mnist_ours": shown("mnist 0/1/6", "ours", "error"),
    "mnist_plain": shown("mnist 0/1/6", "plain elastic MDS", "error"),
    "across": shown("swiss roll", "ours", "across"),
    "across_isomap_cost": shown("swiss roll", "Isomap cost, no negative weights", "across"),
}  # fmt: skip


def kept_list(out, name):
    """The kept rows of a set."""
    return json.loads(rows_path(sys.modules[__name__], name, out).read_text(encoding="utf-8"))["rows"]


def kept_rows(out, name):
    """The kept rows of a set by what they are about; those that belong to a stress by that, too."""
    return keyed(kept_list(out, name))


def keyed(kept):
    """Rows by what they are about; those that belong to a stress by that, too."""
    rows, title = {}, ""
    for row in kept:
        title = title if row["figure"].startswith("  ") else row["figure"].removeprefix("stress, ")
        rows[f"{title}{row['figure']}" if row["figure"].startswith("  ") else row["figure"]] = row
    return rows


PARTS = {name: partial(rows_of, name) for name in PAPER}
WITHOUT_DATA = ("open box", "swiss roll")

if __name__ == "__main__":
    main(sys.modules[__name__])
