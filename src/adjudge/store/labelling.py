"""What one rater has said of a run's items, and taking a label back.

Beside `labels`, which keeps them: here are the two questions that somebody who is labelling asks again and again.
Nothing here knows what a label means.
"""

from __future__ import annotations

import msgspec

from ..records import Label
from .rows import json_of
from .runs import RunRow
from .store import Store

_COLUMNS = "item, criterion, rater, value, subject, probability, origin"


def rater_labels(store: Store, run: RunRow, rater: str) -> list[Label]:
    """The labels that a rater gave to items of a run, the last one last."""
    found = store._access.read(
        lambda connection: connection.execute(
            f"SELECT {_COLUMNS} FROM labels WHERE run = ? AND rater = ? ORDER BY id", (run.id, rater)
        ).fetchall()
    )
    return [
        Label(item, criterion, name, msgspec.json.decode(value), subject, probability, origin)
        for item, criterion, name, value, subject, probability, origin in found
    ]


def take_back(store: Store, run: RunRow, label: Label) -> bool:
    """Delete a label, durably; false where it is gone already, or has become another."""
    access = store._access
    return access.do(
        lambda: (
            access.connection.execute(
                "DELETE FROM labels WHERE run = ? AND item = ? AND criterion = ? AND rater = ?"
                " AND COALESCE(subject, '') = ? AND value = ?",
                (
                    run.id,
                    label.item,
                    label.criterion,
                    label.rater,
                    label.subject or "",
                    json_of(label.value).decode(),
                ),
            ).rowcount
            == 1
        )
    )
