"""Arrangement: how far groups of a map may be compared, what it costs, and maps that stay put.

*Sets.* 2,000 rows (digits: 1,200), at most 50 principal components, and 1,000 others that are held out (digits: 597).
Supervised maps have a supervision of 0.8. `groups` is the rank correlation of the distances between classes on the map
with those in the data, `nearest` the share of classes whose nearest class on the map is the nearest in the data, and
`all` the rank correlation of the distances between 800 rows. R_NX is that of the metric of the map (PCA and MDS: the
data), at 10 neighbours and at a quarter of the rows. `error` is that of ten neighbours on the map about held-out rows
in %, with its standard error, for methods that place them. "no target" is the map without labels, as are PHATE and
PaCMAP (with `--peers`), by their defaults. In rows with permuted labels the map has seen permuted labels, and is judged
by true ones (`groups`, `nearest`) and by the error of true labels of held-out rows.

*Rows or groups.* Maps without a target, on the same rows: groups pulled to a coarse layout (ours), and each row
pulled to its first two principal components, our own reading of DREAMS (Kury, Kobak and Damrich 2025): its gradient
2 lambda (y - alpha c) / n, which has no momentum there, is that of places with a strength of the root of 40 lambda.
Its default is a lambda of 0.1.

*Known arrangements.* Groups on a line, a ring, a tree and a grid in ten dimensions, with Gaussian noise of variance 1,
in five draws. Gaps are 1.5, 3 or 6, places vary by 0.15 of that, and a group has 12 or 40 rows. A nearest group is
truly right if it is the nearest one or no more than a fifth farther. For a group that is said to be next to a wrong one
another group is named, falsely if it is not nearer in truth. `said right` counts groups, `may be read` maps. A map may
truly be read if nine of ten of its nearest groups are right and the rank correlation is 0.8.

*No arrangement.* Groups that lie nowhere: labels drawn at random beside Gaussian noise (20 groups, 400 rows, ten
dimensions), and permuted labels of 400 digits, on supervised maps with 20 seeds. All groups have the same centre, so
that each sentence on a nearest group, right or wrong, is false.

*Stay put.* Two maps of the same rows with two seeds, and of January and February: two thirds of the rows each, with a
third in common. The second map is free, and then laid on the first, or held (`like=`). `kept` is the share of ten
neighbours that common rows keep among themselves, `path` their mean way in radii of the first map, both in %.
"""

from __future__ import annotations

import sys
import warnings
from functools import partial

import numpy as np
from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

from experiments.common import load, run_peer, timed
from experiments.ledger import main
from prismap import PrisMap
from prismap.embeddings import MDS, TSNE, GradientDescent
from prismap.embeddings._places import Places
from prismap.map._held import movement_of, placed_on
from prismap.quality import arrangement, class_distances, r_nx
from prismap.quality._groups import nearest_right, squares_to_classes

READING = """
With an arrangement, distances between all rows are kept better on every set, and R_NX at 10 neighbours stays within
0.02. Distances between groups are kept better on four sets of five at any strength. On usps (0.62, then 0.64, 0.67 and
0.59 at strength 1) and mnist a weaker pull does it better than the strongest. "auto" takes the largest that neighbours
can afford and that is as good as any for the classes in the metric of the map: 0.3 on both. It keeps the error within a
standard error. The continents of the genomes lie as in the data (0.85, from 0.12). The nearest group is right more
often on usps and mnist, and as often as before on the other sets: the layout weighs far pairs more than near.

Other methods have no labels, as "no target" has none. PCA and MDS keep distances better still and lose most neighbours.
PHATE and PaCMAP keep distances between groups better than supervised t-SNE without an arrangement (PaCMAP not on pbmc).
Their R_NX at 10 neighbours is 41 to 52 % (PHATE) and 56 to 79 % (PaCMAP) of that of t-SNE without a target, and their
error about held-out rows is higher than its error on all sets but pbmc (and usps for PaCMAP). Maps without a target are
of the data, and supervised ones of the metric of the target, which is another geometry: without a target, t-SNE itself
keeps distances between groups better on four sets of five, and still better on three than the arranged map with one.

DREAMS (Kury, Kobak and Damrich 2025) pulls single rows to their principal components. Its authors report, for
20,272 cells and a strength of 0.075, that the share of neighbours kept falls from 0.455 to 0.418 while the
correlation of distances rises from 0.58 to 0.88. On our rows, without a target, the strongest pull of groups has
a correlation of all distances that is {gain_groups} above that of t-SNE alone, and R_NX at 10 neighbours is
{loss_groups} lower. Of single rows, pulled with a lambda of 0.1, the two figures are {gain_rows} and {loss_rows},
and with a lambda of 0.01 {gain_weak} and {loss_weak}. So distances are kept at a smaller price if groups are
moved as a whole.

Permuted labels are at chance without an arrangement, with the strongest, and with "auto", which looks at classes.

{known}

Where there is no arrangement, {nowhere_right} of {nowhere} groups were said to lie beside the right one and
{nowhere_wrong} beside a wrong one, and {nowhere_read} of {nowhere_maps} maps may be read. A group is called wrong from
three standard errors on, because one nearer group of all the others is enough for it: with 1.645, as for right ones,
which must be nearer than all others, most maps of noise had a wrong group.

A held map keeps its groups where they were: paths are 1 to 7 % of the radius, and 36 to 82 % on free maps, however well
they are laid on each other. It keeps more neighbours, and its error is that of the free map to within a standard error.
"""
PEERS = {
    "PHATE": "import phate\nm = phate.PHATE(n_jobs=1, random_state=0, verbose=0)\n"
    "Y = m.fit_transform(X)\nout = {'Y': Y, 'Z': m.transform(X_new)}",
    "PaCMAP": "import pacmap\nm = pacmap.PaCMAP(random_state=0)\nY = m.fit_transform(X)\n"
    "out = {'Y': Y, 'Z': m.transform(X_new, basis=X)}",
}
COMMAND = "python -m experiments.arrangement --data FOLDER --peers PYTHON"
SETS = {"digits": None, "genomes": "genomes_1kgp", "pbmc": "sc_pbmc4k", "usps": "usps9298", "mnist": "mnist"}


def rows_of(name, options):
    """Fitted rows, held-out rows, and the classes of both by name (of genomes populations, then continents)."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        classes = {"classes": y}
    else:
        data = load(options.data, SETS[name])
        X, classes = data["X"].astype(np.float64), {"classes": data["y"]}
        if "continent" in data:
            classes["continents"] = data["continent"]
    if name == "pbmc":
        X = np.log1p(X / X.sum(axis=1, keepdims=True) * 1e4)
    n = 300 if options.quick else 1200 if name == "digits" else 2000
    order = np.random.default_rng(0).permutation(len(X))[: n + 1000]
    X, classes = X[order], {key: values[order] for key, values in classes.items()}
    if X.shape[1] > 64:
        X = PCA(50, random_state=0).fit(X[:n]).transform(X)
    return X[:n], X[n:], classes


def a_map(arrangement, **options):
    """A supervised map with an arrangement; rows of these sets are independent."""
    method = TSNE(descent=GradientDescent(arrangement=arrangement))
    return PrisMap(method, supervision=0.8, copies="exact", random_state=0, **options)


def trade_off(name, options):
    """One row per map: what its groups, all its distances and its neighbours are like."""
    warnings.simplefilter("ignore")
    X, held_out, classes = rows_of(name, options)
    n, y = len(X), classes["classes"]
    own = squareform(pdist(X))
    for label, embedding in (("PCA", PCA(2)), ("MDS", MDS(random_state=0, max_iter=100))):
        Y, seconds = timed(lambda embedding=embedding: embedding.fit_transform(X))
        error = error_of(Y, y[:n], embedding.transform(held_out), y[n:]) if hasattr(embedding, "transform") else ""
        yield figures(label, own, own, Y, classes, error, seconds)
    for label, code in PEERS.items() if options.peers else ():
        out, seconds = timed(lambda code=code: run_peer(options.peers, code, X=X, X_new=held_out))
        yield figures(label, own, own, out["Y"], classes, error_of(out["Y"], y[:n], out["Z"], y[n:]), seconds)
    plain, seconds = timed(lambda: a_map(0).fit(X, groups="none"))
    error = error_of(plain.map_.positions, y[:n], plain.transform(held_out), y[n:])
    yield figures("t-SNE, 0, no target", own, own, plain.map_.positions, classes, error, seconds)
    shuffled = np.random.default_rng(7).permutation(y[:n])
    for label, strength, target in [
        *((f"t-SNE, {strength}", strength, y[:n]) for strength in (0, 0.1, 0.3, 1, "auto")),
        *((f"t-SNE, {strength}, permuted labels", strength, shuffled) for strength in (0, 1, "auto")),
    ]:  # fmt: skip
        m, seconds = timed(lambda s=strength, t=target: a_map(s).fit(X, t, groups="none"))
        D = np.asarray(m.metric_.pairwise(), dtype=np.float64)
        error = percent(1 - m.score(held_out, y[n:]), len(held_out))
        label += f" (took {m.map_.story['arrangement']:g})" if strength == "auto" else ""
        yield figures(label, own, (D + D.T) / 2, m.map_.positions, classes, error, seconds)


def error_of(Y, y, Z, z):
    """The error of ten neighbours on a map Y about others that were placed at Z, in %."""
    return percent(1 - KNeighborsClassifier(10).fit(Y, y).score(Z, z), len(z))


def percent(share, n_rows):
    """A share of independent rows in %, with its standard error."""
    return f"{100 * share:.1f} +- {100 * np.sqrt(share * (1 - share) / n_rows):.1f}"


def figures(label, own, D, Y, classes, error, seconds):
    """A row of the table of a map with positions Y, of data with distances `own` and a metric with distances D."""
    np.fill_diagonal(D, 0.0)
    row, some = {"map": label}, slice(0, 800)
    for key, values in classes.items():
        A, B = class_distances(own, values[: len(Y)], metric="precomputed"), class_distances(Y, values[: len(Y)])
        upper = np.triu_indices(len(A), 1)
        of = "" if key == "classes" else f", {key}"
        row[f"groups{of}"] = f"{spearmanr(A[upper], B[upper])[0]:.2f}"
        for one in (A, B):
            np.fill_diagonal(one, np.inf)
        row[f"nearest{of}"] = f"{(A.argmin(axis=1) == B.argmin(axis=1)).mean():.2f}"
    row["all"] = f"{spearmanr(squareform(own[some, some]), pdist(Y[some]))[0]:.2f}"
    curve = np.asarray(r_nx(D, Y, metric="precomputed").value)
    return row | {
        "R_NX(10)": f"{curve[9]:.2f}", "R_NX(n/4)": f"{curve[len(Y) // 4]:.2f}", "error": error, "seconds": seconds
    }  # fmt: skip


def rows_or_groups(options):
    """One row per set and map without a target: nothing pulled, groups pulled, rows pulled to principal components."""
    warnings.simplefilter("ignore")
    for name in SETS if options.data else ["digits"]:
        X, held_out, classes = rows_of(name, options)
        n, y = len(X), classes["classes"]
        own, components = squareform(pdist(X)), PCA(2, random_state=0).fit_transform(X)
        pulls = {f"groups, {strength:g}": strength for strength in (0, 0.3, 1)}
        for weight in (0.01, 0.1):
            pulls[f"rows, lambda {weight:g}"] = Places(np.arange(n), components, np.sqrt(40 * weight))
        for label, pull in pulls.items():
            m, seconds = timed(partial(a_map(pull).fit, X, groups="none"))
            error = error_of(m.map_.positions, y[:n], m.transform(held_out), y[n:])
            yield {"set": name, **figures(label, own, own, m.map_.positions, classes, error, seconds)}


# --- known arrangements -----------------------------------------------------------------------------------------------


def centres_of(kind):
    """Places of groups with gaps of about one."""
    if kind == "line":
        return np.column_stack([np.arange(12.0), np.zeros(12)])
    if kind == "ring":
        angle = 2 * np.pi * np.arange(12) / 12
        return 12 / (2 * np.pi) * np.column_stack([np.cos(angle), np.sin(angle)])
    if kind == "grid":
        return np.array([(i, j) for i in range(4) for j in range(4)], dtype=np.float64)
    branches = [
        np.eye(5)[b] * k * (1 + 0.3 * k) + np.eye(5)[4] * 0.5 * k * (b % 2) for b in range(4) for k in (1, 2, 3)
    ]
    return np.array([np.zeros(5), *branches])


def known(options):
    """One row an arrangement and a strength: what was said of nearest groups and of maps, and how often falsely."""
    warnings.simplefilter("ignore")
    for kind in ("line", "ring", "tree", "grid"):
        for strength in (0, 1):
            counts = np.zeros(12, dtype=int)
            for gap in (1.5, 3.0, 6.0):
                for n_rows in (12, 40):
                    for seed in range(1 if options.quick else 5):
                        counts += known_map(kind, strength, gap, n_rows, seed)
            names = ("groups", "truly right", "said right", "falsely", "said wrong", "falsely wrong", "falsely nearer")
            maps = ("may be read", "falsely read", "truly", "by correlation alone", "falsely by it")
            yield {
                "arrangement": kind,
                "strength": strength,
                **dict(zip((*names, *maps), counts.tolist(), strict=True)),
            }


def known_map(kind, strength, gap, n_rows, seed):
    """Counts of one map."""
    rng = np.random.default_rng(seed)
    places = centres_of(kind)
    turn = np.linalg.qr(rng.normal(size=(10, 10)))[0]
    places = gap * np.pad(places, ((0, 0), (0, 10 - places.shape[1])))
    places += 0.15 * gap * rng.normal(size=places.shape)
    n = len(places)
    y = np.repeat(np.arange(n), n_rows)
    X = (places[y] + rng.normal(size=(len(y), 10))) @ turn
    start = "random" if strength == 0 and seed % 2 else "auto"
    descent = GradientDescent(arrangement=strength)
    Y = TSNE(
        perplexity=min(30, 2 * n_rows), init=start, max_iter=250, descent=descent, random_state=seed
    ).fit_transform(X)
    found, B, T = arrangement(X, Y, y), class_distances(Y, y), squareform(pdist(places))
    upper = np.triu_indices(n, 1)
    truth = spearmanr(T[upper], B[upper])[0]
    for one in (B, T):
        np.fill_diagonal(one, np.inf)
    near = B.argmin(axis=1)
    right, nearer = nearest_right(squares_to_classes(X, y, n), y, near)
    true = T[np.arange(n), near] <= 1.2 * T.min(axis=1)
    alone = found.correlation >= 0.8 and found.p_value < 0.05
    said = alone and found.n_right >= 0.9 * n
    readable = true.mean() >= 0.9 and truth >= 0.8
    counts = (
        n,
        true.sum(),
        (right > 0).sum(),
        ((right > 0) & ~true).sum(),
        (right < 0).sum(),
        ((right < 0) & true).sum(),
        ((right < 0) & (T[np.arange(n), nearer] >= T[np.arange(n), near])).sum(),
    )
    return np.array([*counts, said, said and not readable, readable, alone, alone and not readable], dtype=int)


def nowhere(options):
    """One row per kind of labels without an arrangement and strength: what was said of nearest groups and of maps."""
    warnings.simplefilter("ignore")
    digits, digit = load_digits(return_X_y=True)
    seeds = range(2 if options.quick else 20)
    for kind in ("noise", "permuted digits"):
        for strength in (0, 1):
            counts = np.zeros(5, dtype=int)
            for rng in map(np.random.default_rng, seeds):
                if kind == "noise":
                    X, y = rng.normal(size=(400, 10)), np.arange(400) % 20
                else:
                    rows = rng.permutation(len(digits))[:400]
                    X, y = digits[rows], rng.permutation(digit[rows])
                found = arrangement(X, a_map(strength).fit(X, y, groups="none").map_.positions, y)
                n, wrong = found.n_groups, len(found.wrong)
                counts += [n, found.n_right, wrong, wrong > 0, found.n_right >= 0.9 * n]
            names = ("groups", "said right", "said wrong", "maps with a wrong one", "may be read")
            yield {
                "labels": kind, "strength": strength, "maps": len(seeds),
                **dict(zip(names, counts.tolist(), strict=True)),
            }  # fmt: skip


def total(part, column):
    """The sum of a column over a part."""
    return lambda found: str(sum(row[column] for row in found[part]["rows"])) if part in found else "-"


def said_of_known(found):
    """What was said where the arrangement is known, and how often falsely: also for the pages of the methods."""
    rows = found.get("known arrangements", {"rows": []})["rows"]
    if not rows:
        return "-"
    n = {column: sum(row[column] for row in rows) for column in rows[0] if isinstance(rows[0][column], int)}
    return (
        f"Of {n['groups']:,} nearest groups whose arrangement is known {n['said right']:,} were called right, "
        f"{n['falsely']} of them falsely ({100 * n['falsely'] / n['said right']:.1f} %), and {n['said wrong']} wrong, "
        f"{n['falsely wrong']} of them falsely. The group that was named as nearer was not for {n['falsely nearer']} "
        f"of these. The verdict said of {n['may be read']} maps that their arrangement may be read, of "
        f"{n['falsely read']} falsely, where {n['truly']} may be read. The correlation alone would have said so of "
        f"{n['by correlation alone']}, of {n['falsely by it']} falsely."
    )


def change(label, column, sign):
    """From the least to the largest change of a figure by a pull, over the sets, times `sign`."""

    def place(found):
        rows = found.get("rows or groups", {"rows": []})["rows"]
        value = {(row["set"], row["map"]): float(row[column]) for row in rows}
        sets = dict.fromkeys(row["set"] for row in rows)
        gaps = [sign * (value[name, label] - value[name, "groups, 0"]) for name in sets]
        return f"{min(gaps):.2f} to {max(gaps):.2f}" if gaps else "-"

    return place


QUOTED = {
    **{
        f"{what}_{short}": change(label, column, sign)
        for short, label in (("groups", "groups, 1"), ("rows", "rows, lambda 0.1"), ("weak", "rows, lambda 0.01"))
        for what, column, sign in (("gain", "all", 1), ("loss", "R_NX(10)", -1))
    },
    "known": said_of_known,
    **{
        f"nowhere{name}": total("no arrangement", column)
        for name, column in (
            ("", "groups"), ("_right", "said right"), ("_wrong", "said wrong"), ("_read", "may be read"),
            ("_maps", "maps"),
        )
    },
}  # fmt: skip


# --- maps that stay put -----------------------------------------------------------------------------------------------


def stay_put(name, options):
    """One row a second map: free or held, with another seed or of other rows."""
    warnings.simplefilter("ignore")
    X, held_out, classes = rows_of(name, options)
    n, y = len(X), classes["classes"]
    for what, first, second in (
        ("two seeds", slice(0, n), slice(0, n)), ("two months", slice(0, 2 * n // 3), slice(n // 3, n)),
    ):  # fmt: skip
        old = a_map(0).fit(X[first], y[:n][first], groups="none")
        for like in (None, old):
            new, seconds = timed(
                lambda like=like, rows=second: a_map(0).set_params(random_state=1).fit(
                    X[rows], y[:n][rows], groups="none", like=like
                )
            )  # fmt: skip
            earlier = placed_on(old, X[second])
            Y = earlier.laid_on(new.map_.positions, scale=True)
            movement = movement_of(earlier, Y, new.map_.target, new.map_.story["arrangement"], 0)
            yield {
                "maps": what, "second": "free" if like is None else f"held, {movement.strength:g}",
                "common rows": movement.n_shared, "kept": 100 * movement.kept, "path": 100 * movement.path,
                "moved groups": f"{len(movement.moved)} of {len(np.unique(y))}",
                "error": percent(1 - new.score(held_out, y[n:]), len(held_out)),
                "seconds": seconds,
            }  # fmt: skip


PARTS = {
    **{name: partial(trade_off, name) for name in SETS}, "known arrangements": known,
    "no arrangement": nowhere, "rows or groups": rows_or_groups,
    **{f"stay put, {name}": partial(stay_put, name) for name in SETS},
}  # fmt: skip
WITHOUT_DATA = ("digits", "known arrangements", "no arrangement", "stay put, digits")

if __name__ == "__main__":
    main(sys.modules[__name__])
