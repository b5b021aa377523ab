"""Hooks of mkdocs: pages that stand elsewhere in the project, pages made from the code, links, and llms.txt.

Links in Markdown lead to files of the project, so that they work in a checkout. Here, each leads to the page that shows
the file, or to its text below source/.
"""

import logging
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from app.cli.main import main as remit

ROOT = Path(__file__).parents[1]
OUTSIDE = {
    "README.md": "index.md",
    **{
        path: path
        for path in (
            "CHANGELOG.md",
            "CONTRIBUTING.md",
            "SECURITY.md",
            "bench/README.md",
            "clients/python/README.md",
            "deploy/helm/remit/README.md",
            "examples/README.md",
            "lua/README.md",
            "tests/cases/README.md",
        )
    },
    "clients/typescript/README.md": "clients/typescript/package.md",  # docs/clients/typescript has a README of its own
}
"""Pages outside docs/, by their place in the project, and their place in the site."""

SECTIONS = {
    "reference/settings.md": ("docs/operations.md", "## Settings", "Settings"),
    "reference/metrics.md": ("docs/operations.md", "### Metrics", "Metrics"),
}
"""Sections that are pages of their own, too, for those who look a name up."""

_SECTIONS = {"Start": 4, "Guides": 3, "Reference": 1.5, "How it works": 0.001}
_LISTS = {
    "questions.md": 8,
    "CHANGELOG.md": 0.001,
    "reference/commands.md": 0.5,
    "keyspace.md": 0.1,
    "lua/README.md": 0.001,
}
"""What sections of the menu and single pages count in the search, where a word of a title counts a thousand times."""

_LINK = re.compile(r"(\]\(|^\[[^\]\n]+\]: )([^)#\s]+)?(#[^)\s]*)?(\)|$)", re.MULTILINE)
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """`decisions/` in the nav stands for every page of that folder."""
    # `strict` counts the warnings that are shown, and `--quiet` would hide them.
    logging.getLogger("mkdocs").setLevel(logging.WARNING)
    config.nav = _expanded(config.nav)
    return config


def _expanded(nav: Any) -> Any:
    if isinstance(nav, list):
        return [_expanded(each) for each in nav]
    if isinstance(nav, dict):
        return {title: _expanded(each) for title, each in nav.items()}
    if nav.endswith("/"):
        return sorted(path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs" / nav).glob("*.md"))
    return nav


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages outside docs/, those made from the code, and the files that pages link to."""
    for path, place in OUTSIDE.items():
        files.append(File.generated(config, place, content=(ROOT / path).read_text()))
    for place, (path, heading, title) in SECTIONS.items():
        files.append(File.generated(config, place, content=f"# {title}\n{_section(ROOT / path, heading)}"))
    files.append(File.generated(config, "reference/commands.md", content=_commands()))
    for path in sorted({path for page in _sources() for path in _linked(page)}):
        if (ROOT / path).is_file() and not _is_in_docs(path):
            files.append(File.generated(config, f"source/{path}.txt", content=(ROOT / path).read_bytes()))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point each link of a page at the page or file of the site, and rank the page in the search."""
    page.meta["search"] = {"boost": _boost(page)}
    here = _source_of(page.file.src_uri)
    code = [match.span() for match in _CODE.finditer(markdown)]

    def pointed(match: re.Match[str]) -> str:
        if match[2] is None or ":" in match[2] or any(start <= match.start() < end for start, end in code):
            return match[0]
        target = _place_of(posixpath.normpath(posixpath.join(posixpath.dirname(here), match[2])))
        relative = posixpath.relpath(target, posixpath.dirname(page.file.src_uri) or ".")
        return f"{match[1]}{relative}{match[3] or ''}{match[4]}"

    return _LINK.sub(pointed, markdown)


def _boost(page: Page) -> float:
    """In the search, pages that say how to do something come before those that list, and last those that say why."""
    if page.file.src_uri in _LISTS:
        return _LISTS[page.file.src_uri]
    return _SECTIONS.get(page.ancestors[-1].title, 1) if page.ancestors else _SECTIONS["How it works"]


def on_post_build(config: MkDocsConfig) -> None:
    """Write llms.txt, the list of pages, and llms-full.txt, their text."""
    pages = [(_source_of(place), place) for place in _places(config.nav)]
    texts = {place: _text_of(source, place) for source, place in pages}
    lines = [f"# {config.site_name}", "", f"> {config.site_description}", ""]
    for place, text in texts.items():
        title = re.search(r"^# (.+)$", text, re.MULTILINE)
        url = re.sub(r"README\.md$", "index.md", place).removesuffix(".md")
        lines.append(f"- [{title[1] if title else place}](/docs/{url}.html)")
    site = Path(config.site_dir)
    for pattern in ("**/*.map", "assets/javascripts/lunr/**/*.js", "sitemap.*", "404.html"):
        for path in site.glob(pattern):
            path.unlink()
    (site / "llms.txt").write_text("\n".join([*lines, ""]))
    (site / "llms-full.txt").write_text("\n\n".join(texts.values()))


def _source_of(place: str) -> str:
    """The file of the project that a page of the site shows."""
    for source, shown in OUTSIDE.items():
        if place == shown:
            return source
    return SECTIONS[place][0] if place in SECTIONS else f"docs/{place}"


def _place_of(path: str) -> str:
    """Where the site has a file of the project."""
    if (ROOT / path).is_dir():
        path = f"{path}/README.md" if (ROOT / path / "README.md").exists() else path
    if path == "docs/decisions":
        path = min(each.relative_to(ROOT).as_posix() for each in (ROOT / path).glob("*.md"))
    if path in OUTSIDE:
        return OUTSIDE[path]
    return path.removeprefix("docs/") if _is_in_docs(path) else f"source/{path}.txt"


def _is_in_docs(path: str) -> bool:
    """Whether the site has the file itself: a page or a picture."""
    return path.endswith(".md") or (path.startswith("docs/") and path.endswith(".png"))


def _sources() -> Iterator[str]:
    yield from OUTSIDE
    yield from (path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))


def _linked(page: str) -> Iterator[str]:
    """The files of the project that a page links to."""
    text = _CODE.sub("", (ROOT / page).read_text())
    for match in _LINK.finditer(text):
        if match[2] and ":" not in match[2]:
            yield posixpath.normpath(posixpath.join(posixpath.dirname(page), match[2]))


def _section(path: Path, heading: str) -> str:
    """The text below a heading, up to the next one of its level or above."""
    level = len(heading.split(maxsplit=1)[0])
    below = path.read_text().split(f"\n{heading}\n", 1)[1]
    return re.split(rf"^#{{1,{level}}} ", below, maxsplit=1, flags=re.MULTILINE)[0]


def _text_of(source: str, place: str) -> str:
    if place == "reference/commands.md":
        return _commands()
    return (ROOT / source).read_text()


def _places(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield from [] if nav.startswith("/") else [nav]
    else:
        for each in nav.values() if isinstance(nav, dict) else nav:
            yield from _places(each)


def _commands() -> str:
    """Every command of `remit`, with its arguments and options, as `--help` says them."""
    intro = "For those who look up an option; [the command line](../command-line.md) says how to use it."
    return "\n".join(["# Every command\n", f"{intro}\n", *_command(remit, click.Context(remit, info_name="remit"))])


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            if (inner := command.get_command(context, name)) is not None and not inner.hidden:
                yield from _command(inner, click.Context(inner, info_name=name, parent=context))
        return
    usage = command.get_usage(context).removeprefix("Usage: ")
    yield f"## {context.command_path}\n\n{_escaped(command.help or '')}\n\n```text\n{usage}\n```\n"
    rows = [row for each in command.get_params(context) if (row := each.get_help_record(context))]
    if rows:
        yield "| Option | Meaning |\n|---|---|"
        yield from (f"| `{_cell(name)}` | {_escaped(_cell(meaning))} |" for name, meaning in rows)
        yield ""


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _escaped(text: str) -> str:
    """A help text as Markdown: what looks like HTML stays text."""
    return text.replace("\b\n", "").replace("<", "&lt;")
