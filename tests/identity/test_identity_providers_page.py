"""docs/identity-providers.md: its settings are ones that the service starts with."""

import re
import shlex
from pathlib import Path

import pytest

from app.identity.provider import Provider
from app.settings import Settings

PAGE = (Path(__file__).parents[2] / "docs/identity-providers.md").read_text()
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
OTHERS = {
    "REMIT_PUBLIC_URL": "https://remit.example.com",
    "REMIT_OIDC_CLIENT_ID": "remit",
    "REMIT_OIDC_CLIENT_SECRET": "0123456789abcdef" * 2,
}


@pytest.mark.parametrize("block", BLOCKS)
def test_the_settings_of_a_provider_are_read(block):
    given = dict(line.split("=", 1) for line in shlex.split(block))
    provider = Provider(Settings.from_env(OTHERS | given))
    assert provider.issuer == given["REMIT_OIDC_ISSUER"]
    assert {"admin", "approve"} <= {scope for row in provider.table for scope in row.scopes}


def test_the_settings_of_three_providers_are_there():
    assert len(BLOCKS) == 3
