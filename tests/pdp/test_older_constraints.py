"""Constraints that are refused today, but may be in policies stored earlier."""

import msgspec
import pytest

from app.language.spellings import spellings_of
from app.model.constraints import Constraint
from app.pdp.constraints import compile_constraint


@pytest.mark.parametrize("domain", ["*.10.0.0.1", "10.0.0.1", "localhost"])
def test_a_domain_without_mailboxes_matches_no_address(domain):
    """And causes no errors."""
    check = compile_constraint("x", msgspec.convert({"emailDomain": {"in": [domain]}}, Constraint), secret=False)
    for address in (f"a@{domain.removeprefix('*.')}", "a@1.10.0.0.1", "a@corp.com"):
        assert check({"x": address}, {}, spellings_of({"x": address})) is not None
