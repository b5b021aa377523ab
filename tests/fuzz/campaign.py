"""Fuzzes one target guided by coverage: `python tests/fuzz/campaign.py TARGET SECONDS`; needs `pip install atheris`.

Begins with the corpus and writes to var/fuzz/TARGET what reaches new code; what deserves to stay is copied into the
corpus by hand, under a name that says what it is. Ends at the first input that raises, and keeps it as crash-….
"""

import sys
from pathlib import Path

import atheris  # in no list of dependencies: only who fuzzes needs it

HERE = Path(__file__).parent
with atheris.instrument_imports(include=["app"]):
    from targets import TARGETS

name, seconds = sys.argv[1:]
found = HERE.parents[1] / "var/fuzz" / name
found.mkdir(parents=True, exist_ok=True)
options = [f"-max_total_time={seconds}", f"-artifact_prefix={found}/", "-max_len=4096", "-timeout=10"]
atheris.Setup([sys.argv[0], *options, str(found), str(HERE / "corpus" / name)], TARGETS[name])
atheris.Fuzz()
