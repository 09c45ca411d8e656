"""One prototype per class or two? What a picture of RSLVQ suggests, checked (thesis 3.5.5).

The thesis trains RSLVQ with two prototypes per class on usps, sees on the Fisher t-SNE map that the two of most classes
lie on top of each other, and confirms that one per class is nearly as good. Here: accuracy in % on the training rows
(in-sample) and on the others, with one and with two; and for each class the distance of its two prototypes on the
Fisher t-SNE map supervised by the model, in units of the mean distance of a training row of the class to the class's
centre there. Below 0.5 they count as one place. Permuted: labels of the training rows shuffled before RSLVQ is fitted,
judged by the true ones of the others.

**What differs.** 1,000 training rows and 1,000 others in 30 principal components, three random splits for the
accuracies, the first of them for the map; the thesis has one split, whose rows are not known.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

from experiments.common import load, split_rows, spread
from experiments.ledger import main
from prismap import PrisMap
from prismap.exceptions import PrismapWarning
from prismap.learners import RSLVQ

READING = """
Not as in the thesis: here no class has its two prototypes in one place, and two per class are worth 2 points on test
rows (0.4 in the thesis). Ours start from the centres of k-means inside a class and stay apart, and both models are
better than the thesis' (90.6 and 92.7 %, 86.9 and 87.3 there). That two prototypes in one place mean one too many could
not be tested, since it does not occur.
"""
#: Accuracy on training and test rows, by prototypes per class.
PAPER = {1: (95.1, 86.9), 2: (97.2, 87.3)}
N_SPLITS = 3
TOGETHER = 0.5


def usps(options):
    """Accuracies, then the distances of pairs of prototypes on the map."""
    warnings.simplefilter("ignore", PrismapWarning)
    data = load(options.data, "usps11000")
    n = 300 if options.quick else 1000
    splits = [split_rows(data["X"], data["y"], n, n, seed) for seed in range(1 if options.quick else N_SPLITS)]
    for count, (train, test) in PAPER.items():
        found, chance = [], []
        for seed, (X, y, X_test, y_test) in enumerate(splits):
            model = RSLVQ(count, random_state=0).fit(X, y)
            found.append((100 * model.score(X, y), 100 * model.score(X_test, y_test)))
            null = RSLVQ(count, random_state=0).fit(X, np.random.default_rng(seed).permutation(y))
            chance.append(100 * null.score(X_test, y_test))
        ours = " / ".join(spread(column) for column in zip(*found, strict=True))
        yield {
            "figure": f"accuracy, train / test, {count} per class", "paper": f"{train} / {test}", "ours": ours,
            "permuted labels, test": spread(chance),
        }  # fmt: skip
    apart = distances_on_map(*splits[0][:2])
    together = sum(value < TOGETHER for value in apart.values())
    said = ", ".join(f"{name} {value:.2f}" for name, value in apart.items())
    yield {"figure": "classes whose two prototypes are in one place", "paper": "7 of 10", "ours": f"{together} of 10"}
    yield {"figure": "distance of the two, by class", "paper": "1, 3 and 5 apart", "ours": said}


def distances_on_map(X, y):
    """Distance of the two prototypes of each class on the map, relative to the spread of the class there."""
    model = RSLVQ(2, random_state=0).fit(X, y)
    picture = PrisMap(random_state=0).fit(X, model.predict(X))
    places, found = picture.transform(model.prototypes_), {}
    for name in model.classes_:
        rows = picture.embedding_[y == name]
        one, two = places[model.prototype_labels_ == name]
        found[name] = np.linalg.norm(one - two) / np.linalg.norm(rows - rows.mean(axis=0), axis=1).mean()
    return found


PARTS = {"usps": usps}

if __name__ == "__main__":
    main(sys.modules[__name__])
