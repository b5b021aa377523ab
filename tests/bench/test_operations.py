"""What a decision takes, in bytecode operations: counted exactly, so that a growth is seen when it lands."""

import os
import sys

import pytest

from bench.harness.bench import Bench
from bench.harness.cores import Cores
from bench.harness.machine import ROOT
from bench.harness.processes import store_binaries
from bench.operations import EXACTLY, OPERATIONS, SAME, TRACED, VARIED, C, count_calls, count_decide, decide_cases

pytestmark = pytest.mark.skipif(
    sys.version_info[:2] != (3, 11), reason="each version of Python has its own bytecode; CI counts that of 3.11"
)

WITHIN = 0.001
OF_CALLS = {SAME: 3_039, VARIED: 3_140, TRACED: 3_262}
C_CALLS = {SAME: 99, VARIED: 103, TRACED: 105}
OF_DECIDE = {
    "1 policy on the tool": 368,
    "100 policies on the tool": 9_220,
    "500 policies on the tool": 45_620,
    "100 policies, one of them on the tool": 368,
    "100 rules of one policy on the tool": 8_329,
    "16 further parameters in the call": 415,
    "a rule that reads a record": 1_088,
    "no card, IBAN or credential in any value": 2_254,
    "a shell line of 205 characters": 8_859,
}
"""Of calls that come one by one. If a change takes fewer, write down how many; if it takes more, find out why first."""


@pytest.mark.parametrize("case", OF_DECIDE)
def test_decide_takes_what_it_took(case):
    """Other conditions on other tools cost nothing, and those on the tool less than a hundred each."""
    assert count_decide(*decide_cases()[case])[OPERATIONS] == pytest.approx(OF_DECIDE[case], rel=WITHIN)


@pytest.mark.slow
@pytest.mark.parametrize("kind", OF_CALLS)
def test_a_plain_allowed_call_takes_what_it_took(tmp_path, kind):
    """From its bytes to those of its answer, also with heads that change by call; no part of it has moved into C."""
    usable = sorted(os.sched_getaffinity(0))
    cores = Cores(usable[0], usable[-1])
    store = next(iter(store_binaries()))
    bench = Bench(cores=cores, seconds=0, rounds=1, store=store, folder=tmp_path, command="")
    counted = count_calls(bench, ROOT, kind, connections=1)
    assert counted[EXACTLY] == pytest.approx(OF_CALLS[kind], rel=WITHIN)
    assert counted[C] <= C_CALLS[kind] * 1.01
