"""Builds the documentation site into build/docs: `make docs`.

The pages are those of docs/, and reference pages made from the code, so that they cannot differ from it. Each
version of Adjudge has a separate folder; `versions.json` lists them. Nothing is fetched, neither here nor
by a reader's browser.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import command_pages
import json_outputs
import python_api
import run_file_page

from adjudge.version import __version__

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BUILD = ROOT / "build" / "docs"
VERSION = ".".join(__version__.split(".")[:2])

_OUTSIDE = re.compile(r"\[([^\]\[]+)\]\(((?:\.\./)+[^)\s]+)\)")
"""A link that leaves the folder of the documentation: to an example, a note or the code."""


def main() -> int:
    work = ROOT / "build" / "site"
    shutil.rmtree(work, ignore_errors=True)
    write_pages(work / "pages")
    _write_settings(work)
    run = [str(Path(sys.executable).parent / "zensical"), "build", "--clean", "--strict"]
    if subprocess.run(run, cwd=work, env={**os.environ, "NO_COLOR": "1"}, check=False).returncode:
        return 1
    write_for_assistants(work / "site", work / "pages")
    target = BUILD / VERSION
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(work / "site", target)
    _write_versions()
    print(f"Open {(target / 'index.html').relative_to(ROOT)}, or serve {BUILD.relative_to(ROOT)}.")
    return 0


def write_pages(folder: Path) -> None:
    """All pages of the site as Markdown: those of docs/, then those made from the code."""
    for page in (*DOCS.glob("*.md"), *DOCS.glob("decisions/*.md"), *DOCS.glob("compared/*.md")):
        target = folder / page.relative_to(DOCS)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_within(page, page.read_text(encoding="utf-8")), encoding="utf-8")
    shutil.copytree(DOCS / "images", folder / "images", ignore=shutil.ignore_patterns("*.py"))
    home = _home((ROOT / "README.md").read_text(encoding="utf-8"))
    (folder / "index.md").write_text(home, encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    (folder / "changelog.md").write_text(changes.replace("](docs/", "]("), encoding="utf-8")
    reference = folder / "reference"
    (reference / "commands").mkdir(parents=True)
    for name, text in command_pages.command_pages().items():
        (reference / "commands" / f"{name}.md").write_text(text, encoding="utf-8")
    (reference / "python.md").write_text(python_api.api_page(), encoding="utf-8")
    (reference / "json.md").write_text(python_api.json_page(json_outputs.OUTPUTS), encoding="utf-8")
    (reference / "run-file.md").write_text(run_file_page.run_file_page(), encoding="utf-8")


def _within(page: Path, text: str) -> str:
    """Links out of docs/ become the path in the repository; the site does not contain those files."""

    def plain(match: re.Match[str]) -> str:
        target = (page.parent / match[2].split("#")[0]).resolve()
        if target.is_relative_to(DOCS):
            return match[0]
        path = target.relative_to(ROOT)
        return match[1] if match[1].strip("`") == str(path) else f"{match[1]} (`{path}` in the repository)"

    return _OUTSIDE.sub(plain, text)


def _home(readme: str) -> str:
    """The README with its links as seen from the site."""
    text = readme.replace("](docs/", "](").replace("(CHANGELOG.md)", "(changelog.md)")
    return re.sub(r"\[([^\]]+)\]\((?:CONTRIBUTING|SECURITY)\.md\)", r"\1", text)


def _write_settings(work: Path) -> None:
    """The settings, with a menu entry for each command and each decision."""
    text = (Path(__file__).parent / "zensical.toml").read_text(encoding="utf-8")
    for index in ("reference/commands/index.md", "decisions/README.md"):
        folder = work / "pages" / index
        others = sorted(page for page in folder.parent.glob("*.md") if page != folder)
        listed = [index, *(page.relative_to(work / "pages").as_posix() for page in others)]
        text = text.replace(f'["{index}"]', json.dumps(listed))
    (work / "zensical.toml").write_text(text, encoding="utf-8")


def write_for_assistants(site: Path, pages: Path) -> None:
    """`llms.txt`, a list of all pages with their first sentence, the pages' Markdown, and the skill."""
    lines = [
        "# Adjudge",
        "",
        "> Score model outputs with LLM judges, and know how far each score can be trusted.",
    ]
    lines += ["", "- [SKILL.md](SKILL.md): how to set up a judge correctly, step by step", "", "## Pages", ""]
    for page in sorted(pages.rglob("*.md")):
        name = page.relative_to(pages).as_posix()
        title, _, rest = page.read_text(encoding="utf-8").partition("\n")
        lines.append(f"- [{title.lstrip('# ')}]({name}){_about(rest)}")
        target = site / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(page, target)
    (site / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    shutil.copy(ROOT / "skills" / "adjudge" / "SKILL.md", site / "SKILL.md")


def _about(text: str) -> str:
    """The first sentence of a page, without links; nothing where it begins with a table or code."""
    paragraph = next((each for each in text.split("\n\n") if each.strip()), "").strip()
    if paragraph.startswith(("|", "`", "#", "!", "-")):
        return ""
    words = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", " ".join(paragraph.split()))
    return ": " + re.split(r"(?<=[.:?]) ", words)[0].rstrip(":")


def _write_versions() -> None:
    """The versions that were built, newest first, and a first page that opens the newest."""
    names = sorted(
        (each.name for each in BUILD.iterdir() if each.is_dir()),
        key=lambda name: [int(part) for part in name.split(".")],
        reverse=True,
    )
    listed = [{"version": name, "title": name, "aliases": ["latest"] * (name == names[0])} for name in names]
    (BUILD / "versions.json").write_text(json.dumps(listed, indent=2) + "\n", encoding="utf-8")
    to = f"{names[0]}/index.html"
    (BUILD / "index.html").write_text(
        f'<!doctype html><meta charset="utf-8"><title>Adjudge</title>'
        f'<meta http-equiv="refresh" content="0; url={to}">'
        f'<a href="{to}">Documentation of Adjudge {names[0]}</a>\n',
        encoding="utf-8",
    )


if __name__ == "__main__":
    sys.exit(main())
