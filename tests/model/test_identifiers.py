"""UUIDv7s: their layout, their order, and which strings are ids."""

import uuid
from collections import Counter

import pytest

from app.model.ids import Ids, uuid_of

NOW_MS = 1_795_176_896_789


def test_an_id_is_a_uuid_of_version_7():
    """RFC 9562: 48 bits of time, version 7, variant 10."""
    ids = Ids()
    for _ in range(1000):
        text = ids.new(NOW_MS)
        parsed = uuid.UUID(text)
        assert str(parsed) == text
        assert (parsed.version, parsed.variant) == (7, uuid.RFC_4122)
        assert parsed.int >> 80 == NOW_MS


@pytest.mark.parametrize("now_ms", [0, 1, NOW_MS, (1 << 48) - 1])
def test_an_id_keeps_its_layout_at_the_ends_of_time(now_ms):
    """From 1970 to the last millisecond that 48 bits hold."""
    assert uuid.UUID(Ids().new(now_ms)).int >> 80 == now_ms


def test_ids_sort_by_time():
    """As strings, which is how stores and clients sort them."""
    ids = Ids()
    made = [ids.new(NOW_MS + 10 * step) for step in range(500)]
    assert sorted(made) == made


def test_no_id_is_made_twice():
    """Neither by one maker, over many refills of its random bytes, nor by two in the same millisecond."""
    first, second = Ids(), Ids()
    made = [maker.new(NOW_MS) for _ in range(20_000) for maker in (first, second)]
    assert len(set(made)) == len(made)


def test_the_62_random_bits_are_random():
    """Each is set in about half of the ids of one millisecond."""
    ids, count = Ids(), 4000
    bits = Counter()
    for _ in range(count):
        number = uuid.UUID(ids.new(0)).int
        bits.update(place for place in range(62) if number >> place & 1)
    assert [place for place in range(62) if not 0.4 * count < bits[place] < 0.6 * count] == []


def test_an_id_does_not_tell_how_many_were_made_before_it():
    """The counter of a millisecond starts at random, so two makers do not hand out neighbours."""
    starts = {uuid.UUID(Ids().new(NOW_MS)).int >> 64 & 0xFFF for _ in range(200)}
    assert len(starts) > 100
    assert max(starts) < 2048


def test_an_id_is_in_lower_case_with_dashes():
    """Only one spelling is stored and compared."""
    text = "0198A1B2-C3D4-7E5F-8A9B-0C1D2E3F4A5B"
    assert uuid_of(text) == text.lower()
    assert uuid_of(text.lower()) == text.lower()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0198a1b2c3d47e5f8a9b0c1d2e3f4a5b",
        "{0198a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b}",
        "urn:uuid:0198a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b",
        "0198a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b\n",
        " 0198a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b",
        "0198a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5",
        "0198a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5g",
        "0198a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5\uff42",
        "\u0660198a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b",
        "remit:{0198a1b2-c3d4-7e5f-8a9b-0c1d2e3f}",
        "*",
    ],
)
def test_a_string_that_is_not_a_uuid_with_dashes_is_not_an_id(text):
    """Ids become parts of key names, so nothing else may pass."""
    assert uuid_of(text) is None


def test_ids_made_in_one_millisecond_sort_in_the_order_in_which_they_were_made():
    """So of two policies created in one millisecond, one is the older."""
    ids = Ids()
    made = [ids.new(1_800_000_000_000) for _ in range(2000)]
    assert made == sorted(made)
