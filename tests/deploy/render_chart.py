"""Renders the Helm chart and holds it against Kubernetes' schemas; runs in the environment of requirements/deploy.txt.

Reads {name: values} from stdin, writes {name: {"objects": [...]} or {"refused": "..."}} to stdout.
"""

import json
import sys
from pathlib import Path

import kubernetes_validate
import yaml
from helm_python.chart import Chart, lint
from helm_python.errors import HelmError

CHART = Path(__file__).parents[2] / "deploy/helm/remit"
VERSIONS = ("1.27", "1.31", "1.37")
"""The oldest that the chart accepts, one between, and the newest whose schemas the package has."""
OPERATOR = ("monitoring.coreos.com/v1", "gateway.networking.k8s.io/v1")
"""Kinds that Kubernetes itself has no schema of."""


def faults(objects: list[dict]) -> list[str]:
    """What Kubernetes' own schemas say against the objects, in any of the versions."""
    found = []
    for each in objects:
        if each["apiVersion"] in OPERATOR:
            continue
        for version in VERSIONS:
            try:
                kubernetes_validate.validate(each, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                found.append(f"{version} {each['kind']}: {error.message}")
    return found


def rendered(values: dict) -> dict:
    """The chart's objects with these values, or why Helm refuses them."""
    chart = Chart.load(CHART)
    try:
        chart.validate_schema(values)
        files = chart.render(values, name="remit", namespace="agents")
    except HelmError as error:
        return {"refused": str(error)}
    manifests = [text for path, text in files.items() if not path.endswith("NOTES.txt")]
    objects = [each for text in manifests for each in yaml.safe_load_all(text) if each]
    return {"objects": objects, "faults": faults(objects)}


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    answers = {name: rendered(values) for name, values in asked.items()}
    typo = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}, "spec": {"portz": []}}
    json.dump({"charts": answers, "lint": lint(CHART), "typo": faults([typo])}, sys.stdout)
