"""Which characters a person sees."""

import unicodedata

_BLANK = frozenset(
    chr(code)
    for first, last in (
        (0x034F, 0x034F),  # combining grapheme joiner
        (0x115F, 0x1160),  # Hangul fillers
        (0x17B4, 0x17B5),  # Khmer inherent vowels
        (0x180B, 0x180F),  # Mongolian variation selectors
        (0x2800, 0x2800),  # the Braille pattern without a dot
        (0x3164, 0x3164),
        (0xFE00, 0xFE0F),  # variation selectors
        (0xFFA0, 0xFFA0),
        (0x13441, 0x13446),  # blanks and lost signs of Egyptian hieroglyphs
        (0x16FE4, 0x16FE4),  # Khitan filler
        (0x1D159, 0x1D159),  # a musical note without a head
        (0xE0100, 0xE01EF),
    )
    for code in range(first, last + 1)
)
"""Letters, marks and symbols to Unicode, and nothing to the eye."""


def is_hidden(character: str) -> bool:
    """Whether a person sees nothing: control, format, unassigned, private and blank characters. A space is a gap."""
    # Zs (wide spaces) are visible gaps; Python merely does not call them printable.
    printable = character.isprintable() or unicodedata.category(character) == "Zs"
    return not printable or character in _BLANK


def first_hidden(text: str) -> str | None:
    """The first character in it that nobody sees."""
    if text.isascii() and text.isprintable():
        return None
    return next(filter(is_hidden, text), None)
