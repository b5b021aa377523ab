"""Numbers of cards and accounts are told from others, in every way that people write them, and in linear time."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mirror import kinds
from profiles import examples

from app.language.payment_numbers import holds_card, holds_iban

CARDS = [
    "4242424242424242",
    "4222222222222",
    "4000000000000000006",
    "5555555555554444",
    "2223003122003222",
    "378282246310005",
    "36227206271667",
    "3056930009020004",
    "6011111111111117",
    "3566002020360505",
    "6205500000000000004",
    "6759649826438453",
    "2200000000000053",
]
IBANS = [
    "DE89370400440532013000",
    "GB29NWBK60161331926819",
    "NO9386011117947",
    "MT84MALT011000012345MTLCAST001S",
    "FR1420041010050500013M02606",
    "SA0380000000608010167519",
    "LC55HEMM000100010012001200023015",
    "BR1800360305000010009795493C1",
    "CH9300762011623852957",
]


@pytest.mark.parametrize("number", CARDS)
def test_a_card_of_each_issuer_is_found_and_none_with_a_wrong_digit(number):
    """Nor one beside a letter, or after the point of another number."""
    assert holds_card(number)
    wrong = f"{number[:-1]}{(int(number[-1]) + 1) % 10}"
    assert [each for each in (wrong, f"x{number}", f"{number}x", f"0.{number}", f"9{number}") if holds_card(each)] == []


@pytest.mark.parametrize("number", IBANS)
def test_an_iban_is_found_and_none_with_a_wrong_sign(number):
    """Of the length that the country has."""
    grouped = " ".join(number[at : at + 4] for at in range(0, len(number), 4))
    assert all(map(holds_iban, (number, number.lower(), f"to {grouped}, today", f"to {grouped} today")))
    wrong = f"{number[:5]}{int(number[5] == '0')}{number[6:]}"
    others = (f"{number}0", f"x{number}", number[:-1], f"ZZ{number[2:]}", wrong)
    assert [each for each in others if holds_iban(each)] == []


@pytest.mark.parametrize(
    ("text", "is_card"),
    [
        ("Charge 4242 4242 4242 4242.", True),
        ("4242-4242-4242-4242", True),
        ("3782 822463 10005", True),
        ('{"pan":4242424242424242}', True),
        ("4242424242424242.0", True),
        ("12345 4242 4242 4242 4242 99", True),
        ("\uff14\uff12424242\u00a042424242", True),
        ("4242\u200b4242\u20134242\u20144242", True),
        ("\u0664\u0662424242 42424242", True),
        ("42 42 42 42 42 42 42 42", False),
        ("4242  4242 4242 4242", False),
        ("1719412345678 ms", False),
        ("id 0123456789abcdef4242424242424242", False),
        ("", False),
    ],
)
def test_cards_are_found_as_people_write_them(text, is_card):
    assert (holds_card(text), kinds.has_card(text)) == (is_card, is_card)


SIGNS = [
    "4242",
    "424242",
    "42424242",
    "3782",
    "822463",
    "10005",
    "42",
    "0",
    "DE89",
    "37040044",
    "0532013000",
    "NO93 8601",
]
SIGNS += ["1117947", " ", " ", "-", "-", ".", "x", "\n", "\u00e9", "\u200b", "\u2013", "\uff10", "_"]


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.sampled_from(SIGNS), max_size=10).map("".join))
@example("NO93 8601 1117947")
def test_what_is_found_is_what_is_found_by_trying_every_part(text):
    """Around numbers that are right, of pieces of them."""
    assert holds_card(text) == kinds.has_card(text)
    assert holds_iban(text) == kinds.has_iban(text)
