"""What the package pulls in: every licence is permissive,
and no known vulnerability, where that can be asked.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

PERMISSIVE = re.compile(
    r"\b(MIT|BSD|Apache|PSF|Python Software Foundation|ISC|Zlib|0BSD|MPL|Mozilla|Unlicense)\b", re.IGNORECASE
)
REFUSED = re.compile(r"\b(A?GPL|GNU (Affero )?General Public)", re.IGNORECASE)


def name_of(requirement: str) -> str:
    return re.split(r"[ ;<>=!~\[(]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def needed() -> dict[str, metadata.Distribution]:
    """The runtime dependencies that are installed, and theirs."""
    found: dict[str, metadata.Distribution] = {}
    waiting = ["adjudge"]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        try:
            found[name] = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # for another platform
        waiting += [name_of(text) for text in found[name].requires or () if "extra ==" not in text]
    found.pop("adjudge", None)
    return found


def licence(distribution: metadata.Distribution) -> str:
    about = distribution.metadata
    classifiers = [text for text in about.get_all("Classifier") or () if text.startswith("License")]
    first_lines = (about.get("License") or "")[:200]
    return " | ".join([about.get("License-Expression") or "", first_lines, *classifiers])


def test_every_dependency_has_a_permissive_licence() -> None:
    packages = needed()
    assert {"msgspec", "numpy", "starlette", "uvicorn"} <= packages.keys()
    for name, distribution in packages.items():
        text = licence(distribution)
        own = re.sub(r"(?is)\b(exception|runtime library).*", "", text)  # of compiled libraries in a wheel
        assert PERMISSIVE.search(text), f"{name}: {text}"
        assert not REFUSED.search(own), f"{name}: {text}"


def test_few_packages_are_pulled_in() -> None:
    # Every package could read every key in the environment. aiohttp and what it needs are eight of these.
    assert len(needed()) <= 34, sorted(needed())


@pytest.mark.slow
def test_no_dependency_has_a_known_vulnerability(tmp_path: Path) -> None:
    if shutil.which("pip-audit") is None and not Path(sys.executable).with_name("pip-audit").exists():
        pytest.skip("pip-audit is not installed: pip install pip-audit")
    command = shutil.which("pip-audit") or str(Path(sys.executable).with_name("pip-audit"))
    requirements = tmp_path / "requirements.txt"
    lines = [f"{name}=={distribution.version}" for name, distribution in needed().items()]
    requirements.write_text("\n".join(lines))
    done = subprocess.run(
        [command, "--no-deps", "--disable-pip", "-r", str(requirements)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    if "could not be audited" in done.stdout + done.stderr:
        pytest.skip("the list of vulnerabilities does not answer for these packages here")
    if done.returncode and "vulnerabilit" not in done.stdout + done.stderr.lower():
        pytest.skip(f"the list of vulnerabilities cannot be reached from here: {done.stderr.strip()[-200:]}")
    assert done.returncode == 0, done.stdout
