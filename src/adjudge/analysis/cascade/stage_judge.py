"""One judge of a cascade as it was calibrated: the stored prompt, the model and the settings of its run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from ...confirmed import Confirm
from ...errors import DataError
from ...records import Protocol
from ...results.manifest import models_of, protocols_of, settings_to_judge_alike
from ...run_file.stored_models import check_stored_models
from ...store import open_store
from .cascade_file import StageFile


class StageJudge(NamedTuple):
    """What a stage asks, whom, and with which options of a run."""

    protocols: tuple[Protocol, ...]
    models: tuple[str, ...]
    settings: dict[str, Any]


def stage_judge(store: Path, stage: StageFile, confirm: Confirm | None = None) -> StageJudge:
    """The judge of a stage; `DataError` where its run has another protocol than the cascade was made with, or
    models that the user has neither asked with this store nor confirmed.
    """
    with open_store(store, write=False) as opened:
        run = opened.run(stage.run)
        protocols = protocols_of(opened, run)
    if ", ".join(protocols) != stage.protocol:
        raise DataError(
            f"{store}: run {run.name} has the protocol {', '.join(protocols)}, the cascade was "
            f"calibrated with {stage.protocol}. Calibrate it again with adjudge cascade."
        )
    models = models_of(run)
    check_stored_models(store, models, confirm)
    return StageJudge(tuple(protocols.values()), models, settings_to_judge_alike(run))
