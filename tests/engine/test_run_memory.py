"""A run takes as much memory for very many items as for a few."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from running import DIRECT, ended, python

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="memory is measured by /proc, which this system lacks"
)

RUN = """
import atexit, sys
from pathlib import Path

def tell():
    status = Path("/proc/self/status").read_text()
    print(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")), file=sys.stderr)

atexit.register(tell)
from adjudge.cli import main
main()
"""


def peak_kb(folder: Path, n: int) -> int:
    """The most memory that a run of so many items took, its report included."""
    items, replies = folder / f"{n}.jsonl", folder / f"{n}.replies.jsonl"
    with items.open("w") as file:
        for k in range(n):
            row = {
                "id": f"item-{k}",
                "instruction": "Say something about the number.",
                "response": f"{k} " * 40,
            }
            file.write(json.dumps(row) + "\n")
    with replies.open("w") as file:
        for k in range(n):
            file.write(
                json.dumps({"item": f"item-{k}", "text": f"Fine for {k}. [RESULT] {k % 5 + 1}"}) + "\n"
            )
    judge = f"replay:{replies}"
    ran = ended(
        python(RUN, "run", items, *DIRECT, "-m", judge, "--store", folder / f"{n}.db", "-q", "--json"), 600
    )
    assert ran.code == 0, ran.err
    assert (ran.json["n_scores"], ran.json["n_failed"]) == (n, 0)
    return int(ran.err)


@pytest.mark.slow
def test_a_hundred_thousand_items_take_at_most_60_mb_more_than_a_thousand(tmp_path: Path) -> None:
    assert peak_kb(tmp_path, 100_000) - peak_kb(tmp_path, 1_000) < 60_000
