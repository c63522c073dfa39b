"""What all attempts of a job have spent together, in USD: kept in STORE.spent, beside the store in the cache.

`spent.py begin` prints it when an attempt begins, `spent.py end` after the judging. Only what the run `next`
paid itself counts: replies that were in the store cost nothing. A run that was replaced, or has become the
baseline, is no longer `next`; what it paid stays in the file.
"""

import json
import os
import subprocess
import sys
from pathlib import Path


def main(moment: str) -> None:
    store = os.environ["STORE"]
    file, job = Path(f"{store}.spent"), os.environ.get("GITHUB_RUN_ID", "")
    is_first = int(os.environ.get("GITHUB_RUN_ATTEMPT") or 1) == 1
    run = _next_run(store)
    known = json.loads(file.read_text()) if file.exists() else {}
    if moment == "begin" and (is_first or known.get("job") != job):
        # What `next` paid before the first attempt was paid by an earlier job.
        spent = 0.0 if is_first else run["paid"]
    else:
        before = known["paid"] if known["started"] == run["started"] else 0.0
        spent = known["spent"] + run["paid"] - before
    file.write_text(json.dumps({"job": job, "spent": spent, **run}))
    print(spent)


def _next_run(store: str) -> dict[str, object]:
    """When the run `next` was started, and what it has paid; nothing where there is none."""
    if not Path(store).exists():
        return {"started": None, "paid": 0.0}
    listed = subprocess.run(
        ["adjudge", "runs", "list", "--store", store, "--json"], capture_output=True, text=True, check=True
    )
    runs = {run["run"]: run for run in json.loads(listed.stdout)}
    run = runs.get("next", {"started": None, "paid": None})
    return {"started": run["started"], "paid": run["paid"] or 0.0}


if __name__ == "__main__":
    main(sys.argv[1])
