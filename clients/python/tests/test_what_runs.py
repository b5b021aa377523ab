"""What a guarded function runs with is what Remit was asked about, whatever its arguments are called or made of."""

import asyncio
import dataclasses
import datetime as dt
import decimal
import enum
import pathlib
import threading
import uuid
from collections import UserString

import pytest
from cases import PATIENT, SHARED, YES
from service import answer

from remit_client import AsyncRemit, Remit
from remit_client.arguments import folded, frozen, strict_json
from remit_client.enforcement import Enforcer
from remit_client.gate import Framework, ToolCall, gates

KEY = "svc_" + "0" * 32


class Kind(enum.Enum):
    GIFT = "gift"


@dataclasses.dataclass
class Order:
    amount: decimal.Decimal
    kind: Kind


class Model:
    """What the rules know of a pydantic model."""

    model_fields = {"amount": None}  # noqa: RUF012
    model_extra = {"note": "x"}  # noqa: RUF012

    def __init__(self):
        self.amount = 5

    def model_dump(self):
        return {"amount": 1}


class Twice(Model):
    """A model in which `amount` has an alias, so that an extra value may have its name."""

    model_extra = {"amount": 9000}  # noqa: RUF012


@pytest.fixture
def guarded(faulty):
    """Wrap a function; returns the wrapped one and the list of what was asked."""
    server = faulty(*[answer(200, YES)] * 5)
    with Remit(server.url, KEY, **PATIENT) as remit:
        asked = []
        authorize = remit.authorize

        def kept(agent, tool, parameters=None, **more):
            asked.append(parameters)
            return authorize(agent, tool, parameters, **more)

        remit.authorize = kept
        yield lambda function, fixed=None: (remit.guard("bot", "tool", fixed)(function), asked)


def a_positional(to, /, **extra):
    return to, extra


def a_list(*args, **extra):
    return args, extra


def a_plain_self(self, **extra):
    return self, extra


class Bank:
    def pay(self, /, **extra):
        return extra

    @staticmethod
    def seat(cls, of="A1"):  # noqa: PLW0211 - the class of a seat
        return cls, of

    @classmethod
    def found(cls, /, **extra):
        return extra


class Branch(Bank):
    """Inherits everything."""


class Seats(list):
    """A list in another class."""


@pytest.mark.parametrize(
    ("function", "args", "kwargs"),
    [
        (a_positional, ("ann",), {"to": "evil"}),
        (a_list, ("ann",), {"args": ["evil"]}),
        (Bank.pay, (Bank(),), {"self": "evil"}),
    ],
)
def test_two_arguments_of_one_name_are_refused(guarded, function, args, kwargs):
    """The function can tell them apart, and a policy could not."""
    ask, asked = guarded(function)
    with pytest.raises(TypeError, match="two values of one call"):
        ask(*args, **kwargs)
    assert not asked


def test_fixed_parameters_hide_no_argument(guarded):
    """Neither one that the function declares nor one that it collects."""
    with pytest.raises(TypeError, match="two values of one call"):
        guarded(lambda to: to, {"to": "ann"})
    ask, asked = guarded(lambda **extra: extra, {"to": "ann"})
    with pytest.raises(TypeError, match="two values of one call"):
        ask(to="evil")
    assert not asked


@pytest.mark.parametrize("function", [a_plain_self, Bank.seat])
@pytest.mark.parametrize(
    "value", ["evil", Order(decimal.Decimal(1), Kind.GIFT), Model(), dt.date(2026, 11, 20), Seats()]
)
def test_the_first_argument_of_a_function_is_judged_whatever_its_name(guarded, function, value):
    """And whatever it is made of: only what a method is called on is left out."""
    ask, asked = guarded(function)
    ask(value)
    assert frozen({"x": value})["x"] in asked[-1].values()


def test_what_a_method_is_called_on_is_not_judged(guarded):
    """An object or a class, also of a class that inherits the method; neither has to be JSON."""
    for function, on in ((Bank.pay, Bank()), (Bank.pay, Branch()), (vars(Bank)["found"].__func__, Branch)):
        ask, asked = guarded(function)
        ask(on, to="ann")
        assert asked[-1] == {"to": "ann"}
    ask, asked = guarded(Bank.seat)
    with pytest.raises(TypeError, match="no rule"):
        ask(Bank())


def test_arguments_changed_during_the_judgement_do_not_run(faulty):
    """By another thread, while the answer is awaited; for both clients, and for defaults."""
    ran, given = [], {"lines": [1]}
    default = [1]

    def tool(order, more=default):
        ran.append((order, more))

    async def async_tool(order, more=default):
        ran.append((order, more))

    def change():
        given["lines"].append(9000)
        default.append(9000)
        return {"user": "ann"}

    server = faulty(*[answer(200, YES)] * 2)
    with Remit(server.url, KEY, **PATIENT) as remit:
        remit.guard("bot", "tool", context=change)(tool)(given)
    assert ran == [({"lines": [1]}, [1])]
    given["lines"], default[:] = [1], [1]

    async def run():
        async with AsyncRemit(server.url, KEY, **PATIENT) as remit:
            await remit.guard("bot", "tool", context=change)(async_tool)(given)

    asyncio.run(run())
    assert ran[1] == ({"lines": [1]}, [1])


@pytest.mark.parametrize(
    ("value", "judged"),
    [
        (decimal.Decimal("120.50"), 120.5),
        (decimal.Decimal("1E+3"), 1000),
        (dt.date(2026, 11, 20), "2026-11-20"),
        (dt.datetime(2026, 11, 20, 12, tzinfo=dt.timezone.utc), "2026-11-20T12:00:00+00:00"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (pathlib.PurePosixPath("/srv/a"), "/srv/a"),
        (Kind.GIFT, "gift"),
        (Order(decimal.Decimal("1.5"), Kind.GIFT), {"amount": 1.5, "kind": "gift"}),
        (Model(), {"amount": 5, "note": "x"}),
        ((1, (2,)), [1, [2]]),
        (enum.IntEnum("N", {"ONE": 1}).ONE, 1),
        (2**64 + 1, 2**64 + 1),
        (None, None),
    ],
)
def test_a_value_is_judged_by_its_rule(guarded, value, judged):
    """And the function gets it as it was."""
    ask, asked = guarded(lambda x: x)
    ran = ask(value)
    assert asked == [{"x": judged}]
    assert type(asked[0]["x"]) is type(judged)
    assert type(ran) is type(value)


@pytest.mark.parametrize(
    "value",
    [
        {1, 2},
        b"x",
        object(),
        float("nan"),
        decimal.Decimal("Infinity"),
        decimal.Decimal("12345678901234567890.55"),
        decimal.Decimal("1E+400"),
        {1: "a", "1": "b"},
        Twice(),
        UserString("a"),
        Order,
        1j,
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_without_a_rule_is_named(value):
    """With its place, and nothing of the value but its type."""
    with pytest.raises(TypeError, match=r'^Parameter "x\.y\[1\]" '):
        frozen({"x": {"y": [0, value]}})


def test_another_thread_sees_copies(guarded):
    """What runs is not what the caller still holds."""
    mine = {"a": [threading.get_ident()]}
    ask, _ = guarded(lambda x: x)
    ran = ask(mine)
    assert ran == mine
    assert ran is not mine
    assert ran["a"] is not mine["a"]


@pytest.mark.parametrize("text", SHARED["ambiguous"])
def test_json_that_two_parsers_read_differently_is_refused(text):
    with pytest.raises(ValueError, match=r"member|NUL|JSON|large"):
        strict_json(text)


@pytest.mark.parametrize(("name", "spelled"), SHARED["spellings"].items())
def test_names_are_folded_as_the_service_folds_them(name, spelled):
    assert {folded(other) for other in spelled["same"]} == {name}
    assert name not in {folded(other) for other in spelled["other"]}


@pytest.mark.parametrize("mapping", [{"refund_create": "refund.create"}, lambda name: name.replace("_", ".")])
def test_a_framework_s_name_is_mapped_to_the_policies(faulty, mapping):
    """Frameworks allow no dots. An approval is asked for under the same name."""
    server = faulty(answer(200, YES))
    with Remit(server.url, KEY, **PATIENT) as remit:
        asked, authorize = [], remit.authorize
        remit.authorize = lambda agent, tool, *more, **named: (
            asked.append(tool) or authorize(agent, tool, *more, **named)
        )
        Enforcer(remit, "bot", tool_name=mapping).check("refund_create", {})
    assert asked == ["refund.create"]


@pytest.mark.parametrize(
    ("given", "said"),
    [({"to": {1}}, 'Parameter "to" is a set'), ({"to": 1}, "asking for permission failed (KeyError)")],
)
def test_where_a_run_goes_on_the_model_reads_that_there_is_no_decision(given, said):
    """Which argument has no JSON, but nothing of another error's text."""
    remit = Remit("http://127.0.0.1:1", KEY, **PATIENT)
    gate, _ = gates(remit, "desk", Framework(goes_on=True), context=lambda: {}["a secret"])
    verdict = gate.judge(ToolCall("pay", given))
    assert verdict.decision is None
    assert said in verdict.text
    assert "a secret" not in verdict.text
