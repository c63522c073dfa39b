"""What users have confirmed of a run file or a store: which variables, addresses and files outside its folder
it may use.

Kept outside the project, a file for each run file and store, so that no project can confirm itself. A set of
names is confirmed once: other changes of the file ask nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from .errors import DataError
from .untrusted import safe

VARIABLE = "ADJUDGE_TRUST_RUN_FILE"


Confirm = Callable[[Path, Sequence[str]], bool]
"""Shows the names of a file to the user and asks; None where there is no one to ask."""


class Confirmed(Struct, frozen=True):
    """A run file or a store, and the names that its user has confirmed."""

    run_file: str
    names: tuple[str, ...]


def check_confirmed(
    file: Path,
    names: Sequence[str],
    confirm: Confirm | None = None,
    asks: str = "asks for more than its own folder",
) -> None:
    """Raise where a file names something outside its folder that the user has not confirmed."""
    if not names or os.environ.get(VARIABLE, "") not in ("", "0") or set(names) <= _confirmed(file):
        return
    if confirm is not None and confirm(file, names):
        remember(file, names)
        return
    raise DataError(
        f"{file} {asks}, and you have not confirmed it. It wants to\n"
        f"{printed_names(names)}\n"
        "Nothing was done. To confirm it once, run the command in a terminal. In CI, if you trust the file: "
        f"--trust-run-file, or {VARIABLE}=1 in the environment."
    )


def printed_names(names: Sequence[str]) -> str:
    """The names as lines of a message; none of their characters acts on a terminal."""
    return "\n".join(f"  {safe(name)}" for name in names)


def remember(file: Path, names: Sequence[str]) -> None:
    """Keep what the user has confirmed; where that is not possible, it is requested again."""
    path, known = _path(file), _confirmed(file)
    if known.issuperset(names):
        return
    names = sorted(known.union(names))
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        partial = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
            out.write(msgspec.json.encode(Confirmed(os.path.realpath(file), tuple(names))))
        os.replace(partial, path)


def _confirmed(file: Path) -> set[str]:
    try:
        kept = msgspec.json.decode(_path(file).read_bytes(), type=Confirmed)
    except (OSError, msgspec.DecodeError):
        return set()
    return set(kept.names) if kept.run_file == os.path.realpath(file) else set()


def _path(file: Path) -> Path:
    name = hashlib.sha256(os.fsencode(os.path.realpath(file))).hexdigest()
    return _folder() / f"{name}.json"


def _folder() -> Path:
    """The folder of this user's confirmations."""
    xdg = os.environ.get("XDG_DATA_HOME")
    if xdg and os.path.isabs(xdg):
        data = Path(xdg)
    elif sys.platform == "darwin":
        data = Path.home() / "Library" / "Application Support"
    elif sys.platform == "win32":
        data = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        data = Path.home() / ".local" / "share"
    return data / "adjudge" / "run-files"
