"""The command `adjudge`."""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import sys
import traceback
from typing import Any


def main() -> None:
    """Run the command line. Every failure is a message and a documented exit code, never a traceback.

    A gate's exit code 1 means "worse": nothing else may end with it, also not a full disk or a fault of the
    program.
    """
    from ..untrusted import EscapedStream

    # All commands make many objects and few cycles. Looking for cycles at Python's default rate costs a
    # twelfth of the CPU of a run or a card.
    gc.set_threshold(50_000, 10, 10)
    before = sys.stdout, sys.stderr
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # the command was started with a closed stream
            stream = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open until the process ends
        # Prompts hold every script; a terminal that claims ASCII must not end a command.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
        setattr(sys, name, EscapedStream(stream) if stream.isatty() else stream)
    try:
        code = _exit_code()
    finally:
        sys.stdout, sys.stderr = before
    sys.exit(code)


def _exit_code() -> int:
    """Run the command; print why it failed."""
    import typer

    from ..errors import AdjudgeError
    from ..exit_codes import DONE, INTERRUPTED, MISTAKE
    from .app import app

    try:
        result = app(prog_name="adjudge", standalone_mode=False)
        sys.stdout.flush()
    except AdjudgeError as error:
        return _failed(str(error))
    except BrokenPipeError:
        # The reading end of the pipe was closed (`adjudge … | head`): not an error.
        _drop_output()
        return DONE
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except OSError as error:
        _drop_output()
        return _failed(_disk_message(error))
    except MemoryError:
        return _failed("there is not enough memory. Give fewer items at once, or close other programs.")
    except Exception as error:  # noqa: BLE001 - the last place that can turn a fault into a message
        if (show := getattr(error, "show", None)) is not None:
            # A wrong flag or argument: the parser knows how to say it.
            show()
            return int(getattr(error, "exit_code", MISTAKE))
        return _failed(_fault_message(error))
    return result if isinstance(result, int) else DONE


def _failed(message: str) -> int:
    from ..exit_codes import MISTAKE
    from .terminal import print_error

    # Standard error may be full or closed too; the exit code still counts.
    with contextlib.suppress(OSError, ValueError):
        print_error(message)
        sys.stderr.flush()
    return MISTAKE


def _drop_output() -> None:
    """Send what is still buffered nowhere: Python would fail with it again when it ends."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _disk_message(error: OSError) -> str:
    reason = (error.strerror or str(error)).lower()
    if error.filename is not None:
        name = str(error.filename)
        shown = name if len(name) <= 200 else f"{name[:200]}…"
        return f"{shown}: {reason}. Check the name, the permissions and the disk."
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the output cannot be written: {reason}. Free some space, or write to another place."
    return f"reading or writing failed: {reason}. Check where the output goes, and the disk."


def _fault_message(error: Exception) -> str:
    """What a fault of the program says: where it happened,
    without the values of variables, which may hold a key.
    """
    if os.environ.get("ADJUDGE_TRACEBACK"):
        traceback.print_exception(error)
    frames: list[Any] = traceback.extract_tb(error.__traceback__)
    where = (
        f"{os.path.basename(frames[-1].filename)} line {frames[-1].lineno}" if frames else "an unknown place"
    )
    return (
        f"an error inside Adjudge: {type(error).__name__} at {where}.\n"
        "Please report it with the command. ADJUDGE_TRACEBACK=1 in the environment shows more."
    )
