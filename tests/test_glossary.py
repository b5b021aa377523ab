"""docs/glossary.md agrees with the names in app/."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GLOSSARY = (ROOT / "docs/glossary.md").read_text()
ROW = re.compile(r"^\| (.+?) \|$", re.MULTILINE)


def table(head):
    """The rows of the table with this head, as lists of cells."""
    below = GLOSSARY.split(head, 1)[1].split("\n\n", 1)[0]
    return [[cell.strip() for cell in row.split("|")] for row in ROW.findall(below)]


WORDS = table("| Word | Meaning here | Do not say |\n")
SAID_OTHERWISE = {word.strip() for row in WORDS for word in row[2].split(",") if word.strip()}
OWN_MEANING = {row[0] for row in table("| Word | Means only |\n")}


def parts(name):
    """`MethodNotAllowed` and `method_not_allowed` as their words, in the singular too."""
    words = [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]
    return words + [word.removesuffix("s") for word in words]


def names(path) -> Iterator[str]:
    """The module, and its classes, functions, parameters and fields."""
    yield path.stem
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.arg(arg=name) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name


@cache
def all_names():
    """Every name with the file that has it."""
    return {(path.relative_to(ROOT).as_posix(), name) for path in (ROOT / "app").rglob("*.py") for name in names(path)}


def test_a_word_to_avoid_names_nothing_in_app():
    """One word per thing: the glossary's first column says which."""
    words = {f"_{word.replace(' ', '_')}_" for word in SAID_OTHERWISE - OWN_MEANING}
    spelt = [(path, name, f"_{'_'.join(parts(name))}_") for path, name in all_names()]
    assert [(word, path, name) for path, name, parted in spelt for word in words if word in parted] == []


@pytest.mark.parametrize("word", sorted(OWN_MEANING))
def test_a_word_excused_for_its_own_meaning_is_in_use(word):
    """An exception that nothing needs would let the next mistake pass."""
    assert word in SAID_OTHERWISE
    assert any(word in parts(name) for _, name in all_names())


def test_the_tables_are_read_at_all():
    """If the tables' heads change, the tests above must not pass on nothing."""
    assert len(WORDS) > 20
    assert len(SAID_OTHERWISE) > 20
    assert OWN_MEANING
    assert len(all_names()) > 500
