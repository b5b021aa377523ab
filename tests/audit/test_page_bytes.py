"""How much one page of a query may hold."""

from app.audit.read.backward_search import PAGE_BYTES, Page


def test_a_page_holds_four_mebibytes_and_says_where_to_go_on():
    """Otherwise a thousand entries of 60 KB would take 60 MB for every client that asks and does not read."""
    page = Page(1000, 0)
    sequence = 1000
    while not page.offer(sequence, b"x" * 60_000):
        sequence -= 1
    assert len(page.lines) == PAGE_BYTES // 60_000
    assert page.last == sequence + 1
    one = Page(1000, 0)
    assert not one.offer(1, b"x" * (PAGE_BYTES + 1))
    assert one.offer(2, b"x")
    assert len(one.lines) == 1
