"""Policy files as text: YAML as a person would write it, or JSON."""

import re
from typing import Any

import msgspec
import yaml

_WIDTH = 140
_HIDDEN = re.compile(r"[^\w.@ -]+")
_NAME_CHARACTERS = 80


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """No aliases, indented lists, and quotes around everything that YAML 1.1 or 1.2 would misread."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002 - PyYAML's
        super().increase_indent(flow, False)


def _text(dumper: yaml.SafeDumper, text: str) -> Any:
    # Both versions read a string that PyYAML leaves unquoted as a string, with these exceptions.
    plain = re.fullmatch(r"[A-Za-z_/][\w ./@-]*", text) and not text.endswith(" ")
    style = None if plain else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _flat(dumper: yaml.SafeDumper, items: list[Any]) -> Any:
    is_flat = not any(isinstance(each, dict | list) for each in items) and len(str(items)) < _WIDTH - 40
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=is_flat)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _flat)


def as_yaml(value: Any) -> str:
    """The value as YAML."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH)
    return text


def as_json(value: Any) -> str:
    """The value as JSON."""
    return msgspec.json.format(msgspec.json.encode(value)).decode() + "\n"


def file_name(called: str) -> str:
    """A name that people chose, as a file name valid on any system; never `*.test`, as files with tests are called."""
    name = _HIDDEN.sub("-", called).strip(" .-")[:_NAME_CHARACTERS] or "unnamed"
    return f"{name.removesuffix('.test')}-test" if name.endswith(".test") else name
