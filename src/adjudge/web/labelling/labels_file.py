"""The labels of a run as a CSV file for `adjudge trust --labels`."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from ...data import LABEL_COLUMNS, guarded
from ...errors import DataError
from ...records import Label
from ...render.written_answer import number_text
from ...store import open_store


def labels_csv(labels: Sequence[Label]) -> str:
    """Labels as CSV for `trust --labels`, with a column for the subject where any label has one."""
    has_subjects = any(label.subject is not None for label in labels)
    columns = [name for name in LABEL_COLUMNS if name != "subject" or has_subjects]
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for label in labels:
        writer.writerow(
            {
                "item": guarded(label.item),
                "criterion": guarded(label.criterion),
                "subject": label.subject or "",
                "rater": guarded(label.rater),
                "value": label.value if isinstance(label.value, str) else number_text(label.value),
                "probability": "" if label.probability is None else f"{label.probability:.6g}",
                "text_hash": label.text_hash or "",
            }
        )
    return out.getvalue()


def export_labels(store_path: str | Path, run_name: str, path: Path) -> int:
    """Write the labels of a run to a new file; how many. An
    existing file is never replaced: it may hold labels.
    """
    with open_store(store_path, write=False) as store:
        run = store.run(run_name)
        labels = store.labels(run)
    if not labels:
        raise DataError(f"{run.name} has no labels yet. Add some: adjudge annotate {run.name}")
    try:
        with path.open("x", encoding="utf-8", newline="") as file:
            file.write(labels_csv(labels))
    except FileExistsError:
        raise DataError(f"{path} already exists and may contain labels. Choose another name.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}. Choose another place.") from error
    return len(labels)
