from bench.peers.windows import most_within


def test_the_most_in_any_window_is_found_wherever_it_lies():
    """Two at the end of one window and three at the start of the next are five within one."""
    at = [0.0, 1.90, 1.95, 2.0, 2.05, 2.10, 5.0]

    assert most_within([(moment, moment) for moment in at], 2.0) == 5


def test_only_what_surely_lies_within_a_window_counts():
    """Two admissions exactly a window apart, or a slow answer, prove nothing."""
    assert most_within([(0.0, 0.1), (1.95, 2.05)], 2.0) == 1
    assert most_within([(0.0, 0.1), (1.8, 1.9)], 2.0) == 2
