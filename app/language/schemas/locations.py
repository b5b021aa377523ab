"""Joins the parts of a JSON Schema that are applied to the same value."""

from collections.abc import Iterator
from typing import Any

from app.language.schemas.numbers import SchemaNumbers

MAX_CHECKS = 1 << 18
"""The most checks of places in the schema against values; at about 40 ns each, they take up to ten milliseconds."""

_OF_THE_SAME = ("allOf", "anyOf", "oneOf")
_BRANCHES = ("not", "if", "then", "else")
_BY_NAME = ("dependentSchemas", "dependencies")
_OF_EACH_MEMBER = ("additionalProperties", "unevaluatedProperties")
_OF_EACH_ITEM = ("items", "contains", "unevaluatedItems")

Node = tuple[Any, int]
"""A part of a schema, and how many times it is applied."""


class Place:
    """Parts of a schema that are applied to the same value.

    checks, size: the cost of any value, and of each byte of a string. numbers: those that values are compared with.
    enums: the extra cost of a container. uniques: how often the items of a list are compared. names_size: the cost of
    each byte of a name. by_name, member, name, positions, item: the parts applied to a container's members by name, to
    each member, to each name, to items by position, to each item.
    """

    __slots__ = (
        "by_name", "checks", "enums", "item", "member", "name", "names_size", "numbers", "positions", "size", "uniques",
    )  # fmt: skip

    def __init__(self, nodes: list[Node], root: Any, sizes: dict[str, int]) -> None:
        self.checks = self.size = self.enums = self.uniques = self.names_size = 0
        self.numbers = SchemaNumbers()
        self.by_name: dict[str, list[Node]] = {}
        self.positions: dict[int, list[Node]] = {}
        self.member: list[Node] = []
        self.name: list[Node] = []
        self.item: list[Node] = []
        for node, times in self._together(nodes, root):
            self.enums += times * len(listed(node, "enum"))
            self.uniques += times if node.get("uniqueItems") else 0
            self.numbers.add(node, times)
            if isinstance(node.get("pattern"), str):
                self.size += times * sizes[node["pattern"]]
            self.names_size += times * sum(sizes[pattern] for pattern in named(node, "patternProperties"))
            for name, part in named(node, "properties").items():
                self.by_name.setdefault(name, []).append((part, times))
            for index, part in enumerate(listed(node, "prefixItems")):
                self.positions.setdefault(index, []).append((part, times))
            self.member += ((part, times) for part in named(node, "patternProperties").values())
            self.member += _under(node, _OF_EACH_MEMBER, times)
            self.name += _under(node, ("propertyNames",), times)
            self.item += _under(node, _OF_EACH_ITEM, times)

    def _together(self, nodes: list[Node], root: Any) -> list[Node]:
        """These parts and all parts inside them that apply to the same value, each once, with its number of checks."""
        counted: dict[int, Node] = {}
        left = list(nodes)
        while left and self.checks <= MAX_CHECKS:
            node, times = left.pop()
            self.checks += times
            if type(node) is dict:
                counted[id(node)] = node, times + counted.get(id(node), (node, 0))[1]
                left += ((part, times) for part in _of_the_same(root, node))
        return list(counted.values())


def _of_the_same(root: Any, node: dict[str, Any]) -> Iterator[Any]:
    """The parts inside this one that are applied to the same value."""
    if isinstance(node.get("$ref"), str):
        yield place(root, node["$ref"])
    for keyword in _OF_THE_SAME:
        yield from listed(node, keyword)
    yield from (node[keyword] for keyword in _BRANCHES if keyword in node)
    for keyword in _BY_NAME:
        yield from named(node, keyword).values()


def _under(node: dict[str, Any], keywords: tuple[str, ...], times: int) -> list[Node]:
    return [(node[keyword], times) for keyword in keywords if keyword in node]


def place(root: Any, reference: str) -> Any:
    """The target of a `$ref`. Raises KeyError."""
    value = root
    for step in reference.removeprefix("#/").split("/"):
        if not isinstance(value, dict):
            raise KeyError(step)
        value = value[step.replace("~1", "/").replace("~0", "~")]
    return value


def named(node: dict[str, Any], keyword: str) -> dict[str, Any]:
    """The keyword's object; {} if it is not an object, as where a `$ref` points to something other than a schema."""
    value = node.get(keyword)
    return value if type(value) is dict else {}


def listed(node: dict[str, Any], keyword: str) -> list[Any]:
    """The keyword's list; [] if it is not a list."""
    value = node.get(keyword)
    return value if type(value) is list else []
