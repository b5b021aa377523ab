"""The Helm chart: what it makes of its values, against Kubernetes' schemas, the settings and the routes."""

import importlib.util
import json
import re
import subprocess
from pathlib import Path

import msgspec
import pytest
import yaml

from app.http.api.audit_log import VERIFY_SEGMENTS
from app.http.routes import ENDPOINTS
from app.serve.worker import DRAIN_SECONDS
from app.settings import SECRETS, Settings

ROOT = Path(__file__).parents[2]
NGINX = ROOT / "deploy/nginx.conf"
PYTHON = ROOT / ".venv/deploy/bin/python"
INSIDE_THE_CLUSTER = {"/livez", "/readyz", "/metrics"}
SECRET = {"REMIT_REDIS_URL": "redis://remit:secret@redis:6379/0", "REMIT_SECRET": "secret" * 6}

EVERYTHING = {
    "image": {"repository": "registry.example/remit", "digest": "sha256:" + "0" * 64},
    "imagePullSecrets": [{"name": "registry"}],
    "settings": {"store_timeout_ms": 500, "log_level": "debug", "agent_cache_bytes": 134217728, "tracing": True},
    "storeCaSecret": "store-ca",
    "replicas": {"workers": 2, "autoscaling": {"enabled": True}},
    "compactor": {"checkpointKeySecret": "remit-checkpoint"},
    "podAnnotations": {"example.com/team": "agents"},
    "podLabels": {"team": "agents"},
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"key": "agents", "operator": "Exists"}],
    "affinity": {"podAntiAffinity": {}},
    "priorityClassName": "system-cluster-critical",
    "serviceAccount": {"annotations": {"example.com/role": "remit"}},
    "service": {"annotations": {"example.com/lb": "internal"}},
    "ingress": {
        "enabled": True,
        "className": "nginx",
        "host": "remit.example.com",
        "tlsSecretName": "remit-tls",
        "annotations": {"example.com/note": "kept"},
    },
    "gateway": {"enabled": True, "parentRefs": [{"name": "public"}], "hostnames": ["remit.example.com"]},
    "networkPolicy": {
        "from": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ingress-nginx"}}}],
        "https": True,
        "extraEgress": [{"ports": [{"port": 4318, "protocol": "TCP"}]}],
    },
    "monitoring": {
        "enabled": True,
        "labels": {"release": "prometheus"},
        "runbookBase": "https://remit.example.com/",
    },
    "storeAcl": {"enabled": True},
}
VALUES = {
    "defaults": {},
    "everything": EVERYTHING,
    "nothing": {
        "serviceAccount": {"create": False},
        "networkPolicy": {"enabled": False},
        "replicas": {"count": 1},
        "compactor": {"count": 1},
    },
    "closed": {"networkPolicy": {"from": []}},
    "unknown value": {"replicas": {"workerz": 2}},
    "unknown setting": {"settings": {"store_timeout": 500}},
    "setting out of bounds": {"settings": {"store_timeout_ms": 1}},
    "setting of another type": {"settings": {"log_level": "loud"}},
    "secret as a value": {"settings": {"secret": "secret" * 6}},
    "store as a value": {"settings": {"redis_url": "redis://h"}},
    "no secret": {"existingSecret": ""},
    "no host": {"ingress": {"enabled": True}},
}


def generated():
    """The module that makes the derived files."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "deploy/generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATE = generated()


@pytest.fixture(scope="module")
def answers(program):
    """All that Helm and Kubernetes' schemas say, asked once."""
    python = program(str(PYTHON), "the Helm chart (make .venv/deploy.stamp)")
    script = [python, str(ROOT / "tests/deploy/render_chart.py")]
    told = subprocess.run(script, input=json.dumps(VALUES), capture_output=True, text=True, check=True)
    return json.loads(told.stdout)


@pytest.fixture
def charts(program, answers):
    """The chart's objects, or the refusal, by the name of its values."""
    return answers["charts"]


def of_kind(objects, kind):
    return [each for each in objects if each["kind"] == kind]


def pods(objects):
    """The pod of each Deployment and of the test."""
    return [each["spec"]["template"]["spec"] for each in of_kind(objects, "Deployment")] + [
        each["spec"] for each in of_kind(objects, "Pod")
    ]


def test_derived_files_are_current():
    """`make deploy-files` would change nothing."""
    for path, text in GENERATE.files().items():
        assert path.read_text() == text, f"{path.relative_to(ROOT)} is not current: run make deploy-files"


def test_the_schema_knows_every_setting_except_those_of_the_chart():
    """A new setting can be set at once."""
    schema = json.loads((ROOT / "deploy/helm/remit/values.schema.json").read_text())
    fields = {field.name for field in msgspec.structs.fields(Settings)}
    assert fields >= GENERATE.OF_THE_CHART
    assert schema["properties"]["settings"]["properties"].keys() == fields - GENERATE.OF_THE_CHART
    assert SECRETS <= GENERATE.OF_THE_CHART


def test_helm_finds_nothing_wrong_with_the_chart(program, answers):
    """Only that it has no icon."""
    assert [each["error"] for each in answers["lint"]["messages"]] == ["icon is recommended"]
    assert answers["lint"]["errors"] == []


@pytest.mark.parametrize("name", ["defaults", "everything", "nothing", "closed"])
def test_every_object_is_valid_for_each_version_of_kubernetes(charts, name):
    """Strictly: an unknown field counts."""
    assert charts[name].get("refused") is None
    assert charts[name]["faults"] == []


def test_a_typing_error_in_an_object_would_be_found(program, answers):
    """Otherwise the test above would say nothing."""
    assert len(answers["typo"]) == 3
    assert all("portz" in each for each in answers["typo"])


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("unknown value", "workerz"),
        ("unknown setting", "store_timeout"),
        ("setting out of bounds", "store_timeout_ms"),
        ("setting of another type", "log_level"),
        ("secret as a value", "secret"),
        ("store as a value", "redis_url"),
        ("no secret", "existingSecret"),
        ("no host", "ingress.host names the host"),
    ],
)
def test_wrong_values_are_refused_by_name(charts, name, word):
    """Before anything is installed; a secret never passes through values."""
    assert word in charts[name]["refused"]


def test_what_is_installed_by_default(charts):
    """Two replicas and two compactors that hold together, a Service, and a policy for the network."""
    objects = charts["defaults"]["objects"]
    names = sorted(f"{each['kind']} {each['metadata']['name']}" for each in objects)
    assert names == [
        "Deployment remit",
        "Deployment remit-compactor",
        "NetworkPolicy remit",
        "Pod remit-doctor",
        "PodDisruptionBudget remit",
        "PodDisruptionBudget remit-compactor",
        "Service remit",
        "ServiceAccount remit",
    ]
    assert [each["spec"]["replicas"] for each in of_kind(objects, "Deployment")] == [2, 2]


@pytest.mark.parametrize("name", ["defaults", "everything", "nothing"])
def test_no_pod_may_do_more_than_it_must(charts, name):
    """Not root, nothing writable, no capability, no token of the API server, no secret in the manifest."""
    for pod in pods(charts[name]["objects"]):
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "readOnlyRootFilesystem": True,
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
            }
            assert container["envFrom"] == [{"secretRef": {"name": "remit"}}]
            given = {each["name"] for each in container.get("env", ())}
            assert given.isdisjoint(f"REMIT_{secret.upper()}" for secret in SECRETS)


@pytest.mark.parametrize("name", ["defaults", "everything"])
def test_every_process_starts_with_the_settings_that_it_is_given(charts, name):
    """The variables of each container, with those of the Secret, are settings; numbers are written out."""
    for pod in pods(charts[name]["objects"]):
        for container in pod["containers"]:
            env = {each["name"]: each["value"] for each in container.get("env", ())}
            settings = Settings.from_env(env | SECRET)
            for setting, value in VALUES[name].get("settings", {}).items():
                assert getattr(settings, setting) == value
            if container["args"] == ["serve"]:
                assert (settings.compact, settings.host) == (False, "0.0.0.0")
                assert settings.workers == VALUES[name].get("replicas", {}).get("workers", 1)


def test_only_compactors_have_the_key_of_checkpoints_and_all_pods_the_authority_of_the_store(charts):
    """As files that the user of the pod, who is not root, can read, and nobody can change."""
    files = {}
    for pod in pods(charts["everything"]["objects"]):
        [container] = pod["containers"]
        mounted = {each["name"]: each["mountPath"] for each in container["volumeMounts"] if each["readOnly"]}
        for volume in pod["volumes"]:
            assert volume["secret"]["defaultMode"] == 0o440
            files.setdefault(container["args"][0], {})[mounted[volume["name"]]] = volume["secret"]["secretName"]
        assert pod["securityContext"]["fsGroup"] == pod["securityContext"]["runAsUser"]
        env = {each["name"]: each["value"] for each in container.get("env", ())}
        key = env.get("REMIT_CHECKPOINT_KEY_FILE")
        assert key == ("/etc/remit/checkpoint/checkpoint.key" if container["args"] == ["compact"] else None)
    store = {"/etc/remit/store": "store-ca"}
    assert files == {"serve": store, "doctor": store, "compact": store | {"/etc/remit/checkpoint": "remit-checkpoint"}}
    assert not any("volumes" in pod for pod in pods(charts["defaults"]["objects"]))


def test_a_pod_is_given_enough_time_to_drain(charts):
    """Otherwise answers that callers wait for would be cut off; and no replica goes before its successor is ready."""
    for each in of_kind(charts["defaults"]["objects"], "Deployment"):
        assert each["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] > DRAIN_SECONDS + 5
    [replicas] = [each for each in of_kind(charts["defaults"]["objects"], "Deployment") if "strategy" in each["spec"]]
    assert replicas["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    pod = replicas["spec"]["template"]["spec"]
    program, seconds = pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]
    assert (program, pod["terminationGracePeriodSeconds"] > int(seconds) + DRAIN_SECONDS + 5) == ("sleep", True)


def test_the_public_paths_are_reached_from_outside_and_no_others(charts):
    """Ingress and HTTPRoute agree; a path that the service adds has to be listed here."""
    objects = charts["everything"]["objects"]
    ingress = [
        (path["path"], path["pathType"])
        for each in of_kind(objects, "Ingress")
        for path in each["spec"]["rules"][0]["http"]["paths"]
    ]
    [route] = of_kind(objects, "HTTPRoute")
    matches = [match["path"] for rule in route["spec"]["rules"] for match in rule["matches"]]
    as_ingress = [(each["value"], each["type"].removeprefix("Path")) for each in matches]
    assert sorted(as_ingress) == sorted(ingress)

    def reached(path):
        return any(path == listed or (kind == "Prefix" and path.startswith(f"{listed}/")) for listed, kind in ingress)

    paths = {endpoint.path for endpoint in ENDPOINTS}
    assert paths > INSIDE_THE_CLUSTER
    assert {path for path in paths if not reached(path)} == INSIDE_THE_CLUSTER


def test_long_answers_have_time(charts):
    """Streams, exports, replays and waits, in an Ingress of their own and in a rule of the HTTPRoute; nginx's, too."""
    objects = charts["everything"]["objects"]
    [streams] = [each for each in of_kind(objects, "Ingress") if each["metadata"]["name"] == "remit-streams"]
    annotations = streams["metadata"]["annotations"]
    assert annotations["nginx.ingress.kubernetes.io/proxy-read-timeout"] == "3600"
    assert annotations["nginx.ingress.kubernetes.io/proxy-buffering"] == "off"
    assert annotations["example.com/note"] == "kept"
    listed = {path["path"] for path in streams["spec"]["rules"][0]["http"]["paths"]}
    streamed = {
        each.path
        for each in ENDPOINTS
        if any(media.partition(";")[0] in {"text/event-stream", "application/x-ndjson"} for media in each.media)
    }
    assert {"/v1/approvals/stream", "/v1/replay"} < streamed
    assert listed == (streamed - {"/v1/approvals/stream"}) | {"/v1/approvals"}  # where a decision is waited for, too
    [nginx] = re.findall(r"location ~ (\^/v1/\(.*)\$ \{", NGINX.read_text())
    assert {path for path in streamed if re.fullmatch(nginx, path)} == streamed
    [route] = of_kind(objects, "HTTPRoute")
    assert route["spec"]["rules"][0]["timeouts"] == {"request": "0s"}
    # Every other answer comes in time: verifying takes 25 µs for each entry that is read, of 512 in a segment.
    [read_seconds] = re.findall(r"\n    proxy_read_timeout (\d+)s", NGINX.read_text())
    assert int(read_seconds) / 3 > VERIFY_SEGMENTS * 512 * 25e-6


def test_the_network_policy_lets_nobody_in_unless_somebody_is_named(charts):
    """An empty `from` closes the pods; by default only the own namespace may connect."""
    [closed] = of_kind(charts["closed"]["objects"], "NetworkPolicy")
    assert closed["spec"]["ingress"] == []
    [default] = of_kind(charts["defaults"]["objects"], "NetworkPolicy")
    assert default["spec"]["ingress"] == [{"from": [{"podSelector": {}}], "ports": [{"port": 8080, "protocol": "TCP"}]}]
    assert {port["port"] for rule in default["spec"]["egress"] for port in rule["ports"]} == {53, 6379}
    [everything] = of_kind(charts["everything"]["objects"], "NetworkPolicy")
    assert {port["port"] for rule in everything["spec"]["egress"] for port in rule["ports"]} == {53, 6379, 443, 4318}


def test_the_selectors_find_their_pods_and_no_others(charts):
    """Service, PodMonitor, budgets and policies."""
    objects = charts["everything"]["objects"]
    labels = {
        each["metadata"]["name"]: each["spec"]["template"]["metadata"]["labels"]
        for each in of_kind(objects, "Deployment")
    }

    def found(selector):
        return {name for name, own in labels.items() if selector.items() <= own.items()}

    [service], [monitor] = of_kind(objects, "Service"), of_kind(objects, "PodMonitor")
    assert found(service["spec"]["selector"]) == {"remit"}
    assert found(monitor["spec"]["selector"]["matchLabels"]) == {"remit"}
    for budget in of_kind(objects, "PodDisruptionBudget"):
        assert found(budget["spec"]["selector"]["matchLabels"]) == {budget["metadata"]["name"]}
        assert budget["spec"]["maxUnavailable"] == 1
    for deployment in of_kind(objects, "Deployment"):
        assert found(deployment["spec"]["selector"]["matchLabels"]) == {deployment["metadata"]["name"]}
    [policy] = of_kind(objects, "NetworkPolicy")
    assert found(policy["spec"]["podSelector"]["matchLabels"]) == labels.keys()


def test_the_monitor_gets_the_rules_and_the_dashboard_of_deploy(charts):
    """The same as in deploy/prometheus and deploy/grafana, with links of the installation."""
    objects = charts["everything"]["objects"]
    [rule] = of_kind(objects, "PrometheusRule")
    linked = (ROOT / "deploy/prometheus/rules.yaml").read_text().replace("docs/", "https://remit.example.com/docs/")
    assert rule["spec"] == yaml.safe_load(linked)
    boards = [each for each in of_kind(objects, "ConfigMap") if each["metadata"]["name"] == "remit-dashboard"]
    assert boards[0]["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert boards[0]["data"] == {"remit.json": (ROOT / "deploy/grafana/dashboard.json").read_text()}
    [acl] = [each for each in of_kind(objects, "ConfigMap") if each["metadata"]["name"] == "remit-store-acl"]
    assert acl["data"]["redis.acl"] == (ROOT / "deploy/redis.acl").read_text()
    assert of_kind(charts["defaults"]["objects"], "PrometheusRule") == []
