"""Which commands a shell line may run. Every instance is valid."""

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from app.language.ambiguous import Ambiguous
from app.language.paths import canonical_path
from app.language.shell_programs import USUAL, is_flag
from app.language.shell_surroundings import HARMLESS_VARIABLES, INTERPRETERS, OF_SHELL, RUNNERS, VIA, WITH_SUBCOMMANDS
from app.model.context_roots import ContextRoot, is_home
from app.model.text import FieldError, require_visible

_Word = Annotated[str, Meta(min_length=1, max_length=200)]
_Words = _Word | Annotated[list[_Word], Meta(min_length=1, max_length=100)]
_FewWords = Annotated[list[_Word], Meta(min_length=1, max_length=100)]


class AllowedCommand(Struct, frozen=True, forbid_unknown_fields=True):
    """Commands that may run: these programs, with these words and no others.

    run: The program's name, or a path below the root; or several.
    first: What its first word must be; one or several. A `*` at the end stands for any further letters.
    second: What its second word must be, in the same way.
    flags: The flags that it may have, such as `-q`, `-n NUMBER`, `-m TEXT`, `-o PATH`, `--format=TEXT`; `usual` = the
    harmless ones of docs/shell-flags.md. No others pass.
    paths: Where its other words, as paths, must lie: `inside` the root, or in these directories. None if left out.
    pattern: true = the first word, or the value of `-e`, is a pattern and no path.
    via: Programs that may stand before it: `npx`, `uv run`, `poetry run`, `pipenv run`, `pnpm exec`, `yarn exec`,
    `bundle exec`, `python -m`, `python3 -m`.
    writes: `inside` = its output may be redirected to files inside the root.
    script: `inside` = its first word is a script inside the root.
    """

    run: _Words
    first: _Words | UnsetType = UNSET
    second: _Words | UnsetType = UNSET
    flags: Literal["usual"] | Annotated[list[_Word], Meta(max_length=100)] | UnsetType = UNSET
    paths: Literal["inside"] | _FewWords | UnsetType = UNSET
    pattern: bool | UnsetType = UNSET
    via: _FewWords | UnsetType = UNSET
    writes: Literal["inside"] | UnsetType = UNSET
    script: Literal["inside"] | UnsetType = UNSET

    def __post_init__(self) -> None:
        _require_visible(self)
        for program in several(self.run):
            self._require_program(program)
        if self.second is not UNSET and self.first is UNSET:
            raise FieldError("second", "give `first`, too: words are in order")
        if isinstance(self.flags, list):
            for index, flag in enumerate(self.flags):
                if not is_flag(flag):
                    raise FieldError(f"flags[{index}]", _NO_FLAG)
        if isinstance(self.paths, list):
            for index, path in enumerate(self.paths):
                _require_relative(f"paths[{index}]", path)
        for index, via in enumerate(() if isinstance(self.via, UnsetType) else self.via):
            if via.rpartition("/")[2] not in VIA:
                raise FieldError(f"via[{index}]", f"is none of {', '.join(VIA)}")

    def _require_program(self, program: str) -> None:
        name = program.rpartition("/")[2]
        if "/" in program:
            _require_relative("run", program)
        if any(letter in program for letter in " \t=@:*") or not name:
            raise FieldError("run", "must be one name or path, without arguments")
        if name.lower() in RUNNERS:
            raise FieldError("run", f"`{name}` runs other commands, which cannot be judged; name those commands")
        if "/" not in program and name in OF_SHELL:
            raise FieldError("run", f"`{name}` changes how the shell runs the rest of the line; `cd` needs no entry")
        if name in WITH_SUBCOMMANDS and self.first is UNSET and name not in USUAL:
            raise FieldError("first", f"`{name}` does what its first word says; name the words that it may have")
        if INTERPRETERS(name) and self.first is UNSET and self.script is UNSET:
            raise FieldError("script", f'`{name}` runs what it reads; give `first`, or "script": "inside"')


class DeniedCommand(Struct, frozen=True, forbid_unknown_fields=True):
    """Commands that are refused wherever they stand in the line.

    run: The program's name, in any letter case and folder; or several.
    first: Its first word; one or several.
    second: Its second word; one or several.
    flags: Flags of which one must be given; a letter also stands for long flags that begin with it.
    """

    run: _Words
    first: _Words | UnsetType = UNSET
    second: _Words | UnsetType = UNSET
    flags: _FewWords | UnsetType = UNSET

    def __post_init__(self) -> None:
        _require_visible(self)
        for program in several(self.run):
            if "/" in program or any(letter in program for letter in " \t=*"):
                raise FieldError("run", "must be the name of a program, without folder or arguments")
        if self.second is not UNSET and self.first is UNSET:
            raise FieldError("second", "give `first`, too: words are in order")
        for index, flag in enumerate(() if isinstance(self.flags, UnsetType) else self.flags):
            if not is_flag(flag) or " " in flag or "=" in flag:
                raise FieldError(f"flags[{index}]", "must be one flag, such as -r or --force")


class CommandConstraint(Struct, frozen=True, forbid_unknown_fields=True):
    """A shell line all of whose commands may run.

    allow: The commands that may run; a line passes if each of its commands is one of them.
    deny: Commands that are refused, wherever they stand in the line.
    root: The directory in which all happens: an absolute path, or a value of `context`. `allow` needs it. Lines start
    in `context.cwd`.
    env: Variables that may be assigned before a command, of those that docs/language.md lists.
    unread: What a line does that cannot be read, or runs commands that cannot be: `escalate` or `deny`; what the rule
    says if left out.
    """

    allow: Annotated[list[AllowedCommand], Meta(min_length=1, max_length=200)] | UnsetType = UNSET
    deny: Annotated[list[DeniedCommand], Meta(min_length=1, max_length=200)] | UnsetType = UNSET
    root: Annotated[str, Meta(min_length=1, max_length=4096)] | ContextRoot | UnsetType = UNSET
    env: _FewWords | UnsetType = UNSET
    unread: Literal["escalate", "deny"] | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.allow is UNSET and self.deny is UNSET:
            raise FieldError("allow", "give allow, deny or both")
        if self.allow is not UNSET and self.root is UNSET:
            raise FieldError("root", 'give the project\'s directory, or {"context": "project"}')
        if isinstance(self.root, str):
            try:
                canonical = canonical_path(self.root)
            except Ambiguous as error:
                raise FieldError("root", str(error)) from None
            if canonical != self.root:
                raise FieldError("root", f"write it as {canonical}, the way it is read")
            if is_home(self.root):
                raise FieldError("root", "is a home or the whole disk; name the project's directory")
        for index, name in enumerate(() if isinstance(self.env, UnsetType) else self.env):
            if name not in HARMLESS_VARIABLES:
                raise FieldError(f"env[{index}]", f"may be one of {', '.join(sorted(HARMLESS_VARIABLES))}")

    @property
    def needs_root(self) -> bool:
        """True if lines are judged where they run."""
        return self.allow is not UNSET

    @property
    def root_name(self) -> str | None:
        """The name in `context` of the root; None if it is constant."""
        return self.root.context if isinstance(self.root, ContextRoot) else None


def several(words: str | Sequence[str] | UnsetType) -> Sequence[str]:
    """The words of a field that has one or several."""
    if isinstance(words, UnsetType):
        return ()
    return (words,) if isinstance(words, str) else words


_NO_FLAG = "must be one flag, such as -q, -n NUMBER, -m TEXT, -o PATH, --format=TEXT or --tb=short"


def _require_relative(field: str, path: str) -> None:
    try:
        canonical = canonical_path(f"/{path}")
    except Ambiguous as error:
        raise FieldError(field, str(error)) from None
    plain = path.removeprefix("./").rstrip("/")
    if path.startswith("/") or canonical != f"/{plain}":
        raise FieldError(field, f'must lie below the root, written as ".{canonical}"')


def _require_visible(entry: Struct) -> None:
    for name in entry.__struct_fields__:
        value = getattr(entry, name)
        for text in (value,) if isinstance(value, str) else value if isinstance(value, list) else ():
            require_visible(name, text)
