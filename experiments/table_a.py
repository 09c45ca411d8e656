"""Table A: similarity data (Schulz, Brinkrolf, Hammer 2017, Table 1; Schulz 2017, thesis, Table 2.1).

**Protocol.** Leave-one-out 1-NN error in %, in the original space, under the Fisher metric (T = 5, speeds at nodes as
published, Parzen density; the paper's T = 5 points are six sub-segments, ours are five) and in two-dimensional maps,
all with perplexity 20. Means and standard deviations of three
runs (two where there are more than 400 rows). Each run has its own seed of the map, of the support and of the folds
and, with *permuted* labels, its own permutation. Three ways to estimate the density behind the Fisher metric stand side
by side:

- *all rows*: every row is support, so a row's own label is in the density that judges it (``cross_fit=False``);
- *30 %*: the same with 30 % of the rows as support. The paper chooses the size of its support by the permuted baseline
  and does not print it (our search by this rule takes 20 to 41 %, see [variants](variants.md)); the thesis uses 60 to
  100 %;
- *cross-fitted*: all rows are support, and no row is judged by its own fold (kernel discriminant: the positions of rows
  that were left out).

*Clipped*: negative eigenvalues of the similarities are set to zero. *Unclipped*: they stay
(``SimilarityMetric(repair="none")``), and negative squared distances count as zero. The paper does not say which it
did, but its original space and its t-SNE are those of the thesis without clipping, so its Fisher figures stand with the
unclipped rows (before the thesis' figure, where both print one). BH Fisher t-SNE starts from the 60 neighbours that the
vantage-point tree found and uses Barnes-Hut gradients beyond 300 rows. *Evaluations* are the distances that the tree
computed, in % of n^2 (leaves of 16 rows), *recall* is that of its neighbours, both for the three estimates in turn.

The tree stands with the unclipped rows only, as in the paper. Some similarities are equal: of equally near rows the
majority decides, and in the row *first of equals* the first in the file.

*Our default* is ``PrisMap(data=...)`` with the defaults that the end of the page names, perplexity 30 and a
cross-fitted metric. Its *held out* row leaves each of five folds out of the map, projects it and takes the nearest
fitted row (two runs).

**What differs.** The papers' Java programs and our 64 (public release, unit-cost tree edit distance) are not the same.
They speak of 226 proteins in four classes where we have 213; the error in the original space is theirs to the digit, so
the matrix is probably the same. Patrol and Sonatas are not to be had. The thesis runs t-SNE ten times. Cat cortex,
protein 226 and chicken pieces (made symmetric) have no published figure; they are used as they are.
"""

from __future__ import annotations

import sys
import warnings
from functools import partial

import numpy as np
from sklearn.model_selection import StratifiedKFold

from experiments.common import load, spread
from experiments.ledger import main, quoted
from prismap import PrisMap
from prismap.embeddings import TSNE, KernelDiscriminant, KernelPCA
from prismap.exceptions import PrismapWarning
from prismap.metrics import FisherMetric, SimilarityMetric
from prismap.metrics.posteriors import Parzen
from prismap.neighbors._search import vptree_neighbors
from prismap.quality import chance_error, knn_error

#: Printed errors by data set and method: kernel PCA and discriminant of the paper, clipped maps of the thesis, and what
#: both print without clipping (the paper's figure first).
PAPER = {
    "sim_aural_sonar": {"original, clipped": "17", "kernel PCA, clipped": "18", "kernel discriminant, clipped": "15",
        "t-SNE, clipped": "15", "Fisher t-SNE, clipped": "9", "original, unclipped": "21 / 21",
        "t-SNE, unclipped": "18 / 18", "Fisher metric, unclipped": "8", "Fisher metric, vp-tree, unclipped": "8",
        "Fisher t-SNE, unclipped": "11 / 10", "BH Fisher t-SNE, unclipped": "12"},
    "sim_protein213": {"original, clipped": "10", "kernel PCA, clipped": "12", "kernel discriminant, clipped": "1.4",
        "t-SNE, clipped": "8", "Fisher t-SNE, clipped": "3", "original, unclipped": "77 / 77",
        "t-SNE, unclipped": "31 / 31", "Fisher metric, unclipped": "0.9", "Fisher metric, vp-tree, unclipped": "9",
        "Fisher t-SNE, unclipped": "4 / 4", "BH Fisher t-SNE, unclipped": "6"},
    "sim_voting": {"original, clipped": "6", "kernel PCA, clipped": "7.6", "kernel discriminant, clipped": "4",
        "t-SNE, clipped": "7", "Fisher t-SNE, clipped": "4", "original, unclipped": "6 / 6",
        "t-SNE, unclipped": "7 / 7", "Fisher metric, unclipped": "5", "Fisher metric, vp-tree, unclipped": "5",
        "Fisher t-SNE, unclipped": "4 / 6", "BH Fisher t-SNE, unclipped": "5"},
    "dis_java_sorting_trees": {"original, clipped": "11", "kernel PCA, clipped": "12.5",
        "kernel discriminant, clipped": "14", "t-SNE, clipped": "13", "Fisher t-SNE, clipped": "11",
        "original, unclipped": "14 / 14", "t-SNE, unclipped": "15 / 15", "Fisher metric, unclipped": "11",
        "Fisher metric, vp-tree, unclipped": "11", "Fisher t-SNE, unclipped": "12 / 14",
        "BH Fisher t-SNE, unclipped": "13"},
    "dis_cat_cortex": {},
    "dis_protein226": {},
    "dis_chicken_pieces_20_60": {},
}  # fmt: skip
#: Printed errors with permuted labels: kernel discriminant, Fisher t-SNE (the same in both), BH Fisher t-SNE.
PAPER_PERMUTED = {
    "sim_aural_sonar": ("39", "40", "48"), "sim_protein213": ("51", "48", "59"), "sim_voting": ("45", "43", "46"),
    "dis_java_sorting_trees": ("49", "45", "45"),
}  # fmt: skip
FIRST = "original, unclipped, first of equals"
PERPLEXITY = 20
PUBLISHED = {"path": "tangent", "n_segments": 5, "perplexity": PERPLEXITY}
#: How the density is estimated: whether cross-fitted, and the share of the rows that are its support.
ESTIMATES = {"all rows": (False, 1.0), "30 %": (False, 0.3), "cross-fitted": (True, 1.0)}
COLUMNS = [column for name in ESTIMATES for column in (name, f"{name}, permuted")]
N_RUNS = 3

READING = """
With all rows as support the metric repeats labels: permuted ones give {all_aural} % error on aural sonar and
{all_protein} % on clipped protein, where chance is 50 and 72 %. With 30 % of the rows as support the figures
resemble the published ones, both true (Fisher t-SNE: aural {some_aural} and {some_aural_clipped} %, protein
{some_protein} and {some_protein_clipped}, voting {some_voting}, Java {some_java}) and permuted ({blind_aural},
{blind_protein}, {blind_voting} and {blind_java} %, unclipped).

The width of the density is another reason: eq. 4 of the paper is printed with kernels twice as wide as ours. With
that width and 60 to 80 % of the rows as support, which is what the thesis has, both the true and the permuted
figures of Fisher t-SNE come out ([reasons](reasons.md)). All of them are in-sample.

Cross-fitted, permuted labels are near chance in the metric and in the maps ({honest_blind_voting} % for 47 in the
maps of voting). On unclipped protein the map has {honest_protein} % (paper 4), and {tree_protein} by Barnes-Hut
(paper 6), where t-SNE has {tsne_protein}. On aural sonar it has {honest_aural} % for t-SNE's {tsne_aural},
unclipped, on the Java programs {honest_java} for {tsne_java}, of 64 rows, and on voting {honest_voting} for
{tsne_voting}: there, most of what is gained in-sample are the rows' own labels. The default map has, with t-SNE's
figure second: {own_aural} and {plain_aural} % on aural sonar (clipped), {own_protein} and {plain_protein} on
protein, {own_voting} and {plain_voting} on voting, {own_java} and {plain_java} on the Java programs, {own_cats} and
{plain_cats} on cat cortex, {own_226} and {plain_226} on protein 226 and {own_chicken} and {plain_chicken} on
chicken pieces, so that it is
nowhere clearly better than t-SNE. Held-out rows have {out_aural},
{out_protein}, {out_voting}, {out_java}, {out_cats}, {out_226} and {out_chicken} %.

The held-out error of our default on the 64 Java programs was 11.7 % in an early run and 18.0 % in a later one. Both
are means of two runs, so we made ten of each. The code of the early run gives 14.1 +- 2.8 % (11.7 in its first two
runs), the code of the later one with the former defaults (``supervision=0.8, mapping="fisher"``) 15.0 +- 3.8 %, and
with its own defaults 18.0 +- 3.4 %. So 2.4 of the 6.3 points were luck and 3.0 came with the new defaults, nearly
all of them with the out-of-sample projection: "auto" takes votes in 37 of 50 folds, and with ``mapping="fisher"``
alone the ten runs give 15.5 +- 2.8 %. The difference of 2.5 points has a standard error of 1.2. Without a target
the ten runs give 18.8 +- 3.3.

In the original space the papers' 21 % (aural sonar) and 77 % (protein) are met to the digit where the first of
equally near rows counts.
"""


def mean_in(part, method, column):
    """A place of the mean in a cell, without its spread."""
    return lambda found: "-" if part not in found else quoted(found, part, {"method": method}, column).split(" +-")[0]


MAP, HONEST = "Fisher t-SNE, unclipped", "cross-fitted"
SHORT = {
    "aural": "sim_aural_sonar", "protein": "sim_protein213", "voting": "sim_voting", "java": "dis_java_sorting_trees"
}  # fmt: skip
OTHERS = {"cats": "dis_cat_cortex", "226": "dis_protein226", "chicken": "dis_chicken_pieces_20_60"}
QUOTED = {
    "all_aural": mean_in("sim_aural_sonar", "Fisher metric, clipped", "all rows, permuted"),
    "all_protein": mean_in("sim_protein213", "Fisher metric, clipped", "all rows, permuted"),
    "tree_protein": mean_in("sim_protein213", "BH Fisher t-SNE, unclipped", HONEST),
    "honest_blind_voting": mean_in("sim_voting", MAP, f"{HONEST}, permuted"),
    **{f"some_{name}": mean_in(part, MAP, "30 %") for name, part in SHORT.items()},
    **{f"some_{name}_clipped": mean_in(part, "Fisher t-SNE, clipped", "30 %") for name, part in SHORT.items()},
    **{f"blind_{name}": mean_in(part, MAP, "30 %, permuted") for name, part in SHORT.items()},
    **{f"honest_{name}": mean_in(part, MAP, HONEST) for name, part in SHORT.items()},
    **{f"tsne_{name}": mean_in(part, "t-SNE, unclipped", HONEST) for name, part in SHORT.items()},
    **{f"plain_{name}": mean_in(part, "t-SNE, clipped", HONEST) for name, part in SHORT.items()},
    **{f"plain_{name}": mean_in(part, "t-SNE", HONEST) for name, part in OTHERS.items()},
    **{f"own_{name}": mean_in(part, "our default", HONEST) for name, part in (SHORT | OTHERS).items()},
    **{f"out_{name}": mean_in(part, "our default, held out", HONEST) for name, part in (SHORT | OTHERS).items()},
}


def rows_of(name, options):
    """One row per method."""
    warnings.simplefilter("ignore", PrismapWarning)
    data = load(options.data, name)
    S, y = data["S"].astype(np.float64), data["y"]
    S = (S + S.T) / 2
    if options.quick:
        few = np.sort(np.random.default_rng(0).permutation(len(y))[:120])
        S, y = S[np.ix_(few, few)], y[few]
    kind = "similarity" if name.startswith("sim") else "dissimilarity"
    n = 1 if options.quick else N_RUNS if len(y) < 400 else 2
    rng = np.random.default_rng(0)
    shuffles = [rng.permutation(y) for _ in range(n)]
    chance = 100 * float(chance_error(y))

    def row(method, figures):
        known = PAPER[name].get("original, unclipped" if method == FIRST else method, "")
        printed = {"paper": known, "paper, permuted": permuted_in_paper(name, method)}
        return {"method": method, **printed, **dict.fromkeys(COLUMNS, ""), "chance": chance, **figures}

    similarities = S if kind == "similarity" else centred_gram(S)
    for repair, word in (("clip", ", clipped"), ("none", ", unclipped")) if PAPER[name] else (("none", ""),):
        metric = SimilarityMetric(repair=repair)
        D = metric.fit(similarities).pairwise()
        yield row(f"original{word}", same(f"{error(D, y, 'precomputed'):.1f}"))
        if word == ", unclipped":
            yield row(FIRST, same(f"{first_error(D, y):.1f}"))
        yield row(f"t-SNE{word}", same(spread([error(tsne(D, seed), y) for seed in range(n)])))
        if word != ", unclipped":  # their kernel is centred, and its negative eigenvalues are left out
            kernel = centred_gram(D)
            flat = KernelPCA(kernel="precomputed").fit_transform(kernel)
            yield row(f"kernel PCA{word}", same(f"{error(flat, y):.1f}"))
            yield row(f"kernel discriminant{word}", discriminants(kernel, y, shuffles))
        for method, figures in fisher_figures(similarities, metric, y, shuffles, tree=word != ", clipped"):
            yield row(method + word, figures)
    for method, figures in our_figures(S, kind, y, shuffles):
        yield row(method, figures)


def permuted_in_paper(name, method):
    """What the papers print for permuted labels."""
    methods = "kernel discriminant, clipped", "Fisher t-SNE, unclipped", "BH Fisher t-SNE, unclipped"
    return dict(zip(methods, PAPER_PERMUTED.get(name, ()), strict=False)).get(method, "")


def same(figure):
    """One figure for every estimate."""
    return dict.fromkeys(ESTIMATES, figure)


def discriminants(kernel, y, shuffles):
    """Kernel discriminant maps, in-sample and of rows left out."""
    found = {}
    for column, cross_fit in (("all rows", False), ("cross-fitted", True)):
        for label, targets in ((column, [y] * len(shuffles)), (f"{column}, permuted", shuffles)):
            errors = []
            for seed, labels in enumerate(targets):
                model = KernelDiscriminant(kernel="precomputed", cross_fit=cross_fit, random_state=seed)
                errors.append(error(model.fit_transform(kernel, labels), labels))
            found[label] = spread(errors)
    return found


def fisher_figures(similarities, metric, y, shuffles, tree):
    """Errors under the Fisher metric and in its maps, by method, for every estimate and with permuted labels."""
    found, trees = {}, {"evaluations": [], "recall": []}
    for column, (cross_fit, share) in ESTIMATES.items():
        posterior = Parzen(n_support=None if share == 1 else round(share * len(y)))
        fisher = FisherMetric(data=metric, posterior=posterior, cross_fit=cross_fit, **PUBLISHED)
        for label, targets in ((column, [y] * len(shuffles)), (f"{column}, permuted", shuffles)):
            runs = [one_run(fisher, similarities, labels, seed, tree) for seed, labels in enumerate(targets)]
            for method in runs[0]:
                found.setdefault(method, {})[label] = [run[method] for run in runs]
        for key in trees if tree else ():
            trees[key].append(f"{np.mean(found[key][column]):.0f}")
    for method, figures in found.items():
        if method not in trees:
            more = {key: " / ".join(values) for key, values in trees.items()} if "vp-tree" in method else {}
            yield method, {label: spread(values) for label, values in figures.items()} | more


def one_run(fisher, similarities, labels, seed, tree):
    """Errors of one support and one map, and of one vantage-point tree and its map."""
    fisher.set_params(random_state=seed)
    D = fisher.fit(similarities, labels).pairwise().astype(np.float64)
    D = (D + D.T) / 2
    found = {"Fisher metric": error(D, labels, "precomputed"), "Fisher t-SNE": error(tsne(D, seed), labels)}
    if tree:
        n_neighbors = min(3 * PERPLEXITY, len(D) - 1)
        near = vptree_neighbors(fisher.between, len(D), n_neighbors, leaf_rows=16, random_state=seed)
        found["Fisher metric, vp-tree"] = 100 * float(np.mean(labels[near[1][:, 0]] != labels))
        found["BH Fisher t-SNE"] = error(tsne(D, seed, near[:2]), labels)
        found |= {"evaluations": 100 * near[2].share, "recall": 100 * near[2].recall}
    return found


def our_figures(S, kind, y, shuffles):
    """The map that people get."""
    inside, held_out = {}, {}
    for label, targets in (("cross-fitted", [y] * len(shuffles)), ("cross-fitted, permuted", shuffles)):
        maps = [PrisMap(data=kind, random_state=seed).fit(S, c).embedding_ for seed, c in enumerate(targets)]
        inside[label] = spread([error(Y, c) for Y, c in zip(maps, targets, strict=True)])
        held_out[label] = spread([held_out_error(S, kind, c, seed) for seed, c in enumerate(targets[:2])])
    yield "our default", inside
    yield "our default, held out", held_out


def held_out_error(S, kind, y, seed, n_folds=5):
    """Error of rows that were projected, by the nearest fitted row."""
    wrong = []
    for train, test in StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(S, y):
        m = PrisMap(data=kind, random_state=seed).fit(S[np.ix_(train, train)], y[train])
        Z = m.transform(S[np.ix_(test, train)])
        wrong.append(len(test) * knn_error(Z, y[test], Y_fit=m.embedding_, y_fit=y[train]))
    return 100 * float(np.sum(wrong)) / len(y)


def first_error(D, y):
    """The same in the original space where of equally near rows the first in the file counts."""
    return 100 * float(np.mean(y[(D + np.diag(np.full(len(D), np.inf))).argmin(axis=1)] != y))


def centred_gram(D):
    """Inner products of the centred points that have these distances."""
    D2 = D**2
    return -0.5 * (D2 - D2.mean(axis=0) - D2.mean(axis=1)[:, None] + D2.mean())


def tsne(D, seed, neighbors="exact"):
    """A map of distances."""
    options = {"metric": "precomputed", "perplexity": PERPLEXITY, "random_state": seed}
    return TSNE(neighbors=neighbors, **options).fit_transform(D)


def error(Y, y, metric="euclidean"):
    """Leave-one-out 1-NN error in %."""
    return 100 * float(knn_error(Y, y, metric=metric))


PARTS = {name: partial(rows_of, name) for name in PAPER}

if __name__ == "__main__":
    main(sys.modules[__name__])
