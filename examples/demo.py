"""Judges the bundled examples with all five systems, and prints the reports.

The judge is a recording: we wrote the replies in `*.replies.jsonl` in the formats that real judges
use, so the demo needs no key and no network. Its scores show how replies are read, not how good a system is.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent

SYSTEMS = (
    ("GPTScore's criteria, Korean replies", "news", ["-p", "gptscore-ko/factuality"]),
    ("G-Eval comparison, both orders", "advice", ["-p", "geval/compare"]),
    ("Product opinion summaries", "products", ["-p", "opinion-summary/faithfulness"]),
    (
        "Chinese commentary",
        "commentary",
        ["-p", "commentary-zh/structure", "--examples", "commentary.examples.jsonl"],
    ),
    ("Prometheus with a rubric", "answers", ["-p", "prometheus/direct", "--rubric", "tact.toml"]),
)


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="adjudge-demo-"))
    store = folder / "adjudge.db"
    command = [sys.executable, "-c", "from adjudge.cli import main; main()"]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    for title, name, options in SYSTEMS:
        print(f"\n=== {title} " + "=" * max(0, 90 - len(title)), flush=True)
        subprocess.run(
            [*command, "run", f"{name}.jsonl", *options, "-m", f"replay:{name}.replies.jsonl",
             "--run", name, "--store", str(store), "--quiet"],
            cwd=HERE, env=environment, check=True,
        )  # fmt: skip
    print(
        f"\nFive runs are in {store}. The judge was a recording that ships with the examples; no "
        "model was called."
    )
    print("To explore them:")
    print(f"  .venv/bin/adjudge runs --store {store}")
    print(f"  .venv/bin/adjudge export advice --store {store} --format csv")
    print("  .venv/bin/adjudge protocols show geval/compare --item examples/advice.jsonl:1")


if __name__ == "__main__":
    main()
