"""Hostile text in every place that a user or a judge can
write to: it is shown, word for word, and does nothing.
"""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from adjudge.analysis.item_view.shown_text import shorten
from adjudge.data.labels import LabelFile
from adjudge.records import Label
from adjudge.store import open_store
from adjudge.web.parts.marks import marked
from adjudge.web.parts.safe_text import shown, visible_text, with_bdi
from adjudge.web.templating import environment
from pageparsing import Page, acting
from running import adjudge, as_id, write_rows

PAYLOADS = (
    "<script>window.canary = 1</script>",
    "</style><script>alert(1)</script>",
    "</title><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)" x="',
    "' autofocus onfocus='alert(1)",
    "<svg/onload=alert(1)>",
    "</svg><iframe srcdoc='<script>alert(1)</script>'>",
    "<a href=javascript:alert(1)>click</a>",
    "<style>*{background:url(http://evil.example/x)}</style>",
    "<base href=http://evil.example/>",
    "<meta http-equiv=refresh content='0;url=http://evil.example/'>",
    "]]><![CDATA[<script>alert(1)</script>",
    "<!--<script>",
    "{{ 7 * 7 }}{% raw %}{{ config }}",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "\u202egnp.exe",
    "a\u2066b\u2069\x1b[31mred\x07",
    "\U000e0041\U000e0042 hidden",
    "x" * 5000,
    "مدل ۱ <b>[3, 4]</b>",
)


def protocol_in(folder: Path, name: str) -> Path:
    home = folder / "quality"
    home.mkdir()
    (home / "protocol.toml").write_text(
        f'''title = "Quality"
task = "score"
language = {{ prompt = "en", reply = "en" }}
source = "a test"
inputs = ["response"]

[[criteria]]
name = "{name}"
scale = {{ low = 1, high = 5, step = 1, best = 5 }}

[answer]
reader = "tag"
tag = "score"
'''
    )
    (home / "user.md").write_text("Rate this.\n\n{{response}}\n")
    return home


def hostile_page(folder: Path, payloads: list[str]) -> Page:
    """A report in which every name, text, reply and label is one of the payloads."""
    items = write_rows(
        folder / "items.jsonl",
        (
            {"id": as_id(f"{k} {payload}"), "system": payload, "group": f"{payload}", "response": payload}
            for k, payload in enumerate(payloads)
        ),
    )
    replies = write_rows(
        folder / "replies.jsonl",
        (
            {
                "item": f"{k} {payload}",
                "text": f"{payload} <score>{k % 5 + 1}</score> {payload}" if k % 3 else payload,
            }
            for k, payload in enumerate(payloads)
        ),
    )
    store = folder / "adjudge.db"
    name = f"run {payloads[0]}"
    flags = ("-p", protocol_in(folder, "quality"), "-m", f"replay:{replies}", "--run", name)
    run = adjudge("run", items, *flags, "--store", store, "-q")
    assert run.code == 0, run.err
    with open_store(store) as opened:
        labels = [
            Label(f"{k} {payload}", "quality", payload[:80], float(5 - k % 5))
            for k, payload in enumerate(payloads)
        ]
        opened.put_labels(LabelFile(tuple(labels)).labels, opened.run("last"))
    path = folder / "report.html"
    written = adjudge("report", "last", "--html", path, "--store", store)
    assert written.code == 0, written.err
    return Page(path.read_text(encoding="utf-8"))


def check(page: Page) -> None:
    assert page.unbalanced == []
    assert page.open == []
    assert acting(page) == []
    assert page.policy().startswith("default-src 'none'")
    assert not re.search(
        "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]", page.source
    )


def test_hostile_text_in_every_place_does_nothing(tmp_path: Path) -> None:
    page = hostile_page(tmp_path, list(PAYLOADS))
    check(page)
    assert "<script>window.canary = 1</script>" in page.text, "it is shown as what it is"
    assert "{{ 7 * 7 }}" in page.text, "no template inside a template"
    assert r"\u202e" in page.text, "what would turn the text around is written out"
    assert len(page.source.encode()) < 1_000_000


def test_the_attack_cases_on_reports_are_inert(attacks: list[dict[str, str]], tmp_path: Path) -> None:
    payloads = [attack["payload"] for attack in attacks if attack["layer"].startswith(("L6", "L7", "L8"))]
    assert len(payloads) > 10
    page = hostile_page(tmp_path, payloads)
    check(page)
    assert "alert(1)" in page.text


def test_text_of_all_attacks_is_inert(attacks: list[dict[str, str]]) -> None:
    for attack in attacks:
        page = Page(f"<p>{shown(attack['payload'])}</p>")
        assert [tag for tag, _ in page.tags if tag not in ("p", "span")] == []


# -- the pieces


@given(st.text())
def test_shown_text_is_the_text_with_nothing_but_acting_characters_written_out(text: str) -> None:
    made = shown(text)
    assert html.unescape(re.sub(r"<[^>]*>", "", made)) == visible_text(text)
    made.encode("utf-8")


@given(st.text(max_size=60), st.lists(st.tuples(st.integers(-3, 70), st.integers(-3, 70)), max_size=4))
def test_marks_stand_exactly_on_their_places_and_change_no_text(
    text: str, spans: list[tuple[int, int]]
) -> None:
    made = marked(text, spans, "read here")
    assert html.unescape(re.sub(r"<[^>]*>", "", made)) == visible_text(text)
    for start, end in spans[:1] if len(spans) == 1 else ():
        matches = re.findall(r"<mark[^>]*>(.*?)</mark>", made, flags=re.DOTALL)
        is_inside = 0 <= start < end <= len(text)
        assert [html.unescape(re.sub(r"<[^>]*>", "", mark)) for mark in matches] == (
            [visible_text(text[start:end])] if is_inside else []
        )


@given(st.text(max_size=400), st.integers(60, 200), st.data())
def test_a_shortened_text_keeps_its_ends_and_what_was_read(
    text: str, longest: int, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 20)))
    shortened = shorten(text, longest, [(start, end)])
    kept = shortened.text
    assert kept[: longest // 2] == text[: longest // 2]
    assert len(text) <= longest or kept.endswith(text[-(longest // 4) :])
    assert shorten(text, None).text == text
    if start < end:
        ((a, b),) = shortened.spans
        assert kept[a:b] == text[start:end]


def test_a_name_in_a_right_to_left_script_does_not_turn_the_numbers_beside_it() -> None:
    assert with_bdi("that of مدل 0.47 [0.36, 0.58]") == Markup("that of <bdi>مدل</bdi> 0.47 [0.36, 0.58]")


def test_a_number_stays_on_the_line_of_its_unit_and_a_path_stays_whole() -> None:
    """A copy replaces paths of this machine in its pages, and finds none that has an element in it."""
    shown = with_bdi(
        "Agreement with gpt-4 is 76 % [59 %, 87 %] (n = 419), from replay:/tmp/my-folder/x.jsonl."
    )
    together = re.findall(r'<span class="unbroken">([^<]*)</span>', shown)
    assert together == ["gpt-4", "76 %", "[59 %, 87 %]", "n = 419"]
    assert "replay:/tmp/my-folder/x.jsonl" in shown
    assert with_bdi("ab <c>") == "ab &lt;c&gt;"


def test_a_template_shows_neither_none_nor_nan_and_fails_on_a_name_it_was_not_given() -> None:
    made = environment()
    assert (
        made.from_string("{{ x }}|{{ y }}|{{ z }}").render(x=None, y=float("nan"), z="\u202e<")
        == "|–|\\u202e&lt;"
    )
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError):
        made.from_string("{{ missing }}").render()
