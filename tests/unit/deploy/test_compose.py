"""The deployment as it is written: hardened, pinned, on loopback, and of commands and settings that exist."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway.config import Settings
from tests.commands import COMPOSE, check_muniment
from tests.documents import ROOT

DEPLOY = COMPOSE.parent
DOCUMENT: dict[str, Any] = yaml.safe_load(COMPOSE.read_text("utf-8"))
SERVICES: dict[str, Any] = DOCUMENT["services"]
OURS = {name: service for name, service in SERVICES.items() if "build" in service}
GATEWAYS = {name: service for name, service in OURS.items() if service["command"][0] == "serve"}

each_service = pytest.mark.parametrize("service", SERVICES.values(), ids=SERVICES.keys())
each_of_ours = pytest.mark.parametrize("service", OURS.values(), ids=OURS.keys())


def test_there_are_two_gateways_a_migration_and_their_servers():
    assert len(GATEWAYS) == 2
    assert {"postgres", "redis", "migrate"} <= set(SERVICES)


@each_service
def test_images_are_pinned(service: dict[str, Any]):
    _, _, tag = service["image"].partition(":")
    assert re.search(r"\d+\.\d+", tag), service["image"]


@each_service
def test_no_service_can_change_its_image_or_gain_rights(service: dict[str, Any]):
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not service.get("privileged")


@pytest.mark.parametrize("name", [name for name in SERVICES if name != "balancer"])
def test_no_service_runs_as_root(name: str):
    # The balancer's image names its own user.
    user = SERVICES[name]["user"].partition(":")[0]
    assert user == "999" or user.startswith("${MUNIMENT_UID")


@each_service
def test_what_is_published_is_published_on_loopback(service: dict[str, Any]):
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


def test_postgres_and_redis_can_be_reached_by_nobody_outside():
    assert DOCUMENT["networks"]["backend"] == {"internal": True}
    for name in ("postgres", "redis"):
        assert SERVICES[name]["networks"] == ["backend"]
        assert "ports" not in SERVICES[name]


@pytest.mark.parametrize("service", GATEWAYS.values(), ids=GATEWAYS.keys())
def test_gateways_listen_on_the_loopback_that_they_share_and_are_probed_there(service: dict[str, Any]):
    assert service["network_mode"] == "service:pod"
    listen = service["command"][service["command"].index("--listen") + 1]
    assert listen.startswith("127.0.0.1:")
    assert service["healthcheck"]["test"] == ["CMD", "muniment", "health", "--address", listen]
    assert listen in (DEPLOY / "balancer.cfg").read_text("utf-8")


def test_the_port_of_the_balancer_is_what_is_published():
    (port,) = SERVICES["pod"]["ports"]
    assert f"bind :{port.rpartition(':')[2]}\n" in (DEPLOY / "balancer.cfg").read_text("utf-8")


def test_gateways_share_neither_spool_nor_port():
    one, two = GATEWAYS.values()
    assert one["volumes"] != two["volumes"]
    assert one["command"] != two["command"]


@each_of_ours
def test_commands_of_ours_exist(service: dict[str, Any]):
    if service.get("entrypoint") is None:
        check_muniment(service["command"])
    probe = service.get("healthcheck", {}).get("test", ["CMD", "muniment", "health"])
    check_muniment(probe[2:])


@each_of_ours
def test_variables_are_settings_and_files_are_granted_secrets(service: dict[str, Any]):
    known = {f"MUNIMENT_{name.upper()}" for name in Settings.model_fields}
    read_by_entrypoint = {"MUNIMENT_DATABASE_URL_FILE", "MUNIMENT_REDIS_URL_FILE"}
    for name, value in service.get("environment", {}).items():
        assert name in known | read_by_entrypoint
        assert value.removeprefix("/run/secrets/") in service["secrets"]


@each_service
def test_secrets_volumes_and_networks_are_declared(service: dict[str, Any]):
    assert set(service.get("secrets", [])) <= set(DOCUMENT["secrets"])
    assert set(service.get("networks", [])) <= set(DOCUMENT["networks"])
    for volume in service.get("volumes", []):
        source = volume.partition(":")[0]
        assert (DEPLOY / source).is_file() if source.startswith(".") else source in DOCUMENT["volumes"]
    used = re.findall(r"/run/secrets/(\w+)", str(service))
    assert set(used) <= set(service.get("secrets", []))


@each_service
def test_dependencies_can_come_true(service: dict[str, Any]):
    for name, after in service.get("depends_on", {}).items():
        if after["condition"] == "service_healthy":
            assert "healthcheck" in SERVICES[name]
        if after["condition"] == "service_completed_successfully":
            assert SERVICES[name]["restart"] == "no"


def test_a_gateway_gets_longer_to_stop_than_it_may_drain():
    for service in GATEWAYS.values():
        grace = float(service["stop_grace_period"].removesuffix("s"))
        assert grace > Settings.model_fields["drain_seconds"].default


def dockerfile() -> list[list[str]]:
    """Its instructions as words."""
    text = (DEPLOY / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    return [shlex.split(line) for line in text.splitlines() if line and not line.startswith("#")]


def test_the_image_is_built_from_files_that_are_there_and_let_through():
    let_through = (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    copied = [
        source
        for kind, *words in dockerfile()
        if kind == "COPY" and not any(word.startswith("--from") for word in words)
        for source in [word for word in words if not word.startswith("--")][:-1]
    ]
    assert {"pyproject.toml", "constraints.txt", "gateway", "storage", "assemblers", "proto"} <= set(copied)
    for source in copied:
        assert (ROOT / source).exists()
        assert f"!{source}" in let_through


def test_the_image_installs_extras_that_exist_and_does_not_run_as_root():
    pyproject = (ROOT / "pyproject.toml").read_text("utf-8")
    (install,) = [words for words in dockerfile() if "install" in words and "-c" in words]
    extras = re.findall(r"\w+", install[-1])
    assert {"postgres", "embed", "otel"} == set(extras)
    assert all(re.search(rf"^{extra} = \[", pyproject, re.MULTILINE) for extra in extras)
    assert ["USER", "${UID}:${GID}"] in dockerfile()
    base = next(words[1] for words in dockerfile() if words[0] == "ARG" and words[1].startswith("BASE="))
    assert re.search(r":\d+\.\d+-", base)


def test_the_data_folder_of_the_image_is_where_the_spool_is_mounted():
    mounted = {volume.partition(":")[2] for service in GATEWAYS.values() for volume in service["volumes"]}
    assert mounted == {"/var/lib/muniment"}
    assert any("MUNIMENT_DATA_DIR=/var/lib/muniment" in words for words in dockerfile())


def test_no_secret_can_be_committed():
    ignored = Path(ROOT / ".gitignore").read_text("utf-8").splitlines()
    assert {"/deploy/secrets/", "/deploy/.env"} <= set(ignored)
