"""Some frameworks need an older `mcp` than others, so no environment has them all: here is what each one tests."""

import os
import tempfile
from pathlib import Path

import pytest
from cases import PATIENT
from scripted import OLDER_MCP

from remit_client import Remit, calls

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TESTING": "true"}  # read when crewai is imported
os.environ["CREWAI_STORAGE_DIR"] = tempfile.mkdtemp(prefix="remit-crewai-")  # it keeps what its last crew said
IN_BOTH = {
    "test_adapted_calls.py",
    "test_adapters.py",
    "test_framework_pages.py",
    "test_histories.py",
    "test_judged_once.py",
    "test_killed.py",
}
NEEDING_AN_OLDER_MCP = {"test_crewai.py", "test_strands.py"}
collect_ignore = [
    path.name
    for path in Path(__file__).parent.glob("test_*.py")
    if path.name not in IN_BOTH and (path.name in NEEDING_AN_OLDER_MCP) != OLDER_MCP
]


@pytest.fixture(scope="module")
def person(service, admin):
    """A client that decides approvals."""
    with Remit(service.url, admin.send(calls.create_api_key("Eve", ["approve"])).key, **PATIENT) as remit:
        yield remit
