"""Help, version, exit codes and how the command ends when it is stopped."""

import re
import subprocess
import sys
import warnings

import pytest

from prismap import __version__
from prismap.cli import report
from prismap.cli.main import COMMANDS, main
from prismap.exceptions import MissingExtraError, PrismapWarning


def test_version_and_help(run):
    assert run("--version") == (0, f"prismap {__version__}\n", "")
    code, text, _ = run()
    assert code == 0
    for command in COMMANDS:
        name = command.__name__.split(".")[-1]
        assert re.search(rf"\n    {name}\s", text)
        code, out, _ = run(name, "--help")
        assert code == 0
        assert "--quiet" in out
        assert "--json" in out


def replace_run(monkeypatch, behaviour):
    monkeypatch.setattr(report, "run", lambda args, console: behaviour(console))


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (KeyboardInterrupt(), 130, "prismap: stopped\n"),
        (OSError("no space left"), 1, "prismap: no space left\n"),
        (MissingExtraError("needs the package 'x'"), 1, "prismap: needs the package 'x'\n"),
        (MemoryError(), 1, "prismap: there is not enough memory\n"),
    ],
)
def test_known_ends_are_one_line(run, monkeypatch, error, code, words):
    def fail(console):
        raise error

    replace_run(monkeypatch, fail)
    assert run("report", "x") == (code, "", words)


def test_the_unexpected_shows_where_it_happened(run, monkeypatch):
    def fail(console):
        raise ZeroDivisionError("a bug")

    replace_run(monkeypatch, fail)
    code, _, err = run("report", "x")
    assert code == 1
    assert "Traceback" in err
    assert "a bug" in err


def test_warnings_of_ours_become_notes(run, monkeypatch):
    def warn(console):
        for _ in range(2):
            warnings.warn("perplexity was lowered", PrismapWarning, stacklevel=2)
        assert console.notes == ["perplexity was lowered"]

    replace_run(monkeypatch, warn)
    assert run("report", "x") == (0, "", "note: perplexity was lowered\n")
    assert run("report", "x", "--quiet") == (0, "", "")


def test_the_installed_command_ends_with_the_exit_code():
    words = [sys.executable, "-m", "prismap.cli.main", "report", "nowhere"]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("prismap: there is no file nowhere: name a folder written by prismap map")
    assert ended.stderr.count("\n") == 1


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from prismap.cli.main import main; main(['map', '--help']);"
        "heavy = {'matplotlib', 'pyarrow', 'pandas', 'openTSNE', 'prismap.map', 'scipy.optimize'} & set(sys.modules);"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def test_main_takes_the_arguments_of_the_process(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["prismap", "--version"])
    assert main() == 0
    assert __version__ in capsys.readouterr().out


def test_errors_that_quote_a_file_have_no_power_over_the_terminal(tmp_path, capsys):
    assert main(["report", str(tmp_path / "\x1b[2Jnowhere")]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_ctrl_c_during_the_imports_is_one_line():
    code = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'numpy': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from prismap.cli import entry\n"
        "sys.exit(entry())"
    )
    done = subprocess.run([sys.executable, "-c", code, "report", "x"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "prismap: stopped\n")
