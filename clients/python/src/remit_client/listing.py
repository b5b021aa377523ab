"""Which tools need not be shown to an agent at all."""

from __future__ import annotations

import logging

from remit_client import calls
from remit_client._async.client import AsyncRemit
from remit_client.errors import RemitError

logger = logging.getLogger("remit_client")


async def never_allowed(remit: AsyncRemit, agent: str) -> frozenset[str]:
    """The names of the tools that no call of this agent can use, whatever its parameters.

    Empty where the service cannot say: listing is a courtesy to the model, and each call is judged all the same.
    """
    try:
        tools = await remit.send(calls.list_agent_tools(agent))
    except RemitError as error:
        logger.info("The tools of %s are all listed: %s", agent, error)
        return frozenset()
    return frozenset(name for name, status in tools.items() if status == "denied")
