"""Variants that the papers describe and no table prints.

**Protocol.** One part per variant. Errors are those of the nearest neighbour, in %; with *permuted* labels everything
that learns gets shuffled ones. In-sample figures are called so.

- *width and support*: the Parzen density of the Fisher metric (T = 1) on 300 rows of digits, judged among these rows.
  Its width by the metric's perplexity (20), by Silverman's rule of thumb, and given (half and twice the first). Its
  support: all rows in-sample; as many as the permuted baseline allows (sections 2 and 5 of Schulz et al. 2017); all
  rows, cross-fitted. Permuted: mean of three.
- *support and ridge on similarities*: the same choices for the sets of [table A](table_a.md) (clipped, perplexity 20,
  T = 5), and the ridge of the kernel discriminant: the default, in-sample; by the permuted baseline, in-sample; the
  default, rows left out. *Taken*: the support in % of the rows, or the ridge.
- *tangents of models*: maps of 120 rows of digits (t-SNE under the metric of a classifier, which judges only rows that
  it was not trained on; T = 5), by arcs between its probabilities and by the speeds of its tensor (thesis 2.4.1b). 1-NN
  error of 600 new rows on the map; *r*: correlation of the two kinds of lengths between the fitted rows.
- *machines on matrices*: pictures of support vector machines of similarities (section 6 of Schulz et al. 2017):
  agreement of picture and machine on rows left out of both maps, beside the larger class of the machine's answers, for
  a machine of the labels and for one of permuted labels.
- *local relevance*: one relevance matrix (`GMLVQ`) and one per prototype, whose borders divide the space (`LGMLVQ`,
  thesis 4.2.5). *two regions*: 600 rows with six features; the first says which of two others decides on the class.
  1,000 rows of usps in 30 principal components. Accuracy in % of as many new rows, two prototypes per class,
  matrices of rank 2 and 10.
- *measures of words*: 200 words of ten groups, and weights of three comparisons learnt together with a map by each cost
  (section 4 of Rice 2016). *Permuted*: the weights where the comparisons agree on nothing. 1-NN error of the groups,
  which nobody told the map.
- *toy and ball*: Fig. 2.3 to 2.6 of the thesis, with sets rebuilt from the text. Two rows of one class of the toy set:
  the straight path between them and the shortest one. Fisher t-SNE and t-SNE of 600 rows of the ball, and 1-NN error
  of 600 new rows by kernel maps. The pictures are in the gallery.
- *geodesics*: what the thesis leaves open (2.7). Distances between 30 random pairs of 300 rows of digits in
  ten principal components, without cross-fitting (Parzen, by width of the density), in units of the straight segment by
  arcs: the shortest path over the rows, the path of smallest energy, and the least that any path can have. Means over
  the pairs, by supervision w. *Shorter*: pairs whose geodesic is more than 1 % shorter than the segment.
- *margins and curvature*: what the thesis leaves open (3.7, chapter 6). Pictures of a support vector machine of digits
  by four maps of 900 rows, judged on 897 rows that trained neither machine nor map: agreement in %, correlation of
  the certainty, and along segments between neighbours on the map correlation of margins (the share of a segment before
  the border) and of curvature (second differences of the certainty). *Borders*: segments between rows of different
  classes.
"""

from __future__ import annotations

import sys
from functools import partial
from itertools import product

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from experiments.common import accuracy, load, quietly, split_rows, spread
from experiments.ledger import main
from experiments.objects import clustered
from experiments.table_a import PUBLISHED, centred_gram, error
from experiments.toys import tube_in_ball
from prismap import PrisMap
from prismap.comparisons import Objects
from prismap.embeddings import KernelDiscriminant
from prismap.exceptions import PrismapWarning
from prismap.inspection import FisherDisplay, ModelView
from prismap.inspection._fisher import shortest_rows
from prismap.inspection._responses import Responder
from prismap.learners import GMLVQ, LGMLVQ, RSLVQ
from prismap.metrics import FisherMetric, MixtureCost, SimilarityMetric, comparison_weights
from prismap.metrics.posteriors import Parzen
from prismap.quality import chance_error
from prismap.quality._fidelity import correlation, label_agreement

READING = """
Where the permuted baseline chooses the support, as the paper says, the Fisher metric has the paper's errors:
{base_aural} % on aural sonar (paper 8), {base_voting} on voting (5) and {base_java} on the Java programs (11), with 41
to 47 % for permuted labels. Protein has {base_protein} %, clipped (paper 0.9, unclipped). The rule takes 20 to 41 % of
the rows. What it gains over cross-fitting ({cross_aural}, {cross_voting} and {cross_java} %) is still in-sample: the
label of a row that is support is in the density that judges it. For the kernel discriminant the rule takes ridges of
{ridge_aural}, {ridge_protein}, {ridge_voting} and {ridge_java}, and its errors with permuted labels are near the
paper's: {blind_aural}, {blind_protein}, {blind_voting} and {blind_java} % for 39, 51, 45 and 49. With true labels they
are {kda_aural}, {kda_protein}, {kda_voting} and {kda_java} % for 15, 1.4, 4 and 14.

The rule of thumb makes the kernels half as wide as the perplexity does. Cross-fitted this is no worse (2.3 % for 4.0 on
digits), but in-sample such kernels learn any labels by heart, and the baseline leaves them a tenth of the rows and 21 %
error. The tangents of a model measure nearly what its arcs do (r of .98 and .99 for the two logistic regressions, .84
for RSLVQ, whose probabilities are steep), and their maps place new rows 2 to 4 points worse.

Pictures of machines of similarities agree with them on {agree_low} to {agree_high} % of the rows that were left out,
and those of permuted labels on little more than the share of the larger class. A relevance matrix per prototype finds
which feature decides in which region, where a single matrix names one of the two, and is better on usps as well
({local} for {single} %).

Weights of comparisons of words by the costs of t-SNE and NeRV prefer the edit distance, beyond what its shape alone
gets, and the map shows the groups without an error. The stress prefers lengths, which fit into a plane whatever they
mean. On the ball the Fisher metric lowers the error of new rows from {ball_plain} to {ball_fisher} % ({ball_permuted}
with permuted labels; in-sample figures in brackets).

**Geodesics.** In ten dimensions straight segments are nearly geodesics: with the published width the path of smallest
energy has {bent_published} of the straight length at w = 1 and {bent_published_9} at w = .9, with our narrower one
{bent_ours} and {bent_ours_9}. This is why the thesis finds its "crude approximation" good. At w = 1 the geodesic has
the least length that any path can have, which is the arc between the posteriors of the two rows. There a formula
answers the question of the thesis: lengths need no path. Paths over the rows gain next to nothing here. In two
dimensions, where a path may go round a class, geodesics are far shorter ([reasons](reasons.md)).

**Margins and curvature.** Pictures that agree with the machine on {agree_tsne} to {agree_machine} % of new rows show
hardly anything of how far the border is along a segment (correlations of {margin_tsne} and {margin_labels}) or of how
the certainty bends ({curve_labels} to {curve_tsne}). So the answer to the thesis' question is that these properties are
not preserved: a picture shows which class a row has, and its certainty in part. Where a map is supervised by the
machine, rows of different classes that are neighbours on the map lie on one side of its border, so that there is no
margin to compare.
"""


def of_margins(name, column):
    """The place of a figure of a picture."""
    return "margins and curvature", {"map": name}, column


def of_similarities(name, method, estimate):
    """The place of an error with true labels."""
    return "support and ridge on similarities", {"set": name, "method": method, "estimate": estimate}, "error"


def agreements(found):
    """Agreement of pictures of machines of similarities, sorted."""
    rows = found.get("machines on matrices", {"rows": []})["rows"]
    return sorted(row["labels: agreement"] for row in rows) or [float("nan")]


SHORT = {
    "aural": "sim_aural_sonar", "protein": "sim_protein213", "voting": "sim_voting", "java": "dis_java_sorting_trees",
}  # fmt: skip
QUOTED = {
    **{
        f"{short}_{name}": of_similarities(SHORT[name], method, estimate)
        for short, method, estimate in (
            ("base", "Fisher metric", "by the baseline"),
            ("cross", "Fisher metric", "cross-fitted"),
            ("kda", "kernel discriminant", "by the baseline"),
        )
        for name in SHORT
    },
    **{
        f"{short}_{name}": (*of_similarities(SHORT[name], "kernel discriminant", "by the baseline")[:2], column)
        for short, column in (("ridge", "taken"), ("blind", "permuted"))
        for name in SHORT
    },
    "agree_low": lambda found: f"{agreements(found)[0]:.0f}",
    "agree_high": lambda found: f"{agreements(found)[-1]:.0f}",
    "local": ("local relevance", {"set": "usps", "model": "LGMLVQ"}, "new rows"),
    "single": ("local relevance", {"set": "usps", "model": "GMLVQ"}, "new rows"),
    "ball_fisher": ("toy and ball", {"figure": "2.6: Fisher t-SNE, error of new rows (in-sample)"}, "ours"),
    "ball_permuted": (
        "toy and ball",
        {"figure": "2.6: Fisher t-SNE, permuted labels, error of new rows (in-sample)"},
        "ours",
    ),
    "ball_plain": ("toy and ball", {"figure": "2.6: t-SNE, error of new rows (in-sample)"}, "ours"),
    **{
        f"bent_{width}{short}": ("geodesics", {"width": width, "w": w}, "geodesic")
        for width in ("ours", "published")
        for short, w in (("", "1"), ("_9", "0.9"))
    },
    "agree_tsne": of_margins("t-SNE", "agreement"),
    "agree_machine": of_margins("by the machine", "agreement"),
    "margin_tsne": of_margins("t-SNE", "margin"),
    "margin_labels": of_margins("by labels", "margin"),
    "curve_tsne": of_margins("t-SNE", "curvature"),
    "curve_labels": of_margins("by labels", "curvature"),
}
MATRICES = ("sim_aural_sonar", "sim_protein213", "sim_voting", "dis_java_sorting_trees")
#: Estimates of the density: support, and whether it is cross-fitted.
ESTIMATES = {"all rows, in-sample": (None, False), "by the baseline": ("baseline", False), "cross-fitted": (None, True)}
N_PERMUTED = 3


def digit_rows(n, options):
    """n fitted and 600 new rows of digits, in 30 principal components."""
    return split_rows(*load_digits(return_X_y=True), *((100, 200) if options.quick else (n, 600)), 0)


def shuffles(y, n=N_PERMUTED):
    """Permuted labels."""
    rng = np.random.default_rng(1)
    return [rng.permutation(y) for _ in range(n)]


def similarity_rows(name, options):
    """Similarities of one set, repaired, and its labels."""
    data = load(options.data, name)
    S, y = data["S"].astype(np.float64), data["y"]
    S = (S + S.T) / 2
    if options.quick:
        few = np.sort(np.random.default_rng(0).permutation(len(y))[:60])
        S, y = S[np.ix_(few, few)], y[few]
    return S if name.startswith("sim") else centred_gram(S), y


# --- widths, support and ridge ----------------------------------------------------------------------------------------


def width_and_support(options):
    """Silverman's and given widths beside the calibrated one; the support that the permuted baseline allows."""
    X, y, _, _ = digit_rows(300, options)
    own = FisherMetric(posterior="parzen", perplexity=20).fit(X, y).bandwidth_
    widths = {"perplexity 20": None, "rule of thumb": "silverman", "half": own / 2, "twice": 2 * own}
    for title, width in widths.items():
        for estimate, (n_support, cross_fit) in ESTIMATES.items():
            make = partial(Parzen, n_support, bandwidth=width)
            yield {"width": title, "support": estimate} | parzen_figures(
                X, y, make, cross_fit, perplexity=20, n_segments=1
            )


def parzen_figures(X, y, make, cross_fit, **options):
    """Width, size of the support, and errors of a metric for true and permuted labels."""

    def judged(labels):
        metric = FisherMetric(posterior=make(), cross_fit=cross_fit, random_state=0, **options).fit(X, labels)
        D = metric.pairwise().astype(np.float64)
        return metric, error((D + D.T) / 2, labels, "precomputed")

    metric, wrong = judged(y)
    return {
        "sigma": f"{metric.bandwidth_:.3g}", "taken": f"{100 * len(metric.support_) / len(y):.0f} %", "error": wrong,
        "permuted": spread([judged(labels)[1] for labels in shuffles(y)]), "chance": 100 * float(chance_error(y)),
    }  # fmt: skip


def on_similarities(options):
    """The same for similarities, and the ridge of the kernel discriminant."""
    for name in MATRICES:
        S, y = similarity_rows(name, options)
        metric = SimilarityMetric(repair="clip")
        for estimate, (n_support, cross_fit) in ESTIMATES.items():
            figures = parzen_figures(S, y, partial(Parzen, n_support), cross_fit, data=metric, **PUBLISHED)
            yield {"set": name, "method": "Fisher metric", "estimate": estimate} | figures
        kernel = centred_gram(metric.fit(S).pairwise())
        for estimate, alpha, cross_fit in (
            ("default, in-sample", None, False), ("by the baseline", "baseline", False), ("rows left out", None, True),
        ):  # fmt: skip
            figures = discriminant_figures(kernel, y, alpha, cross_fit)
            yield {"set": name, "method": "kernel discriminant", "estimate": estimate} | figures


def discriminant_figures(kernel, y, alpha, cross_fit):
    """Ridge and errors of a kernel discriminant map for true and permuted labels."""
    options = {"kernel": "precomputed", "cross_fit": cross_fit, "random_state": 0}
    options |= {} if alpha is None else {"alpha": alpha}

    def judged(labels):
        model = KernelDiscriminant(**options)
        return model, error(model.fit_transform(kernel, labels), labels)

    model, wrong = judged(y)
    return {
        "sigma": "", "taken": f"{model.alpha_ if alpha else model.alpha:g}", "error": wrong,
        "permuted": spread([judged(labels)[1] for labels in shuffles(y)]), "chance": 100 * float(chance_error(y)),
    }  # fmt: skip


# --- models -----------------------------------------------------------------------------------------------------------


def tangents(options):
    """Maps by the metric of a classifier, by arcs and by speeds."""
    X, y, X_new, y_new = digit_rows(120, options)
    kernels = make_pipeline(Nystroem(n_components=50, gamma=0.001, random_state=0), LogisticRegression(C=10))
    models = {
        "RSLVQ": RSLVQ(random_state=0),
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
        "kernel logistic regression": kernels,
    }
    shuffled = np.random.default_rng(1).permutation(y), np.random.default_rng(2).permutation(y_new)
    for title, model in models.items():
        lengths = {}
        for path in ("chord", "tangent"):
            metric = FisherMetric(posterior=model, path=path, n_segments=5)
            plane = partial(PrisMap, metric=metric, supervision=0.8, mapping="fisher", random_state=0)
            found = []
            for labels, new in ((y, y_new), shuffled):
                m = plane().fit(X, labels)
                found.append(100 - accuracy(m.transform(X_new), new, m.embedding_, labels))
                lengths.setdefault(path, m.metric_.pairwise()[np.triu_indices(len(X), 1)])
            r = f"{np.corrcoef(*lengths.values())[0, 1]:.3f}" if path == "tangent" else ""
            yield {"model": title, "path": path, "error of new rows": found[0], "permuted": found[1], "r": r}


def machines(options):
    """Pictures of machines of similarities."""
    for name in MATRICES[:3]:
        S, y = similarity_rows(name, options)
        K = centred_gram(SimilarityMetric(repair="clip").fit(S).pairwise())
        K /= np.mean(np.diag(K))
        row = {"set": name, "rows": len(y)}
        for words, labels in (("labels", y), ("permuted labels", shuffles(y)[0])):
            model = SVC(kernel="precomputed", C=10).fit(K, labels)
            found = ModelView.from_estimator(model, K, labels, grid_resolution=60).fidelity_
            said = np.unique(model.predict(K), return_counts=True)[1]
            row[f"{words}: agreement"] = 100 * found.agreement
            row[f"{words}: larger class"] = 100 * float(said.max() / said.sum())
        yield row


# --- relevance, measures, pictures ------------------------------------------------------------------------------------


def two_regions(n, seed):
    """Six features; where the first is above zero the second decides on the class, elsewhere the third."""
    X = np.random.default_rng(seed).normal(size=(n, 6))
    X[:, 0] += 2 * np.sign(X[:, 0])
    return X, (np.where(X[:, 0] > 0, X[:, 1], X[:, 2]) > 0).astype(int)


def local_relevance(options):
    """One relevance matrix, and one per prototype."""
    n = 200 if options.quick else 600
    usps = load(options.data, "usps11000")
    sets = {"two regions": (*two_regions(n, 0), *two_regions(n, 1))}
    sets["usps"] = split_rows(usps["X"], usps["y"], *([300] * 2 if options.quick else [1000] * 2), 0)
    for title, (X, y, X_new, y_new) in sets.items():
        rank = 2 if title == "two regions" else 10
        for model in (GMLVQ(2, n_components=rank, random_state=0), LGMLVQ(2, n_components=rank, random_state=0)):
            fitted = model.fit(X, y)
            row = {"set": title, "model": type(model).__name__, "in-sample": 100 * fitted.score(X, y)}
            row["new rows"] = 100 * fitted.score(X_new, y_new)
            if title == "two regions":
                relevances = fitted.relevances_ if isinstance(model, LGMLVQ) else [np.diag(fitted.lambda_)]
                row["most relevant of features 2 to 6"] = ", ".join(str(2 + w[1:].argmax()) for w in relevances)
            rng = np.random.default_rng(1)
            null = model.fit(X, rng.permutation(y))
            yield row | {"permuted, new rows": 100 * null.score(X_new, rng.permutation(y_new))}


def words(options):
    """Weights of comparisons of words by each cost of a map."""
    strings, groups = clustered(60 if options.quick else 200, 20, 20, with_groups=True)
    comparisons = {
        "edit": Objects("edit", n_jobs=1),
        "letters": Objects(other_letters, "dissimilarity", n_jobs=1),
        "length": Objects(other_length, "dissimilarity", n_jobs=1),
    }
    for cost in ("elastic", "tsne", "nerv", "isomap"):
        numbered = MixtureCost(cost, perplexity=10)
        found = comparison_weights(comparisons, strings, cost=numbered, n_starts=3, random_state=0)
        row = {"cost": cost, "1-NN error": error(found.positions, groups)}
        for name, weight in found.weights.items():
            row[name] = f"{weight:.2f} +- {found.spread[name]:.2f}"
            row[f"{name}, permuted"] = f"{found.permuted[name]:.2f}"
        yield row


def other_letters(a, b):
    """Letters that one word has more often than the other."""
    return float(sum(abs(a.count(letter) - b.count(letter)) for letter in set(a + b)))


def other_length(a, b):
    """Difference of lengths."""
    return float(abs(len(a) - len(b)))


def toy_and_ball(options):
    """Fig. 2.3 to 2.6: two paths of the toy set, and the ball with new rows."""
    rng = np.random.default_rng(0)
    groups = (((0.0, 0.0), (0.9, 0.6), 120), ((-2.4, 1.6), (0.6, 0.6), 90), ((1.3, 0.7), (0.6, 0.5), 70))
    X = np.vstack([rng.normal(centre, width, (n, 2)) for centre, width, n in groups])
    y = np.repeat([1, 2, 2], [n for *_, n in groups])
    ends = [int(np.linalg.norm(X - place, axis=1).argmin()) for place in ([-2.8, 1.8], [2.0, 1.0])]
    for how, cross_fit in (("in-sample, as in the thesis", False), ("cross-fitted", True)):
        metric = FisherMetric(posterior="parzen", cross_fit=cross_fit, random_state=0).fit(X, y)
        path = FisherDisplay.from_estimator(metric, y, paths=[ends], grid_resolution=20).paths[0]
        lengths = f"{path.straight_length:.2f} / {path.shortest_length:.2f}"
        yield {"figure": f"2.5: straight / shortest path, {how}", "paper": "0.578 / 0.562", "ours": lengths}
    n = 200 if options.quick else 600
    X, y = tube_in_ball(n=2 * n)
    X, y, X_new, y_new = X[:n], y[:n], X[n:], y[n:]
    shuffled = np.random.default_rng(1).permutation(y), np.random.default_rng(2).permutation(y_new)
    for title, target, labels, new in (
        ("Fisher t-SNE", "class", y, y_new), ("Fisher t-SNE, permuted labels", "class", *shuffled),
        ("t-SNE", "none", y, y_new),
    ):  # fmt: skip
        m = PrisMap(target=target, supervision=0.8, mapping="fisher", random_state=0).fit(X, labels)
        wrong = 100 - accuracy(m.transform(X_new), new, m.embedding_, labels)
        inside = 100 - accuracy(m.embedding_, labels)
        yield {"figure": f"2.6: {title}, error of new rows (in-sample)", "ours": f"{wrong:.1f} ({inside:.1f})"}


def geodesics(options):
    """Straight segments, graph and geodesics of digits."""
    X, y = load_digits(return_X_y=True)
    X, y = PCA(10, random_state=0).fit_transform(X)[:300], y[:300]
    pairs = np.random.default_rng(0).permutation(len(X))[: 10 if options.quick else 60].reshape(-1, 2)
    for width, w in product((None, "published"), (1.0, 0.9, 0.5)):
        posterior = Parzen(bandwidth=width)
        metric = FisherMetric(posterior=posterior, cross_fit=False, supervision=w, n_segments=24).fit(X, y)
        D = np.asarray(metric.pairwise(X, X), dtype=np.float64)
        graph = np.array([shortest_rows((D + D.T) / 2, i, j)[1] for i, j in pairs])
        bent = [metric.geodesic(X[i], X[j]) for i, j in pairs]
        straight = np.array([path.straight_length for path in bent])
        lengths = np.array([path.length for path in bent]) / straight
        least = np.array([path.least_length for path in bent]) / straight
        row = {"width": width or "ours", "w": f"{w:g}", "straight": f"{straight.mean():.2f}"}
        row["over the rows"] = f"{np.mean(graph / straight):.3f}"
        row |= {"geodesic": f"{lengths.mean():.3f}", "least": f"{least.mean():.3f}"}
        yield row | {"shorter": f"{np.mean(lengths < 0.99):.0%}"}


def margins(options):
    """Margins and curvature in pictures of a machine."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    fit, new = order[: 300 if options.quick else 900], order[900:]
    model = make_pipeline(StandardScaler(), SVC(gamma=0.01)).fit(X[fit], y[fit])
    maps = {
        "PCA": (PCA(2, random_state=0), "labels"), "t-SNE": (PrisMap(target="none", random_state=0), "labels"),
        "by labels": (PrisMap(random_state=0), "labels"), "by the machine": (PrisMap(random_state=0), "model"),
    }  # fmt: skip
    responder = Responder(model, X[new])
    for name, (recipe, source) in maps.items():
        view = ModelView.from_estimator(model, X[fit], y[fit], map=recipe, supervision_from=source)
        places = view.map.transform(X[new])
        truth, shown = responder(X[new]), view.grid.value[view.grid.cells(places)]
        found = view.segment_fidelity(model, X[new])
        row = {"map": name, "agreement": 100 * label_agreement(truth.value, shown)}
        row["certainty"] = f"{correlation(truth.certainty, view.grid.height(places)):.2f}"
        row |= {"margin": f"{found.margin:.2f}".replace("nan", "-"), "curvature": f"{found.curvature:.2f}"}
        yield row | {"borders": found.n_borders, "segments": found.n_segments}


PARTS = {
    "width and support": width_and_support, "support and ridge on similarities": on_similarities,
    "tangents of models": tangents, "machines on matrices": machines, "local relevance": local_relevance,
    "measures of words": words, "toy and ball": toy_and_ball, "geodesics": geodesics,
    "margins and curvature": margins,
}  # fmt: skip
PARTS = {name: quietly(part, PrismapWarning) for name, part in PARTS.items()}
WITHOUT_DATA = (
    "width and support", "tangents of models", "measures of words", "toy and ball", "geodesics",
    "margins and curvature",
)  # fmt: skip

if __name__ == "__main__":
    main(sys.modules[__name__])
