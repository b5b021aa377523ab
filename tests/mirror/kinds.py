"""What a text has in it, written from the rows of docs/semantics.md: every part of it is tried."""

import re
import unicodedata

CARDS = {
    r"4": [13, 16, 19],
    r"5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720": [16],
    r"34|37": [15],
    r"30[0-5]|3095|36|38|39": range(14, 20),
    r"6011|64[4-9]|65|35(2[89]|[3-8])|62|220[0-4]|506[01]": range(16, 20),
    r"60|508|81|82|9792": [16],
    r"5018|5020|5038|5893|6304|6759|676[1-3]": range(12, 20),
}
LENGTHS = {"DE": 22, "GB": 22, "NO": 15, "MT": 31, "FR": 27}
"""Of the countries that tests have IBANs of."""


def has_kind(text: str, kind: str) -> bool:
    return {"card": has_card, "iban": has_iban, "secret": has_secret}[kind](text)


def as_written(text: str) -> str:
    made = ""
    for char in unicodedata.normalize("NFKC", text):
        category = unicodedata.category(char)
        if category == "Nd":
            made += str(int(char))
        elif category != "Cf":
            made += {"Pd": "-", "Zs": " "}.get(category, "-" if char == "\u2212" else char)
    return made


def parts(text: str, most: int):
    """Every part with no letter or digit beside it, without its spaces and hyphens, which stand alone."""
    text = as_written(text)
    for begin in range(len(text)):
        for end in range(begin + 1, min(len(text), begin + 2 * most) + 1):
            part = text[begin:end]
            beside = (text[begin - 1 : begin] if begin else "") + text[end : end + 1]
            if not any(map(str.isalnum, beside)) and re.fullmatch("[0-9A-Za-z]+([ -][0-9A-Za-z]+)*", part):
                yield text[:begin], part, part.replace(" ", "").replace("-", "")


def has_card(text: str) -> bool:
    return any(
        digits.isdigit()
        and min(map(len, re.split("[ -]", part))) >= 3
        and not re.search(r"[0-9]\.$", before)
        and any(re.match(first, digits) and len(digits) in lengths for first, lengths in CARDS.items())
        and luhn(digits)
        for before, part, digits in parts(text, 19)
    )


def luhn(digits: str) -> bool:
    total = 0
    for place, digit in enumerate(reversed(digits)):
        doubled = int(digit) * (1 + place % 2)
        total += doubled // 10 + doubled % 10
    return total % 10 == 0


def has_iban(text: str) -> bool:
    return any(
        re.match("[A-Za-z]{2}[0-9]{2}", part)
        and LENGTHS.get(signs[:2].upper()) == len(signs)
        and int("".join(str(int(sign, 36)) for sign in signs[4:] + signs[:4])) % 97 == 1
        for _, part, signs in parts(text, 34)
    )


def has_secret(text: str) -> bool:
    """Of the credentials that tests have."""
    return re.search(r"\b(sk-[A-Za-z0-9_-]{16,}|AKIA[A-Z0-9]{16}\b)", text) is not None
