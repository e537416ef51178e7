"""The public workflow runs what the project promises, with commands that exist."""

from __future__ import annotations

import ast
import re
import shlex
import tomllib
from itertools import chain, product
from pathlib import Path
from typing import Any

import pytest
import yaml
from deploy.commands import ROOT, check
from platforms import NOT_ON_WINDOWS, reason_to_skip

FOLDER = ROOT / ".github" / "workflows"
WORKFLOWS: dict[str, Any] = {path.stem: yaml.safe_load(path.read_bytes()) for path in FOLDER.glob("*.yml")}
WORKFLOW = WORKFLOWS["tests"]
JOB = WORKFLOW["jobs"]["tests"]
MATRIX: dict[str, list[str]] = JOB["strategy"]["matrix"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
README, JUSTFILE, CONTRIBUTING = (
    (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "justfile", "CONTRIBUTING.md")
)
RECIPES = re.findall(r"^([a-z]+)\b.*:$", JUSTFILE, re.MULTILINE)
LINES = [line for step in JOB["steps"] for line in step.get("run", "").splitlines()]


def classified(prefix: str) -> list[str]:
    """Endings of the project's classifiers that begin with a prefix."""
    return [name.removeprefix(prefix) for name in PROJECT["project"]["classifiers"] if name.startswith(prefix)]


def test_workflow__runs_every_supported_python_version_and_platform() -> None:
    assert MATRIX.keys() == {"os", "python"}
    versions = [name for name in classified("Programming Language :: Python :: ") if re.fullmatch(r"3\.\d+", name)]
    assert MATRIX["python"] == versions
    assert all(isinstance(version, str) for version in MATRIX["python"])  # 3.10 as a number would be 3.1
    assert PROJECT["project"]["requires-python"] == f">={versions[0]}"
    assert PROJECT["tool"]["ruff"]["target-version"] == f"py{versions[0].replace('.', '')}"
    runners = {"Microsoft :: Windows": "windows-latest", "MacOS": "macos-latest", "POSIX :: Linux": "ubuntu-latest"}
    assert sorted(MATRIX["os"]) == sorted(runners[name] for name in classified("Operating System :: "))
    assert JOB["runs-on"] == "${{ matrix.os }}"
    (python,) = [step["with"] for step in JOB["steps"] if step.get("uses", "").startswith("actions/setup-python@")]
    assert (python["python-version"], python["cache"]) == ("${{ matrix.python }}", "pip")
    assert (ROOT / python["cache-dependency-path"]).is_file()


def test_workflow__cancels_outdated_runs() -> None:
    assert WORKFLOW["concurrency"]["cancel-in-progress"] is True
    assert "github.ref" in WORKFLOW["concurrency"]["group"]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_workflows__have_minimal_rights(name: str) -> None:
    text, jobs = (FOLDER / f"{name}.yml").read_text(encoding="utf-8"), WORKFLOWS[name]["jobs"]
    assert WORKFLOWS[name]["permissions"] == {"contents": "read"}
    more = {job: about["permissions"] for job, about in jobs.items() if "permissions" in about}
    assert more == ({"publish": {"id-token": "write"}} if name == "release" else {})
    assert "pull_request_target" not in text  # it would run code of others with the rights of the project
    assert "secrets." not in text
    actions = r"actions/(checkout|setup-python|(up|down)load-artifact)@v\d+"
    for job, about in jobs.items():
        for step in about["steps"]:
            if "uses" in step:
                assert re.fullmatch(actions + (r"|pypa/[\w-]+@release/v1" if job in more else ""), step["uses"])
            assert "${{" not in step.get("run", "")  # names of branches would become part of commands
            assert job not in more or "run" not in step  # no command has the right to publish


def test_release__is_checked_before_it_is_published() -> None:
    release = WORKFLOWS["release"]
    assert release[True]["push"] == {"tags": ["v*"]}  # YAML 1.1 reads `on` as true
    assert release["jobs"]["publish"]["needs"] == "build"
    commands = "\n".join(step.get("run", "") for step in release["jobs"]["build"]["steps"])
    for part in ("python -m build", "twine check --strict", "GITHUB_REF_NAME", "ranklake rate", "dist/*.tar.gz"):
        assert part in commands


def test_nightly__runs_all_tests_and_the_newest_dependencies() -> None:
    jobs = WORKFLOWS["nightly"]["jobs"]
    assert [step["run"] for step in jobs["slow"]["steps"] if "run" in step] == [".ci/run"]
    assert "--pre --upgrade" in jobs["upstream"]["steps"][2]["run"]


def test_justfile__has_the_commands_that_pages_and_workflows_name() -> None:
    named = re.findall(r"`([a-z]+)`", CONTRIBUTING.partition("alone lists all commands")[2].partition("\n\n")[0])
    assert sorted(set(RECIPES) - {"default"}) == sorted(set(named) - {"justfile"})
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert set(re.findall(r"bin/just (\w+)", script)) == {"lint", "docs", "slow", "chaos"} <= set(RECIPES)
    for path in re.findall(r"python (\S+\.py)", JUSTFILE):
        assert (ROOT / path).is_file()
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0]["hooks"]
    assert [hook["id"] for hook in hooks] == ["ruff", "ruff-format", "codespell", "actionlint"]


def test_workflow__commands_exist() -> None:
    for line in LINES:
        program, *rest = line.split()
        if program == "just":
            assert set(rest) <= set(RECIPES)
        else:
            check([word.strip("'") for word in (program, *rest)])
    assert {line.split()[1] for line in LINES if line.startswith("ranklake ")} >= {"ingest", "rate", "leaderboard"}
    assert "python -m pip install --group test -e '.[all]'" in LINES
    assert "python -m pytest -n 2" in LINES


def test_workflow__runs_publish_and_serve_with_the_lowest_versions() -> None:
    job = WORKFLOW["jobs"]["floors"]
    (python,) = [step["with"] for step in job["steps"] if step.get("uses", "").startswith("actions/setup-python@")]
    assert f">={python['python-version']}" == PROJECT["project"]["requires-python"]
    lines = [line for step in job["steps"] for line in step.get("run", "").splitlines()]
    lowest = "uv pip install --system --resolution lowest-direct"
    installed = [line.removeprefix(lowest).strip(" '") for line in lines if line.startswith("uv ")]
    assert installed == [".[publish,serve]", "--group test '.[all]"]
    assert JUSTFILE.count(lowest.replace("--system", "--python .lowest")) == 1
    for line in lines:
        if not line.startswith("uv "):
            check(shlex.split(line))
            assert all((ROOT / word).is_dir() for word in line.split() if word.startswith("tests/"))
    commands = [line for line in lines if line.startswith("ranklake ")]
    assert [line.split()[1] for line in commands] == ["ingest", "rate", "leaderboard", "publish", "publish", "verify"]
    assert " && ".join(f".venv/bin/{line}" for line in commands[:3]) in README  # the main job


def test_project__every_dependency_has_a_floor() -> None:
    project = PROJECT["project"]
    needs = [*project["dependencies"], *chain.from_iterable(project["optional-dependencies"].values())]
    needs += chain.from_iterable(PROJECT["dependency-groups"].values())
    assert [need for need in needs if not re.match(r"[\w.-]+(\[.*\])?>=\d|ranklake\[", need)] == []


def test_workflow__checks_style_and_types_once() -> None:
    (step,) = [step for step in JOB["steps"] if "just lint" in step.get("run", "")]
    jobs = [
        (os, python)
        for os, python in product(MATRIX["os"], MATRIX["python"])
        if f"matrix.os == '{os}'" in step["if"] and f"matrix.python == '{python}'" in step["if"]
    ]
    assert jobs == [("ubuntu-latest", PROJECT["project"]["requires-python"].removeprefix(">="))]


# Features that Windows lacks
POSIX = re.compile(
    r"os\.(fork|killpg|mkfifo|setsid|waitpid|kill\()|signal\.(SIGKILL|SIGSTOP|SIGCONT|alarm)|\bresource\.|send_signal"
    r"|\.chmod\(|symlink_to|start_new_session|: CommandServer|import fcntl|helpers\.command_server|/proc/"
)
GUARDED = {  # the test checks the platform, or has only a text or a replacement
    "storage/lake/access/test_disk.py",
    "storage/lake/test_platforms.py",
    "system/test_portable.py",
    "deploy/test_workflow.py",
}


def test_workflow__lists_tests_that_windows_cannot_run() -> None:
    tests = ROOT / "tests"
    unknown = [
        f"{file}::{function}"
        for path in sorted(tests.rglob("test_*.py"))
        if (file := path.relative_to(tests).as_posix()) not in GUARDED and file not in NOT_ON_WINDOWS
        if POSIX.search(path.read_text(encoding="utf-8"))
        for function, body in functions(path)
        if POSIX.search(body) and not reason_to_skip(f"{file}::{function}")
    ]
    assert unknown == []


def test_workflow__listed_tests_exist() -> None:
    for name, reason in NOT_ON_WINDOWS.items():
        file, _, function = name.partition("::")
        assert "Windows" in reason
        assert not function or function in dict(functions(ROOT / "tests" / file)), name
        assert (ROOT / "tests" / file).is_file()


def functions(path: Path) -> list[tuple[str, str]]:
    """Names and sources of a module's functions, each with the constants that it names."""
    text = path.read_text(encoding="utf-8")
    body, lines = ast.parse(text).body, text.splitlines()

    def source(one: ast.stmt) -> str:
        return "\n".join(lines[one.lineno - 1 : one.end_lineno])

    constants = {
        target.id: source(one)
        for one in body
        if isinstance(one, ast.Assign) and POSIX.search(source(one))
        for target in one.targets
        if isinstance(target, ast.Name)
    }
    found = []
    for one in body:
        if isinstance(one, ast.FunctionDef):
            used = [constants[name] for name in constants if re.search(rf"\b{name}\b", source(one))]
            found.append((one.name, "\n".join([source(one), *used])))
    return found
