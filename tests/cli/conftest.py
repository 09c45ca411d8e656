"""Run the command line in this process, and look at what it left behind."""

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
