"""Why published figures differ from ours: what was tried.

Each part repeats one published figure with a setting that the paper does not print, or prints in another way than we
read it, beside the setting of the other pages. Figures of the Fisher metric are in-sample here, as published: the
density has seen the labels of the rows it judges. What they are worth stands beside them, as the same figure with
permuted labels.

**Protocol.** *Width on ...* (Table A): unclipped similarities, six sub-segments (T = 5 points inside a segment cut it
into six parts), perplexity 20, and 60, 70 and 80 % of the rows as support, where the thesis has 60 to 100 %. Leave-one-
out 1-NN error in %, three runs (two where there are more than 400 rows). The width is ours (the mean of the widths with
the perplexity) or the published one, twice as wide (``Parzen(bandwidth="published")``).

*Algorithms by width, ...* (Table C): Algorithms 1 and 2 of Gisbrecht, Schulz and Hammer (2015), left nodes, with the
width of the density as ours, sqrt(2) times it (``"matlab"``) and twice (``"published"``). *Train*: 1-NN accuracy in %
of the fitted rows, in-sample. The columns *inside* are those of 10,000 projected rows, by the common factor of the
kernels' width. Three random splits of usps, and one of the others.

*Mixtures* (Table H): Rice's method on raw matrices from the eigenvalues, by epochs and iterations, and the smallest
number of neighbours for which Isomap's graph is connected: where one of two rows has the other, and where both do.

*LIBSVM's defaults, ...* (Table D): local quality of new rows by support vector regression with C = 1000 and a tube of
.01 in units of the spread, as on the page of Table D, and with C = 1 and a tube of .1 around the positions. Ten random
splits (henon: two), raw pixels.

*Matrix on adrenal* (Table F): 1-NN errors in % of all 147 patients, in-sample, in the published Fisher t-SNE map, in
the data transformed by a relevance matrix (k = 10) and on its two main directions, by width of the density, penalty and
rank of the matrix. Means over three seeds of the map, with permuted labels beside them. *GMLVQ on adrenal*: errors over
30 random splits by the share of training rows, by model and by iterations. *Weights on usps*: 1-NN error of 1,000
images in %, in-sample, with pixels weighted by their relevance for the published Fisher t-SNE map (k = 80), by scale of
the pixels, penalty and width. *Tree on usps* (Table E): agreement of Fisher SOM pictures with classification trees, in
%, by the density of the map's metric. *Coil by objects* (Table G): accuracy in % on source and target by linear maps,
ten sets of four objects drawn at random.

*Housing* (Table B): a process with beta = .1 on the target as it is, whose variance is 84, so that a signal of 1 makes
the process certain of what it has seen. *Sum*: the printed sums of squares are distances without a root. Three runs,
one of permuted targets. *Paths of Fig. 2.5*: the straight and the
shortest path of our own draw of the toy set, and the geodesic of `FisherMetric.geodesic` with the least length that any
path can have, by arcs.
"""

from __future__ import annotations

import sys
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from experiments import table_a, table_b, table_c, table_d, table_e, table_f, table_g, table_h
from experiments.common import accuracy, load, quietly, spread
from experiments.ledger import main
from prismap import PrisMap
from prismap.embeddings import TSNE, Isomap
from prismap.exceptions import PrismapWarning
from prismap.inspection import FisherDisplay, ModelView
from prismap.learners import GMLVQ, LMNN
from prismap.mappings import KernelMap
from prismap.metrics import AlternatingDescent, FisherMetric, MixtureMetric, Parzen, SimilarityMetric
from prismap.metrics.posteriors import GaussianProcess
from prismap.quality import knn_error, q_local
from prismap.relevance import FeatureRelevance

READING = """
**The width of the density** explains most of Tables A and C. Schulz, Brinkrolf and Hammer (2017, eq. 4) print exp(-0.5
d^2 / 2 sigma^2), which is wider than our kernels by the root of 2, and take sigma from t-SNE, whose common program
prints the mean of sqrt(1 / beta), which is wider by the root of 2 once more. With both, and 60 to 80 % of the rows as
support, Fisher t-SNE has {aural_60}, {aural_70} and {aural_80} % on aural sonar (permuted {aural_p60}, {aural_p70} and
{aural_p80}; paper 10 to 11 and 40), {protein_60}, {protein_70} and {protein_80} % on protein (permuted {protein_p60},
{protein_p70} and {protein_p80}; paper 4 and 48), {voting_60}, {voting_70} and {voting_80} % on voting (permuted
{voting_p60}, {voting_p70} and {voting_p80}; paper 4 to 6 and 43) and {java_60}, {java_70} and {java_80} % on the Java
programs (permuted {java_p60}, {java_p70} and {java_p80}; paper 12 to 14 and 45). These are near the published figures,
with true labels and with permuted ones. With our width and the same supports the maps of aural sonar and of the Java
programs are better than published and show permuted labels, those of protein are worse, and those of voting are as
published. The errors of the metric itself do not come out: they are lower in the paper.

Gisbrecht, Schulz and Hammer (2015) print exp(-0.5 d^2 / sigma^2), so that one root of 2 is left. With it Algorithm 2 on
usps has {usps_train} % on its training rows (paper 96.6; {usps_train_ours} with our width) and {usps_inside} % on new
rows (paper 87.4), with a factor of .2. The honest reading stands: {usps_permuted} % of permuted labels are right on
these training rows.

On mnist and letter the paper lies between the two widths: Algorithm 2 has {mnist_sqrt} % on the training rows of mnist
with one root and {mnist_two} % with both (paper 91.1; {mnist_ours} with our width), and {letter_sqrt} and {letter_two}
% on those of letter (paper 85.5; {letter_ours}). Of permuted labels {mnist_permuted} % are right on the training rows
of mnist with one root.

**One common factor for the kernels.** Algorithm 1 on usps has {kernel_15} % with a factor of .15 and {kernel_20} % with
.2 (paper 84.8). The smaller .1 gives {kernel_10} %. The grid of our cross-validation begins at .15 and took .25 there.
With .2 Algorithm 1 has {letter_kernel} % on letter (paper 80.1) and {mnist_kernel} % on mnist (paper 85.8), so that one
factor is near the paper on all three sets, and .1 is better than the paper on all three.

**Support vector regression.** The defaults of LIBSVM (C = 1 and a tube of .1 around the positions as they are) lower
the quality on coil to {coil_libsvm} with half of the rows fitted, and on henon with Gaussian kernels to {henon_libsvm}
(each time the paper's figure first; with the settings of Table D {coil_svr} and {henon_svr}). So they explain coil, and
most of what Gaussian kernels lose on henon. They change nothing on car and olivetti, where our maps are as good as the
paper's or better, and the kernels of extreme learning on henon stay good ({henon_elm}).

**Housing.** With beta = .1 and the target as it is, a process that has seen the targets gives {housing} where lengths
are added up, and {housing_squares} where squares are, without a root, as the sums are printed (paper .207). Permuted
targets then have {housing_permuted}, where 1 is the mean: the figure is in-sample. With the target standardised it is
{housing_standard}.

**The smallest k of Isomap** is that of mutual neighbours, on Euclidean distances: {k_box}, {k_roll}, {k_mnist} and
{k_faces} for the paper's 4, 6, 15 and 8 (mnist with other digits than the paper's). On the learnt mixtures it is not
(paper 14, 10, 28 and 16).

**How far the weights of a mixture move** depends on the number of epochs, each of which has one step of the weights: on
mnist {moved_10} with 10 x 75 and {moved_3} with the 3 x 150 that the paper proposes for its start (paper .01), on the
faces {faces_10} and {faces_3} (paper .01), and on the swiss roll {roll_10} and {roll_3} (paper .09). The best of six
starts, which Table H shows, moves farther.

**Fig. 2.5.** The paths of the thesis are nearly equally long (.578 and .562, a ratio of 1.03), ours are not. The ratio
falls with the width: {ratio_ours} with ours, {ratio_published} with the published one. The lengths themselves stay
three times as long, in our own draw of the set. Neither is the distance: five nodes see little of a border that is
crossed between two of them, so the straight segment has {straight_arcs} by arcs with our width. And with two classes
the tensor has one direction, so that a path may go round the other class at no cost. The geodesic, found by its energy,
has {bent_ours} with our width and {bent_published} with the published one, where no path can have less than
{least_ours} and {least_published}: the arc between the posteriors of its ends. The shortest path over the rows, bound
to rows and to the segments between them, is far from it.

**Not explained.** *The matrix of adrenal*: no width, penalty or rank brings the error on two directions near 2.7 %. The
lowest is {adrenal_best} %. *Weights on usps*: neither the scale of the pixels nor the penalty matters much
({usps_weights} %, paper 2.2), and a wider density is worse. *GMLVQ on adrenal*: with ten iterations, the training error
is that of the thesis ({gmlvq_train} of .04) and the test error falls to {gmlvq_test}. With nine tenths of the rows for
training {gmlvq_share} of the splits have .03 or less (after all iterations {gmlvq_share_all}), with halves none. So a
short training and one small test part may be the reason, and we cannot know. *The tree on usps*: a tree that splits
nodes of ten rows and more, as a common program does, and the in-sample density of the thesis give {tree_labels} %
supervised by labels (paper 87.8) and {tree_model} % by the model's labels (paper 92.3). The density matters little, the
size of the tree more. *Coil*: the accuracy depends on the objects, from {coil_low} to {coil_high} % on the source over
ten sets of four, so that 70 and 66 lie inside what objects make of it.
"""


def of_map(part, support, column):
    """The place of a figure with the published width."""
    return f"width on {part}", {"width": "published", "support": f"{support}%"}, column


def of_mixture(name, distances, column):
    """The place of a figure of a mixture."""
    return "mixtures", {"set": name, "distances": distances}, column


def of_svm(name, kernel, setting):
    """The place of a figure of support vector regression with half of the rows fitted."""
    return f"LIBSVM's defaults, {name}", {"map": f"svm {kernel}", "setting": setting}, "50%"


def cells(found, part, column, row):
    """Cells of a column in our rows of a part with these cells, by their means."""
    rows = [one for one in found.get(part, {"rows": []})["rows"] if "paper" not in str(next(iter(one.values())))]
    return {float(one[column].split()[0]): one[column] for one in rows if row.items() <= one.items()}


def least_cell(found, part, column):
    """The smallest cell."""
    values = cells(found, part, column, {})
    return values[min(values)] if values else "-"


def range_of(found, part, column, row):
    """From the smallest to the largest cell."""
    values = cells(found, part, column, row)
    return f"{min(values):.1f} to {max(values):.1f}" if values else "-"


USPS = "algorithms by width, usps11000"
TREE = {"tree": "from 10 rows on", "density": "Parzen, in-sample"}
QUOTED = {
    **{
        f"{short}_{letter}{support}": of_map(part, support, column)
        for short, part in (("aural", "aural sonar"), ("protein",) * 2, ("voting",) * 2, ("java", "Java programs"))
        for letter, column in (("", "map"), ("p", "map, permuted"))
        for support in (60, 70, 80)
    },
    "usps_train": (USPS, {"width": "sqrt 2"}, "train"),
    "usps_train_ours": (USPS, {"width": "ours"}, "train"),
    "usps_inside": (USPS, {"width": "sqrt 2"}, "inside, factor 0.2"),
    "usps_permuted": (USPS, {"width": "sqrt 2"}, "train, permuted"),
    "kernel_10": (USPS, {"method": "Algorithm 1", "width": ""}, "inside, factor 0.1"),
    "kernel_15": (USPS, {"method": "Algorithm 1", "width": ""}, "inside, factor 0.15"),
    "kernel_20": (USPS, {"method": "Algorithm 1", "width": ""}, "inside, factor 0.2"),
    **{
        f"k_{short}": of_mixture(name, "Euclidean", "k, both have")
        for short, name in zip(("box", "roll", "mnist", "faces"), table_h.PAPER, strict=True)
    },
    "moved_10": of_mixture("mnist 0/1/6", "10 x 75, from the eigenvalues", "moved"),
    "moved_3": of_mixture("mnist 0/1/6", "3 x 150, from the eigenvalues", "moved"),
    "faces_10": of_mixture("faces", "10 x 75, from the eigenvalues", "moved"),
    "faces_3": of_mixture("faces", "3 x 150, from the eigenvalues", "moved"),
    "roll_10": of_mixture("swiss roll", "10 x 75, from the eigenvalues", "moved"),
    "roll_3": of_mixture("swiss roll", "3 x 150, from the eigenvalues", "moved"),
    **{
        f"{name}_{short}": (f"algorithms by width, {name}", {"method": "Algorithm 2", "width": width}, "train")
        for name in ("letter", "mnist")
        for short, width in (("ours", "ours"), ("sqrt", "sqrt 2"), ("two", "published"))
    },
    "mnist_permuted": ("algorithms by width, mnist", {"width": "sqrt 2"}, "train, permuted"),
    **{
        f"{name}_kernel": (f"algorithms by width, {name}", {"method": "Algorithm 1", "width": ""}, "inside, factor 0.2")
        for name in ("letter", "mnist")
    },
    "coil_libsvm": of_svm("coil", "rbf", "LIBSVM's defaults"),
    "coil_svr": of_svm("coil", "rbf", "as in Table D"),
    "henon_libsvm": of_svm("henon", "rbf", "LIBSVM's defaults"),
    "henon_svr": of_svm("henon", "rbf", "as in Table D"),
    "henon_elm": of_svm("henon", "elm", "LIBSVM's defaults"),
    "housing": ("housing", {"target": "as it is", "noise": "0.01", "sum": "of lengths"}, "ours"),
    "housing_squares": ("housing", {"target": "as it is", "sum": "of squares"}, "ours"),
    "housing_permuted": ("housing", {"target": "as it is", "sum": "of squares"}, "permuted"),
    "housing_standard": ("housing", {"target": "standardised", "sum": "of squares"}, "ours"),
    "straight_arcs": ("paths of Fig. 2.5", {"width": "ours", "sum": "of lengths"}, "straight, arcs"),
    **{
        f"{short}_{width}": ("paths of Fig. 2.5", {"width": width, "sum": "of lengths"}, column)
        for short, column in (("bent", "geodesic"), ("least", "least"))
        for width in ("ours", "published")
    },
    "adrenal_best": lambda found: least_cell(found, "matrix on adrenal", "two directions"),
    "usps_weights": lambda found: range_of(found, "weights on usps", "weighted", {"width": "ours"}),
    **{
        f"gmlvq_{short}": ("GMLVQ on adrenal", {"model": f"GMLVQ, no noise{how}", "training rows": "90%"}, column)
        for short, how, column in (
            ("train", ", 10 iterations", "train"),
            ("test", ", 10 iterations", "test"),
            ("share", ", 10 iterations", "splits at .03 or below"),
            ("share_all", "", "splits at .03 or below"),
        )
    },
    **{f"tree_{source}": ("tree on usps", TREE, f"supervised by {source}") for source in ("labels", "model")},
    "coil_low": lambda found: range_of(found, "coil by objects", "source", {}).split(" to ")[0],
    "coil_high": lambda found: range_of(found, "coil by objects", "source", {}).split(" to ")[-1],
    "ratio_ours": ("paths of Fig. 2.5", {"width": "ours", "sum": "of lengths"}, "ratio"),
    "ratio_published": ("paths of Fig. 2.5", {"width": "published", "sum": "of lengths"}, "ratio"),
}
#: Widths of the density by what they are called here.
WIDTHS = {"ours": None, "sqrt 2": "matlab", "published": "published"}
SUPPORTS = (0.6, 0.7, 0.8)
#: Common factors of the kernels' width, in units of the typical distance to the nearest neighbour.
FACTORS = (0.1, 0.15, 0.2, 0.25)
SIMILARITIES = {
    "aural sonar": "sim_aural_sonar", "protein": "sim_protein213", "voting": "sim_voting",
    "Java programs": "dis_java_sorting_trees",
}  # fmt: skip


def width_on_similarities(name, options):
    """Fisher metric and Fisher t-SNE by width and support."""
    data = load(options.data, name)
    S, y = data["S"].astype(np.float64), data["y"]
    S = (S + S.T) / 2 if name.startswith("sim") else table_a.centred_gram((data["S"] + data["S"].T) / 2.0)
    printed = table_a.PAPER[name]
    columns = ("metric", "metric, permuted", "map", "map, permuted")
    paper = [printed["Fisher metric, unclipped"], "", printed["Fisher t-SNE, unclipped"]]
    paper.append(table_a.PAPER_PERMUTED[name][1])
    yield {"width": "paper", "support": "", **dict(zip(columns, paper, strict=True))}
    n = 1 if options.quick else 3 if len(y) < 400 else 2
    rng = np.random.default_rng(0)
    shuffles = [rng.permutation(y) for _ in range(n)]
    for width in ("ours", "published"):
        for share in SUPPORTS:
            posterior = Parzen(round(share * len(y)), bandwidth=WIDTHS[width])
            metric = FisherMetric(
                data=SimilarityMetric(repair="none"), posterior=posterior, cross_fit=False, path="tangent",
                n_segments=6, perplexity=table_a.PERPLEXITY,
            )  # fmt: skip
            found = {}
            for label, targets in (("", [y] * n), (", permuted", shuffles)):
                runs = [table_a.one_run(metric, S, labels, seed, tree=False) for seed, labels in enumerate(targets)]
                found[f"metric{label}"] = spread([run["Fisher metric"] for run in runs])
                found[f"map{label}"] = spread([run["Fisher t-SNE"] for run in runs])
            yield {"width": width, "support": f"{share:.0%}", **{column: found[column] for column in columns}}


def algorithms_by_width(name, options):
    """Algorithms 1 and 2 by the width of the density, and by a common factor of the kernels' width."""
    printed = table_c.PAPER[name]
    n_splits = 3 if name.startswith("usps") and not options.quick else 1
    runs = [by_width_on_split(name, options, seed) for seed in range(n_splits)]
    for method, title in (("Algorithm 1", "kernel t-SNE"), ("Algorithm 2", "Fisher kernel t-SNE")):
        train, inside = printed[title]
        yield {"method": method, "width": "paper", "train": f"{train}", "inside": f"{inside}"}
        for width in [""] if method == "Algorithm 1" else list(WIDTHS):
            rows = [run[method, width] for run in runs]
            yield {"method": method, "width": width, **{key: spread([row[key] for row in rows]) for key in rows[0]}}


def by_width_on_split(name, options, seed):
    """Figures of one split by method and width."""
    (X, y, X_test, y_test), (_, shuffled, _, _) = table_c.split(name, options, seed)
    found = {}
    for method, width in (("Algorithm 1", ""), *(("Algorithm 2", width) for width in WIDTHS)):
        if method == "Algorithm 1":
            maps = {"train": (TSNE(random_state=seed).fit_transform(X), y)}
        else:
            maps = {
                title: (TSNE(metric="precomputed", random_state=seed).fit_transform(fisher(X, labels, width)), labels)
                for title, labels in (("train", y), ("train, permuted", shuffled))
            }
        row = {title: accuracy(Y, labels) for title, (Y, labels) in maps.items()}
        for factor in FACTORS:
            Z = KernelMap(bandwidth=factor, ridge=1e-6).fit(X, maps["train"][0]).transform(X_test)
            row[f"inside, factor {factor}"] = accuracy(Z, y_test)
        found[method, width] = row
    return found


def fisher(X, y, width):
    """Fisher distances of Algorithm 2 by the width of the density, made symmetric."""
    posterior = Parzen(bandwidth=WIDTHS[width])
    metric = FisherMetric(posterior=posterior, path="tangent-left", n_segments=5, cross_fit=False, random_state=0)
    D = metric.fit(X, y).pairwise().astype(np.float64)
    return (D + D.T) / 2


def mixtures(options):
    """How far the weights move, by epochs and iterations, and the smallest k of Isomap by kind of graph."""
    for name, (deviation, _, (k_plain, k_learnt)) in table_h.PAPER.items():
        X, _, _ = table_h.rows_and_images(name, options.data, options.quick)
        matrices = tuple(np.maximum(table_h.dissimilarity(measure, X), 0.0) for measure in table_h.NAMES)
        yield {"set": name, "distances": "Euclidean", "k, paper": k_plain, **graphs(matrices[0])}
        for title, n_epochs, max_iter, n_init in (
            ("10 x 75, best of six", 10, 75, 6), ("10 x 75, from the eigenvalues", 10, 75, 1),
            ("3 x 150, from the eigenvalues", 3, 150, 1),
        ):  # fmt: skip
            descent = AlternatingDescent(n_epochs=n_epochs, max_iter=max_iter, n_weight_iter=1, solver="scg")
            metric = MixtureMetric(matrices, scale=None, init="eigenvalues", n_init=n_init, descent=descent)
            metric = metric.set_params(random_state=0).fit(X)
            gap = np.abs(metric.weights_ - metric.start_weights_).max()
            row = {"set": name, "distances": title, "k, paper": k_learnt, **graphs(metric.pairwise())}
            yield row | {"paper: moved": deviation, "moved": f"{gap:.2f}", "stress": f"{metric.stress_:.0f}"}


def graphs(D):
    """The smallest connected k, where one row of a pair has the other and where both do."""
    k = [Isomap(metric="precomputed", n_neighbors=kind).fit(D).n_neighbors_ for kind in ("auto", "mutual")]
    return {"k, one has the other": k[0], "k, both have": k[1]}


def libsvm(name, options):
    """Support vector regression of Table D by its settings."""
    X = table_d.rows_of(name, options.data, raw=True)
    rows = {(kernel, how): {} for kernel in ("rbf", "elm") for how in ("as in Table D", "LIBSVM's defaults")}
    for k, share in enumerate(table_d.SHARES):
        found = {key: [] for key in rows}
        n_splits = 1 if options.quick else 2 if name == "henon" else 10
        for seed, (fitted, new) in enumerate(islice(table_d.fold_splits(len(X), share, 10), n_splits)):
            Y = TSNE(random_state=seed).fit_transform(X[fitted])
            for kernel, how in rows:
                width = "fifth" if kernel == "rbf" else 1.0
                given = {"solver": "svr", "ridge": 1e-3} if how == "as in Table D" else {"solver": "libsvm"}
                Z = KernelMap(kernel, bandwidth=width, normalize=False, **given).fit(X[fitted], Y).transform(X[new])
                found[kernel, how].append(float(q_local(X[new], Z)))
        for (kernel, how), row in rows.items():
            printed = table_d.PAPER[f"svm {kernel}"][name][k]
            row[f"{share:.0%}"] = f"{printed:.2f} / {spread(found[kernel, how], 2)}"
    for (kernel, how), row in rows.items():
        yield {"map": f"svm {kernel}", "setting": how, **row}


def housing(options):
    """Fisher t-SNE of housing by processes that have seen the targets."""
    X, y = table_b.problem(options.data, "housing")
    yield {"target": "paper", "ours": str(table_b.PAPER["housing"][2])}
    n_runs = 1 if options.quick else 3
    for title, of, noise, path in (
        ("standardised", table_b.standardize, 0.01, "tangent"),
        ("standardised", table_b.standardize, 0.01, "tangent-squared"),
        ("as it is", np.asarray, 0.01, "tangent"), ("as it is", np.asarray, 0.01, "tangent-squared"),
        ("as it is", np.asarray, 1.0, "tangent"),
    ):  # fmt: skip
        options_of = {**table_b.PUBLISHED, "posterior": GaussianProcess(0.1, signal=1.0, noise=noise), "path": path}
        figures = {}
        for label, target, n in (("ours", y, n_runs), ("permuted", np.random.default_rng(0).permutation(y), 1)):
            D = FisherMetric("real", **options_of).fit(X, of(target)).pairwise().astype(np.float64)
            D = (D + D.T) / 2  # in-sample, so that it is the same in every run
            maps = [TSNE(metric="precomputed", random_state=seed).fit_transform(D) for seed in range(n)]
            figures[label] = spread([table_b.nrmse(Y, target) for Y in maps], 3)
        summed = "of squares" if path.endswith("squared") else "of lengths"
        yield {"target": title, "beta": "0.1", "noise": f"{noise}", "sum": summed, **figures}


def percent(Y, y):
    """1-NN error in %."""
    return 100 * float(knn_error(Y, y))


def matrix_on_adrenal(options):
    """Relevance matrices of the published Fisher t-SNE map by what the thesis does not print."""
    X, y = table_f.adrenal(Path(options.data))
    yield {"width": "paper", "map": "0.7", "transformed": "", "two directions": "2.7"}
    shuffled = np.random.default_rng(0).permutation(y)
    seeds = range(1 if options.quick else 3)
    for width, bandwidth in WIDTHS.items():
        posterior = Parzen(bandwidth=bandwidth)
        metric = FisherMetric(posterior=posterior, path="tangent", n_segments=5, cross_fit=False)
        maps = {
            name: [TSNE(metric=metric, random_state=seed).fit_transform(X, labels) for seed in seeds]
            for name, labels in (("", y), (", permuted", shuffled))
        }
        for rank, penalty in ((None, 0.1), (None, 1.0), (None, 10.0), (2, 1.0)):
            row = {"width": width, "rank": rank or X.shape[1], "penalty": f"{penalty:g}"}
            for (name, embeddings), labels in zip(maps.items(), (y, shuffled), strict=True):
                learn = FeatureRelevance("matrix", n_neighbors=10, penalty=penalty, n_components=rank, n_permuted=0)
                found = [(learn.fit(X, Y).transform(X), learn.project(X)) for Y in embeddings]
                row[f"map{name}"] = spread([percent(Y, labels) for Y in embeddings])
                row[f"transformed{name}"] = spread([percent(A, labels) for A, _ in found])
                row[f"two directions{name}"] = spread([percent(B, labels) for _, B in found])
            yield row


def weights_on_usps(options):
    """Relevance weights of pixels by their scale, the penalty and the width of the density."""
    X, y = table_f.usps_images(Path(options.data), options.quick)
    keep = np.concatenate([np.flatnonzero(y == c)[:100] for c in range(10)])
    X, y = X[keep], y[keep]
    yield {"width": "paper, 2,000 images", "map": "0.0", "pixels": f"{percent(X, y):.1f} here, 7.3", "weighted": "2.2"}
    for width in ("ours", "published"):
        posterior = Parzen(bandwidth=WIDTHS[width])
        metric = FisherMetric(posterior=posterior, path="tangent", n_segments=5, cross_fit=False)
        Y = TSNE(metric=metric, random_state=0).fit_transform(X, y)
        for scale, A in (("0 to 1", X), ("0 to 255", 255 * X), ("standardised", table_f.standardize(X))):
            for penalty in (0.01, 1.0):
                learn = FeatureRelevance("weights", n_neighbors=80, penalty=penalty, n_permuted=0).fit(A, Y)
                row = {"width": width, "map": f"{percent(Y, y):.1f}", "pixels": scale, "penalty": f"{penalty:g}"}
                yield row | {"weighted": f"{percent(learn.transform(A), y):.1f}"}


def gmlvq_on_adrenal(options):
    """Errors of metric learners by the share of training rows and by iterations."""
    X, y = table_f.adrenal(Path(options.data))
    yield {"model": "paper: GMLVQ", "train": "0.04", "test": "0.03"}
    yield {"model": "paper: LMNN", "train": "0.00", "test": "0.05"}
    models = {
        "GMLVQ, two components": GMLVQ(n_components=2, random_state=0),
        "GMLVQ, no noise": GMLVQ(noise=0.0, random_state=0),
        "GMLVQ, no noise, 10 iterations": GMLVQ(noise=0.0, max_iter=10, random_state=0),
        "LMNN, no noise": LMNN(noise=0.0),
    }
    for name, model in models.items():
        for share in (0.5, 0.9):
            errors = np.array([split_errors(model, X, y, share, s) for s in range(3 if options.quick else 30)])
            row = {"model": name, "training rows": f"{share:.0%}", "train": spread(errors[:, 0], 2)}
            row |= {"test": spread(errors[:, 1], 2), "smallest": f"{errors[:, 1].min():.2f}"}
            yield row | {"splits at .03 or below": f"{np.mean(errors[:, 1] <= 0.035):.0%}"}


def split_errors(model, X, y, share, seed):
    """Errors on training and test rows of one split, standardised by the former."""
    A, B, a, b = train_test_split(X, y, train_size=share, stratify=y, random_state=seed)
    scaler = StandardScaler().fit(A)
    fitted = clone(model).fit(scaler.transform(A), a)
    return [1 - fitted.score(scaler.transform(rows), labels) for rows, labels in ((A, a), (B, b))]


def tree_on_usps(options):
    """Agreement of Fisher SOM pictures with trees of some sizes, by the density of the map's metric."""
    X, y = table_e.rows_of("usps", options)
    yield {"tree": "paper", "train": "89", "supervised by labels": "87.8", "supervised by model": "92.3"}
    published = FisherMetric(posterior=Parzen(bandwidth="matlab"), path="tangent", n_segments=5, cross_fit=False)
    maps = {
        "default": PrisMap("som", random_state=0),
        "Parzen, cross-fitted": PrisMap("som", metric=FisherMetric(posterior="parzen"), random_state=0),
        "Parzen, in-sample": PrisMap("som", metric=published, supervision=1.0, random_state=0),
    }
    for title, settings in (("60 leaves", {"max_leaf_nodes": 60}), ("from 10 rows on", {"min_samples_split": 10})):
        tree = DecisionTreeClassifier(random_state=0, **settings).fit(X, y)
        for name, recipe in maps.items():
            row = {"tree": title, "train": f"{100 * tree.score(X, y):.1f}", "density": name}
            for source, target in (("labels", y), ("model", tree.predict(X))):
                fitted = clone(recipe).fit(X, target)  # the thesis takes the model's labels, not its probabilities
                view = ModelView.from_estimator(tree, X, y, map=fitted, grid_resolution=50)
                row[f"supervised by {source}"] = table_e.left_out_of_inverse(view, tree, X, y)["agreement"]
            yield row


def coil_by_objects(options):
    """Linear transfer by the objects."""
    yield {"objects": "paper", "source": "70", "target": "66"}
    for seed in range(2 if options.quick else 10):
        X, y, Z, y_target = table_g.DRAWN(seed, options.data)
        source, target, ambiguous, _ = table_g.one_run(X, y, Z, y_target, seed, {"kind": "linear"})
        row = {"objects": ", ".join(str(label) for label in np.unique(y)), "source": f"{source:.1f}"}
        yield row | {"target": f"{target:.1f}", "called ambiguous": "yes" if ambiguous else ""}


def paths(options):
    """Straight and shortest path of Fig. 2.5 by the width of the density and by the root."""
    X, y, ends = toy_paths()
    yield {"width": "paper", "straight": "0.578", "shortest": "0.562", "ratio": f"{0.578 / 0.562:.2f}"}
    for width in (*WIDTHS, "silverman"):
        for path in ("tangent", "tangent-squared"):
            posterior = Parzen(bandwidth=WIDTHS.get(width, width))
            metric = FisherMetric(posterior=posterior, cross_fit=False, path=path, n_segments=5, random_state=0)
            found = FisherDisplay.from_estimator(metric.fit(X, y), y, paths=[ends], grid_resolution=20).paths[0]
            straight, shortest = found.straight_length, found.shortest_length
            row = {"width": width, "sum": "of squares" if path.endswith("squared") else "of lengths"}
            row |= {"straight": f"{straight:.3f}", "shortest": f"{shortest:.3f}"}
            row |= {"ratio": f"{straight / shortest:.2f}", "sigma": f"{metric.bandwidth_:.2f}"}
            if path == "tangent":
                bent = metric.geodesic(X[ends[0]], X[ends[1]])
                row |= {"straight, arcs": f"{bent.straight_length:.3f}", "geodesic": f"{bent.length:.3f}"}
                row["least"] = f"{bent.least_length:.3f}"
            yield row


def toy_paths():
    """The toy set of the variants, and the ends of its path."""
    rng = np.random.default_rng(0)
    groups = (((0.0, 0.0), (0.9, 0.6), 120), ((-2.4, 1.6), (0.6, 0.6), 90), ((1.3, 0.7), (0.6, 0.5), 70))
    X = np.vstack([rng.normal(centre, width, (n, 2)) for centre, width, n in groups])
    ends = [int(np.linalg.norm(X - place, axis=1).argmin()) for place in ([-2.8, 1.8], [2.0, 1.0])]
    return X, np.repeat([1, 2, 2], [n for *_, n in groups]), ends


PARTS = {
    **{f"width on {title}": partial(width_on_similarities, name) for title, name in SIMILARITIES.items()},
    **{f"algorithms by width, {name}": partial(algorithms_by_width, name) for name in table_c.ROWS},
    "mixtures": mixtures,
    **{f"LIBSVM's defaults, {name}": partial(libsvm, name) for name in table_d.FILES},
    "housing": housing,
    "matrix on adrenal": matrix_on_adrenal,
    "GMLVQ on adrenal": gmlvq_on_adrenal,
    "weights on usps": weights_on_usps,
    "tree on usps": tree_on_usps,
    "coil by objects": coil_by_objects,
    "paths of Fig. 2.5": paths,
}
PARTS = {name: quietly(part, PrismapWarning) for name, part in PARTS.items()}
WITHOUT_DATA = ("LIBSVM's defaults, henon", "paths of Fig. 2.5")

if __name__ == "__main__":
    main(sys.modules[__name__])
