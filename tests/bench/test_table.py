from bench.harness.table import Goal, Row, Table, render, take_turns


def a_table(**changes):
    rows = [
        Row(label="empty", samples=[{"req/s": 100.0}, {"req/s": 200.0}, {"req/s": 300.0}]),
        Row(label="decision", samples=[{"req/s": 50.0}, {"req/s": 150.0}, {"req/s": 180.0}]),
    ]
    settings = {
        "name": "example",
        "question": "what does it cost?",
        "command": "python -m bench example",
        "columns": {"req/s": ",.0f"},
        "rows": rows,
        "baseline": "empty",
        "compared": "req/s",
    } | changes
    return Table(**settings)


def test_the_baseline_row_is_named_and_is_one():
    """Every table says what its numbers are compared with."""
    lines = render(a_table()).splitlines()

    assert "| empty (baseline) | 200 | 1.00 |" in lines


def test_a_ratio_is_the_median_of_the_rounds_and_not_the_ratio_of_the_medians():
    """0.50, 0.75 and 0.60: a round is compared with the round beside it, which saw the same neighbours."""
    assert "| decision | 150 | 0.60 |" in render(a_table()).splitlines()


def test_each_group_has_its_own_baseline():
    """With 32 connections nothing is compared with 1 connection."""
    rows = [
        Row(label="empty", group="1", samples=[{"req/s": 10.0}]),
        Row(label="decision", group="1", samples=[{"req/s": 5.0}]),
        Row(label="empty", group="32", samples=[{"req/s": 100.0}]),
        Row(label="decision", group="32", samples=[{"req/s": 80.0}]),
    ]

    lines = render(a_table(rows=rows, group_column="Connections")).splitlines()

    assert "| decision | 1 | 5 | 0.50 |" in lines
    assert "| decision | 32 | 80 | 0.80 |" in lines


def test_question_command_goals_and_omissions_stand_around_the_table():
    """A table without them cannot be checked."""
    goal = Goal(wanted="decision against empty", bound=0.7, at_least=True, measured=0.6)

    text = render(a_table(goals=[goal], left_out=["TLS."]))

    assert text.startswith("Question: what does it cost?")
    assert "`python -m bench example` · median of 3 rounds" in text
    assert "| decision against empty | ≥ 0.7 | 0.60 | **missed** |" in text
    assert "Notes: TLS." in text


def test_a_column_that_a_row_cannot_have_stays_empty():
    """An empty handler has no store, which is not the same as zero."""
    rows = [
        Row(label="empty", samples=[{"req/s": 10.0}]),
        Row(label="decision", samples=[{"req/s": 5.0, "store us": 3.0}]),
    ]

    lines = render(a_table(rows=rows, columns={"req/s": ".0f", "store us": ".1f"})).splitlines()

    assert "| empty (baseline) | 10 |  | 1.00 |" in lines


def test_a_goal_that_was_not_measured_is_not_met():
    """A peer that is not installed leaves a gap, not a tick."""
    assert Goal(wanted="x", bound=1, at_least=True, measured=None).met is None


def test_rounds_take_turns():
    """A B A B: whatever else runs on the machine affects both."""
    order = []

    def turn(name):
        return lambda: order.append(name) or {"req/s": 1.0}

    take_turns({"a": turn("a"), "b": turn("b")}, rounds=2)

    assert order == ["a", "b", "a", "b"]


def a_noisy_table(kept_waiting, **goal):
    rows = [Row(label="empty", samples=[{"req/s": 100.0, "service kept waiting %": kept_waiting}])]
    wanted = {"wanted": "decision against empty", "bound": 0.7, "at_least": True, "measured": 0.9} | goal
    return a_table(rows=rows, goals=[Goal(**wanted)])


def test_a_rate_is_not_judged_when_neighbours_had_the_core():
    """With half of the core lost to others, a ratio can come out either way, and has."""
    text = render(a_noisy_table(45.0))

    assert "**Not a quiet run**: others had the service's core for up to 45 %" in text
    assert "| decision against empty | ≥ 0.7 | 0.90 | not judged: not quiet |" in text


def test_cpu_time_is_judged_all_the_same():
    """Neighbours take time on the core, but do not change what a request costs."""
    assert "| decision against empty | ≥ 0.7 | 0.90 | met |" in render(a_noisy_table(45.0, needs_quiet=False))


def test_a_quiet_run_is_judged():
    """A percent of waiting is the kernel's own housekeeping."""
    text = render(a_noisy_table(1.0))

    assert "quiet" not in text
    assert "| decision against empty | ≥ 0.7 | 0.90 | met |" in text
