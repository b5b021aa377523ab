"""docs/shell-lines.md lists what the service knows of programs and of files' names; both say the same.

`python tests/contracts/test_shell_pages.py` writes the lists into the page.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from app.language import file_kinds, shell_surroundings  # noqa: E402
from app.language.shell_programs import USUAL, Flag, Program  # noqa: E402

PAGE = ROOT / "docs" / "shell-lines.md"


def flag_in_words(name: str, flag: Flag) -> str:
    if not flag.kind:
        return name
    if flag.attached:
        return f"{name} {name}={flag.kind}" if flag.optional else f"{name}={flag.kind}"
    return f"{name} {flag.kind}"


def row_of(name: str, program: Program) -> str:
    notes = [
        "" if program.by_letter else "apart",
        "-N" if program.count else "",
        "globs" if program.globs else "",
        "writes" if program.writes else "",
        f"at most {program.most}" if program.most < 1000 else "",
        f"first `{program.first.__self__.pattern}`" if program.first else "",
    ]
    either, needed = program.needs
    if needed:
        before = "" if either == {""} else f"{' '.join(sorted(either))} "
        notes.append(f"{before}only with {' '.join(sorted(needed))}")
    flags = " ".join(flag_in_words(*each) for each in program.flags.items())
    said = "; ".join(filter(None, notes)).replace("|", "\\|")
    return f"| `{name}` | {f'`{flags}`' if flags else ''} | {program.words} | {said} |".replace(
        "|always|", "\\|always\\|"
    )


def table() -> str:
    rows = [row_of(*each) for each in USUAL.items()]
    rows = [re.sub(r"`[^`]*`", lambda found: re.sub(r"(?<!\\)\|", r"\\|", found[0]), row) for row in rows]
    return "\n".join(["| Program | Flags | Other words | |", "|---|---|---|---|", *rows])


def lists() -> str:
    return "\n".join(
        f"| {title} | {' '.join(f'`{each}`' for each in sorted(names))} |"
        for title, names in (
            ("variables of `env`", shell_surroundings.HARMLESS_VARIABLES),
            ("run others", shell_surroundings.RUNNERS),
            ("run others with these words", {" ".join(each) for each in shell_surroundings.RUN_BY_WORD}),
            *((f"{name} with these flags", flags) for name, flags in shell_surroundings.RUN_BY_FLAG.items()),
            ("interpreters with these flags", shell_surroundings.EVALUATES),
            ("change the shell", shell_surroundings.OF_SHELL),
        )
    )


def names() -> str:
    """The names of files, as the second evaluator reads them."""
    blocks = []
    for title, value in (
        ("secret names", file_kinds.KEPT_NAMES),
        ("secret endings", file_kinds.KEPT_ENDINGS),
        ("secret words", file_kinds.SUSPECT_WORDS),
        ("secret words, but in sources", file_kinds.NAMING_WORDS),
        ("secret shapes", file_kinds.SUSPECT_SHAPES),
        ("no secret", file_kinds.PUBLIC),
        ("running names", file_kinds.RUNS_NAMES),
        ("running endings", file_kinds.RUNS_ENDINGS),
        ("running shapes", file_kinds.RUNS_SHAPES),
        ("running folders", file_kinds.RUNS_FOLDERS),
        ("endings of sources", file_kinds.CODE),
        ("endings of copies", file_kinds.COPIES),
    ):
        # So that a class before a group is no link of Markdown.
        text = " ".join(sorted(value)) if isinstance(value, frozenset) else value.replace("](", "]{1}(")
        blocks.append(f"{title}: {text}")
    return "```text\n" + "\n".join(blocks) + "\n```"


PARTS = {"flags": table, "names": names, "lists": lists}


def written(page: str) -> str:
    """The page with its lists as they are today."""
    for name, make in PARTS.items():
        page = re.sub(
            rf"(<!-- {name} -->\n).*?(\n<!-- end -->)",
            lambda found, make=make: f"{found[1]}{make()}{found[2]}",
            page,
            flags=re.DOTALL,
        )
    return page


def test_the_lists_of_the_page_are_those_of_the_service():
    """If this fails, run this file as a program."""
    page = PAGE.read_text()
    assert all(f"<!-- {name} -->" in page for name in PARTS)
    assert written(page) == page


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
