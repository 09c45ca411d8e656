"""Which out-of-sample projection? Kernels, votes and direct placement.

One fit per set, plain (t-SNE of the rows) and Fisher (the default with the labels). Each mapping projects the same
2,000 held-out rows onto the same map. 1-NN accuracy in %: *fit to test*, by the nearest fitted row; *inside*, by the
nearest projected row. *Q_local*: how far projected rows keep their neighbourhoods, in the data's own distances.
Permuted: labels of both parts shuffled before the fit. Seconds for the 2,000 rows, on one core. Data and sizes as on
the page [posteriors](posteriors.md).
"""

from __future__ import annotations

import sys
import warnings
from functools import partial

import numpy as np

from experiments.common import accuracy, timed
from experiments.ledger import main
from experiments.posteriors import ROWS, problem
from prismap import PrisMap
from prismap.quality import q_local

READING = """
Plain maps tear neighbourhoods apart. On them, kernels lose 1 (digits, phoneme) to 9 (fashion) points of accuracy
against votes of the nearest rows. Direct placement is about as good as votes and 25 to 40 times slower. On Fisher maps
the three are within about a point of each other, except on fashion, where votes gain four. Permuted labels stay at
chance with all of them.
"""
MAPPINGS, N_TEST = ("fisher", "vote", "direct"), 2000


def rows_of(name, options):
    """One row a metric and mapping."""
    warnings.simplefilter("ignore")
    X, y, X_test, y_test = problem(options.data, name, options.quick)
    X_test, y_test = X_test[:N_TEST], y_test[:N_TEST]
    rng = np.random.default_rng(1)
    shuffled, shuffled_test = rng.permutation(y), rng.permutation(y_test)
    for target in ("none", "auto"):
        for mapping in MAPPINGS:
            model = PrisMap(target=target, mapping=mapping, random_state=0).fit(X, y)
            Z, seconds = timed(lambda model=model: model.transform(X_test))
            row = {
                "metric": "plain" if target == "none" else "Fisher",
                "mapping": "kernels (default)" if mapping == "fisher" else mapping,
                "fit to test": accuracy(Z, y_test, model.embedding_, y), "inside": accuracy(Z, y_test),
                "Q_local": f"{float(q_local(X_test, Z)):.3f}", "seconds": f"{seconds:.2f}",
            }  # fmt: skip
            if target == "auto":
                null = PrisMap(mapping=mapping, random_state=0).fit(X, shuffled)
                row["permuted"] = accuracy(null.transform(X_test), shuffled_test, null.embedding_, shuffled)
            yield row


PARTS = {name: partial(rows_of, name) for name in ROWS}
WITHOUT_DATA = ("digits",)

if __name__ == "__main__":
    main(sys.modules[__name__])
