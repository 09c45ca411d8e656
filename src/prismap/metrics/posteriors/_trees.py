"""Class probabilities by trees: a posterior that selects features and bends, and does not care for scales.

A forest is fitted by scikit-learn and kept as arrays, so that a file holds it without pickle and rows go down all trees
at once. Each fitted row is judged by the trees that never saw it. One temperature, which minimises the log-loss of
these judgements, makes shares of votes into probabilities.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from sklearn.tree import ExtraTreeClassifier

from prismap._util.arrays import columns_of
from prismap._util.threads import parallel_map
from prismap.exceptions import InputError
from prismap.metrics._geometry import FittedIndex
from prismap.metrics.posteriors._rowwise import RowPosterior, best_temperature, softmax

N_TREES = 120
#: Trees that are grown one after the other; batches of so many are grown side by side.
GROWN = 30
#: Rows that go down all trees at once.
BLOCK_ROWS = 2048
#: Rows that a forest is fitted to, at most: more know more, and its nodes, about a quarter of that per tree, are kept.
MOST_TREE_ROWS = 100_000


@dataclass(frozen=True)
class Forest:
    """Fitted trees as arrays, one behind the other.

    Attributes
    ----------
    feature, threshold : of each node; a row goes left if its value is not above the threshold.
    children : (nodes, 3), left, right and where a missing value goes; a leaf is its own child.
    value : (nodes, classes), sparse, shares of the classes in each leaf: a leaf of few rows knows few classes.
    roots : the first node of each tree.
    temperature : exponent that calibrates the mean share of the trees.
    """

    feature: np.ndarray
    threshold: np.ndarray
    children: np.ndarray
    value: sp.csr_array
    roots: np.ndarray
    temperature: float = 1.0

    def votes(self, X, unless=None):
        """Mean share of each class over the leaves that rows fall into: scikit-learn's ``predict_proba``.

        unless : trees (rows, trees) that have no vote on a row; a row on which none has gets no shares.
        """
        n_trees = len(self.roots)
        shares, heard = np.zeros((X.shape[0], self.value.shape[1])), np.full((X.shape[0], 1), n_trees)
        if unless is not None:
            heard = np.maximum((~unless).sum(axis=1, keepdims=True), 1)
        asked, feature = np.unique(np.maximum(self.feature, 0), return_inverse=True)
        forest = replace(self, feature=feature.ravel()) if sp.issparse(X) else self
        for start in range(0, X.shape[0], BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            rows = columns_of(X[block], asked).toarray() if sp.issparse(X) else X[block]
            leaves = forest.leaves(np.asarray(rows, dtype=np.float32))
            votes = np.ones(leaves.shape) if unless is None else 1.0 - unless[block]
            # Leaves are added up in the order of the trees: a row gets the same bits in any batch.
            ends = np.arange(0, leaves.size + 1, n_trees, dtype=np.int32)
            reached = sp.csr_array((votes.ravel(), leaves.ravel(), ends), shape=(len(leaves), len(self.feature)))
            shares[block] = (reached @ self.value).toarray()
        return shares / heard

    def leaves(self, X):
        """The leaf of each row in each tree; pairs of a row and a tree that have reached theirs are left behind."""
        (n_rows, n_columns), n_trees = X.shape, len(self.roots)
        values, children = np.ravel(X), np.ravel(self.children)
        leaf = np.empty(n_rows * n_trees, dtype=np.int32)
        pair, node = np.arange(len(leaf)), np.tile(self.roots, n_rows)
        start = np.repeat(np.arange(n_rows) * n_columns, n_trees)  # of the row among all values
        while len(pair):
            value = values[start + self.feature[node]]
            below = children[3 * node + (value > self.threshold[node]) + 2 * np.isnan(value)]
            on = below != node
            leaf[pair[~on]] = node[~on]
            pair, node, start = pair[on], below[on], start[on]
        return leaf.reshape(n_rows, n_trees)

    def probabilities(self, X):
        """Calibrated class probabilities of rows X."""
        return softmax(self.temperature * self.scores(X))

    def scores(self, X):
        """Logarithms of the shares, with half a vote spread over all classes so that none has a share of 0."""
        return log_shares(self.votes(X), len(self.roots))

    @classmethod
    def of(cls, trees, classes, n_classes):
        """The arrays of fitted trees of scikit-learn that know these classes, which are codes."""
        trees = [one.tree_ for one in trees]
        roots = np.cumsum([0, *(tree.node_count for tree in trees[:-1])])
        feature = np.concatenate([np.maximum(tree.feature, 0) for tree in trees])
        leaf = np.concatenate([tree.children_left < 0 for tree in trees])
        threshold = np.where(leaf, 0.0, np.concatenate([tree.threshold for tree in trees]))
        children = np.concatenate([ways_of(tree) + root for tree, root in zip(trees, roots, strict=True)])
        children[leaf] = np.flatnonzero(leaf)[:, None]
        value = sp.vstack([leaf_shares(tree, classes, n_classes) for tree in trees], format="csr")
        return cls(feature.astype(np.int32), threshold, children.astype(np.int32), value, roots.astype(np.int32))

    def arrays(self):
        """What a file holds."""
        own = {name: np.asarray(value) for name, value in vars(self).items() if name != "value"}
        return own | {"shares": self.value.data, "classes": self.value.indices, "starts": self.value.indptr}

    @classmethod
    def from_arrays(cls, arrays, n_classes):
        """The inverse of `arrays`; nodes must lead downwards, or a search in a damaged file would not end."""
        children = arrays["children"]
        n_nodes, own = len(children), np.arange(len(children))[:, None]
        leaf = (children == own).all(axis=1)
        down = ((children > own) & (children < n_nodes)).all(axis=1)
        shapes = {arrays[name].shape for name in ("feature", "threshold")}
        if children.shape != (n_nodes, 3) or shapes != {(n_nodes,)}:
            raise ValueError("the arrays of its trees do not belong together")
        if not (leaf | down).all() or arrays["roots"].min() < 0 or arrays["roots"].max() >= n_nodes:
            raise ValueError("the nodes of its trees lead nowhere")
        whole = {"feature": arrays["feature"], "children": children, "roots": arrays["roots"]}
        whole = {name: np.asarray(value, dtype=np.int32) for name, value in whole.items()}
        value = stored_shares(arrays, (n_nodes, n_classes))
        return cls(**whole, threshold=arrays["threshold"], value=value, temperature=float(arrays["temperature"]))


def leaf_shares(tree, classes, n_classes):
    """Shares (nodes, n_classes), sparse, of the classes in the leaves of a fitted tree that knows these classes."""
    value = np.where(tree.children_left[:, None] < 0, tree.value[:, 0], 0.0)
    node, known = np.nonzero(value)
    shares = value[node, known] / value.sum(axis=1)[node]
    return sp.csr_array((shares, (node, np.asarray(classes)[known])), shape=(len(value), n_classes))


def stored_shares(arrays, shape):
    """The same from a file, whose indices compiled code will trust."""
    shares, classes, starts = (arrays[name] for name in ("shares", "classes", "starts"))
    if starts.shape != (shape[0] + 1,) or shares.ndim != 1 or shares.shape != classes.shape:
        raise ValueError("the arrays of its trees do not belong together")
    if starts[0] != 0 or starts[-1] != len(shares) or (np.diff(starts) < 0).any():
        raise ValueError("the shares of its trees are cut into no leaves")
    if len(classes) and (classes.min() < 0 or classes.max() >= shape[1]):
        raise ValueError("its trees know classes that the map does not have")
    return sp.csr_array((shares, np.asarray(classes, np.int32), np.asarray(starts, np.int32)), shape=shape)


def ways_of(tree):
    """Children (nodes, 3) of a fitted tree of scikit-learn: left, right, and where a missing value goes."""
    left, right = tree.children_left, tree.children_right
    return np.stack([left, right, np.where(tree.missing_go_to_left, left, right)], axis=1)


def log_shares(shares, n_trees):
    """Logarithms of shares of votes, with half a vote spread over all classes."""
    n_classes = shares.shape[1]
    return np.log((n_trees * shares + 0.5 / n_classes) / (n_trees + 0.5))


def fit_trees(X, codes, n_classes, seed, *, n_trees=N_TREES, cross_fit=True, units=None):
    """The forest of all rows X, calibrated, and the probabilities of each row by the trees that never saw it.

    A tree is fitted to a draw with replacement and leaves out a row in e, so the forest that is kept judges its own
    rows, out of bag (Breiman 2001, sec. 3.1). Thresholds are random (Geurts et al. 2006), which leaves room in the time
    to look at all features, up to 100, at every node: where two features matter only together, or few of
    many, a tree that draws few of them rarely meets them. ``cross_fit=False`` gives in-sample probabilities, calibrated
    all the same. `units`: of rows that are not independent; whole units are drawn then, and left out.
    """
    X = X.tocsr() if sp.issparse(X) else X

    settings = {"min_samples_leaf": 2, "max_features": min(100, X.shape[1])}

    def grow(part):
        state = (seed + part) % 2**32
        draws = draws_of_rows(len(codes), state) if units is None else draws_of_units(units, codes, state)
        return grown_trees(X, codes, draws, settings)

    with warnings.catch_warnings():
        # The map warns once of too many classes, and scikit-learn would for every tree.
        warnings.filterwarnings("ignore", message="The number of unique classes is greater", category=UserWarning)
        parts = parallel_map(grow, range(n_trees // GROWN))
    forest = Forest.of([tree for trees, _ in parts for tree in trees], np.unique(codes), n_classes)
    seen = np.zeros((len(codes), n_trees), dtype=bool)
    for tree, drawn in enumerate(drawn for _, samples in parts for drawn in samples):
        seen[drawn, tree] = True
    scores = log_shares(forest.votes(X, unless=seen), n_trees / np.e)
    whole = replace(forest, temperature=best_temperature(scores, codes))
    return whole, softmax(whole.temperature * scores) if cross_fit else whole.probabilities(X)


def grown_trees(X, codes, draws, settings):
    """A tree on each draw (state, weights, rows), and the rows that each of them saw.

    They are not grown by a forest of scikit-learn: in a thread it resets the filters of warnings of all others.
    """
    trees, samples = [], []
    for state, weights, rows in draws:
        trees.append(ExtraTreeClassifier(random_state=state, **settings).fit(X, codes, sample_weight=weights))
        samples.append(rows)
    return trees, samples


def draws_of_rows(n_rows, seed):
    """Draws of rows with replacement, as a forest of scikit-learn makes them."""
    states = np.random.RandomState(seed)
    for _ in range(GROWN):
        state = states.randint(np.iinfo(np.int32).max)
        rows = np.random.RandomState(state).randint(0, n_rows, n_rows, dtype=np.int32)
        yield state, np.bincount(rows, minlength=n_rows).astype(np.float64), rows


def draws_of_units(units, codes, seed):
    """Draws of whole units with replacement.

    A class of which no unit was drawn has a weight of next to nothing, so that all trees know the same classes.
    """
    rng, unit, every = np.random.default_rng(seed), np.unique(units, return_inverse=True)[1], np.unique(codes)
    n_units = int(unit.max()) + 1
    for _ in range(GROWN):
        times = np.bincount(rng.integers(n_units, size=n_units), minlength=n_units)[unit]
        absent = np.isin(codes, np.setdiff1d(every, codes[times > 0]))
        weights = np.where(times > 0, times, np.where(absent, 1e-9, 0.0))
        yield int(rng.integers(2**31)), weights, np.flatnonzero(times)


def units_of(target):
    """The units of a target for `fit_trees`; None if samples are independent. In time, stretches are paired up."""
    return None if target.independent else target.units // 2 if target.in_order else target.units


def how_judged(context):
    """How the fitted rows were judged, in words: by trees that never saw them, not in the folds of other posteriors."""
    return "each row judged out of bag" if context.cross_fit else context.judged


class Trees(RowPosterior):
    """A forest on the support rows, judged out of bag; vectors only. Missing values are taken as they are.

    Parameters
    ----------
    n_support : int or None, default=None
        Rows that the forest is fitted to; None takes all labelled rows up to 100,000.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from prismap.metrics import FisherMetric
    >>> X, y = load_iris(return_X_y=True)
    >>> FisherMetric(posterior=Trees(), supervision=0.8, perplexity=10, random_state=0).fit(X, y).pairwise().shape
    (150, 150)
    """

    name = "trees"

    def __init__(self, n_support=None):
        self.n_support = n_support

    def most_support(self, target):
        """Many: the time of a forest grows little faster than its rows, and the time of new rows with its depth."""
        return MOST_TREE_ROWS

    def fit(self, context):
        """Fit the forests."""
        if context.data.is_matrix:
            raise InputError("posterior='trees' needs data='vectors': a matrix has no features; use 'lssvm'.")
        data, support, n_classes = context.data, context.support, context.n_classes
        seed = int(context.rng.integers(2**31))
        X, codes = data.raw(support), context.codes[support]
        self.data, self.judged = data, how_judged(context)
        units = units_of(context.target.take(support))
        self.forest, of_support = fit_trees(X, codes, n_classes, seed, cross_fit=context.cross_fit, units=units)
        return self.hold_support(context, of_support)

    def predict(self, rows, self_similarity=None):
        """Class probabilities of new rows, or of fitted ones by their index."""
        return self.forest.probabilities(self.data.raw(rows.index) if isinstance(rows, FittedIndex) else rows)

    def state(self):
        """The trees, and the fitted rows' own probabilities."""
        trees = {f"trees_{name}": value for name, value in self.forest.arrays().items()}
        return {**trees, "probabilities": self.fitted_probabilities}

    def restore(self, context, state):
        """From the arrays of `state`."""
        arrays = {name[len("trees_") :]: value for name, value in state.items() if name.startswith("trees_")}
        self.forest = Forest.from_arrays(arrays, context.n_classes)
        if self.forest.feature.min() < 0 or self.forest.feature.max() >= context.data.n_features_in_:
            raise ValueError("its trees look at features that its rows do not have")
        self.data, self.judged = context.data, how_judged(context)
        return self.hold(context, state["probabilities"])
