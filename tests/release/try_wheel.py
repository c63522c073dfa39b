"""Installs a built wheel in an empty environment and uses it from an empty folder: `make dist`.

What the checkout has and the wheel has not would be missed only here: data files, the demo, the protocols.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def main(folder: Path) -> int:
    [wheel], [sdist] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    check_contents(wheel, sdist)
    with tempfile.TemporaryDirectory() as temporary:
        environment = Path(temporary) / "environment"
        venv.create(environment, with_pip=True)
        python = environment / "bin" / "python"
        _run(temporary, str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check",
             "-c", str(ROOT / "constraints.txt"), str(wheel))  # fmt: skip
        _use(environment / "bin" / "adjudge", Path(temporary) / "empty")
    print(f"{wheel.name} and {sdist.name} are whole; the wheel runs the demo and a run from an empty folder.")
    return 0


def check_contents(wheel: Path, sdist: Path) -> None:
    """No file that runs by itself, and nothing but the package and its metadata."""
    names = zipfile.ZipFile(wheel).namelist()
    strange = [
        name for name in names if not name.startswith(("adjudge/", "adjudge-")) or name.endswith(".pth")
    ]
    assert not strange, strange
    assert any(name.endswith("builtin/geval/score/user.md") for name in names)
    with tarfile.open(sdist) as archive:
        inside = archive.getnames()
    assert any(name.endswith("tests/test_public.py") for name in inside)


def _use(adjudge: Path, folder: Path) -> None:
    folder.mkdir()
    print(_run(folder, str(adjudge), "--version").strip())
    _run(folder, str(adjudge), "demo", "--recorded")
    (folder / "items.csv").write_text(
        "question,answer\nHow far is it?,Two miles.\nWho are you?,A clerk.\n", "utf-8"
    )
    judge = ["-p", "geval/score", "--criterion", "Is the answer polite?", "-m", "fake:text=Score: 4"]
    fields = ["--map", "task=question", "--map", "response=answer"]
    _run(folder, str(adjudge), "run", "items.csv", *judge, *fields, "--run", "polite")
    assert '"value": 4' in _run(folder, str(adjudge), "report", "polite", "--json")


def _run(folder: str | Path, *command: str) -> str:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ADJUDGE"))
    }
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
