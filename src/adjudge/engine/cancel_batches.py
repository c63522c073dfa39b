"""`adjudge runs cancel`: cancels the open batches of a run at their providers."""

from __future__ import annotations

from collections.abc import Mapping

from ..models import Network, parse_model
from ..store import RunRow, Store


def models_to_cancel_at(store: Store, run: RunRow) -> list[str]:
    """The models whose providers are called to cancel the open batches of a run."""
    specs = _specs_of(run)
    return [specs.get(row.model, row.model) for row in store.batches(run) if row.holds_calls]


def _specs_of(run: RunRow) -> dict[str, str]:
    return {entry["spec"]: entry.get("model", entry["spec"]) for entry in run.manifest["models"]}


async def cancel_all(
    store: Store, run: RunRow, key_env: str | Mapping[str, str] | None = None
) -> tuple[int, list[str]]:
    """Cancel the open batches of a run at their providers; how many were, and why the others were not."""
    network = Network()
    specs = _specs_of(run)
    n_cancelled, left = 0, []
    try:
        for row in store.batches(run):
            if not row.holds_calls:
                continue
            env = key_env.get(row.model) if isinstance(key_env, Mapping) else key_env
            model = parse_model(specs.get(row.model, row.model), key_env=env, network=network)
            api = model.batch_api()
            if model.identity.partition("|")[2] != row.identity.partition("|")[2] or api is None:
                left.append(
                    f"{row.remote or row.name}: it was submitted to another address than {model.endpoint}"
                )
            elif row.state != "open":
                left.append(f"{row.remote or row.name}: it is {row.state}; the command of the run settles it")
            elif (fault := await api.cancel(row.remote)) is not None:
                left.append(f"{row.remote}: {fault.message}")
            else:
                n_cancelled += 1
    finally:
        await network.close()
    return n_cancelled, left
