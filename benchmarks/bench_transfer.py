"""Transfer between spaces at 2,000 by 2,000 rows: it must stay below a minute on two cores.

No peer does the same; scikit-learn's t-SNE of the source alone is the yardstick that the machine's load moves too.
"""

import warnings

import numpy as np
from sklearn.manifold import TSNE
from sklearn.neighbors import KNeighborsClassifier

from prismap.exceptions import PrismapWarning
from prismap.transfer import SharedEmbedding

N_ROWS = 2_000


def spaces(n_rows=N_ROWS):
    """Five groups of different sizes in six dimensions, and other draws of them turned into ten."""
    rng = np.random.default_rng(0)
    centres = 6 * rng.normal(size=(5, 6))
    shares = [0.1, 0.15, 0.2, 0.25, 0.3]

    def draw():
        codes = rng.choice(5, size=n_rows, p=shares)
        return centres[codes] + rng.normal(size=(n_rows, 6)), codes

    X, y = draw()
    Z, y_target = draw()
    return X, y, Z @ np.linalg.qr(rng.normal(size=(10, 6)))[0].T, y_target


def matched(kind, X, Z):
    """A fitted map; whether it is ambiguous is not the question here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrismapWarning)
        return SharedEmbedding(kind, random_state=0).fit(X, Z)


def same_group(model, y, y_target):
    """Share of target rows whose nearest source row is of their group."""
    near = KNeighborsClassifier(1).fit(model.source_positions_, y)
    return float(near.score(model.target_positions_, y_target))


def cases(data_folder=None):
    """What is compared: (name, ours, theirs, check)."""
    X, y, Z, y_target = spaces()
    for kind in ("linear", "kernel"):
        yield {
            "name": f"SharedEmbedding({kind!r}), {N_ROWS} by {N_ROWS} rows, against t-SNE of the source alone",
            "ours": lambda kind=kind: matched(kind, X, Z),
            "theirs": lambda: TSNE(random_state=0).fit_transform(X),
            "check": lambda model, _: same_group(model, y, y_target) > 0.9,
            "note": "limit 60 s",
        }
