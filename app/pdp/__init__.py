"""The policy decision point. Pure: no I/O, no clock, no store, no web.

`compile_agent` turns an agent's policies into what `decide` reads; `decide` turns one tool call into a plan.
docs/semantics.md is the page it implements.
"""

from app.pdp.compiled import CompiledAgent, compile_agent
from app.pdp.decide import decide, decide_at_length

__all__ = ["CompiledAgent", "compile_agent", "decide", "decide_at_length"]
