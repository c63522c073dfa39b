"""Writes the recording that `adjudge demo --recorded` plays, from a store in which the demo has judged all
its items.

adjudge demo --limit 30 --store demo.db
python bench/record_demo.py demo.db
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

from adjudge.cli.demo import SYSTEMS
from adjudge.store import open_store

FILE = Path(__file__).resolve().parents[1] / "src" / "adjudge" / "demo" / "likelihoods.jsonl.gz"


def recorded(path: Path, run: str) -> list[dict[str, Any]]:
    """One row for each response of the demo and each criterion."""
    rows = []
    with open_store(path, write=False) as store:
        for asked in store.asked(store.run(run)):
            if asked.item is None or asked.reply.logprobs is None:
                raise SystemExit(f"{path}: a call of {run} has no likelihood; nothing was written.")
            if asked.item.system not in SYSTEMS:
                continue
            rows.append(
                {
                    "item": asked.item.id,
                    "criterion": asked.call.criteria[0],
                    "text": asked.reply.text,
                    # Four digits are more than the figures show, and half the size.
                    "logprobs": [
                        {"token": token.token, "logprob": round(token.logprob, 4)}
                        for token in asked.reply.logprobs
                    ],
                    "model_name": asked.reply.model_name,
                }
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("store", type=Path)
    parser.add_argument("--run", default="live-30")
    parser.add_argument("--to", type=Path, default=FILE)
    arguments = parser.parse_args()
    rows = recorded(arguments.store, arguments.run)
    lines = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows)
    # No name and no time in the file: the same likelihoods make the same bytes.
    arguments.to.write_bytes(gzip.compress(lines.encode(), 9, mtime=0))
    print(f"{len(rows)} likelihoods, {arguments.to.stat().st_size / 1000:.0f} kB in {arguments.to}")


if __name__ == "__main__":
    main()
