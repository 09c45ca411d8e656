"""`prismap relevance` and `prismap explore` on a real map."""

import json
import signal
import subprocess
import sys
import urllib.request

import numpy as np
import pytest

from cli.flowers import write_flowers
from prismap.page._folder import load_folder


def test_the_features_that_shape_the_map_come_first(run, tmp_path):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(60, 2)) * 10, rng.normal(size=(60, 2)) * 0.01])
    np.savez(tmp_path / "d.npz", X=X, feature_names=["wide", "long", "tiny", "small"])
    words = ("--no-standardize", "--perplexity", "8", "--quiet", "-o", tmp_path / "out")
    assert run("map", tmp_path / "d.npz", *words)[0] == 0
    code, out, _ = run("relevance", tmp_path / "out", tmp_path / "d.npz", "--quiet")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "relevance of the features (forward, 10 neighbours)"
    assert {line.split()[0] for line in lines[1:3]} == {"wide", "long"}
    assert all(line.endswith(" *") for line in lines[1:3])
    assert "shuffled" in lines[-1]
    code, out, _ = run("relevance", tmp_path / "out", tmp_path / "d.npz", "--neighbors", "5", "--quiet", "--json")
    answer = json.loads(out)
    assert (code, answer["neighbors"]) == (0, 5)
    assert [one["relevant"] for one in answer["features"]][:2] == [True, True]
    values = [one["relevance"] for one in answer["features"]]
    assert values == sorted(values, reverse=True)


def test_text_columns_are_judged_by_level(run, made):
    folder, _, _ = made
    code, out, _ = run("relevance", folder, folder.parent / "flowers.csv", "--quiet", "--json")
    assert code == 0
    names = {one["feature"] for one in json.loads(out)["features"]}
    assert names == {"sl", "sw", "pl", "pw", "soil=clay", "soil=sand"}


def test_without_data_the_columns_of_the_page_are_told(run, made, refused):
    code, out, _ = run("relevance", made[0], "--quiet", "--json")
    answer = json.loads(out)
    page = load_folder(made[0])
    assert code == 0
    assert {one["feature"]: one["relevance"] for one in answer["features"]} == pytest.approx(
        dict(zip(page.relevance.names, page.relevance.values.tolist(), strict=True))
    )
    assert (answer["baseline"], answer["threshold"]) == (page.relevance.baseline, page.relevance.threshold)
    assert [line.split()[0] for line in run("relevance", made[0], "--quiet")[1].splitlines()[-2:]] == ["shuffled", "*"]
    assert "name the folder of a map" in refused("relevance", made[0] / "model.prismap")
    assert "leave --method" in refused("relevance", made[0], "--method", "backward")


def test_relevance_refuses_what_it_cannot_judge(refused, run, made, tmp_path):
    few = write_flowers(tmp_path / "few.csv", n_rows=6)
    assert "few.csv has 6 rows; --neighbors 10 needs more" in refused("relevance", made[0], few)
    other = write_flowers(tmp_path / "other.csv", sl=None, sw=None, pl=None)
    assert "lacks 3 of the 5 columns" in refused("relevance", made[0], other)
    D = np.abs(np.subtract.outer(np.arange(30.0), np.arange(30.0)))
    np.savez(tmp_path / "d.npz", S=D, kind="dissimilarity")
    assert run("map", tmp_path / "d.npz", "--perplexity", "8", "--quiet", "-o", tmp_path / "out")[0] == 0
    assert "it has no features to judge" in refused("relevance", tmp_path / "out", tmp_path / "d.npz")


@pytest.mark.posix
def test_explore_serves_the_page_until_interrupted(made):
    pytest.importorskip("uvicorn")
    words = [sys.executable, "-m", "prismap.cli.main", "explore", str(made[0]), "--no-open", "--json", "--quiet"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            lines = "".join(server.stdout.readline() for _ in range(3))
            address = json.loads(lines)["address"]
            assert address.startswith("http://127.0.0.1:")
            browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())  # the token becomes a cookie
            with browser.open(address, timeout=30) as answer:
                assert b'id="prismap"' in answer.read()
        finally:
            server.send_signal(signal.SIGINT)
            _, err = server.communicate(timeout=60)
    assert (server.returncode, err) == (0, "")


def test_explore_refuses_what_it_cannot_show(refused, tmp_path):
    assert "there is no folder" in refused("explore", tmp_path / "nowhere")
    assert "holds no map that can be shown" in refused("explore", tmp_path)
    assert "--port: a whole number from 0 to 65535" in refused("explore", tmp_path, "--port", "70000")
