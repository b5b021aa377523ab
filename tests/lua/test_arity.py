"""A script called with too few or too many keys or arguments writes nothing."""

import pytest

from app.errors import StoreUnavailable
from app.redis_client.scripts import SCRIPTS


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
async def test_arguments_that_the_header_does_not_declare_are_refused(client, workspace_id, script):
    """By the first line of every body, so a wrapper that has drifted from its script fails at once."""
    name = f"remit:{{{workspace_id}}}:stray"
    one_too_many = [name] * (len(script.keys) + len(script.repeated_keys) + len(script.last_keys) + 1)

    with pytest.raises(StoreUnavailable):
        await client.run(script, one_too_many, [])

    assert await client.call("EXISTS", name) == 0
