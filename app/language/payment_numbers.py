"""Numbers of payment cards and bank accounts in a text, told from others by their check digits.

Cards: the ranges and lengths of ISO/IEC 7812 issuers, and the check digit of Luhn (Annex B). Accounts: the lengths of
the IBAN registry (ISO 13616), and its two check digits, by which the number leaves 1 when divided by 97. Both as people
write them: in groups, with single spaces or hyphens between them.
"""

import re
import unicodedata
from itertools import accumulate
from string import ascii_letters, digits

_ALONE = r"(?<![^\W_])", r"(?![^\W_])"
"""No letter or digit stands before, or after."""

# Not the digits after the point of a number, either.
_groups = re.compile(rf"{_ALONE[0]}(?<![0-9]\.)[0-9]{{3,19}}(?:[ -][0-9]{{3,19}})*{_ALONE[1]}").finditer
_begins_iban = re.compile(rf"{_ALONE[0]}[A-Za-z]{{2}}[0-9]{{2}}").finditer
_LONG, _MAESTRO = range(16, 20), range(12, 20)
_ISSUERS: tuple[tuple[str, range | tuple[int, ...]], ...] = (
    ("4", (13, 16, 19)),  # Visa
    ("51-55 2221-2720", (16,)),  # Mastercard
    ("34 37", (15,)),  # American Express
    ("300-305 3095 36 38-39", range(14, 20)),  # Diners Club
    ("6011 644-649 65", _LONG),  # Discover
    ("3528-3589", _LONG),  # JCB
    ("62", _LONG),  # UnionPay
    ("60 508 81-82", (16,)),  # RuPay
    ("2200-2204", _LONG),  # Mir
    ("9792", (16,)),  # Troy
    ("5060-5061", _LONG),  # Verve
    ("5018 5020 5038 5893 6304 6759 6761-6763", _MAESTRO),
)
"""The beginnings of an issuer's numbers, and their lengths."""


def _lengths_by_beginning() -> dict[bytes, frozenset[int]]:
    """The lengths of the numbers that begin with these four digits."""
    found: dict[bytes, frozenset[int]] = {}
    for beginnings, lengths in _ISSUERS:
        for beginning in beginnings.split():
            first, _, last = beginning.partition("-")
            for four in range(int(first.ljust(4, "0")), int((last or first).ljust(4, "9")) + 1):
                found[b"%04d" % four] = found.get(b"%04d" % four, frozenset()) | frozenset(lengths)
    return found


_LENGTHS = _lengths_by_beginning()
_BY_LENGTH = {
    15: "NO", 16: "BE", 18: "DK FI FK FO GL NL SD", 19: "MK SI", 20: "AT BA EE KZ LT LU MN XK", 21: "CH HR LI LV",
    22: "BG BH CR DE GB GE IE ME RS VA", 23: "AE GI IL IQ OM SO TL", 24: "AD CZ ES MD PK RO SA SE SK TN VG",
    25: "LY PT ST", 26: "IS TR", 27: "BI DJ FR GR IT MC MR SM", 28: "AL AZ BY CY DO GT HN HU LB NI PL SV",
    29: "BR EG PS QA UA", 30: "JO KW MU YE", 31: "MT SC", 32: "LC", 33: "RU",
}  # fmt: skip
_RESTS = {
    country: re.compile(rf"(?:[ -]?[0-9A-Za-z]){{{length - 4}}}{_ALONE[1]}")
    for length, countries in _BY_LENGTH.items()
    for country in countries.split()
}
"""What follows the four first signs of an account's number, by country."""
_MOST_GROUPS = 7
"""One more than the groups of at least three digits in a card's number."""


def holds_card(text: str) -> bool:
    """True if the text has the number of a payment card in it: that of an issuer, with a right check digit."""
    for found in _groups(_plain(text)):
        groups = found[0].replace("-", " ").encode().split(b" ")
        number, ends = b"".join(groups), list(accumulate(map(len, groups), initial=0))
        for at, begin in enumerate(ends[:-1]):
            lengths = _LENGTHS.get(number[begin : begin + 4])
            if lengths and any(
                end - begin in lengths and _has_right_digit(number[begin:end])
                for end in ends[at + 1 : at + _MOST_GROUPS]
            ):
                return True
    return False


_DOUBLED = bytes.maketrans(b"0123456789", b"0246813579")


def _has_right_digit(number: bytes) -> bool:
    """True if the last digit is the check digit of Luhn."""
    return (sum(number[-1::-2]) + sum(number[-2::-2].translate(_DOUBLED)) - ord("0") * len(number)) % 10 == 0


def holds_iban(text: str) -> bool:
    """True if the text has an IBAN in it: of a country that has them, as long as they are there, and right."""
    text = _plain(text)
    for begin in _begins_iban(text):
        rest = _RESTS.get(begin[0][:2].upper())
        number = rest and rest.match(text, begin.end())
        if number and _remainder(number[0] + begin[0]) == 1:
            return True
    return False


_AS_NUMBERS: dict[int, str | None] = {ord(sign): str(int(sign, 36)) for sign in f"{ascii_letters}{digits}"}
_AS_NUMBERS |= {ord(" "): None, ord("-"): None}


def _remainder(signs: str) -> int:
    """Of the number of these signs, with letters as 10 to 35, divided by 97."""
    return int(signs.translate(_AS_NUMBERS)) % 97


class _Plain(dict[int, str | int | None]):
    """What a character is read as: digits of any script as ASCII, any dash and space as one; marks of format vanish."""

    def __missing__(self, code: int) -> str | int | None:
        char = chr(code)
        match unicodedata.category(char):
            case "Nd":
                return str(unicodedata.decimal(char))
            case "Pd":
                return "-"
            case "Zs":
                return " "
            case "Cf":
                return None
        return "-" if char == "\N{MINUS SIGN}" else code


_READ_AS = _Plain({code: code for code in range(128)})


def _plain(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text).translate(_READ_AS)
