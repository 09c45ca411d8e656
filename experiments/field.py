"""The field: accuracy and honesty of supervised maps, on sets that are hard for one or the other.

2-D maps of 90 to 500 rows, at most 500 other rows placed on them; means of three splits. *Held out*: % of the other
rows that the nearest and the ten nearest fitted rows on the map tell right; *error* is the standard error of the
latter, that of a share among all held-out rows, and *spread* its standard deviation over the splits. *Invented*: with
shuffled labels, % of the fitted rows that their ten neighbours tell right, beyond chance. *Structure*: area under R_NX
against the data. *Seconds* of the processor for a fit, a placement and a fit to shuffled labels.
`prismap` is the default; `prismap, 0.8` a fixed share with kernels. `t-SNE of a forest` and `PHATE of a forest` are our
own readings of RF-t-SNE and RF-PHATE: of out-of-bag proximities of 100 trees, with new rows by votes of the nearest.
([The league](league.md) has RF-PHATE with the proximities of its authors.) `network`, also an own reading: a perceptron
whose last hidden layer has two units. New rows of t-SNE by openTSNE's `transform`. UMAP and PHATE need `--peers`. Sets
with a star were looked at while the thresholds of the choice were found, generated ones with other seeds.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from functools import partial

import numpy as np
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from experiments.common import run_peer
from experiments.field_sets import BUNDLED, GENERATED, SEEN, SETS, STORED, problem
from experiments.ledger import main, rows_path
from experiments.supervised import components, plain
from prismap import PrisMap
from prismap.embeddings import TSNE
from prismap.map._choose import choose
from prismap.mappings import VoteMap
from prismap.metrics import FisherMetric
from prismap.metrics._geometry import data_metric
from prismap.quality import knn_error, r_nx

READING = """
Over 30 sets the default tells 87.0 % of held-out rows right by ten neighbours; a fixed share of 0.8 with kernels 83.8,
t-SNE of a forest 78.5, supervised UMAP 74.8, PHATE of a forest 74.3, t-SNE 71.8, NCA 71.2, UMAP 69.7, LDA 68.9, the
network 63.0. In the full space a support vector machine with its default settings tells 82.4 and a forest 84.9. On the
twelve sets that nobody had looked at before, the figures are 90.8 (default), 88.5 (fixed share), 86.5 and 85.9 (full
space).

What was wanted, and where it is missed:

- Not behind t-SNE by more than a standard error: 30 of 30 sets. Not behind a fixed share of 0.8: 29, and "rare" is the
  exception (by 0.7 points).
- No honest rival ahead by more than a standard error: 26 of 30, and 11 of the 12 new ones. The forests' maps are
  ahead on signs (by 1.9 points) and xor (PHATE of a forest by 6.3), t-SNE of a forest on rare (0.5), and UMAP on wine
  (1.1).
- Within 3 points of the better of the two models in the full space: 25 of 30, and 27 were wanted. Xor, hastie, letter,
  olivetti and tecator miss it. Within 6 points: 28 of 30, and all were wanted (xor and olivetti miss it, by 2.0 and
  2.9).
- Shuffled labels were left out of the map in all of 90 fits and in 150 of 150 further choices on 200 rows. Supervised
  UMAP invents 40.0 points, the network 29.7, NCA 9.2 and LDA 5.6.
- A fit takes 0.98 to 1.72 times as long as one with a fixed share, 1.17 times in the median. 1.15 was wanted
  everywhere, and 14 of 30 sets have it.
- Structure: where the default takes more than 0.8, or trees, it keeps less of it (0.35 on average, fixed share 0.41).

The peers' settings are their defaults. In the run before this one, on a processor of another kind, the default had
87.2 % (90.9 on the new sets), was behind t-SNE on iris (by 1.4 points) and within 3 points on 26 sets. The rows are few
and the choice is among near equals: other rounding takes another share or another mapping on one split of three, as on
olivetti (85.4 and now 83.1 %), xor (59.1 and 57.7), tecator (87.5 and 86.1) and iris (96.1 and 97.2). The code of that
run gives the present figures of these four and of rare on the present processor.

The quick maps that a share is chosen by were in single precision then. In double precision their scores agree to six
digits under the kernels of three processors: on twelve splits of generated sets (moons, quantiles, Hastie's, signs; 300
rows) share and posterior are the same on all of them, where they differed on three. The mapping, which is judged on the
map itself, differs on three, where it was five.
"""
N_SPLITS, N_SHUFFLED, SHUFFLED_ROWS, N_PROXIMITY_TREES = 3, 5, 200, 100
#: A rival is honest if it invents fewer points than this.
HONEST = 5.0
COLUMNS = ("held out, 1", "held out, 10", "invented", "structure", "seconds")

UMAP = """
import umap
out, aware = {}, bool(labels)
for k in range(int(n_jobs)):
    X, y, new = (data[f"{name}{k}"] for name in ("X", "y", "new"))
    start = time.process_time()
    model = umap.UMAP(random_state=int(seed)).fit(X, y if aware else None)
    out |= {f"Y{k}": model.embedding_, f"Z{k}": model.transform(new)}
    out[f"seconds{k}"] = time.process_time() - start
"""
PHATE = """
import phate
out = {}
for k in range(int(n_jobs)):
    start = time.process_time()
    model = phate.PHATE(knn_dist="precomputed_affinity", random_state=int(seed), verbose=0, n_jobs=1)
    out |= {f"Y{k}": model.fit_transform(data[f"S{k}"]), f"seconds{k}": time.process_time() - start}
"""


# --- methods: functions from jobs (X, y, new, seed) to (positions, those of new rows, what was taken, seconds) --------


def one_by_one(place, jobs, options):
    """Results of a function of one job."""
    for job in jobs:
        start = time.process_time()
        Y, Z, *taken = place(*job)
        yield Y, Z, "".join(taken), time.process_time() - start


def our_map(X, y, new, seed, **params):
    """prismap, and in words what it took."""
    model = PrisMap(random_state=seed, **params).fit(X, y)
    taken = model.metric_.describe().split(",")[0] + " " if model.supervision_ else ""
    mapping = {"KernelMap": "kernels", "VoteMap": "votes"}[type(model.map_.mapping).__name__]
    return model.embedding_, model.transform(new), f"{taken}{model.supervision_:g}, {mapping}"


def discriminants(X, y, new, seed):
    """The first two linear discriminants; with two classes there is one."""
    lda = LinearDiscriminantAnalysis().fit(X, y)
    return tuple(
        np.pad(Z[:, :2], ((0, 0), (0, max(0, 2 - Z.shape[1])))) for Z in (lda.transform(X), lda.transform(new))
    )


def network(X, y, new, seed):
    """Two hidden units before the classes, which are the map."""
    scale = StandardScaler().fit(X)
    model = MLPClassifier((64, 2), activation="tanh", max_iter=300, random_state=seed).fit(scale.transform(X), y)

    def hidden(rows):
        values = scale.transform(rows)
        for weights, offsets in zip(model.coefs_[:2], model.intercepts_[:2], strict=True):
            values = np.tanh(values @ weights + offsets)
        return values

    return hidden(X), hidden(new)


def forest_tsne(X, y, new, seed):
    """t-SNE of how seldom two rows share a leaf, in trees that saw neither; new rows by votes."""
    D, of_new = proximities(X, y, new, seed)
    Y = TSNE(metric="precomputed", random_state=seed).fit_transform(D)
    return Y, VoteMap(metric="precomputed").fit(D, Y).transform(of_new)


def forest_phate(jobs, options):
    """PHATE of the same proximities, an own reading of RF-PHATE, in an environment of its own."""
    seconds, found = [], []
    for job in jobs:
        start = time.process_time()
        found.append(proximities(*job))
        seconds.append(time.process_time() - start)
    arrays = {f"S{k}": 1 - np.square(D) for k, (D, _) in enumerate(found)}
    made = run_peer(options.peers, PHATE, n_jobs=len(found), seed=0, **arrays)
    for k, (D, of_new) in enumerate(found):
        Y = made[f"Y{k}"]
        placed = VoteMap(metric="precomputed").fit(D, Y).transform(of_new)
        yield Y, placed, "", seconds[k] + float(made[f"seconds{k}"])


def umap(jobs, options, *, labels):
    """UMAP, with or without labels, in an environment of its own."""
    jobs = list(jobs)
    arrays = {
        f"{name}{k}": part for k, job in enumerate(jobs) for name, part in zip(("X", "y", "new"), job, strict=False)
    }
    made = run_peer(options.peers, UMAP, n_jobs=len(jobs), seed=0, labels=labels, **arrays)
    for k in range(len(jobs)):
        yield made[f"Y{k}"], made[f"Z{k}"], "", float(made[f"seconds{k}"])


def proximities(X, y, new, seed):
    """Distances of the rows, and of new rows to them, by the leaves of a forest."""
    forest = RandomForestClassifier(N_PROXIMITY_TREES, random_state=seed).fit(X, y)
    out = np.ones((len(X), N_PROXIMITY_TREES), dtype=bool)
    for tree, drawn in enumerate(forest.estimators_samples_):
        out[drawn, tree] = False
    fitted, placed = forest.apply(X), forest.apply(new)
    D = apart(fitted, out, fitted, out)
    D = (D + D.T) / 2
    np.fill_diagonal(D, 0)
    return D, apart(placed, np.ones(placed.shape, dtype=bool), fitted, out)


def apart(leaves_a, out_a, leaves_b, out_b):
    """``sqrt(1 - share)`` of the trees that saw neither row in which both fall into one leaf."""
    same, both = np.zeros((len(leaves_a), len(leaves_b))), np.zeros((len(leaves_a), len(leaves_b)))
    for a, seen_a, b, seen_b in zip(leaves_a.T, out_a.T, leaves_b.T, out_b.T, strict=True):
        heard = np.outer(seen_a, seen_b)
        same += heard & (a[:, None] == b[None, :])
        both += heard
    return np.sqrt(1 - same / np.maximum(both, 1))


METHODS = {
    "prismap": partial(one_by_one, our_map),
    "prismap, 0.8": partial(one_by_one, partial(our_map, supervision=0.8, mapping="fisher")),
    "t-SNE": partial(one_by_one, plain), "t-SNE of a forest": partial(one_by_one, forest_tsne),
    "network": partial(one_by_one, network), "LDA": partial(one_by_one, discriminants),
    "NCA": partial(one_by_one, components), "UMAP": partial(umap, labels=False),
    "supervised UMAP": partial(umap, labels=True), "PHATE of a forest": forest_phate,
}  # fmt: skip
WITH_PEERS, WITHOUT_LABELS = ("UMAP", "supervised UMAP", "PHATE of a forest"), ("t-SNE", "UMAP")


# --- figures ----------------------------------------------------------------------------------------------------------


def sets_of(options):
    """The sets that can be had."""
    return SETS if options.data else (*GENERATED, *BUNDLED)


def shown(name):
    """A set's name, with a star if thresholds were found on it."""
    return f"{name} *" if name in SEEN else name


def splits_of(name, options):
    """The splits of a set."""
    return [
        problem(name, options.data, split, quick=options.quick) for split in range(1 if options.quick else N_SPLITS)
    ]


def rows_of(name, options):
    """One row per method that needs no environment of its own, and two of models in the full space."""
    warnings.simplefilter("ignore")
    splits = splits_of(name, options)
    for method in METHODS:
        if method not in WITH_PEERS:
            yield next(rows_by(method, {name: splits}, options))
    yield from full_space(name, splits)


def rows_of_peer(method, options):
    """One row per set."""
    if not options.peers:
        yield {"method": method, "set": "needs --peers"}
        return
    warnings.simplefilter("ignore")
    yield from rows_by(method, {name: splits_of(name, options) for name in sets_of(options)}, options)


def rows_by(method, problems, options):
    """One row per set of one method, from the splits of each."""
    once = method in WITHOUT_LABELS
    jobs = (job for splits in problems.values() for one in splits for job in jobs_of(one, once))
    results = METHODS[method](jobs, options)
    for name, splits in problems.items():
        runs = []
        for one in splits:
            found = next(results)
            runs.append(figures(one, found, found if once else next(results)))
        columns = {key: float(np.mean([run[key] for run in runs])) for key in COLUMNS}
        share, n_rows = columns["held out, 10"] / 100, sum(len(one.X_test) for one in splits)
        row = {"method": method, "set": shown(name), "rows": len(splits[0].X), **columns}
        row |= {"error": 100 * float(np.sqrt(share * (1 - share) / n_rows)), "structure": f"{columns['structure']:.2f}"}
        row |= {"spread": float(np.std([run["held out, 10"] for run in runs]))}
        if any(run["taken"] for run in runs):
            row |= {key: "; ".join(run[key] for run in runs) for key in ("taken", "taken, shuffled")}
        yield row


def jobs_of(one, once):
    """True labels and, unless the method knows none, shuffled ones, with which no more than two rows are placed."""
    yield one.X, one.y, one.X_test, 0
    if not once:
        yield one.X, np.random.default_rng(1).permutation(one.y), one.X_test[:2], 0


def figures(one, found, permuted):
    """What one split shows."""
    rng = np.random.default_rng(1)
    shuffled = rng.permutation(one.y)
    anywhere = rng.normal(size=(len(one.y), 2))
    by_chance = float(np.mean([told(anywhere, rng.permutation(one.y)) for _ in range(20)]))
    Y, Z, taken, seconds = found
    return {
        "held out, 1": told(Z, one.y_test, 1, Y, one.y), "held out, 10": told(Z, one.y_test, 10, Y, one.y),
        "invented": told(permuted[0], shuffled) - by_chance, "structure": float(r_nx(one.X, Y).auc_log_k),
        "seconds": seconds + (permuted[3] if permuted is not found else 0.0), "taken": taken,
        "taken, shuffled": permuted[2],
    }  # fmt: skip


def full_space(name, splits):
    """Models that need no map."""
    for label, model in {"SVM": SVC(), "forest": RandomForestClassifier(200, random_state=0)}.items():
        fitted = [make_pipeline(StandardScaler(), clone(model)).fit(one.X, one.y) for one in splits]
        right = [100 * float(made.score(one.X_test, one.y_test)) for made, one in zip(fitted, splits, strict=True)]
        row = {"method": label, "set": shown(name), "rows": len(splits[0].X)}
        yield {**row, "held out, 10": float(np.mean(right)), "spread": float(np.std(right))}


def told(Z, truth, k=10, Y=None, y=None):
    """% told right by k neighbours, among the rows themselves or by fitted ones."""
    return 100 * (1 - float(knn_error(Z, truth, n_neighbors=k, Y_fit=Y, y_fit=y)))


def left_out(options):
    """How often a shuffled target is left out of the map."""
    warnings.simplefilter("ignore")
    for name in sets_of(options):
        one, taken = problem(name, options.data, 0, quick=options.quick), []
        X, y = one.X[:SHUFFLED_ROWS], np.unique(one.y[:SHUFFLED_ROWS], return_inverse=True)[1]
        data = data_metric("vectors").over(X)
        for seed in range(1 if options.quick else N_SHUFFLED):
            shuffled = np.random.default_rng(seed + 1).permutation(y)
            taken.append(choose(FisherMetric("class", random_state=seed), data, shuffled, "auto", seed).supervision)
        yield {"set": shown(name), "rows": len(X), "left out": f"{taken.count(0)} of {len(taken)}"}


# --- over all sets ----------------------------------------------------------------------------------------------------


def kept_rows(options):
    """The rows of all parts that are done, by method and set; none where nothing is kept."""
    found: dict[str, dict] = {}
    for part in (*SETS, *WITH_PEERS) if options.out else ():
        path = rows_path(sys.modules[__name__], part, options.out)
        for row in json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else ():
            if "rows" in row:
                found.setdefault(row["method"], {})[row["set"]] = row
    return found


def by_set(options):
    """Ten neighbours of held-out rows, one column per method."""
    found = kept_rows(options)
    for name in found.get("prismap", ()):
        yield {"set": name, **{method: rows[name]["held out, 10"] for method, rows in found.items() if name in rows}}


def counts(options):
    """How often the default is behind, over all sets and over those that were not looked at before."""
    found = kept_rows(options)
    if "prismap" not in found:
        return
    ours = found.pop("prismap")
    ceilings = found.pop("SVM"), found.pop("forest")

    def behind(name, method):
        """By how many standard errors of the other's share."""
        rival = found[method].get(name)
        return -1.0 if rival is None else (rival["held out, 10"] - ours[name]["held out, 10"]) / (rival["error"] or 1.0)

    def short(name):
        """Points below the better model in the full space."""
        return max(rows[name]["held out, 10"] for rows in ceilings) - ours[name]["held out, 10"]

    honest = [method for method, rows in found.items() if np.mean([row["invented"] for row in rows.values()]) < HONEST]
    rivals = [method for method in honest if method != "prismap, 0.8"]
    tests = {
        "not behind t-SNE by more than a standard error": lambda name: behind(name, "t-SNE") <= 1,
        "not behind a fixed share of 0.8 by more than a standard error": lambda name: behind(name, "prismap, 0.8") <= 1,
        f"no honest rival ({', '.join(rivals)}) ahead by more than a standard error": lambda name: all(
            behind(name, rival) <= 1 for rival in rivals
        ),
        "within 3 points of the better of SVM and forest": lambda name: short(name) <= 3,
        "within 6 points": lambda name: short(name) <= 6,
        "shuffled labels left out in all splits": lambda name: all(
            one.startswith("0,") for one in ours[name]["taken, shuffled"].split("; ")
        ),
    }
    for words, test in tests.items():
        held = {name: test(name) for name in ours}
        new = [name for name in ours if not name.endswith("*")]
        yield {
            "the default": words, "sets": f"{sum(held.values())} of {len(held)}",
            "without a star": f"{sum(held[name] for name in new)} of {len(new)}",
            "not on": ", ".join(name.removesuffix(" *") for name, yes in held.items() if not yes),
        }  # fmt: skip


def over_all_sets(options):
    """Means over the sets that every method has, and the picture: accuracy against honesty."""
    found = kept_rows(options)
    shared = set.intersection(*map(set, found.values())) if found else set()
    new = {name for name in shared if not name.endswith("*")}
    means = {}
    for method, rows in found.items():
        keys = [key for key in COLUMNS if key in next(iter(rows.values()))]
        means[method] = {key: float(np.mean([float(rows[name][key]) for name in shared])) for key in keys}
        own = {"held out, 10, no star": float(np.mean([rows[name]["held out, 10"] for name in new])) if new else ""}
        if "structure" in means[method]:
            own["structure"] = f"{means[method]['structure']:.2f}"
        yield {"method": method, **means[method], **own, "sets": len(shared)}
    if options.out and means:
        draw({method: row for method, row in means.items() if "invented" in row}, options.out / "field.png")


def draw(means, path):
    """One mark per method: what it tells right of new rows, what it invents, and as its size the structure it keeps."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
    for method, row in means.items():
        ax.scatter(row["invented"], row["held out, 10"], s=40 + 900 * max(row["structure"], 0), alpha=0.6)
        ax.annotate(method, (row["invented"], row["held out, 10"]), xytext=(9, 5), textcoords="offset points")
    ax.set(
        xlabel="invented: shuffled labels told right beyond chance, points",
        ylabel="held-out rows told right by ten neighbours, %", title="Accuracy against honesty; size: structure kept",
    )  # fmt: skip
    figure.savefig(path, dpi=110)
    plt.close(figure)


PARTS = {name: partial(rows_of, name) for name in SETS}
PARTS |= {method: partial(rows_of_peer, method) for method in WITH_PEERS}
PARTS |= {"shuffled targets": left_out, "ten neighbours by set": by_set, "counts": counts, "all sets": over_all_sets}
WITHOUT_DATA = tuple(part for part in PARTS if part not in STORED)

if __name__ == "__main__":
    main(sys.modules[__name__])
