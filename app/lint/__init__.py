"""Warnings about policies that are valid but probably not meant. Pure: callers pass in the workspace's known tools."""

from app.lint.known_tools import KnownTools
from app.lint.policies import lint_policies, lint_written
from app.lint.warnings import Code, PolicyWarning

__all__ = ["Code", "KnownTools", "PolicyWarning", "lint_policies", "lint_written"]
