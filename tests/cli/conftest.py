"""Run the command line in this process, and look at what it left behind."""

import contextlib
import io

import pytest

from cli.flowers import tree, write_flowers
from prismap.cli.main import main


@pytest.fixture
def run(capsys):
    """``run("map", ...)`` -> (exit code, stdout, stderr)."""

    def run(*argv):
        code = main([str(word) for word in argv])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def refused(run, tmp_path):
    """A command that must end with code 2, one line on stderr, and no file more or less than before."""

    def refused(*argv):
        before = tree(tmp_path)
        code, out, err = run(*argv, "--quiet")
        assert (code, out) == (2, ""), err
        assert err.startswith("prismap: ")
        assert err.count("\n") == 1
        assert "Traceback" not in err
        assert tree(tmp_path) == before
        return err

    return refused


@pytest.fixture
def flowers(tmp_path):
    """A small csv file: three classes, four measures, a text column, a key."""
    return write_flowers(tmp_path / "flowers.csv")


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """One map with a target, some rows fitted and some placed: (folder, stdout, stderr)."""
    folder = tmp_path_factory.mktemp("made")
    write_flowers(folder / "flowers.csv", n_rows=48)
    words = ["map", "flowers.csv", "--target", "species", "--id", "key", "--fit-rows", "36", "--perplexity", "8"]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        assert main([*words, "--title", "<b>Flowers</b>", "-o", "out"]) == 0, err.getvalue()
    return folder / "out", out.getvalue(), err.getvalue()
