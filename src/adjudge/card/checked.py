"""How often replies are misread, from replies that a person checked by hand (`adjudge sample --replies`)."""

from __future__ import annotations

from pathlib import Path

from msgspec import structs

from ..data.lines import BrokenFileError
from ..data.tables import Problems, Table
from ..records import Estimate
from ..stats import wilson

_YES = ("yes", "y", "true", "1", "right")
_NO = ("no", "n", "false", "0", "wrong")


def misread_share(path: str | Path) -> Estimate:
    """The share of checked readings that are wrong, with Wilson's interval; rows not filled in are not counted.

    Several readings of one reply (a criterion each) go wrong together, so the interval counts replies.
    """
    table = Table(path)
    problems = Problems(table)
    n_right = n_wrong = 0
    replies: set[object] = set()
    try:
        for place, row in table.rows(problems.add):
            # A truth value of JSON, or whatever a person types into a spreadsheet.
            said = str(row["right"]).strip().lower() if row.get("right") is not None else ""
            if said in _YES:
                n_right += 1
            elif said in _NO:
                n_wrong += 1
            elif said:
                problems.add(place, f"right is '{said:.40}'. Write yes or no, or leave it empty.")
            if said:
                known = row.get("item"), row.get("order"), row.get("reply")
                replies.add(place if known == (None, None, None) else tuple(map(str, known)))
    except BrokenFileError as broken:
        if not problems:
            raise
        problems.add(0, broken.problem)
    n = n_right + n_wrong
    if not problems and n == 0:
        problems.add(0, "no row is checked. Write yes or no into the column 'right'.")
    if problems:
        raise problems.error()
    found = wilson(n_wrong / n * len(replies), len(replies))
    return structs.replace(found, value=n_wrong / n, n=n, unit=f"reply (n={len(replies)})")
