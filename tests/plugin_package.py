"""Installs packages of plug-ins for a test: a wheel made of a folder with `pyproject.toml`, by pip."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path

EXAMPLE = Path(__file__).parents[1] / "examples" / "plugin"


def wheel_of(folder: Path, out: Path) -> Path:
    """The wheel of a pure package: what a build backend would make of its `pyproject.toml` and `src`."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name, version = project["name"].replace("-", "_"), project["version"]
    about = f"{name}-{version}.dist-info"
    groups = project["entry-points"]
    files = {
        path.relative_to(folder / "src").as_posix(): path.read_bytes()
        for path in sorted((folder / "src").rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    files[f"{about}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\n".encode()
    )
    files[f"{about}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    files[f"{about}/entry_points.txt"] = entry_points_text(groups).encode()
    record = [f"{path},sha256={_digest(content)},{len(content)}" for path, content in files.items()]
    files[f"{about}/RECORD"] = "\n".join([*record, f"{about}/RECORD,,", ""]).encode()
    wheel = out / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return wheel


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def entry_points_text(groups: Mapping[str, Mapping[str, str]]) -> str:
    return "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in groups.items()
    )


def install(wheel: Path, target: Path) -> None:
    """Install a wheel into a folder, without a network."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
    subprocess.run(
        [*command, "--no-deps", "--target", str(target), str(wheel)], check=True, capture_output=True
    )


def lay(target: Path, package: str, version: str, groups: Mapping[str, Mapping[str, str]]) -> None:
    """An installed package that has nothing but its entry points."""
    about = target / f"{package.replace('-', '_')}-{version}.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    (about / "entry_points.txt").write_text(entry_points_text(groups))
