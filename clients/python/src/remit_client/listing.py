"""Finds out what an agent may call of the tools that are about to be listed to it."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from remit_client import calls
from remit_client._async.client import AsyncRemit
from remit_client.errors import RemitError

NAMES_MAX = 1000
logger = logging.getLogger("remit_client")


async def statuses(remit: AsyncRemit, agent: str, names: Sequence[str]) -> dict[str, str]:
    """What the service says of these tools, by name: `allowed`, `conditional`, `escalated` or `denied`.

    Empty if it cannot say: listings only help the model, and each call is judged anyway.
    """
    found: dict[str, str] = {}
    try:
        for start in range(0, len(names), NAMES_MAX):
            known = await remit.send(calls.list_named_tools(agent, names[start : start + NAMES_MAX]))
            found.update(known)
    except RemitError as error:
        logger.info("No tool is hidden from %s: %s", agent, error)
        return {}
    return found
