"""The command `adjudge`."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line; invalid input gives a message and exit 2, never a traceback."""
    import typer

    from ..errors import AdjudgeError
    from .app import app
    from .terminal import print_error

    for stream in (sys.stdout, sys.stderr):
        # Prompts hold every script; a terminal that claims ASCII must not end a command.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        result = app(prog_name="adjudge", standalone_mode=False)
    except AdjudgeError as error:
        print_error(str(error))
        sys.exit(2)
    except BrokenPipeError:
        # The reading end of the pipe was closed (`adjudge … | head`): not an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except typer.Abort:
        sys.exit(130)
    except Exception as error:
        show = getattr(error, "show", None)
        if show is None:
            raise
        # A wrong flag or argument: the parser knows how to say it.
        show()
        sys.exit(getattr(error, "exit_code", 2))
    sys.exit(result if isinstance(result, int) else 0)
