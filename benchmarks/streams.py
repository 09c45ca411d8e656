"""Parts of the large page on rows that come later: drift of a stream, and a map that is extended."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.files import make_rows
from benchmarks.harness import clocked, on_its_own, peak_gb
from prismap import PrisMap
from prismap.embeddings import TSNE, GradientDescent
from prismap.metrics import FisherMetric

BATCH = 100_000


def watched_drift(n_rows, supervision):
    """Drift of generated batches on a map of 1,000 rows: CPU seconds, and the peak of memory early and at the end."""
    warnings.simplefilter("ignore")
    X, y = make_rows(20_000, 0)
    model = PrisMap(supervision=supervision, fit_rows=1000, random_state=0).fit(X, y)
    peaks = {}

    def batches():
        for number in range(n_rows // BATCH):
            yield make_rows(BATCH, number + 1)[0]
            peaks[number] = peak_gb()  # after the batch was looked at

    found, seconds = clocked(lambda: model.drift(batches()))
    return {
        "metric": model.metric_.describe(), "rows": found.n_rows, "CPU s": round(seconds, 1),
        "rows per core second": round(found.n_rows / seconds), "peak MiB after 200,000 rows": mebibytes(peaks[1]),
        "peak MiB at the end": mebibytes(peaks[max(peaks)]), "said": str(found),
    }  # fmt: skip


def mebibytes(gb):
    """GB as MiB, for a table."""
    return round(gb * 1e9 / 2**20)


def drift(options):
    """Ten million rows of 32 columns, made as they are read, with the target of a map and without."""
    for supervision in (0.0, 0.8):
        yield on_its_own(watched_drift, 300_000 if options.quick else 10_000_000, supervision)


def drift_of_100_million(options):
    """The size of the goal."""
    yield on_its_own(watched_drift, 400_000 if options.quick else 100_000_000, 0.8)


def extended(n_rows, supervision):
    """1,000 rows where a map of many has none: what `partial_refit` takes.

    A machine is the posterior that is cheap to fit on so many rows, and is not chosen by evidence for the same reason.
    """
    warnings.simplefilter("ignore")
    X, y = make_rows(n_rows, 0)
    # Where the fitted rows lie does not matter here, and iterations take long.
    method = TSNE(max_iter=20, descent=GradientDescent(tol=0))
    model = PrisMap(
        method, metric=FisherMetric(posterior="lssvm"), supervision=supervision, fit_rows=n_rows, random_state=0
    )
    _, fit_seconds = clocked(lambda: model.fit(X, y))
    before, fit_peak = model.embedding_.copy(), peak_gb()
    new, y_new = make_rows(1000, 1)
    _, first_seconds = clocked(lambda: model.transform(new))  # the first call builds the cells of the map
    _, seconds = clocked(lambda: model.partial_refit(new + np.float32(40), y_new))
    assert np.array_equal(before, model.embedding_[:n_rows])
    return {
        "metric": model.metric_.describe(), "fitted rows": n_rows, "new rows": len(new),
        "became part of the map": len(model.added_rows_), "partial_refit, CPU s": round(seconds, 1),
        "first placing, CPU s": round(first_seconds, 1), "fit of 20 iterations, CPU s": round(fit_seconds, 1),
        "peak GB of the fit": f"{fit_peak:.2f}", "peak GB": f"{peak_gb():.2f}",
    }  # fmt: skip


def refit(options):
    """Without a target, and under a Fisher metric."""
    for supervision in (0.0, 0.8):
        yield on_its_own(extended, 12_000 if options.quick else 100_000, supervision)
