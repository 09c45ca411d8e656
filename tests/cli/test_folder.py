"""The folder of a map is complete or absent, and never takes the place of other files."""

import os

import pytest

from prismap.cli import folder as module
from prismap.cli.folder import check_folder, folder_aside
from prismap.exceptions import InputError


def fill(folder, content="new"):
    (folder / "model.prismap").write_text(content)
    (folder / "report.json").write_text(content)


def listing(path):
    return sorted(os.listdir(path))


def test_the_folder_appears_when_it_is_complete(tmp_path):
    out = tmp_path / "deep" / "out"
    with folder_aside(out) as aside:
        fill(aside)
        assert not out.exists()
    assert listing(out) == ["model.prismap", "report.json"]
    assert listing(tmp_path / "deep") == ["out"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_nothing_is_left_of_an_interrupted_folder(tmp_path, error):
    out = tmp_path / "out"

    def interrupted():
        with folder_aside(out) as aside:
            fill(aside)
            raise error

    with pytest.raises(error):
        interrupted()
    assert listing(tmp_path) == []
    out.mkdir()
    fill(out, "old")
    with pytest.raises(error):
        interrupted()
    assert listing(tmp_path) == ["out"]
    assert (out / "report.json").read_text() == "old"


def test_a_former_map_is_replaced_as_a_whole(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    fill(out, "old")
    (out / "map.csv").write_text("old")
    with folder_aside(out) as aside:
        fill(aside)
    assert listing(tmp_path) == ["out"]
    assert listing(out) == ["model.prismap", "report.json"]
    assert (out / "report.json").read_text() == "new"


def test_the_former_map_comes_back_if_the_new_one_cannot_take_its_name(tmp_path, monkeypatch):
    out = tmp_path / "out"
    out.mkdir()
    fill(out, "old")
    rename, calls = os.rename, []

    def stubborn(source, target):
        calls.append(source)
        if len(calls) == 2:
            raise OSError("the disk says no")
        rename(source, target)

    monkeypatch.setattr(module.os, "rename", stubborn)
    with pytest.raises(OSError, match="says no"), folder_aside(out) as aside:
        fill(aside)
    assert listing(tmp_path) == ["out"]
    assert (out / "report.json").read_text() == "old"


def test_the_working_folder_is_filled_and_not_moved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = os.stat(tmp_path).st_ino
    with folder_aside(module.Path(".")) as aside:
        fill(aside)
    assert listing(tmp_path) == ["model.prismap", "report.json"]
    assert os.stat(tmp_path).st_ino == before


def test_folders_that_must_not_be_replaced_are_refused(tmp_path):
    out = tmp_path / "out"
    check_folder(out, force=False)
    out.mkdir()
    check_folder(out, force=False)
    fill(out)
    with pytest.raises(InputError, match="holds a map already: --force"):
        check_folder(out, force=False)
    check_folder(out, force=True)
    (out / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match=r"not prismap's \(thesis.tex\) and is left alone"):
        check_folder(out, force=True)
    with pytest.raises(InputError, match="is a file"):
        check_folder(out / "thesis.tex", force=True)
