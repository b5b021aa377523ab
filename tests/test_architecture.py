"""docs/architecture.md agrees with what app/ imports."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
APP = ROOT / "app"
PAGE = (ROOT / "docs/architecture.md").read_text()


def rows(head):
    """First and second cell of every row of the table with this head: the names in backticks."""
    below = PAGE.split(head, 1)[1].split("\n\n", 1)[0]
    cells = [line.split("|")[1:3] for line in below.splitlines()[1:]]
    return [tuple(re.findall(r"`(\w+)`", cell) for cell in pair) for pair in cells]


IMPORTS = {layer[0]: set(allowed) for layer, allowed in rows("| Layer | Imports | What it is |\n")}
IMPORTED_BY = {name: set(by) for names, by in rows("| Library | Imported by |\n") for name in names}


def layer_of(path):
    """`pdp` for app/pdp/decide.py, `errors` for app/errors.py."""
    return path.relative_to(APP).parts[0].removesuffix(".py")


@cache
def parsed(path):
    return ast.parse(path.read_text())


def imports(path):
    """Every module that a file imports, as a dotted name; wherever in the file the import stands."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute, so that a reader sees the layer"
            # `from app import errors` names the layer after the module.
            yield from (f"app.{name.name}" for name in node.names) if node.module == "app" else (node.module,)


@cache
def all_imports():
    """Every import of app/ with the layer that has it."""
    return [(layer_of(path), name) for path in sorted(APP.rglob("*.py")) for name in imports(path)]


PROCESSES = {layer_of(path) for path in APP.rglob("*.py")} - IMPORTS.keys() - {"__init__"}


@pytest.mark.parametrize("layer", IMPORTS)
def test_a_layer_imports_what_the_page_says(layer):
    """The table lists exactly what each layer imports: an arrow that is no longer needed goes."""
    imported = {
        name.split(".")[1]
        for importer, name in all_imports()
        if importer == layer and name.startswith("app.") and name.split(".")[1] != layer
    }
    assert imported == IMPORTS[layer]


def test_the_layers_have_an_order():
    """No two layers may import each other, even indirectly."""
    left = dict(IMPORTS)
    while left:
        lowest = {layer for layer, allowed in left.items() if not allowed & left.keys()}
        assert lowest, f"these import each other in a circle: {sorted(left)}"
        left = {layer: allowed for layer, allowed in left.items() if layer not in lowest}


def at_import(body):
    """The statements that run when a module is imported, those for type checkers left out."""
    for node in body:
        if isinstance(node, ast.If):
            yield from at_import([] if "TYPE_CHECKING" in ast.unparse(node.test) else [*node.body, *node.orelse])
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield node


def test_no_module_imports_itself_over_others():
    """Not even within a layer, so modules can be imported in any order."""
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in APP.rglob("*.py")
    }
    left = {}
    for module, path in modules.items():
        named = set()
        for node in at_import(parsed(path).body):
            of = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            named |= {f"{of}{name.name}" for name in node.names} | {of.removesuffix(".")}
        left[module] = (named & modules.keys()) - {module}
    while left:
        free = {module for module, imported in left.items() if not imported & left.keys()}
        assert free, f"these import each other in a circle: {sorted(left)}"
        left = {module: imported for module, imported in left.items() if module not in free}


def test_the_page_names_every_layer_and_process():
    """Layers that are not in the table are processes, and the page names them."""
    assert all((APP / layer).is_dir() or (APP / f"{layer}.py").is_file() for layer in IMPORTS)
    sentence = PAGE.split(" are the processes; nothing below imports them", 1)[0].rpartition("\n\n")[2]
    assert set(re.findall(r"`(\w+)`", sentence)) == PROCESSES


@pytest.mark.parametrize("library", IMPORTED_BY)
def test_a_library_is_imported_where_the_page_says(library):
    """Only there."""
    assert {layer for layer, name in all_imports() if name.split(".")[0] == library} == IMPORTED_BY[library]


LONGEST = 450
"""Lines that a module may have: it is one subject, however long that is, but nobody reads more in one go."""


def test_no_module_is_too_long_to_read():
    """Cut where the subject changes."""
    assert {path.name for path in APP.rglob("*.py") if len(path.read_text().splitlines()) > LONGEST} == set()


READERS = {"http", "cli", "authorize", "explain", "webhooks"}
OF_THE_LOG = {"AuditLog", "EntryChunk", "Archive", "ArchiveAltered"}
"""What readers may know of `audit`: the facade, what it yields, an archive in a folder and what is wrong with it."""


def test_every_reader_of_the_log_uses_the_facade():
    """`AuditLog` has all reading methods, so no reader needs to know which part of the log is sealed."""
    named = {
        name.name
        for path in sorted(APP.rglob("*.py"))
        if layer_of(path) in READERS
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("app.audit")
        for name in node.names
    }
    assert named == OF_THE_LOG


def test_every_file_that_the_page_names_exists():
    """Paths in backticks are below app/ unless they begin at the root."""
    named = re.findall(r"`((?:[\w.]+/)*\w+\.(?:py|lua)|(?:\w+/)+)`", PAGE)
    assert len(named) > 20
    slices = {"policies.py", "agents.py"}
    below = {name for name in named if name not in slices}
    assert {name for name in below if not (APP / name).exists() and not (ROOT / name).exists()} == set()
    assert all((APP / layer / name).exists() for layer in ("model", "store", "http/api") for name in slices)


def test_every_place_that_contributing_names_is_there():
    """CONTRIBUTING sends newcomers to files and folders that exist."""
    places = (ROOT / "CONTRIBUTING.md").read_text().split("## Where a new thing goes", 1)[1].split("## ", 1)[0]
    named = set(re.findall(r"`((?:app|lua|tests|docs|bench|clients)/[\w./]*)`", places))
    assert len(named) > 25
    assert {name for name in named if not (ROOT / name).exists()} == set()


def test_every_link_of_the_page_leads_somewhere():
    """Relative to docs/."""
    links = re.findall(r"\]\(([^)#:]+)\)", PAGE)
    assert links
    assert {link for link in links if not (ROOT / "docs" / link).exists()} == set()
