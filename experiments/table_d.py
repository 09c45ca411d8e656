"""Table D: out-of-sample maps of t-SNE (Gisbrecht, Lueks, Mokbel, Hammer 2012).

**Protocol.** Local quality Q_local of rows that were not fitted, for training shares of 10, 50 and 90 %: paper / ours,
mean and standard deviation over the splits. Beside it the seconds to fit the map and project the rows, on one core.
The embedding is t-SNE, and no map sees a label. *direct* minimises the t-SNE cost of each new row; *itp* interpolates,
*svm* is support vector regression, *k* trains by the t-SNE cost, each with Gaussian (rbf) and extreme learning (elm)
kernels as published: no normalisation, the fifth-neighbour width. *every pair* and *every row* are the two readings of
the width of Gisbrecht, Schulz and Hammer (2015) that Table C explains. *vote*: `VoteMap`. *ours*: `KernelMap` with its
defaults, whose width is cross-validated; beside it the best printed figure of all maps.

The paper repeats a ten-fold cross-validation five times: with 10 % one fold is fitted, with 50 % five and with 90 %
nine, and the other folds are projected. *5 x 10 folds* is that, the images on raw pixels, as in the paper. henon has
one of the five repeats (*10 folds*): all of them would take more than three hours of one core, most of it for the two
maps that are trained by the t-SNE cost of all pairs. coil and olivetti in 50 principal components are ten random
splits, as many runs as one repeat.

*olivetti, other embeddings*: kernels trained by the cost of other embeddings, and direct placement for all of them
(sections 3 and 5 of the paper, which prints no figures for them). 50 principal components, half of the rows fitted,
three random splits. *-*: the embedding has no cost that can be differentiated by positions.

usps: Fig. 1 to 3 of the kernel t-SNE paper (Gisbrecht, Schulz, Hammer 2015), 11,000 rows in 30 principal components:
kernel maps of four embeddings fitted on 1,000 rows, quality and time against the training share (three splits; the
paper has ten), and the distribution of q_ij for fitted and new rows.

**What differs.** The paper does not print its perplexity (ours: 30). car's 1,728 rows are a full lattice, so most ranks
are ties. coil has 32 x 32 pixels where the paper's has 128 x 128. henon is generated (x' = y, y' = z, z' = 0.7 x +
0.85 y - z^2), because the paper does not print its parameters.
"""

from __future__ import annotations

import sys
import warnings
from functools import partial
from itertools import islice
from time import process_time

import numpy as np
from sklearn.decomposition import PCA

from experiments.common import load, spread
from experiments.ledger import main
from prismap.embeddings import LLE, MDS, MVU, TSNE, ElasticMDS, Isomap, NeRV
from prismap.exceptions import PrismapWarning
from prismap.inspection import OutOfSampleDisplay
from prismap.mappings import DirectPlacement, KernelMap, MapCost, VoteMap
from prismap.mappings._costs import MAP_COSTS
from prismap.quality import q_local

SHARES = (0.1, 0.5, 0.9)
#: Gisbrecht et al. (2012), Table 1: local quality by method and data set, one figure per training share.
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
READING = """
By the paper's own protocol our default is at or above the best printed figure in eight of twelve columns. It is a
little below on car with 50 and 90 % fitted (.36 and .38 for .37 and .40; no map reaches them, and in one repeat of the
five ours had .37 and .39) and on coil with 90 % (.64 for .65, where direct placement has .67), and clearly below on
henon with 10 % (.74 for .80). There the embedding and not the map is the reason: no map exceeds .77, and in a trial
with perplexity 50 they reached .78. On olivetti it has .40, .44 and .43 for .40, .44 and .41. In principal components
it has .61, .66 and .67 on coil and .38, .45 and .48 on olivetti. The width "every row" is below it nearly everywhere,
and on olivetti and raw coil no better than "every pair". Direct placement is better still on coil and olivetti. Maps
trained by the t-SNE cost gain little over interpolation, except on henon (.80 for .75 with 90 % fitted), and the same
holds for the costs of NeRV and of the stresses. Direct placement is the best of all for t-SNE, NeRV and the stresses,
and behind kernels and votes for Isomap and LLE. On usps new rows keep .43 of their neighbourhoods and fitted ones .49
once 70 % are fitted, and q is distributed alike in both: no rows pile up.

The paper finds support vector regression good in only three of twelve cases. Its table has it among the best two of its
seven maps in {svm_paper} columns, and ours in {svm_ours}. With C = 1000 and a tube of .01 of the spread, as here, it is
next to an interpolation. The paper used LIBSVM with its standard tube, so probably with C = 1 and a tube of .1 around
positions that are tens of units apart (``KernelMap(solver="libsvm")``). The [reasons](reasons.md) have parts for this.
"""
FILES = {"car": "uci_car", "coil": "coil20", "olivetti": "olivetti", "henon": None}
N_SPLITS = 10
PAPER = {
    line.split("|")[0].strip(): dict(
        zip(FILES, np.array(line.split("|")[1].split(), dtype=float).reshape(4, 3), strict=True)
    )
    for line in PRINTED.strip().split("\n")[1:]
}


def good_columns(qualities):
    """In how many columns (sets and shares) support vector regression is among the best two of the paper's maps."""
    values = np.array([qualities[name] for name in PAPER])
    machines = np.array([qualities[name] for name in PAPER if name.startswith("svm")])
    return str(int(np.sum(machines.max(axis=0) >= np.sort(values, axis=0)[-2])))


def our_qualities(found):
    """Local qualities of the paper's maps by the paper's protocol, one per set and share."""
    parts = [part for part in found if part.endswith("folds")]
    rows = {name: [] for name in PAPER}
    for part in parts:
        for row in found[part]["rows"]:
            if row["map"] in rows:
                cells = [row[f"{share:.0%}"] for share in SHARES]
                rows[row["map"]] += [float(cell.split("/")[1].split("+-")[0]) for cell in cells]
    return rows


QUOTED = {
    "svm_paper": lambda found: good_columns({name: np.ravel(list(sets.values())) for name, sets in PAPER.items()}),
    "svm_ours": lambda found: good_columns(our_qualities(found)) if any(our_qualities(found).values()) else "-",
}
#: The paper's maps: no normalisation, the fifth-neighbour width. Its perplexity is not printed; ours is 30.
PUBLISHED = {"normalize": False, "ridge": 1e-3}
METHODS = {
    "direct": lambda: DirectPlacement("tsne"),
    "itp rbf": lambda: KernelMap("rbf", bandwidth="fifth", **(PUBLISHED | {"ridge": 1e-6})),
    "svm rbf": lambda: KernelMap("rbf", solver="svr", bandwidth="fifth", **PUBLISHED),
    "k rbf": lambda: KernelMap("rbf", solver="cost", bandwidth="fifth", **PUBLISHED),
    "itp elm": lambda: KernelMap("elm", bandwidth=1.0, **(PUBLISHED | {"ridge": 1e-6})),
    "svm elm": lambda: KernelMap("elm", solver="svr", bandwidth=1.0, **PUBLISHED),
    "k elm": lambda: KernelMap("elm", solver="cost", bandwidth=1.0, **PUBLISHED),
    "every pair": lambda: KernelMap(bandwidth="all-representable", ridge=1e-6),
    "every row": lambda: KernelMap(bandwidth="representable", ridge=1e-6),
    "vote": VoteMap,
    "ours": KernelMap,
}

#: Embeddings with the name of their cost in maps that are trained by it and in direct placement.
EMBEDDINGS = {
    "t-SNE": (lambda seed: TSNE(random_state=seed), "tsne"),
    "NeRV": (lambda seed: NeRV(random_state=seed), "nerv"),
    "metric MDS": (lambda seed: MDS(random_state=seed), "mds"),
    "Sammon's map": (lambda seed: MDS(kind="sammon", random_state=seed), "sammon"),
    "elastic MDS": (lambda seed: ElasticMDS(random_state=seed), "elastic"),
    "Isomap": (lambda seed: Isomap(), "isomap"),
    "LLE": (lambda seed: LLE(), "lle"),
    "MVU": (lambda seed: MVU(random_state=seed), "mvu"),
}


def henon(n=5000, skip=1000):
    """An orbit of the three-dimensional Henon map of Gonchenko et al. 2005 on its Lorenz-like attractor."""
    point, orbit = np.full(3, 0.1), []
    for _ in range(n + skip):
        x, y, z = point
        point = np.array([y, z, 0.7 * x + 0.85 * y - z * z])
        orbit.append(point)
    return np.array(orbit[skip:])


def rows_of(name, folder, raw=False):
    """The rows of one data set; images in 50 principal components, or `raw` as they are."""
    if name == "henon":
        return henon()
    X = load(folder, FILES[name])["X"].astype(np.float64)
    if X.shape[1] < 100:
        return X
    # Raw pixels are turned onto all their principal axes, which changes no distance and saves time.
    return PCA(None if raw else 50, random_state=0).fit_transform(X)


def random_splits(n_rows, share, n_splits):
    """Fitted and new rows of random splits."""
    for seed in range(n_splits):
        order = np.random.default_rng(seed).permutation(n_rows)
        yield np.split(order, [round(share * n_rows)])


def fold_splits(n_rows, share, n_folds):
    """The same from ten-fold cross-validation, repeated after ten: one, five or nine consecutive folds are fitted."""
    for k in range(n_folds):
        folds = np.array_split(np.random.default_rng(k // 10).permutation(n_rows), 10)
        turned = folds[k % 10 :] + folds[: k % 10]
        n_fitted = round(10 * share)
        yield np.concatenate(turned[:n_fitted]), np.concatenate(turned[n_fitted:])


def split_qualities(X, fitted, new, seed):
    """Q_local of the rows left out, and seconds to fit and place, for each method, on one split."""
    Y = TSNE(random_state=seed).fit_transform(X[fitted])
    found = {}
    for name, method in METHODS.items():
        start = process_time()
        Z = method().fit(X[fitted], Y).transform(X[new])
        seconds = process_time() - start
        found[name] = float(q_local(X[new], Z)), seconds
    return found


def table(name, options, n_folds=0):
    """One row per map: quality and seconds for each training share; by random splits, or by `n_folds` on raw rows."""
    X = rows_of(name, options.data, raw=n_folds > 0)
    if options.quick and len(X) > 1200:
        X = X[np.random.default_rng(0).permutation(len(X))[:1200]]
    rows = {method: {"map": method} for method in METHODS}
    for k, share in enumerate(SHARES):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrismapWarning)  # few rows: perplexity is lowered
            splits = fold_splits(len(X), share, n_folds) if n_folds else random_splits(len(X), share, N_SPLITS)
            splits = islice(splits, 1) if options.quick else splits
            runs = [split_qualities(X, *rows, seed) for seed, rows in enumerate(splits)]
        best = max(figures[name][k] for figures in PAPER.values())
        for method, row in rows.items():
            quality = [found[method][0] for found in runs]
            paper = PAPER[method][name][k] if method in PAPER else best
            beside = "" if method in ("every pair", "every row", "vote") else f"{paper:.2f} / "
            row[f"{share:.0%}"] = f"{beside}{spread(quality, 2)}"
            row[f"s, {share:.0%}"] = f"{np.mean([found[method][1] for found in runs]):.1f}"
    yield from rows.values()


def other_embeddings(options):
    """Sections 3 and 5 of the paper for other embeddings: kernels trained by their cost, and direct placement."""
    warnings.simplefilter("ignore", PrismapWarning)
    X = rows_of("olivetti", options.data)
    splits = list(random_splits(len(X), 0.5, 1 if options.quick else 3))
    for title, (make, cost) in EMBEDDINGS.items():
        found = {}
        for seed, (fitted, new) in enumerate(splits):
            embedding = make(seed)
            Y = embedding.fit_transform(X[fitted])
            found.setdefault("fitted rows", []).append(float(q_local(X[fitted], Y)))
            maps = {"interpolation": KernelMap()}
            maps |= {"trained by the cost": KernelMap(solver=MapCost(cost))} if cost in MAP_COSTS else {}
            for name, model in (maps | {"direct": DirectPlacement(cost), "vote": VoteMap()}).items():
                Z = model.fit(X[fitted], Y).transform(X[new])
                found.setdefault(name, []).append(float(q_local(X[new], Z)))
        columns = ("fitted rows", "interpolation", "trained by the cost", "direct", "vote")
        yield {"embedding": title, **{name: spread(found[name], 2) if name in found else "-" for name in columns}}


def usps(options):
    """Fig. 1 to 3 of Gisbrecht et al. (2015): kernel maps of four embeddings, quality and time by share, q_ij."""
    quick, X = options.quick, load(options.data, "usps11000")["X"].astype(np.float64)
    X = PCA(30, random_state=0).fit_transform(X)
    X = X[np.random.default_rng(0).permutation(len(X))[:2000]] if quick else X
    shares = (0.1, 0.5) if quick else (0.01, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
    embeddings = {"t-SNE": TSNE(random_state=0), "Isomap": Isomap(), "LLE": LLE(), "MVU": MVU(random_state=0)}
    found = OutOfSampleDisplay.from_estimators(
        embeddings, KernelMap(), X, n_fit=300 if quick else 1000, shares=shares, n_repeats=1 if quick else 3
    )
    for name, curve in found.curves.items():
        yield {"figure": f"1: Q at the tenth neighbour of a hundred rows, {name} rows", "ours": f"{curve[9]:.2f}"}
    for share, fitted, new, seconds in found.shares:
        ours = f"fitted rows {fitted:.2f}, new rows {new:.2f}, {seconds:.0f} s"
        yield {"figure": f"2: Q_local, {share:.0%} fitted", "ours": ours}
    fitted, new = found.affinities.values()
    last = f"largest q: {fitted[-1]:.2%} of fitted pairs, {new[-1]:.2%} of new ones"
    gap = 0.5 * np.abs(fitted - new).sum()
    yield {"figure": "3: pairs whose q differs in distribution", "ours": f"{gap:.1%}; {last}"}
    if options.out:
        found.plot().figure_.savefig(options.out / "table_d_usps.png", dpi=80)


PARTS = {
    "car, 5 x 10 folds": partial(table, "car", n_folds=50),
    "coil, raw pixels, 5 x 10 folds": partial(table, "coil", n_folds=50),
    "olivetti, raw pixels, 5 x 10 folds": partial(table, "olivetti", n_folds=50),
    "henon, 10 folds": partial(table, "henon", n_folds=10),
    **{name: partial(table, name) for name in ("coil", "olivetti")},
    "olivetti, other embeddings": other_embeddings,
    "usps": usps,
}
WITHOUT_DATA = ("henon, 10 folds",)

if __name__ == "__main__":
    main(sys.modules[__name__])
