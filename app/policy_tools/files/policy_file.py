"""Policy files: all policies of one agent, of one group or of the workspace, as POST and PUT accept them."""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import NODEFAULT, UNSET, Meta, Struct, UnsetType, field
from msgspec.structs import fields, replace

from app.model.agents import DEFAULT_TYPE, AgentType, Alias, GroupName, Groups, is_alias
from app.model.field_checks import require_valid_fields
from app.model.fields import AgentDescription, AgentId
from app.model.ids import uuid_of
from app.model.policies import Owner, Policy
from app.model.policy_sets import Entries, NewPolicy, require_entries
from app.model.text import FieldError, Name, require_visible
from app.model.whole_numbers import with_whole_numbers
from app.policy_tools.files.documents import MAX_BYTES, Document, DocumentError, Steps, read_document, steps_of
from app.policy_tools.files.faults import faults
from app.policy_tools.files.values import Values, ValuesError, filled, values_of

SUFFIXES = (".yaml", ".yml", ".json")
TESTS = (".test.yaml", ".test.yml", ".test.json")
_FIELDS = sorted(fields(NewPolicy), key=lambda each: (each.name not in ("key", "name"), each.name == "rules"))
"""The fields of a policy in reading order: its names first, its rules last."""
_DEFAULTS = {each.encode_name: msgspec.to_builtins(each.default) for each in _FIELDS if each.default is not NODEFAULT}


class FileAgent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """An agent as a file names it, with the fields for `remit policy apply --create-agents`.

    name: The agent's name for people, or its id.
    alias: The name for programs; if given, it identifies the agent.
    description: What the agent is for.
    groups: The groups it belongs to.
    type: What AuthZEN's `subject.type` names it.
    """

    name: Name
    alias: Alias | None = None
    description: AgentDescription | None = None
    groups: Groups = ()
    type: AgentType = DEFAULT_TYPE

    def __post_init__(self) -> None:
        require_valid_fields(self)

    @classmethod
    def of_word(cls, word: str) -> "FileAgent":
        """The agent that a file names by one word: its name, and its alias if the word can be one."""
        return cls(name=word, alias=word if is_alias(word) else None)

    @classmethod
    def of(cls, shown: dict[str, Any]) -> "FileAgent":
        """The agent as the API shows it."""
        return cls(
            **{each.name: shown[each.name] for each in fields(cls) if shown[each.name] not in (each.default, [])}
        )

    @property
    def called(self) -> str:
        """The name, alias or id that identifies the agent."""
        return self.alias or self.name


class PolicySetFile(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """All policies of one owner: give `agent`, `group` or `workspace: true`. GET of a set answers in the same form.

    agent: The agent that owns them: its id, its alias or its name; or a description of it.
    group: The group of agents that owns them.
    workspace: `true`: they are guardrails and govern every agent.
    policies: The policies; among equal priorities their order is that of creation.
    agent_id: As GET shows it: the agent's id.
    version: As GET shows it; ignored.
    schema: Where editors find the schema of this file.
    """

    policies: Entries
    agent: Name | FileAgent | UnsetType = UNSET
    group: GroupName | None | UnsetType = UNSET
    workspace: bool = False
    agent_id: AgentId | None | UnsetType = UNSET
    version: Annotated[str, Meta(max_length=64)] | UnsetType = UNSET
    schema: str | UnsetType = field(default=UNSET, name="$schema")

    def __post_init__(self) -> None:
        named = [each for each in (self.agent, self.group, self.agent_id) if each is not UNSET and each is not None]
        # GET shows both; for the workspace both are null.
        is_shown = self.agent_id is None and self.group is None
        if len(named) + self.workspace != 1 and not (is_shown and not named and not self.workspace):
            message = 'are one owner\'s; say whose with one of "agent": NAME, "group": NAME and "workspace": true'
            raise FieldError("policies", message)
        for name, value in (("agent", self.agent), ("group", self.group)):
            if isinstance(value, str):
                require_visible(name, value)
        if isinstance(self.agent_id, str) and uuid_of(self.agent_id) is None:
            raise FieldError("agentId", "must be a UUID")
        require_entries(self.policies, Owner(self.agent_ref, self.group_name))

    @property
    def agent_ref(self) -> str | None:
        """The agent's name, alias or canonical id, or None if no agent owns the set."""
        name = self.agent.called if isinstance(self.agent, FileAgent) else self.agent
        reference = name if isinstance(name, str) else self.agent_id
        return uuid_of(reference) or reference if isinstance(reference, str) else None

    @property
    def new_agent(self) -> FileAgent:
        """The agent to create if it does not exist yet."""
        return self.agent if isinstance(self.agent, FileAgent) else FileAgent.of_word(self.agent_ref or "")

    @property
    def group_name(self) -> str | None:
        """The group's name, or None if no group owns the set."""
        return self.group if isinstance(self.group, str) else None

    @property
    def owner(self) -> str:
        """The owner, for messages."""
        if self.agent_ref is not None:
            return f"agent {self.agent_ref}"
        return "workspace" if self.group_name is None else f"group {self.group_name}"


class FileError(ValueError):
    """Files that cannot be used: a line for each fault, with file, line and place, and what is expected there."""


class ReadFile(Struct, frozen=True):
    """A policy file with its location and lines. names: the names of the values that it refers to."""

    path: Path
    file: PolicySetFile
    document: Document
    names: frozenset[str] = frozenset()


def read_policy_files(paths: Iterable[Path], values: Values | None = None) -> list[ReadFile]:
    """The files' policy sets. Raises FileError with the faults of all of them."""
    read, refused = list[ReadFile](), list[str]()
    for path in paths:
        try:
            read.append(read_policy_file(path, values))
        except FileError as error:
            refused.append(str(error))
    if refused:
        raise FileError("\n".join(refused))
    return read


def read_policy_file(path: Path, values: Values | None = None) -> ReadFile:
    """The file's policy set. values: those of the environment that it refers to. Raises FileError."""
    try:
        whole = filled(read_text(path), values)
    except ValuesError as error:
        raise FileError(f"{path}:{error.line}: {error.message}") from None
    origins = {} if values is None else {place: values.place_of(name) for place, name in whole.names.items()}
    file = decoded(path, whole.document, PolicySetFile, origins)
    return ReadFile(path, file, whole.document, frozenset(whole.names.values()))


def read_values(path: Path) -> Values:
    """The values of an environment. Raises FileError."""
    try:
        return values_of(path, read_text(path))
    except ValuesError as error:
        raise FileError(f"{path}:{error.line}: {error.message}") from None


def require_used(values: Values, files: Iterable[ReadFile]) -> None:
    """Raise FileError if none of the files refers to one of the values: it may be misspelt, or a relic."""
    used = frozenset[str]().union(*(read.names for read in files))
    for name in values.by_name:
        if name not in used:
            raise FileError(f'{values.place_of(name)}: none of the policy files refers to "{name}"; take it out')


def read_text(path: Path) -> Document:
    """The file's content as a document. Raises FileError."""
    try:
        return read_document(_beginning_of(path))
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or 'cannot be read'}") from None
    except DocumentError as error:
        raise FileError(f"{path}:{error.line}: {error.message}") from None


def _beginning_of(path: Path) -> bytes:
    """As much of the file as may be in one, and a byte more. Raises OSError, FileError."""
    # Otherwise, opening a named pipe would wait for a writer, for ever. One that a shell has opened has a writer.
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        of_shell = any(map(path.is_relative_to, ("/dev/fd", "/dev/stdin", "/proc")))
        if not of_shell and not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise FileError(f"{path}: is not a file, but a pipe or a device; name a file")
        os.set_blocking(file.fileno(), True)
        return file.read(MAX_BYTES + 1)


def decoded(path: Path, document: Document, kind: type[Any], origins: Mapping[Steps, str] | None = None) -> Any:
    """The document as a struct. origins: where what is at a path stands, if not in the file. Raises FileError."""
    # In JSON 5.0 is a whole number, even if the parser returns a float.
    for value in (document.value, whole := with_whole_numbers(document.value)):
        with suppress(msgspec.ValidationError):
            return msgspec.convert(value, kind)
    found = sorted(
        (document.line_of(fault.path), fault.path, f"{fault.message}{_origin(fault.path, origins or {})}")
        for fault in faults(whole, kind)
    )
    raise FileError("\n".join(f"{path}:{line}: {place}: {message}" for line, place, message in found))


def _origin(path: str, origins: Mapping[Steps, str]) -> str:
    """Where what is at the path stands, if not in the file."""
    steps = steps_of(path)
    around = (steps[:size] for size in range(len(steps), 0, -1))
    return next((f" (the value is from {found})" for each in around if (found := origins.get(each))), "")


def find_files(paths: Iterable[Path], *, tests: bool = False) -> list[Path]:
    """The files among these paths, and the policy files, or only the tests, in the folders among them.

    Raises FileError if there are none.
    """
    files = [file for path in paths for file in (_in_folder(path, tests=tests) if path.is_dir() else [path])]
    if not files:
        kind = f"tests ({', '.join(TESTS)})" if tests else f"policy files ({', '.join(SUFFIXES)})"
        raise FileError(f"there are no {kind} in {', '.join(map(str, paths))}")
    return list(dict.fromkeys(files))


def require_one_file_each(files: Sequence[ReadFile]) -> None:
    """Raise FileError if two files have the same owner: each would delete what the other has."""
    seen: dict[str, Path] = {}
    for read in files:
        if (first := seen.setdefault(read.file.owner, read.path)) is not read.path:
            raise FileError(f"{read.path}:1: {read.file.owner} is already defined in {first}; merge the two files")


def as_file(policies: Sequence[Policy], owner: dict[str, Any]) -> dict[str, Any]:
    """A policy file as plain values: as a person would write it, without anything specific to one workspace."""
    return {**owner, "policies": [_entry(policy) for policy in policies]}


def as_owner(agent: FileAgent) -> dict[str, Any]:
    """The agent as a file names it: by one word, if that says all."""
    says_all = agent == FileAgent.of_word(agent.name)
    return {"agent": agent.name if says_all else msgspec.to_builtins(agent)}


def plain(policy: Policy) -> dict[str, Any]:
    """The fields of a policy that an admin can set, as plain values in reading order; not those that are off anyway."""
    shown = {each.encode_name: msgspec.to_builtins(getattr(policy, each.name)) for each in _FIELDS}
    off = {name for name, value in shown.items() if value is None or (value is False and _DEFAULTS[name] is False)}
    shown = {name: value for name, value in shown.items() if name not in off}
    shown["rules"] = [{"type": rule["type"], "tools": rule["tools"], **rule} for rule in shown["rules"]]
    return shown


def _entry(policy: Policy) -> dict[str, Any]:
    shown = plain(replace(policy, managed_by=None))
    return {name: value for name, value in shown.items() if name not in _DEFAULTS or _DEFAULTS[name] != value}


def _in_folder(folder: Path, *, tests: bool) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        # Whatever cannot be read is refused later, and not left out: the policies in it would be missing. Editors lock
        # a file by a link to nowhere.
        is_named_so = path.name.endswith(SUFFIXES) and path.name.endswith(TESTS) == tests
        if is_named_so and not path.is_dir() and not path.name.startswith(".#"):
            yield path
