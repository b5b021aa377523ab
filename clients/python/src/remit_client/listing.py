"""Finds the tools that need not be shown to an agent."""

from __future__ import annotations

import logging

from remit_client import calls
from remit_client._async.client import AsyncRemit
from remit_client.errors import RemitError

logger = logging.getLogger("remit_client")


async def never_allowed(remit: AsyncRemit, agent: str) -> frozenset[str]:
    """The names of the tools that this agent can never call, whatever the parameters.

    Empty if the service cannot say: listings only help the model, and each call is judged anyway.
    """
    try:
        tools = await remit.send(calls.list_agent_tools(agent))
    except RemitError as error:
        logger.info("No tool is hidden from %s: %s", agent, error)
        return frozenset()
    return frozenset(name for name, status in tools.items() if status == "denied")
