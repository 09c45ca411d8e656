"""Rows that are probably mislabelled: planted ones are found, clean and meaningless labels are left alone."""

import json

import numpy as np
import pytest
from experiments.tables_of_truth import overlapping_blobs, wrong_labels

from prismap import MapReport, PrisMap
from prismap.map._mislabelled import improbable_labels, mislabelled_finding, mislabelled_rows
from prismap.metrics import FisherMetric


def slow(P, codes):
    """The definition, one row at a time."""
    limits = {}
    for c in range(P.shape[1]):
        own = [p[c] for p, code in zip(P, codes, strict=True) if code == c]
        if len(own) >= 10:
            limits[c] = max(sum(own) / len(own), np.quantile(own, 0.3))
    doubted = {}
    for row, (p, code) in enumerate(zip(P, codes, strict=True)):
        likelier = [c for c in limits if c != code and p[c] >= limits[c]]
        if code in limits and likelier and p[code] < 0.3 and max(p[likelier]) > p[code]:
            doubted[row] = max(likelier, key=lambda c, p=p: p[c])
    return doubted


def test_rows_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.full(4, 0.4), size=300)
    codes = np.array([rng.choice(4, p=p) for p in P])
    codes[::9] = rng.integers(-1, 4, size=len(codes[::9]))
    codes[codes == 3] = np.where(np.arange((codes == 3).sum()) < 5, 3, -1)  # too few rows for a threshold
    rows, likelier = improbable_labels(P, codes)
    assert dict(zip(rows.tolist(), likelier.tolist(), strict=True)) == slow(P, codes)
    assert len(rows) > 5
    assert (np.diff(P[rows, codes[rows]]) >= 0).all()


@pytest.mark.parametrize(("share", "supervision"), [(0.05, "auto"), (0.1, 0.8), (0.2, "auto")])
def test_planted_errors_are_found(share, supervision):
    X, y, truth = wrong_labels(share=share)
    doubted, _ = mislabelled_rows(PrisMap(supervision=supervision, random_state=0).fit(X, y).map_)
    rows = np.array([one["row"] for one in doubted])
    assert np.isin(rows, truth["wrong"]).mean() >= 0.9
    assert np.isin(truth["wrong"], rows).mean() >= 0.6  # 65 to 94 % in the guide
    right = [one["likelier"] == str(truth["class"][one["row"]]) for one in doubted]
    assert np.mean(right) >= 0.9
    assert all(one["given"] == str(y[one["row"]]) for one in doubted)
    assert all(one["chance_given"] < 0.3 < one["chance"] for one in doubted)


def test_clean_and_meaningless_labels_are_left_alone():
    X, y, _ = wrong_labels(n_rows=200, share=0.0)
    assert len(mislabelled_rows(PrisMap(supervision=0.8, random_state=0).fit(X, y).map_)[0]) <= 2
    noise = np.random.default_rng(0).integers(2, size=len(X))
    for supervision in ("auto", 0.8):
        assert mislabelled_rows(PrisMap(supervision=supervision, random_state=0).fit(X, noise).map_) == ((), 0)
    assert mislabelled_rows(PrisMap(random_state=0).fit(X, X[:, 0] + 0.5).map_) == ((), 0)
    assert mislabelled_rows(PrisMap(random_state=0).fit(X).map_) == ((), 0)


def test_labels_that_the_posterior_has_seen_are_not_judged_by_it():
    X, y, _ = wrong_labels()
    metric = FisherMetric("class", cross_fit=False, supervision=0.8, random_state=0)
    assert mislabelled_rows(PrisMap(metric=metric, supervision=0.8, random_state=0).fit(X, y).map_) == ((), 0)


def test_the_report_lists_them():
    X, y, _ = wrong_labels()
    report = PrisMap(random_state=0).fit(X, y).report(budget="quick")
    assert len(report.mislabelled) >= 20
    statement = report.statement("mislabelled_rows")
    assert (statement.level, statement.answer) == ("detail", "yes")
    assert str(report.mislabelled[0]["row"]) in statement.words
    stored = MapReport.from_dict(json.loads(json.dumps(report.to_dict())))
    assert stored.mislabelled == report.mislabelled


def test_rows_that_overlap_are_not_called_mislabelled():
    X, y, truth = overlapping_blobs()
    doubted, n_unsure = mislabelled_rows(PrisMap(supervision=0.8, random_state=0).fit(X, y).map_)
    assert 20 < len(doubted) < n_unsure
    assert not len(truth["wrong"])
    (stated,) = mislabelled_finding(doubted, n_unsure, len(X))
    assert stated.answer == "cannot tell"
    assert f"where classes overlap (the posterior is unsure of {n_unsure} rows)." in stated.words
    (one,) = mislabelled_finding(doubted[:1], 0, len(X))  # one unusual row is in any table
    assert one.answer == "cannot tell"
    assert one.words.startswith("One row has a label that its features make improbable, out of fold. It may be ")
    assert mislabelled_finding((), 0, 10) == ()
