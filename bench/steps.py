"""CPU of a judgment in steps, per call, beside that of a one-step run with as many calls.

    python bench/steps.py [ITEMS] [CLAIMS]

Both runs use a fake judge inside this process, so that all CPU is Adjudge's own: rendering, claims, parsing,
storing.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import adjudge
from adjudge.models.fake import FakeModel
from adjudge.records import Call

SOURCE = "Ada Lovelace, born in London in 1815, wrote notes on the Analytical Engine of Charles Babbage. " * 8


def in_steps(n_claims: int, call: Call) -> str:
    if call.kind == "extract":
        return "\n".join(f"{number}. Claim {number}." for number in range(1, n_claims + 1))
    return json.dumps(
        {"reason": "It is stated.", "evidence": ["born in London in 1815"], "verdict": "supported"}
    )


def one_step(_call: Call) -> str:
    return "It is stated in the source.\n[RESULT] 4"


def cpu_of(items: list[dict[str, str]], protocol: str, model: FakeModel, **options: object) -> float:
    """CPU seconds for each call of one run."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        adjudge.run(items, protocol, model, store=Path(folder) / "bench.db", **options)  # type: ignore[arg-type]
        return (time.process_time() - started) / model.n_asked


def main(n_items: int = 1000, n_claims: int = 8) -> None:
    items = [
        {"id": str(n), "response": f"Text {n}. {SOURCE}", "source": f"{n} {SOURCE}"} for n in range(n_items)
    ]
    steps = cpu_of(items, "claims/supported", FakeModel(lambda call: in_steps(n_claims, call)))
    n_calls = n_items * (1 + n_claims)
    tasks = [
        {"id": str(n), "task": f"Task {n}. {SOURCE}", "response": f"Text {n}. {SOURCE}"}
        for n in range(n_calls)
    ]
    rubric = Path(__file__).parents[1] / "examples" / "tact.toml"
    plain = cpu_of(tasks, "prometheus/direct", FakeModel(one_step), rubric=rubric)
    print(
        f"{n_items:,} items x {n_claims} claims: {1000 * steps:.3f} ms of CPU a call in steps,"
        f" {1000 * plain:.3f} ms in one step, ratio {steps / plain:.2f}"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
