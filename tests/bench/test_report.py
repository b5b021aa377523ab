import pytest
from test_table import a_table

from bench.__main__ import QUESTIONS
from bench.harness import report
from bench.harness.machine import Machine
from bench.harness.report import Report, read_results, update_readme, write_results


@pytest.fixture
def run():
    machine = Machine(
        taken_at="2026-11-20T12:00:00+00:00",
        cpu="A processor",
        cores=2,
        memory_gib=8.0,
        kernel="6.1",
        python="3.11.7",
        packages={"litestar": "2.25.0"},
        store="Redis 7.0.15",
        file_system="ext4",
        commit="abc",
        changed_files=0,
        load_before=0.1,
        remark="Nothing else ran.",
    )
    return Report(machine=machine, command="python -m bench example", seconds=1, rounds=3, tables=[a_table()])


def test_a_results_file_holds_every_round(run, tmp_path, monkeypatch):
    """What the median hides can be looked up."""
    monkeypatch.setattr(report, "RESULTS", tmp_path)

    read = read_results(write_results(run, "example"))

    assert read == run


def test_the_readme_gets_the_table_between_its_marks_and_keeps_the_rest(run, tmp_path, monkeypatch):
    """Prose around a table is written by hand and stays."""
    readme = tmp_path / "README.md"
    readme.write_text("before\n<!-- begin example -->\nold\n<!-- end example -->\nafter\n")
    monkeypatch.setattr(report, "README", readme)

    assert update_readme(run, "x.json") == ["example"]

    text = readme.read_text()
    assert text.startswith("before\n")
    assert text.endswith("<!-- end example -->\nafter\n")
    assert "old" not in text
    assert "| empty (baseline) | 200 | 1.00 |" in text
    assert "Nothing else ran." in text


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_has_its_place_in_the_readme(question):
    """A table that nobody placed would be measured and never shown; where there is none, it says why."""
    text = report.README.read_text()

    answer = text.partition(f"<!-- begin {question} -->\n")[2].partition(f"<!-- end {question} -->")[0]
    assert answer.strip()
