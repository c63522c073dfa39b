"""A static copy of the viewer: every link leads somewhere,
nothing of this machine is in it, and it is whole or absent.
"""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from adjudge.records import Label
from adjudge.store import open_store
from adjudge.web.static_copy import limits as static_copy
from adjudge.web.static_copy.addresses import read_address
from adjudge.web.static_copy.copy import Written, write_copy
from clock import until
from pageparsing import Page
from running import DIRECT, EXAMPLES, adjudge, answers, as_id, ended, started, write_rows

HOSTILE = (
    '"><img src=x onerror=alert(1)>',
    "</script><script>alert(1)</script>",
    "../../etc/passwd",
    "javascript:alert(1)",
    "CON",
    "' onmouseover='alert(1)' x='",
    "<form action=http://attacker.invalid data-instant='#x'><select><option>",
    "%2e%2e%2fx#y?z&run=last",
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs with labels, one of them with hostile names
    everywhere; its files lie in a folder with a secret name.
    """
    folder = tmp_path_factory.mktemp("secret-folder")
    items = [
        {"id": as_id(f"{k} {text}"), "system": text, "group": f"{k // 2} {text}", "instruction": text,
        "response": text}
        for k, text in enumerate(HOSTILE)
    ]  # fmt: skip
    replies = [
        {"item": item["id"], "text": f"{text} [RESULT] {k % 5 + 1}"}
        for k, (item, text) in enumerate(zip(items, HOSTILE, strict=True))
    ]
    write_rows(folder / "items.jsonl", items)
    write_rows(folder / "replies.jsonl", replies)
    path = folder / "s.db"
    hostile = (
        folder / "items.jsonl",
        *DIRECT,
        "-m",
        f"replay:{folder / 'replies.jsonl'}",
        "--run",
        HOSTILE[0],
    )
    pairs = (
        EXAMPLES / "advice.jsonl",
        "-p",
        "geval/compare",
        "-m",
        f"replay:{EXAMPLES / 'advice.replies.jsonl'}",
        "--run",
        "pairs",
    )
    for arguments in (hostile, pairs):
        assert adjudge("run", *arguments, "--store", path).code == 0
    with open_store(path) as opened:
        run = opened.run(HOSTILE[0])
        labels = [
            Label(item=item.id, criterion="tact", rater="ann", value=float(1 + k % 3), origin="file")
            for k, item in enumerate(opened.items(run))
        ]
        opened.put_labels(labels, run)
    return path


@pytest.fixture(scope="module")
def copy(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copies") / "all"
    write_copy(store, None, folder)
    return folder


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def pages(folder: Path) -> dict[str, Page]:
    return {
        name: Page((folder / name).read_text(encoding="utf-8"))
        for name in files(folder)
        if name.endswith(".html")
    }


def lines_of(folder: Path, number: int) -> list[str]:
    """The lines of one script of shared texts."""
    script = (folder / "pages" / f"texts-{number}.js").read_text(encoding="utf-8")
    (found,) = re.findall(rf"adjudgeTexts\({number}, (\[.*\])\);\n", script)
    lines: list[str] = json.loads(found)
    return lines


@pytest.mark.slow
def test_every_link_leads_to_a_file_of_the_copy_and_every_place_exists(copy: Path) -> None:
    shown = pages(copy)
    assert len(shown) > 20
    reached = {"index.html"}
    for name, page in shown.items():
        for tag, attributes in page.tags:
            for attribute in ("href", "src", "data-copy"):
                link = attributes.get(attribute)
                if link is None or link == "data:,":
                    continue
                parts = urlsplit(link)
                assert not parts.scheme, (name, tag, link)
                assert not parts.netloc, (name, tag, link)
                assert not parts.query, (name, tag, link)
                target = (
                    os.path.normpath(os.path.join(os.path.dirname(name), parts.path)) if parts.path else name
                )
                assert target in files(copy), (name, tag, link)
                reached.add(target)
                if parts.fragment and "=" not in parts.fragment and target.endswith(".html"):
                    assert unquote(parts.fragment) in shown[target].ids(), (name, link)
            for place in attributes.get("data-texts", "").split():
                number, line = map(int, place.split("."))
                assert line < len(lines_of(copy, number)), (name, place)
                reached.add(f"pages/texts-{number}.js")
    assert reached == files(copy) - {"adjudge-copy.json"}


def test_nothing_in_it_needs_a_server_or_comes_from_another_one(copy: Path) -> None:
    for name, page in pages(copy).items():
        assert page.unbalanced == [], name
        assert page.policy().startswith(
            "default-src 'none'; style-src 'self' file:; script-src 'self' file:;"
        ), name
        assert page.tags.index(("meta", {"charset": "utf-8"})) < 3, name
        for tag, attributes in page.tags:
            names = attributes.keys()
            assert not {"data-live", "data-post", "data-form", "data-pane", "action", "style"} & names, (
                name,
                tag,
            )
            assert not any(one.startswith("on") for one in names), (name, tag)
            assert tag not in ("iframe", "object", "embed", "base", "img"), (name, tag)
        scripts = page.named("script")
        assert [script["src"] for script in scripts] in (["static/adjudge.js"], ["../static/adjudge.js"])
        assert all("type" not in script for script in scripts), "modules do not load from files"


def test_it_holds_no_token_no_path_and_no_name_of_this_machine(copy: Path) -> None:
    for name in files(copy):
        text = (copy / name).read_text(encoding="utf-8")
        assert "secret-folder" not in text, name
        assert str(EXAMPLES) not in text, name
        assert 'name="csrf"' not in text, name
        assert "token=" not in text, name
    assert "replay:replies.jsonl" in (copy / "index.html").read_text(encoding="utf-8")


def test_a_text_that_many_pages_repeat_is_written_once(tmp_path: Path) -> None:
    source = f"{'The source of all answers. ' * 40}<script>\u202e"
    rows = [
        {"id": f"i{k}", "system": f"s{k}", "group": "g", "instruction": source, "response": f"answer {k}"}
        for k in range(6)
    ]
    write_rows(tmp_path / "items.jsonl", rows)
    (tmp_path / "script.jsonl").write_text('{"text": "[RESULT] 4"}\n' * 6)
    model = f"fake:script={tmp_path / 'script.jsonl'}"
    store = tmp_path / "s.db"
    assert adjudge("run", tmp_path / "items.jsonl", *DIRECT, "-m", model, "--store", store).code == 0
    write_copy(store, None, tmp_path / "out")
    lines = lines_of(tmp_path / "out", 1)
    assert sum("The source of all answers." in line for line in lines) == 1
    assert not any("\u202e" in line for line in lines), "hidden characters are written out"
    items = {name: page for name, page in pages(tmp_path / "out").items() if "/item-" in name}
    assert len(items) == 6
    for name, page in items.items():
        places = [one["data-texts"].split() for _, one in page.tags if "data-texts" in one]
        texts = ["\n".join(lines[int(place.partition(".")[2])] for place in one) for one in places]
        source_shown, prompt = [text for text in texts if "The source of all answers." in text]
        answer = f"answer {int(name[-6]) - 1}"
        assert answer in prompt
        assert answer not in source_shown
        assert answer in page.text, "what is judged is readable without a script"


def test_names_of_files_come_from_numbers_and_our_routes_alone(copy: Path) -> None:
    for name in files(copy):
        assert re.fullmatch(r"(index\.html|adjudge-copy\.json|static/[a-z]+\.(css|js)|"
                            r"pages/[a-z]+(-[a-z]+)?(-\d+){1,2}\.(html|csv|jsonl|js))",
                            name), name  # fmt: skip


@pytest.mark.slow
def test_the_copy_of_one_run_has_nothing_of_the_others(store: Path, tmp_path: Path) -> None:
    written = write_copy(store, "pairs", tmp_path / "one")
    assert written.runs == ("pairs",)
    for name in files(tmp_path / "one"):
        assert "onerror" not in (tmp_path / "one" / name).read_text(encoding="utf-8"), name
    page = Page((tmp_path / "one" / "index.html").read_text(encoding="utf-8"))
    assert "pairs" in page.text
    assert page.having("tabs")


@pytest.mark.slow
def test_two_runs_of_the_same_items_are_compared_and_their_items_lead_to_each_other(tmp_path: Path) -> None:
    items = answers(tmp_path / "items.jsonl", 4)
    path = tmp_path / "s.db"
    for name, score in (("new", 4), ("again", 2), ("third", 3)):
        script = tmp_path / f"{name}.jsonl"
        script.write_text(f'{{"text": "[RESULT] {score}"}}\n' * 4)
        done = adjudge("run", items, *DIRECT, "-m", f"fake:script={script}", "--run", name, "--store", path)
        assert done.code == 0
    write_copy(path, None, tmp_path / "out")
    shown = pages(tmp_path / "out")
    headings = [page.text for name, page in shown.items() if re.fullmatch(r"pages/compare-\d+\.html", name)]
    assert len(headings) == 3
    assert sum(name.startswith("pages/compare-item-") for name in shown) == 3 * 4
    for page in shown.values():
        for link in page.named("a"):
            assert "href" in link or link.get("title") != "not in this copy"
    write_copy(path, "again", tmp_path / "one")
    for page in pages(tmp_path / "one").values():
        assert "third" not in page.text


def test_filters_and_orders_become_fragments_and_cells_become_items() -> None:
    assert read_address("/items?run=r&sort=-score&low=2") == (
        ("/items", (("run", "r"),)),
        "sort=-score&low=2",
    )
    assert read_address("/item?run=r&sort=score&n=7&row=9") == (("/item", (("n", "7"), ("run", "r"))), "")
    assert read_address("/matrix?run=r&by=judges&open=3#pane") == (("/item", (("n", "3"), ("run", "r"))), "")
    assert read_address("/new?b=2&a=1#x") == (("/new", (("a", "1"), ("b", "2"))), "x")


def test_items_beyond_the_limit_are_left_out_and_the_copy_says_so(store: Path, tmp_path: Path) -> None:
    done = adjudge("view", HOSTILE[0], "--export", tmp_path / "few", "--items", "3", "--store", store)
    assert done.code == 0
    assert f"the copy has 3 of {len(HOSTILE)} items. For more: --items N" in done.err
    assert "pages" in done.err
    assert "kB" in done.err
    names = files(tmp_path / "few")
    assert sum(name.startswith("pages/item-") for name in names) == 3
    for page in pages(tmp_path / "few").values():
        assert f"It has 3 of the {len(HOSTILE)} items" in page.text
        for link in page.named("a"):
            assert "href" in link or link.get("aria-disabled") == "true"
    rows = (tmp_path / "few" / "pages" / "items-export-1.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 4


def test_too_many_rows_for_one_page_leave_out_items_as_well() -> None:
    limits = static_copy.Limits(("r",), most_items=5000)
    assert limits.kept(100, 300) == 100
    assert limits.kept(100_000, 100_000) == 5000
    assert limits.kept(10_000, 100_000) == static_copy.MOST_ROWS // 10


@pytest.mark.slow
def test_an_earlier_copy_is_replaced_and_a_strangers_files_are_never_touched(
    store: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    write_copy(store, None, folder)
    before = files(folder)
    written = write_copy(store, "pairs", folder)
    assert files(folder) < before
    assert written.n_bytes == sum((folder / name).stat().st_size for name in files(folder))
    (folder / "pages" / "notes.txt").write_text("mine")
    done = adjudge("view", "--export", folder, "--store", store)
    assert done.code == 2
    assert "pages/notes.txt was added to it" in done.err
    assert (folder / "pages" / "notes.txt").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("kind", ["file", "folder", "link", "forged", "nowhere"])
def test_a_folder_that_is_not_ours_is_refused(store: Path, tmp_path: Path, kind: str) -> None:
    target = tmp_path / "out"
    if kind == "file":
        target.write_text("mine")
    elif kind == "link":
        (tmp_path / "else").mkdir()
        target.symlink_to(tmp_path / "else")
    elif kind == "nowhere":
        target = tmp_path / "a" / "b"
    else:
        target.mkdir()
        (target / "thesis.txt").write_text("mine")
        if kind == "forged":
            (target / "adjudge-copy.json").write_text('{"files": []}')
    before = {path: path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    done = adjudge("view", "--export", target, "--store", store)
    assert done.code == 2
    assert "older" in done.err
    assert {path: path.read_text() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_an_export_that_fails_leaves_nothing_behind(store: Path, tmp_path: Path) -> None:
    def fail(done: int, total: int) -> None:
        if done > 10 and total > done:
            raise OSError(28, "No space left on device")

    with pytest.raises(Exception, match="Nothing was exported"):
        write_copy(store, None, tmp_path / "out", on_progress=fail)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_killed_export_leaves_no_folder_that_looks_whole(store: Path, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    earlier: Written = write_copy(store, "pairs", tmp_path / "out")
    kept = {name: (tmp_path / "out" / name).read_bytes() for name in files(tmp_path / "out")}
    process = started("view", "--export", tmp_path / "out", "--store", store)
    until(
        lambda: any(
            path.suffix == ".part" and any((path / "pages").glob("*.html")) for path in tmp_path.iterdir()
        )
    )
    process.send_signal(signal.SIGKILL)
    ended(process)
    assert {name: (tmp_path / "out" / name).read_bytes() for name in files(tmp_path / "out")} == kept
    (left,) = [path for path in tmp_path.iterdir() if path.suffix == ".part"]
    assert not (left / "adjudge-copy.json").exists()
    assert write_copy(store, "pairs", tmp_path / "out").n_pages == earlier.n_pages


def test_a_run_that_has_not_ended_is_not_copied(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    items = answers(tmp_path / "items.jsonl", 3)
    script = tmp_path / "script.jsonl"
    script.write_text('{"text": "[RESULT] 4"}\n' * 3)
    assert (
        adjudge("run", items, *DIRECT, "-m", f"fake:script={script}", "--run", "done", "--store", path).code
        == 0
    )
    with open_store(path) as opened:
        manifest = opened.run("done").manifest
        opened.start_run("going", {**manifest, "items": {**manifest["items"], "n": 9}}, "another")
        refused = adjudge("view", "going", "--export", tmp_path / "out", "--store", path)
        assert refused.code == 2
        assert "going has not ended" in refused.err
        both = adjudge("view", "--export", tmp_path / "out", "--store", path)
    assert both.code == 0
    assert "going has not ended and is not in the copy" in both.err
    marker = json.loads((tmp_path / "out" / "adjudge-copy.json").read_text())
    assert "index.html" in marker["files"]
    assert not any("going" in page.text for page in pages(tmp_path / "out").values())


def test_an_empty_store_has_nothing_to_export(tmp_path: Path) -> None:
    open_store(tmp_path / "s.db").close()
    done = adjudge("view", "--export", tmp_path / "out", "--store", tmp_path / "s.db")
    assert done.code == 2
    assert "no runs to export" in done.err


def test_a_page_of_a_copy_grows_with_its_item_and_not_with_the_group_of_it(tmp_path: Path) -> None:
    """Texts, scales and outputs that many items share must not be written once for each of them."""

    def bytes_of_an_item(n_systems: int, folder: Path) -> float:
        folder.mkdir()
        source = "A source that all outputs share. " * 100
        rows = [
            {"id": f"g{group}-{k}", "system": f"s{k}", "group": f"g{group}", "instruction": source,
             "response": f"answer {k}"}
            for group in range(2) for k in range(n_systems)
        ]  # fmt: skip
        items = write_rows(folder / "items.jsonl", rows)
        made = adjudge("run", items, *DIRECT, "-m", "fake:text=[RESULT] 4", "--store", folder / "s.db")
        assert made.code == 0, made.err
        write_copy(folder / "s.db", None, folder / "out")
        sizes = [path.stat().st_size for path in (folder / "out" / "pages").glob("item-*.html")]
        return sum(sizes) / len(sizes)

    few, many = bytes_of_an_item(2, tmp_path / "few"), bytes_of_an_item(10, tmp_path / "many")
    assert many < len("A source that all outputs share. " * 100) + 4000, "the source stands elsewhere"
    assert many - few < 8 * 200, "another output takes a row"
