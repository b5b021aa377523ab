"""I11: deciding is a function of its arguments. tests/test_architecture.py has the arrows between layers."""

import ast
from pathlib import Path

import pytest

APP = Path(__file__).parents[2] / "app"
IMPURE = {
    "asyncio",
    "concurrent",
    "http",
    "logging",
    "multiprocessing",
    "os",
    "pathlib",
    "random",
    "secrets",
    "select",
    "signal",
    "socket",
    "ssl",
    "subprocess",
    "sys",
    "tempfile",
    "threading",
    "time",
    "urllib",
}
"""Modules that do I/O, read a clock, or are not deterministic."""
IMPURE_CALLS = {"open", "print", "input", "exec", "eval", "now", "utcnow", "today", "getenv", "urandom"}


def modules(layer):
    return sorted((APP / layer).rglob("*.py"))


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.partition(".")[0]


def called(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            match node.func:
                case ast.Name(id=name) | ast.Attribute(attr=name):
                    yield name


@pytest.mark.parametrize("path", modules("pdp"), ids=lambda path: path.stem)
def test_the_pdp_does_no_io_and_asks_no_clock(path):
    """Time is an argument; nothing is random, and nothing is awaited."""
    tree = ast.parse(path.read_text())
    assert not IMPURE & set(imported(tree))
    assert not IMPURE_CALLS & set(called(tree))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef | ast.Await)]


@pytest.mark.parametrize("path", modules("model"), ids=lambda path: path.stem)
def test_the_model_does_no_io(path):
    """Except reading random bytes from the system for ids, keys and the tokens of sessions."""
    tree = ast.parse(path.read_text())
    chance = {"ids": {"os"}, "api_keys": {"secrets"}, "sign_ins": {"secrets"}}
    assert IMPURE & set(imported(tree)) <= chance.get(path.stem, set())
    assert not (IMPURE_CALLS - {"urandom"}) & set(called(tree))
