"""`--step`: accept scores between the levels of a protocol's scale, such as half points."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from ..errors import DataError
from ..records import Protocol, Scale
from .digest import with_digest


def with_finer_steps(protocols: Sequence[Protocol], step: float) -> list[Protocol]:
    """The protocols with this step on every scale that has a larger one; the prompts stay as they are.

    Raises `DataError` where the levels of a scale would not be kept, or where no scale has a larger step.
    """
    if not step > 0:
        raise DataError(f"--step {step:g}: must be more than 0, such as 0.5.")
    finer = [_with_step(protocol, step) for protocol in protocols]
    if all(new is old for new, old in zip(finer, protocols, strict=True)):
        raise DataError(
            f"--step {step:g}: no scale of this run has a larger step, so it would change nothing. Leave it"
            " out."
        )
    return finer


def _with_step(protocol: Protocol, step: float) -> Protocol:
    changed = {
        name: _finer(name, scale, step) for name, scale in protocol.criteria.items() if _has_levels(scale)
    }
    if all(scale == protocol.criteria[name] for name, scale in changed.items()) or protocol.answer.options:
        return protocol
    return with_digest(protocol, criteria={**protocol.criteria, **changed})


def _has_levels(scale: Scale | None) -> bool:
    return scale is not None and scale.step is not None and not scale.is_nominal


def _finer(name: str, scale: Scale | None, step: float) -> Scale | None:
    if scale is None or scale.step is None or step >= scale.step:
        return scale
    parts = scale.step / step
    if abs(parts - round(parts)) > 1e-9:
        raise DataError(
            f"--step {step:g}: the scale of '{name}' has the step {scale.step:g}, which is no multiple of it."
            f" Give one that divides it, such as {scale.step / 2:g}."
        )
    return structs.replace(scale, step=step)
