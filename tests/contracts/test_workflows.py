"""The workflows: actions that cannot change, no more rights than needed, and commands and versions that exist."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import prismap

ROOT = Path(prismap.__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
TEXTS = {path.name: path.read_text("utf-8") for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))}
WORKFLOWS = {name: yaml.safe_load(text) for name, text in TEXTS.items()}
JOBS = [(name, key) for name, workflow in WORKFLOWS.items() for key in workflow["jobs"]]

#: An action by the hash of a commit, and the release that it is.
PINNED = re.compile(r"[\w-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


def steps(name, key):
    return WORKFLOWS[name]["jobs"][key]["steps"]


def test_all_four_workflows_are_there():
    assert list(WORKFLOWS) == ["docs.yml", "release.yml", "tests.yml", "web.yml"]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_every_action_is_pinned_by_its_commit(name):
    used = re.findall(r"^\s*(?:- )?uses:\s*(.*?)\s*$", TEXTS[name], re.MULTILINE)
    assert used
    assert len(used) == sum("uses" in step for key in WORKFLOWS[name]["jobs"] for step in steps(name, key))
    assert [action for action in used if not PINNED.fullmatch(action)] == []


def test_one_action_has_one_commit():
    pins = {pin for text in TEXTS.values() for pin in PINNED.findall(text)}
    actions = [pin.split("@")[0] for pin in pins]
    assert sorted(actions) == sorted(set(actions))


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_has_no_rights_of_its_own_and_is_not_run_twice(name):
    assert WORKFLOWS[name]["permissions"] == {}
    concurrency = WORKFLOWS[name]["concurrency"]
    assert concurrency["cancel-in-progress"] is (name != "release.yml")
    assert "github.ref" in concurrency["group"]
    assert "secrets." not in TEXTS[name]
    assert "pull_request_target" not in TEXTS[name]


@pytest.mark.parametrize(("name", "key"), JOBS)
def test_a_job_may_read_the_source_and_only_publishing_may_prove_who_it_is(name, key):
    job = WORKFLOWS[name]["jobs"][key]
    publishes = (name, key) == ("release.yml", "publish")
    assert job["permissions"] == ({"id-token": "write"} if publishes else {"contents": "read"})
    assert 0 < job["timeout-minutes"] <= 60


@pytest.mark.parametrize(("name", "key"), JOBS)
def test_steps_keep_no_credentials_and_run_no_text_from_outside(name, key):
    for step in steps(name, key):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
        assert "${{" not in step.get("run", "")


@pytest.mark.parametrize(("name", "key"), JOBS)
def test_commands_name_what_is_there(name, key):
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for step in steps(name, key):
        command = step.get("run", "")
        for target in re.findall(r"\bmake ([\w-]+)", command):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
        for path in re.findall(r"(?<!\S)(?:src|tests|tools|web)/[\w./-]+", command):
            assert (ROOT / path).exists(), path


def test_every_python_that_the_package_names_is_tested_on_every_system():
    matrix = WORKFLOWS["tests.yml"]["jobs"]["tests"]["strategy"]["matrix"]
    named = [found[1] for line in PROJECT["classifiers"] if (found := re.fullmatch(r".* :: Python :: (3\.\d+)", line))]
    assert matrix["python-version"] == named == ["3.11", "3.12", "3.13", "3.14"]
    assert PROJECT["requires-python"] == f">={named[0]}"
    systems = [line for line in PROJECT["classifiers"] if line.startswith("Operating System")]
    assert matrix["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]
    assert len(systems) == len(matrix["os"])
    wheel = WORKFLOWS["release.yml"]["jobs"]["test"]["strategy"]["matrix"]
    assert wheel == {"os": matrix["os"], "python-version": [named[0], named[-1]]}


def test_what_is_published_is_what_was_built_and_tried():
    jobs = WORKFLOWS["release.yml"]["jobs"]
    assert set(jobs["publish"]["needs"]) == {"build", "test"}
    assert jobs["publish"]["if"] == "github.ref_type == 'tag'"
    assert not [step for step in jobs["publish"]["steps"] if "run" in step or "checkout" in step["uses"]]
    taken = [step["with"]["name"] for key in ("test", "publish") for step in jobs[key]["steps"]
             if "download-artifact" in step.get("uses", "")]  # fmt: skip
    given = [step["with"]["name"] for step in jobs["build"]["steps"] if "upload-artifact" in step.get("uses", "")]
    assert taken == ["packages", "packages"]
    assert given == ["packages", "requirements"]


def test_the_pages_for_contributors_name_the_workflows():
    releasing = (ROOT / "docs" / "releasing.md").read_text("utf-8")
    environment = WORKFLOWS["release.yml"]["jobs"]["publish"]["environment"]["name"]
    for words in ("release.yml", f"environment `{environment}`", "make release-check"):
        assert words in releasing
    contributing = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert [name for name in WORKFLOWS if name not in contributing] == []


def test_updates_of_actions_are_proposed():
    config = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text("utf-8"))
    assert [update["package-ecosystem"] for update in config["updates"]] == ["github-actions"]
