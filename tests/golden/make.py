"""Makes the golden files, or with --check says where today's outputs differ from them.

python tests/golden/make.py [--check] [scenario...]
"""

from __future__ import annotations

import difflib
import shutil
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from scenarios import SCENARIOS  # noqa: E402
from stage import Stage  # noqa: E402

SHOWN = 40
"""How many lines of the differences of one scenario are shown."""


def made(scenario: str, folder: Path) -> Path:
    """The folder with what a scenario says today."""
    out = folder / "out" / scenario
    Stage(folder / "work" / scenario, out).play(SCENARIOS[scenario])
    return out


def differences(scenario: str, out: Path) -> str:
    """What differs between a scenario's golden files and those in `out`: empty where they are the same
    bytes."""
    golden = HERE / scenario
    names = sorted({path.name for folder in (golden, out) if folder.is_dir() for path in folder.iterdir()})
    differing: list[str] = []
    for name in names:
        was, now = (
            path.read_bytes().decode() if path.exists() else None for path in (golden / name, out / name)
        )
        if was == now:
            continue
        differing.append(
            f"=== {scenario}/{name}" + (" is new" if was is None else " is gone" if now is None else "")
        )
        if was is not None and now is not None:
            lines = difflib.unified_diff(
                was.splitlines(), now.splitlines(), "golden", "now", n=1, lineterm=""
            )
            changed = [line[:300] for line in lines][2:]
            differing += changed[:12] + ([f"… {len(changed) - 12} more lines"] if len(changed) > 12 else [])
    if len(differing) > SHOWN:
        differing[SHOWN:] = [
            f"… {len(differing) - SHOWN} more lines; all: python tests/golden/make.py {scenario}; git diff"
        ]
    return "\n".join(differing)


def main() -> int:
    names = [name for name in sys.argv[1:] if name != "--check"]
    unknown = [name for name in names if name not in SCENARIOS]
    if unknown:
        print(f"unknown: {', '.join(unknown)}. There are: {', '.join(SCENARIOS)}")
        return 2
    is_same = True
    with tempfile.TemporaryDirectory(prefix="adjudge-golden-") as folder:
        for name in names or SCENARIOS:
            began = time.process_time()
            out = made(name, Path(folder))
            differing = differences(name, out)
            is_same &= not differing
            if "--check" in sys.argv:
                print(differing or f"{name}: the same ({time.process_time() - began:.1f} s)")
                continue
            shutil.rmtree(HERE / name, ignore_errors=True)
            shutil.copytree(out, HERE / name)
            print(f"{name}: {len(list(out.iterdir()))} files ({time.process_time() - began:.1f} s)")
    return 0 if is_same or "--check" not in sys.argv else 1


if __name__ == "__main__":
    sys.exit(main())
