"""Warnings about policies that are valid and probably not meant. Pure: what is known of a workspace is handed in."""

from app.lint.known_tools import KnownTools
from app.lint.policies import lint_policies, lint_written
from app.lint.warnings import Code, PolicyWarning

__all__ = ["Code", "KnownTools", "PolicyWarning", "lint_policies", "lint_written"]
