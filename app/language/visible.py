"""Tells characters that a person can see from invisible ones."""

import unicodedata

_BLANK = frozenset(
    chr(code)
    for first, last in (
        (0x034F, 0x034F),  # combining grapheme joiner
        (0x115F, 0x1160),  # Hangul fillers
        (0x17B4, 0x17B5),  # Khmer inherent vowels
        (0x180B, 0x180F),  # Mongolian variation selectors
        (0x2800, 0x2800),  # the Braille pattern without a dot
        (0x2D7F, 0x2D7F),  # Tifinagh consonant joiner
        (0x3164, 0x3164),
        (0xFE00, 0xFE0F),  # variation selectors
        (0xFFA0, 0xFFA0),
        (0x1107F, 0x1107F),  # Brahmi number joiner
        (0x13441, 0x13446),  # blanks and lost signs of Egyptian hieroglyphs
        (0x16FE4, 0x16FE4),  # Khitan filler
        (0x1D159, 0x1D159),  # a musical note without a head
        (0xE0100, 0xE01EF),
    )
    for code in range(first, last + 1)
)
"""Letters, marks and symbols according to Unicode, but invisible."""


def is_hidden(character: str) -> bool:
    """True if a character is invisible: control, format, unassigned, private or blank. A space is a visible gap."""
    # Zs (wide spaces) are visible gaps; Python merely does not call them printable.
    printable = character.isprintable() or unicodedata.category(character) == "Zs"
    return not printable or character in _BLANK


def first_hidden(text: str) -> str | None:
    """The first invisible character, or None."""
    if text.isascii() and text.isprintable():
        return None
    return next(filter(is_hidden, text), None)
