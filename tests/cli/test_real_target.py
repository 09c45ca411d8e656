"""A quantity as the target of `prismap map`: it is seen, said and drawn."""

import csv
import json

import numpy as np


def test_a_quantity_is_seen_and_said(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3))
    with open(tmp_path / "prices.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "c", "price"])
        writer.writerows(np.column_stack([X, X[:, 0] + 0.1 * rng.normal(size=240)]).round(4).tolist())
    words = [tmp_path / "prices.csv", "--target", "price", "--method", "mds", "--fit-rows", 40, "--perplexity", 8]
    code, out, err = run("map", *words, "-o", tmp_path / "out")
    assert code == 0, err
    assert (
        "the target is taken as a quantity: its values have fractions (--target-kind class takes its values as classes)"
        in err
    )
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["target"] == "real"
    assert report["scores"][0]["name"] == "nRMSE"
    assert report["scores"][0]["value"]["value"] < 0.8 < report["scores"][0]["permuted"]["mean"]
    assert "target: real" in out
