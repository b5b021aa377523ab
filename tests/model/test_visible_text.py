"""Names contain only visible characters."""

import sys
import unicodedata

import pytest

from app.model.text import FieldError, require_visible, with_hidden_shown

HIDDEN = {
    "NUL": "\0",
    "line feed": "\n",
    "carriage return": "\r",
    "tab": "\t",
    "escape": "\x1b",
    "delete": "\x7f",
    "C1 control": "\x9b",
    "soft hyphen": "\xad",
    "combining grapheme joiner": "\u034f",
    "Arabic letter mark": "\u061c",
    "Hangul filler": "\u3164",
    "half-width Hangul filler": "\uffa0",
    "Hangul choseong filler": "\u115f",
    "Khmer inherent vowel": "\u17b4",
    "Mongolian vowel separator": "\u180e",
    "zero-width space": "\u200b",
    "zero-width non-joiner": "\u200c",
    "zero-width joiner": "\u200d",
    "left-to-right mark": "\u200e",
    "right-to-left mark": "\u200f",
    "line separator": "\u2028",
    "paragraph separator": "\u2029",
    "right-to-left embedding": "\u202b",
    "right-to-left override": "\u202e",
    "word joiner": "\u2060",
    "invisible times": "\u2062",
    "right-to-left isolate": "\u2067",
    "variation selector 1": "\ufe00",
    "variation selector 16": "\ufe0f",
    "byte order mark": "\ufeff",
    "interlinear annotation": "\ufff9",
    "private use": "\ue000",
    "unassigned": "\u0378",
    "noncharacter": "\uffff",
    "surrogate": "\ud800",
    "tag letter": "\U000e0041",
    "variation selector 17": "\U000e0100",
    "Tifinagh consonant joiner": "\u2d7f",
    "Brahmi number joiner": "\U0001107f",
}


@pytest.mark.parametrize("character", HIDDEN.values(), ids=HIDDEN)
@pytest.mark.parametrize("text", ["file.{}delete", "{}", "ünï{}"])
def test_hidden_characters_are_rejected(character, text):
    """Wherever they occur; the error says where and which, without repeating them."""
    hiding = text.format(character)

    with pytest.raises(FieldError) as raised:
        require_visible("name", hiding)

    position = hiding.index(character)
    assert raised.value.field == "name"
    assert f"U+{ord(character):04X} at position {position}" in raised.value.message
    assert character not in raised.value.message


@pytest.mark.parametrize(
    "text",
    ["a", "file.read", "naïve café", "日本語", "עברית", "العربية", "हिन्दी", "Ω≈ç√", "🚀", "a\u00a0b", "a\u3000b", " "],
)
def test_visible_characters_are_accepted(text):
    """Any script, and spaces of any width."""
    require_visible("name", text)


def test_prose_may_contain_only_line_feeds_and_tabs_as_hidden_characters():
    """Like a description; a carriage return or a direction override is refused there, too."""
    require_visible("description", "first\n\tsecond", lines=True)
    for character in ("\r", "\0", "\u202e", "\u200b"):
        with pytest.raises(FieldError):
            require_visible("description", f"first{character}second", lines=True)


def test_every_control_or_format_character_is_rejected():
    """By its Unicode category, so future characters are covered."""
    accepted = []
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code)) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}:
            try:
                require_visible("name", chr(code))
                accepted.append(f"{code:04x}")
            except FieldError:
                pass
    assert accepted == []


def test_hidden_characters_are_shown_as_their_code():
    """So callers' strings can be quoted without changing how a sentence reads."""
    assert with_hidden_shown("a\u202eb\0 é🚀\ufe0f\n") == "a\\u{202e}b\\u{0} é🚀\\u{fe0f}\\u{a}"
    assert with_hidden_shown("plain") == "plain"
