"""The exit codes of the commands: a contract with scripts and CI."""

from __future__ import annotations

DONE = 0
WORSE = 1
MISTAKE = 2
NOT_ENOUGH_EVIDENCE = 3
ALL_FAILED = 4
STOPPED = 5
SUBMITTED = 6
INTERRUPTED = 130

MEANINGS = {
    DONE: "done; failed judgments are counted in the output",
    WORSE: "`gate`: fail; `drift`: changed; `protocols check`: problems or suspicions",
    MISTAKE: "a mistake in the command or a file: the message says what is wrong, where, and what to do",
    NOT_ENOUGH_EVIDENCE: "not enough evidence (`gate`, `drift`, `cascade`, `tune`)",
    ALL_FAILED: "every judgment failed; `gate`: the judge failed too often",
    STOPPED: "stopped by the budget, a quota or a host that is down for longer than `--patience`; "
    "the same command resumes",
    SUBMITTED: "submitted in batches that are not answered yet; the same command collects them",
    INTERRUPTED: "interrupted; the same command resumes",
}
"""The same in the documentation."""
