"""The files for deployment are complete: their references exist, and their commands are valid.

No container engine is needed: files are parsed, and commands are checked with the parsers of their programs.
"""

from __future__ import annotations

import configparser
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import cyclopts
import pytest
import yaml
from dask import config
from deploy.commands import ROOT, check, check_shell, shell_lines
from helpers.documents import PAGES

from ranklake.flows.engines.local_cluster import WORKER_ENVIRON
from ranklake.flows.ingestion.source_update import SOURCES, SourceRequest
from ranklake.flows.scheduling.parameters import check_target
from ranklake.flows.serving.previews import MOST_STANDINGS

COMPOSE = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
MANIFESTS = sorted((ROOT / "deploy" / "kubernetes").rglob("*.yaml"))
PREFECT = yaml.safe_load((ROOT / "prefect.yaml").read_text(encoding="utf-8"))
DEPLOYMENTS: list[dict[str, Any]] = PREFECT["deployments"]
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
RUNBOOK = ROOT / "deploy" / "RUNBOOK.md"
SECRET = re.compile(r"PASSWORD|SECRET|TOKEN|ACCESS_KEY|DATABASE_CONNECTION_URL")


@pytest.fixture(autouse=True)
def _somewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKLAKE_LAKE", "lake")


def documents(path: Path) -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all(path.read_text(encoding="utf-8")) if one]


def strings(value: Any) -> Iterator[str]:
    """All strings in a structure."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from (*strings(key), *strings(inner))
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)
    elif isinstance(value, str):
        yield value


# The schedule


@pytest.mark.slow
def test_prefect__file_is_valid() -> None:
    from prefect.cli.deploy._models import PrefectYamlModel

    PrefectYamlModel.model_validate(PREFECT)
    known = PrefectYamlModel.model_fields["deployments"].annotation
    assert known is not None
    for one in DEPLOYMENTS:  # the model ignores unknown keys
        assert one.keys() <= set(known.__args__[0].model_fields)
        limit = {"limit": 1, "collision_strategy": "ENQUEUE"} if one["entrypoint"].endswith(".follow") else None
        assert one.get("concurrency_limit") == limit
        assert one["work_pool"] == {"name": "ranklake"}
    assert PREFECT["pull"] == []


@pytest.mark.parametrize("one", DEPLOYMENTS, ids=lambda one: one["entrypoint"])
def test_prefect__entry_points_accept_the_parameters(one: dict[str, Any]) -> None:
    from prefect.client.schemas.schedules import CronSchedule
    from prefect.flows import load_flow_from_entrypoint

    flow = load_flow_from_entrypoint(one["entrypoint"], use_placeholder_flow=False)
    known, needed = set(flow.parameters.properties), set(flow.parameters.required or ())
    assert one["parameters"]["lake"] == "{{ $RANKLAKE_LAKE }}"
    for schedule in one.get("schedules", [{}]):
        CronSchedule(cron=schedule.get("cron", "0 0 * * *"), timezone=schedule.get("timezone", "UTC"))
        given = one["parameters"] | schedule.get("parameters", {})
        assert given.keys() <= known
        if schedule:
            assert needed <= given.keys()
            assert given["source"] in SOURCES
            how = {name: given[name] for name in ("path", "file_options", "database") if name in given}
            SourceRequest(given["source"], **how)
            check_target(given.get("to"), given.get("maintain", False))
            flow.validate_parameters(given)


def test_prefect__each_data_set_has_its_own_deployment() -> None:
    followed = [one for one in DEPLOYMENTS if one["entrypoint"].endswith(".follow")]
    datasets = [one["parameters"].get("dataset") or one["parameters"]["source"] for one in followed]
    assert len(set(datasets)) == len(datasets) > 1
    for one in followed:
        slugs = [schedule["slug"] for schedule in one["schedules"]]
        assert len(set(slugs)) == len(slugs) > 0
        for schedule in one["schedules"]:  # a shared limit would delay other data sets
            assert not {"source", "dataset"} & schedule.get("parameters", {}).keys()
    names = [(one["entrypoint"], one["name"]) for one in DEPLOYMENTS]
    assert len(set(names)) == len(names)


def test_project__disables_analytics_and_telemetry() -> None:
    from prefect.settings import Settings

    result = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["prefect"]
    assert result == {"server": {"analytics_enabled": False}, "telemetry": {"enable_resource_metrics": False}}
    found = Settings.model_validate(result)
    assert found.server.analytics_enabled is False
    assert found.telemetry.enable_resource_metrics is False


# The image


def instructions(name: str) -> list[str]:
    """The arguments of all instructions of one kind, continued lines joined."""
    text = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.MULTILINE))
    return [line.partition(" ")[2] for line in text.splitlines() if line.startswith(f"{name} ")]


def test_image__copied_files_exist_and_are_not_ignored() -> None:
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = [path for line in instructions("COPY") for path in shlex.split(line)[:-1]]
    assert copied
    for path in copied:
        assert (ROOT / path).exists(), path
        assert path in let_in, path
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = set(project["tool"]["setuptools"]["package-dir"].values())
    assert packages | {"pyproject.toml", "setup.py", project["project"]["readme"]} <= set(copied)


def test_image__has_a_supported_python_and_existing_extras() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == ">=3.11"
    assert {line.split()[0] for line in instructions("FROM")} == {"python:3.11-slim"}
    extras = set(re.findall(r"whl\)\[(.*?)\]", DOCKERFILE))
    assert extras == {"all"}
    held = set(re.findall(r"[a-z0-9]+", project["optional-dependencies"]["all"][0].partition("[")[2]))
    assert {"cluster", "flows", "publish", "s3"} <= held <= project["optional-dependencies"].keys()


def test_image__runs_without_privileges_and_analytics() -> None:
    assert instructions("USER")[-1].isdigit()
    assert int(instructions("USER")[-1]) > 0
    env = dict(word.split("=", 1) for line in instructions("ENV") for word in shlex.split(line))
    assert env["PREFECT_SERVER_ANALYTICS_ENABLED"] == "false"
    assert env["PREFECT_TELEMETRY_ENABLE_RESOURCE_METRICS"] == "false"
    assert env["DO_NOT_TRACK"] == "1"
    made = " ".join(instructions("RUN"))
    assert env["PREFECT_HOME"] in made
    parent, _, created = env["NUMBA_CACHE_DIR"].rpartition("/")
    assert parent in made
    assert created  # by the first process, for its user alone: a volume mounted at the parent is open to all
    check(yaml.safe_load(instructions("CMD")[-1]))


# Compose

SERVICE_KEYS = {
    "build", "command", "depends_on", "entrypoint", "environment", "healthcheck", "image", "init", "ports", "profiles",
    "read_only", "restart", "stop_grace_period", "tmpfs", "volumes",
}  # fmt: skip
CONDITIONS = {"service_started", "service_healthy", "service_completed_successfully"}


def test_compose__has_the_roles_and_only_valid_keys() -> None:
    assert {"server", "worker", "serve", "postgres", "minio", "dask-scheduler", "dask-worker"} <= SERVICES.keys()
    assert {key for key in COMPOSE if not key.startswith("x-")} == {"name", "services", "volumes"}
    for service in SERVICES.values():
        assert service.keys() <= SERVICE_KEYS
        assert "image" in service
        assert service.get("restart") in {"unless-stopped", "on-failure"}


@pytest.mark.parametrize("name", SERVICES)
def test_compose__names_of_services_are_declared(name: str) -> None:
    service = SERVICES[name]
    if build := service.get("build"):
        context = ROOT / "deploy" / build["context"]
        assert (context / build["dockerfile"]).is_file()
        assert (context / "pyproject.toml").is_file()
        assert service["init"] is True
    needed = service.get("depends_on", {})
    for other, how in needed.items() if isinstance(needed, dict) else [(one, {}) for one in needed]:
        condition = how.get("condition", "service_started")
        assert condition in CONDITIONS
        assert condition != "service_healthy" or "healthcheck" in SERVICES[other]
        assert condition != "service_completed_successfully" or SERVICES[other]["restart"] == "on-failure"
    for volume in service.get("volumes", ()):
        where, inside, *_ = volume.split(":")
        assert inside.startswith("/")
        assert (ROOT / "deploy" / where).exists() if where.startswith(".") else where in COMPOSE["volumes"]
        if "build" in service and not where.startswith("."):
            assert f"{inside}" in DOCKERFILE  # created by the image, so that its user can write there
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))


@pytest.mark.parametrize("name", [name for name, service in SERVICES.items() if "build" in service])
def test_compose__commands_are_valid(name: str) -> None:
    check([re.sub(r"\$\{\w+:-(.*?)\}", r"\1", word) for word in SERVICES[name]["command"]])


def test_compose__addresses_are_those_of_services() -> None:
    hosts = {host for text in strings(SERVICES) for host in re.findall(r"\w://(?:[^@/\s]*@)?([a-z][a-z-]*):\d", text)}
    assert hosts == {"server", "minio", "postgres", "dask-scheduler"}


def test_compose__ratings_are_served_read_only() -> None:
    serve = SERVICES["serve"]
    (lake,) = (volume for volume in serve["volumes"] if volume.startswith("lake:"))
    assert (serve["read_only"], lake) == (True, "lake:/srv/lake:ro")
    assert "lake:/srv/lake" in SERVICES["worker"]["volumes"]
    assert "ports" not in serve  # the proxy has them
    assert not serve["environment"].keys() & {"RANKLAKE_CODEFORCES_TOKEN", "RANKLAKE_CONTACT", "PREFECT_API_URL"}
    assert serve["environment"]["RANKLAKE_LAKE"] == SERVICES["worker"]["environment"]["RANKLAKE_LAKE"]


def test_compose__proxy_and_server_agree() -> None:
    command, proxy = SERVICES["serve"]["command"], SERVICES["proxy"]
    port, root = (command[command.index(option) + 1] for option in ("--port", "--root-path"))
    config = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8")
    assert f"server serve:{port};" in config
    assert f'"~^{root}(/.*)$" $1;' in config
    assert f"location {root}/ {{" in config
    (listened,) = re.findall(r"listen (\d+);", config)
    assert [one.rpartition(":")[2] for one in proxy["ports"]] == [listened]
    assert f"http://127.0.0.1:{listened}{root}/healthz" in proxy["healthcheck"]["test"]
    assert f":{port}/healthz'" in " ".join(SERVICES["serve"]["healthcheck"]["test"])
    (most,) = re.findall(r"client_max_body_size (\d+)m;", config)
    assert int(most) << 20 == MOST_STANDINGS


def test_compose__volumes_are_used() -> None:
    used = {volume.split(":")[0] for service in SERVICES.values() for volume in service.get("volumes", ())}
    assert COMPOSE["volumes"].keys() <= used


def test_compose__variables_are_in_the_example() -> None:
    asked = set(re.findall(r"^([A-Z_]+)=", (ROOT / "deploy" / "env.example").read_text(), re.MULTILINE))
    filled = {match for text in strings(SERVICES) for match in re.findall(r"\$\{([A-Z_]+)(?!\w)(?!:-[^}])", text)}
    assert filled == asked


def test_compose__has_no_password() -> None:
    for service in SERVICES.values():
        for key, value in service.get("environment", {}).items():
            if SECRET.search(key):
                assert "${" in value, key
    assert not re.findall(r"^\w*(?:PASSWORD|TOKEN)=.+", (ROOT / "deploy" / "env.example").read_text(), re.MULTILINE)
    assert "deploy/.env" in (ROOT / ".gitignore").read_text().split()


def test_compose__settings_of_prefect_exist() -> None:
    for name, service in SERVICES.items():
        for key in service.get("environment", {}):
            if key.startswith("PREFECT_"):
                assert_setting(key, name)


def assert_setting(key: str, place: str) -> None:
    """Check that a setting exists; Prefect ignores unknown ones."""
    from prefect.settings.models.root import Settings as Root

    assert key in _settings(Root, "PREFECT"), f"{place}: {key} is no setting of Prefect's"


def _settings(model: Any, prefix: str) -> set[str]:
    found: set[str] = set()
    for name, field in model.model_fields.items():
        kind = field.annotation
        here = f"{prefix}_{name}".upper()
        found |= _settings(kind, here) if hasattr(kind, "model_fields") else {here}
    return found


# Kubernetes


@pytest.mark.parametrize("path", [p for p in MANIFESTS if p.stem != "kustomization"], ids=lambda path: path.stem)
def test_kubernetes__manifests_are_valid(path: Path) -> None:
    validate = pytest.importorskip("kubernetes_validate", reason="needs the package kubernetes-validate")
    for one in documents(path):
        validate.validate(one, "1.31", strict=True)


def test_kubernetes__everything_is_applied() -> None:
    used: list[Any] = []
    for path in [path for path in MANIFESTS if path.stem == "kustomization"]:
        beside = [other for other in MANIFESTS if other.parent == path.parent and other != path]
        (kustomization,) = documents(path)
        assert sorted(kustomization["resources"]) == [other.name for other in beside]
        images = {container["image"] for other in beside for pod in pods(other) for container in pod["containers"]}
        assert images == {image["name"] for image in kustomization["images"]}
        used.append((kustomization["namespace"], kustomization["images"]))
    assert used[0] == used[1]


def test_dask__cluster_has_valid_pods_and_commands() -> None:
    """There is no schema for the operator's kind; its pods are validated."""
    validate = pytest.importorskip("kubernetes_validate", reason="needs the package kubernetes-validate")
    (cluster,) = documents(ROOT / "deploy" / "dask-cluster.yaml")
    assert (cluster["apiVersion"], cluster["kind"]) == ("kubernetes.dask.org/v1", "DaskCluster")
    spec, made = cluster["spec"], {"apiVersion": "v1", "metadata": {"name": "made"}}
    validate.validate(made | {"kind": "Service", "spec": spec["scheduler"]["service"]}, "1.31", strict=True)
    for pod in (spec["scheduler"]["spec"], spec["worker"]["spec"]):
        validate.validate(made | {"kind": "Pod", "spec": pod}, "1.31", strict=True)
        volumes = {volume["name"] for volume in pod.get("volumes", ())}
        for container in [*pod.get("initContainers", ()), *pod["containers"]]:
            check(container.get("command") or container["args"])
            assert {mount["name"] for mount in container.get("volumeMounts", ())} <= volumes


def test_dask__remote_workers_have_the_settings_of_local_ones() -> None:
    (settings,) = documents(ROOT / "deploy" / "dask.yaml")
    result = settings["distributed"]["nanny"]["pre-spawn-environ"]
    ours = {name: value for name, value in WORKER_ENVIRON.items() if not name.endswith("_NUM_THREADS")}
    assert result == ours
    assert "deploy/dask.yaml /etc/dask/ranklake.yaml" in instructions("COPY")
    assert config.get("distributed.nanny.pre-spawn-environ").keys() == WORKER_ENVIRON.keys() - {
        "MALLOC_MMAP_THRESHOLD_"
    }


def pods(path: Path) -> list[dict[str, Any]]:
    """The pods of a manifest."""
    return [one["spec"]["template"]["spec"] for one in documents(path) if "template" in one.get("spec", {})]


OBJECTS = [one for path in MANIFESTS for one in documents(path)]
PODS = [(path.stem, pod) for path in MANIFESTS for pod in pods(path)]


@pytest.mark.parametrize(("name", "pod"), PODS, ids=[name for name, _ in PODS])
def test_kubernetes__references_of_a_pod_exist(name: str, pod: dict[str, Any]) -> None:
    (container,) = pod["containers"]
    check([*container["command"], *container.get("args", ())])
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == int(instructions("USER")[-1])
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    maps = {one["metadata"]["name"] for one in OBJECTS if one["kind"] == "ConfigMap"}
    claims = {one["metadata"]["name"] for one in OBJECTS if one["kind"] == "PersistentVolumeClaim"}
    made = set(re.findall(r"create secret generic (\S+)", RUNBOOK.read_text(encoding="utf-8")))
    for source in container.get("envFrom", ()):
        assert source.get("configMapRef", {}).get("name", next(iter(maps))) in maps
        assert source.get("secretRef", {}).get("name", next(iter(made))) in made
    config = {key for one in OBJECTS if one["kind"] == "ConfigMap" for key in one["data"]}
    for variable in container.get("env", ()):
        if reference := variable.get("valueFrom", {}).get("configMapKeyRef"):
            assert (reference["name"], reference["key"]) in {(name, key) for name in maps for key in config}
        if SECRET.search(variable["name"]):
            reference = variable["valueFrom"]["secretKeyRef"]
            pattern = rf"create secret generic {reference['name']} --from-literal={reference['key']}="
            assert re.search(pattern, RUNBOOK.read_text(encoding="utf-8"))
        if variable["name"].startswith("PREFECT_"):
            assert_setting(variable["name"], name)
    ports = {port["name"] for port in container.get("ports", ())}
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container.get(probe, {"httpGet": {"port": None}})["httpGet"]["port"] in ports | {None}
    volumes = {volume["name"]: volume for volume in pod.get("volumes", ())}
    assert {mount["name"] for mount in container.get("volumeMounts", ())} == volumes.keys()
    for volume in volumes.values():
        assert volume.get("persistentVolumeClaim", {}).get("claimName", next(iter(claims))) in claims


def test_kubernetes__services_and_deployments_find_their_pods() -> None:
    labels = [one["spec"]["template"]["metadata"]["labels"] for one in OBJECTS if "template" in one.get("spec", {})]
    for one in OBJECTS:
        if one["kind"] in ("Deployment", "StatefulSet"):
            assert one["spec"]["selector"]["matchLabels"] == one["spec"]["template"]["metadata"]["labels"]
        if one["kind"] == "Service":
            assert one["spec"]["selector"] in labels
    (config,) = [one["data"] for one in OBJECTS if one["kind"] == "ConfigMap"]
    services = {one["metadata"]["name"]: one for one in OBJECTS if one["kind"] == "Service"}
    service = services["prefect-server"]
    host = f"{service['metadata']['name']}:{service['spec']['ports'][0]['port']}"
    assert config["PREFECT_API_URL"] == f"http://{host}/api"
    assert config["PREFECT_SERVER_ANALYTICS_ENABLED"] == "false"
    assert not any(SECRET.search(key) for key in config)
    (ingress,) = [one for one in OBJECTS if one["kind"] == "Ingress"]
    (backend,) = [path["backend"]["service"] for rule in ingress["spec"]["rules"] for path in rule["http"]["paths"]]
    assert backend["port"]["name"] in {port["name"] for port in services[backend["name"]]["spec"]["ports"]}
    assert backend["name"] == "ranklake-serve"  # Prefect's server asks for no password


def test_kubernetes__ratings_are_served_read_only() -> None:
    ((_, pod),) = ((name, pod) for name, pod in PODS if name == "serve")
    (container,) = pod["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert [one["secretRef"]["name"] for one in container["envFrom"]] == ["ranklake-serve"]
    assert {mount["mountPath"] for mount in container["volumeMounts"]} == {"/tmp", "/var/cache/ranklake"}


# Live ratings


def options_of(command: Sequence[str]) -> dict[str, str]:
    """The options of a command, each with its value."""
    joined = [word.partition("=")[::2] for word in command if word.startswith("--") and "=" in word]
    return dict(joined) | {one: other for one, other in pairwise(command) if one.startswith("--") and "=" not in one}


def test_live__options_are_those_of_volumes_probes_and_tokens() -> None:
    service = SERVICES["rated"]
    ((_, pod),) = ((name, pod) for name, pod in PODS if name == "rated")
    (container,) = pod["containers"]
    (of_service,) = [one for one in OBJECTS if one["kind"] == "StatefulSet"]
    of_compose = [re.sub(r"\$\{\w+:-(.*?)\}", r"\1", word) for word in service["command"]]
    inside = {volume.split(":")[1] for volume in service["volumes"]}
    mounted = {mount["mountPath"] for mount in container["volumeMounts"]}
    for command, folders in ((of_compose, inside), ([*container["command"], *container["args"]], mounted)):
        given = options_of(command)
        assert given["--log"].removeprefix("file:") in folders
        assert str(Path(given["--tokens"]).parent) in folders
        assert (given["--host"], given["--port"]) == ("0.0.0.0", "8090")
    assert [port["containerPort"] for port in container["ports"]] == [8090]
    assert "http://127.0.0.1:8090/readyz" in service["healthcheck"]["test"][-1]
    assert [container[f"{probe}Probe"]["httpGet"]["path"] for probe in ("startup", "readiness", "liveness")] == [
        "/readyz", "/readyz", "/healthz"
    ]  # fmt: skip
    assert (of_service["spec"]["replicas"], "profiles" in service) == (1, True)
    assert pod["terminationGracePeriodSeconds"] > 10  # in which it finishes what is accepted
    assert "create secret generic ranklake-rated --from-file=tokens=" in RUNBOOK.read_text(encoding="utf-8")


def test_live__unit_of_systemd_is_valid(tmp_path: Path) -> None:
    unit = configparser.RawConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    path = ROOT / "deploy" / "ranklake-rated.service"
    unit.read_string(path.read_text(encoding="utf-8"))
    program, *arguments = shlex.split(unit["Service"]["ExecStart"])
    assert program.endswith("/bin/ranklake")
    check(["ranklake", *arguments])
    given = options_of(arguments)
    assert {given["--lake"], given["--log"].removeprefix("file:")} == set(unit["Service"]["ReadWritePaths"].split())
    assert "/var/cache/ranklake" in unit["Service"]["Environment"]  # CacheDirectory
    if (program_of_systemd := shutil.which("systemd-analyze")) is None:
        pytest.skip("no systemd-analyze on this machine: apt-get install systemd")
    copy = tmp_path / path.name  # it asks whether the program exists
    copy.write_text(path.read_text(encoding="utf-8").replace(program, sys.executable), encoding="utf-8")
    done = subprocess.run([program_of_systemd, "verify", str(copy)], capture_output=True, text=True)
    assert (done.returncode, path.name in done.stderr) == (0, False), done.stderr


# The runbook


@pytest.mark.parametrize("page", ["deploy/RUNBOOK.md", "deploy/README.md"])
def test_pages__commands_are_valid(page: str) -> None:
    lines = shell_lines(ROOT / page)
    assert lines
    for line in lines:
        check_shell(line)


def test_documents__commands_of_ranklake_are_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "entrants.txt").write_text("ada\n")  # of an example; the file must exist
    parts = [part.strip() for page in PAGES for line in shell_lines(page) for part in line.split("&&")]
    ours = [part for part in parts if part.startswith("ranklake ")]
    assert any("follow" in part for part in ours)
    for part in ours:
        check_shell(part)


def test_pages__timers_are_valid() -> None:
    from prefect.client.schemas.schedules import CronSchedule

    text = (ROOT / "deploy" / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```cron\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if not line.startswith("#")]
    assert lines
    for line in lines:
        *times, command = line.split(maxsplit=5)
        CronSchedule(cron=" ".join(times))
        check_shell(command)


def test_runbook__names_existing_deployments_and_parameters() -> None:
    from prefect.flows import load_flow_from_entrypoint

    there = {f"{load_flow_from_entrypoint(one['entrypoint']).name}/{one['name']}": one for one in DEPLOYMENTS}
    runs = [line for line in shell_lines(RUNBOOK) if "prefect deployment run" in line]
    assert runs
    for line in runs:
        words = shlex.split(line)
        deployment = there[words[words.index("run") + 1]]
        given = {b.partition("=")[0] for a, b in pairwise(words) if a == "--param"}
        parameters = load_flow_from_entrypoint(deployment["entrypoint"]).parameters
        assert given <= set(parameters.properties)
        assert set(parameters.required) <= given | deployment["parameters"].keys()


def test_runbook__example_of_a_deployment_with_several_runs_is_valid() -> None:
    from prefect.flows import load_flow_from_entrypoint

    text = RUNBOOK.read_text(encoding="utf-8")
    (example,) = re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (codeforces,) = [one for one in DEPLOYMENTS if one["name"] == "codeforces"]
    parameters = yaml.safe_load(example)["parameters"]
    assert codeforces["parameters"].items() <= parameters.items()
    load_flow_from_entrypoint(codeforces["entrypoint"]).validate_parameters(parameters)


@pytest.mark.parametrize(
    "what",
    [
        "First start", "Upgrade", "Back-up and restore", "A contest was rejudged", "A site changed its API",
        "Disk full", "A writer died", "Secrets", "Serve ratings", "Rate live", "Which runs a deployment follows",
    ],
)  # fmt: skip
def test_runbook__has_an_answer(what: str) -> None:
    sections = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", RUNBOOK.read_text(), re.MULTILINE | re.DOTALL))
    assert "```sh" in sections[what]


# The checks themselves


@pytest.mark.parametrize(
    "line",
    [
        "ranklake rate --dataset codeforces --no-such-option",
        "ranklake rat --dataset codeforces",
        "ranklake follow",
        "prefect worker start --poool ranklake",
        "prefect wroker start",
        "docker compose --file deploy/compose.yaml logs nobody",
        "docker compose --file deploy/nothing.yaml up",
        "ranklake runs && ranklake no-such-command",
        "ranklak runs",
    ],
)
def test_checks__refuse_invalid_commands(line: str) -> None:
    with pytest.raises((AssertionError, FileNotFoundError, click.ClickException, cyclopts.CycloptsError)):
        check_shell(line)
