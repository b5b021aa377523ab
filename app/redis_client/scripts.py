"""The scripts of `lua/`, alone or with the parts in the folder `lua/NAME`.

A script's header is its only declaration; it is read here, at import.
"""

import hashlib
import re
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

_PART_FILE = re.compile(r"--\[\[\n(?P<header>(?P<name>\w+): .*?)\n\]\]\n(?P<sections>--@ .*)", re.DOTALL)
_ORDER = re.compile(r"^PARTS +(\w[\w ]*(?:\n {14}\w[\w ]*)*)$", re.MULTILINE)
_PLACE = re.compile(r"^ *--@ (\w+): .*\n", re.MULTILINE)
_SECTION = re.compile(r"^--@ (\w+)\n", re.MULTILINE)
_PART_WORD = re.compile(r"^(KEYS|ARGV)\[p\+(.+?)\]\s+(\w+)", re.MULTILINE)
_PART_RETURNS = re.compile(r"^RETURNS\n((?:  .*\n)+)", re.MULTILINE)
_PART_ADDS = re.compile(r"^ADDS +(\w+)", re.MULTILINE)
_PART_STATUS = re.compile(r"^  (\w+) ", re.MULTILINE)
_UNSCOPED = {"names", "state"}
"""Sections whose code is not in a scope of its own: names, which later sections use, and expressions."""


class Part(Struct, frozen=True):
    """One file of a script's folder. header: of the file. sections: its code, by the place where it goes."""

    header: str
    sections: dict[str, str]

    def words(self, kind: str) -> tuple[str, ...]:
        """Names of its KEYS or ARGV, in order; one that may come any number of times is the last."""
        return tuple(name for of, _, name in _PART_WORD.findall(self.header) if of == kind)

    @property
    def replies(self) -> tuple[str, ...]:
        """Statuses that only a script with this part returns."""
        return tuple(_PART_STATUS.findall("".join(_PART_RETURNS.findall(f"{self.header}\n"))))

    @property
    def adds(self) -> tuple[str, ...]:
        """Names of what it may add to a reply."""
        return tuple(_PART_ADDS.findall(self.header))


def parse_part(name: str, text: str) -> Part:
    """The part in a file. Raises ValueError if it does not have the form shown in lua/README.md."""
    file = _PART_FILE.fullmatch(text)
    if file is None or file["name"] != name:
        raise ValueError(f"{name}.lua: the file begins with `--[[` and `{name}: …`, and has sections")
    _, *names_and_code = _SECTION.split(file["sections"])
    part = Part(file["header"], dict(zip(names_and_code[::2], names_and_code[1::2], strict=True)))
    for kind in ("KEYS", "ARGV"):
        places = [place for of, place, _ in _PART_WORD.findall(part.header) if of == kind]
        numbers = [str(number) for number in range(1, len(places) + 1)]
        if places not in (numbers, [*numbers[:-1], f"{len(places) - 1}+i"], ["i"]):
            raise ValueError(f"{name}.lua: the places of {kind} are {places}")
    return part


def read_parts(folder: Path, text: str) -> dict[str, Part]:
    """The parts that the script's header names, in its order. Raises ValueError unless they are the folder's files."""
    order = _ORDER.search(text)
    names = order[1].split() if order else []
    if sorted(names) != sorted(path.stem for path in folder.glob("*.lua")):
        raise ValueError(f"{folder}: the files are not the PARTS of the script")
    parts = {name: parse_part(name, (folder / f"{name}.lua").read_text("utf-8")) for name in names}
    places = set(_PLACE.findall(text))
    for name, part in parts.items():
        if not part.sections.keys() <= places:
            raise ValueError(f"{folder}/{name}.lua: the script has the places {sorted(places)} and no others")
    return parts


def with_parts(name: str, text: str, parts: dict[str, Part]) -> str:
    """The script with each part's sections in their places, under another name."""

    def sections_of(place: re.Match[str]) -> str:
        scope = "-- {}\n{}" if place[1] in _UNSCOPED else "do -- {}\n{}end\n"
        sections = ((each, part.sections.get(place[1])) for each, part in parts.items())
        return "".join(scope.format(each, section) for each, section in sections if section)

    head, end, body = text.partition("\n]]\n")
    headers = "".join(f"--[[\n{part.header}\n]]\n" for part in parts.values())
    return re.sub(r"--\[\[\n\w+", f"--[[\n{name}", head, count=1) + end + headers + _PLACE.sub(sections_of, body)


_APP = Path(__file__).resolve().parent.parent
LUA = next(folder for folder in (_APP / "lua", _APP.parent / "lua") if folder.is_dir())
"""In a wheel, the scripts are inside the package; in a checkout, beside it."""

_FILE = re.compile(r"#!lua(?: flags=(?P<flags>\S+))?\n--\[\[\n(?P<header>(?P<name>\w+): .*?)\n\]\]\n", re.DOTALL)
_WORD = re.compile(r"^(KEYS|ARGV)\[(.+?)\]\s+(\w+)", re.MULTILINE)
_RETURNS = re.compile(r"^RETURNS +\{(?P<elements>[^}]*)\}\n(?P<statuses>(?:  .*\n)+)", re.MULTILINE)
_STATUS = re.compile(r"^  (\w+) ", re.MULTILINE)


class Script(Struct, frozen=True):
    """One file of `lua/`, as its header declares it, or one with its parts in it.

    keys, args: names of KEYS[1]… and ARGV[1]…; those of `repeated` come after them, once per item, any number of
    times; last_keys and last_args come at the end, in this order, those that come at all.
    replies: the first element of every reply it can give; elements: the names of the elements that each reply has;
    adds: names of elements that only some have, after the others, each with its name before it.
    flags: those in its first line. `allow-oom`: it makes room, revokes or deletes, or is needed for that, so even a
    store at its `maxmemory` runs it. `no-writes`: it only reads.
    """

    name: str
    flags: str
    keys: tuple[str, ...]
    repeated_keys: tuple[str, ...]
    last_keys: tuple[str, ...]
    args: tuple[str, ...]
    repeated_args: tuple[str, ...]
    last_args: tuple[str, ...]
    replies: tuple[str, ...]
    elements: tuple[str, ...]
    adds: tuple[str, ...]
    text: str
    sha: str

    @property
    def is_change(self) -> bool:
        """True if what it has done must not be lost: an admin's change, which is in the trail, or a sign-out.

        Such a script replies "done" once it has.
        """
        return not {"changes", "signed_out"}.isdisjoint(self.keys)


def parse_script(name: str, text: str, parts: tuple[Part, ...] = ()) -> Script:
    """The script declared by its header and those of its parts.

    Raises ValueError if the header does not have the form shown in lua/README.md.
    """
    file, returns = _FILE.match(text), _RETURNS.search(text)
    if file is None or file["name"] != name or returns is None:
        raise ValueError(f"lua/{name}.lua: the file begins with `#!lua`, `--[[`, `{name}: …` and has RETURNS")
    words = _WORD.findall(file["header"])
    keys, repeated_keys, last_keys = _numbered(name, "KEYS", words)
    args, repeated_args, last_args = _numbered(name, "ARGV", words)
    return Script(
        name=name,
        flags=file["flags"] or "",
        keys=keys,
        repeated_keys=repeated_keys,
        last_keys=(*last_keys, *(word for part in parts for word in part.words("KEYS"))),
        args=args,
        repeated_args=repeated_args,
        last_args=(*last_args, *(word for part in parts for word in part.words("ARGV"))),
        replies=(*_STATUS.findall(returns["statuses"]), *(status for part in parts for status in part.replies)),
        elements=tuple(returns["elements"].split(", ")),
        adds=tuple(name for part in parts for name in part.adds),
        text=text,
        sha=hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(),
    )


def _numbered(name: str, kind: str, words: list[tuple[str, str, str]]) -> tuple[tuple[str, ...], ...]:
    """The names that occur once, that repeat, and that come last; their numbers are checked."""
    rows = [(place, word) for of, place, word in words if of == kind]
    last = [word for place, word in rows if place == f"#{kind}"]
    repeated = [word for place, word in rows if place.endswith("i")]
    fixed = [word for place, word in rows if place.isdecimal()]
    before, step = len(fixed) - len(repeated), f"{len(repeated)}i" if len(repeated) > 1 else "i"
    places = [str(number) for number in range(1, len(fixed) + 1)]
    places += [f"{before + n}+{step}" if before + n else step for n in range(1, len(repeated) + 1)]
    places += [f"#{kind}"] * len(last)
    if [place for place, _ in rows] != places:
        raise ValueError(f"lua/{name}.lua: the places of {kind} are {[place for place, _ in rows]}, not {places}")
    return tuple(fixed), tuple(repeated), tuple(last)


_BY_NAME = {path.stem: parse_script(path.stem, path.read_text("utf-8")) for path in sorted(LUA.glob("*.lua"))}
COMMIT_PARTS = read_parts(LUA / "commit_decision", _BY_NAME["commit_decision"].text)
"""Parts that a commit may need; `commit_with_parts` is the script for commits that need any."""
_COMMITS = {
    "commit_with_parts": COMMIT_PARTS,
    # For commits that only need approvals; the other parts would take a tenth of their time in the store.
    "commit_asking": {name: COMMIT_PARTS[name] for name in ("parts", "approvals")},
}
for _name, _parts in _COMMITS.items():
    _text = with_parts(_name, _BY_NAME["commit_decision"].text, _parts)
    _BY_NAME[_name] = parse_script(_name, _text, tuple(_parts.values()))
_WHOLE = re.compile(r"^--@ (\w+)\n", re.MULTILINE)


def _body_of(match: re.Match[str]) -> str:
    """The code of the script that a line of another one names, without its header and comments."""
    code = re.sub(r"--\[\[\n.*?\n\]\]\n", "", _BY_NAME[match[1]].text.partition("\n]]\n")[2], flags=re.DOTALL)
    return _PLACE.sub("", code)


_text = _WHOLE.sub(_body_of, _BY_NAME["commit_batch"].text)
_batch = parse_script("commit_batch", _text)
_BY_NAME["commit_batch"] = replace(_batch, replies=(*_batch.replies, *_BY_NAME["commit_with_parts"].replies))
# Deletions make room, so a store at its maxmemory runs them; it refuses other changes.
_text = with_parts("delete_policies", _BY_NAME["put_policies"].text, {}).replace(
    "#!lua\n", "#!lua flags=allow-oom\n", 1
)
_BY_NAME["delete_policies"] = parse_script("delete_policies", _text)
SCRIPTS = tuple(_BY_NAME.values())

ACCEPT_FORK = _BY_NAME["accept_fork"]
ADVANCE_OUTBOX = _BY_NAME["advance_outbox"]
ASK_POLICY_REVIEW = _BY_NAME["ask_policy_review"]
CHECK_KEY = _BY_NAME["check_key"]
COMMIT_ASKING = _BY_NAME["commit_asking"]
COMMIT_BATCH = _BY_NAME["commit_batch"]
COMMIT_DECISION = _BY_NAME["commit_decision"]
COMMIT_WITH_PARTS = _BY_NAME["commit_with_parts"]
COMMITS = (COMMIT_DECISION, COMMIT_ASKING, COMMIT_WITH_PARTS, COMMIT_BATCH)
DECIDE_APPROVAL = _BY_NAME["decide_approval"]
DELETE_AGENT = _BY_NAME["delete_agent"]
DELETE_POLICIES = _BY_NAME["delete_policies"]
DELETE_WEBHOOK = _BY_NAME["delete_webhook"]
DROP_SEGMENT = _BY_NAME["drop_segment"]
DROP_SPENT_COUNTS = _BY_NAME["drop_spent_counts"]
END_APPROVAL = _BY_NAME["end_approval"]
END_POLICY_REVIEW = _BY_NAME["end_policy_review"]
FREEZE_AGENT = _BY_NAME["freeze_agent"]
FREE_STREAM = _BY_NAME["free_stream"]
GROW_TREE = _BY_NAME["grow_tree"]
MARK_ARCHIVED = _BY_NAME["mark_archived"]
NOTE_FINDING = _BY_NAME["note_finding"]
NOTE_MISMATCH = _BY_NAME["note_mismatch"]
NOTE_SIGN_OUT = _BY_NAME["note_sign_out"]
PROBE_COMMIT = _BY_NAME["probe_commit"]
PUT_AGENT = _BY_NAME["put_agent"]
PUT_KEY = _BY_NAME["put_key"]
PUT_CHECKPOINT = _BY_NAME["put_checkpoint"]
PUT_CATALOG = _BY_NAME["put_catalog"]
PUT_POLICIES = _BY_NAME["put_policies"]
PIN_REQUEST = _BY_NAME["pin_request"]
PUT_SIGN_IN = _BY_NAME["put_sign_in"]
PUT_TOKEN = _BY_NAME["put_token"]
PUT_ISSUER = _BY_NAME["put_issuer"]
PUT_WEBHOOK = _BY_NAME["put_webhook"]
QUARANTINE_ENTRIES = _BY_NAME["quarantine_entries"]
READ_FRAMES = _BY_NAME["read_frames"]
READ_POINTER = _BY_NAME["read_pointer"]
READ_QUOTAS = _BY_NAME["read_quotas"]
READ_SNAPSHOT = _BY_NAME["read_snapshot"]
RETRY_EVENTS = _BY_NAME["retry_events"]
RECORD_OUTCOME = _BY_NAME["record_outcome"]
REVOKE_KEY = _BY_NAME["revoke_key"]
ROTATE_KEY = _BY_NAME["rotate_key"]
SEAL_CHANGES = _BY_NAME["seal_changes"]
SEAL_SEGMENT = _BY_NAME["seal_segment"]
SUBMIT_ACCESS_REQUEST = _BY_NAME["submit_access_request"]
TAKE_LEASE = _BY_NAME["take_lease"]
