"""Warnings about policies that are valid but probably not meant. Pure: callers pass in the workspace's known tools."""

from app.policy_tools.lint.known_tools import KnownTools
from app.policy_tools.lint.policies import lint_policies, lint_written
from app.policy_tools.lint.warnings import Code, PolicyWarning

__all__ = ["Code", "KnownTools", "PolicyWarning", "lint_policies", "lint_written"]
