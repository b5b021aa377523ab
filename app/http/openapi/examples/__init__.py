"""Examples of bodies and answers, for the OpenAPI document.

Each is a constant with the name of its type: AGENT_VIEW for an `AgentView`. A body has several, by what they do, an
answer one, or one item of its list. Tests decode the bodies, and compare the answers with the service's own.
"""

import re
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any


def example_of(kind: type) -> Any:
    """The example of this type. Raises LookupError if there is none."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.__name__).upper()
    if name not in _all():
        raise LookupError(f"app/http/openapi/examples has no {name}, the example of {kind.__name__}")
    return _all()[name]


@cache
def _all() -> dict[str, Any]:
    modules = (import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__))
    return {name: value for module in modules for name, value in vars(module).items()}
