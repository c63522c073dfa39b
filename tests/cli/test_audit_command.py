"""`adjudge audit` as a user calls it."""

from __future__ import annotations

from pathlib import Path

import pytest

from running import adjudge


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    rows = ["item,probe,value,judge"]
    for k in range(60):
        for probe, shift in (("none", 0), ("repeat", 0), ("length", 1), ("tone", 0)):
            value = "" if probe == "tone" and k < 3 else str(1 + k % 4 + shift)
            rows.append(f"i{k},{probe},{value},j")
    path = tmp_path / "scores.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_the_json_has_the_documented_paths(scores: Path) -> None:
    done = adjudge("audit", "--scores", scores, "--json")
    assert done.code == 0, done.err
    probes = done.json["judges"]["j"]["criteria"]["score"]["probes"]
    assert set(probes) == {"length", "tone"}
    assert {"kind", "n", "failed", "shift", "flips", "floor", "success", "verdict"} <= set(probes["tone"])
    assert (probes["tone"]["n"], probes["tone"]["failed"]) == (57, 3)
    assert probes["length"]["shift"]["value"] == 1.0
    assert probes["length"]["verdict"] == "moves"
    assert probes["length"]["success"] is None


def test_pairs_have_a_position_and_default_names(tmp_path: Path) -> None:
    path = tmp_path / "orders.csv"
    path.write_text("item,order,choice\n1,ab,a\n1,ba,a\n2,ab,a\n2,ba,b\n3,ab,tie\n3,ba,\n", encoding="utf-8")
    position = adjudge("audit", "--scores", path, "--json").json["judges"]["judge"]["position"]
    assert {name: position[name] for name in ("n", "failed", "same", "first", "second", "ties",
    "verdict")} == {
        "n": 2, "failed": 1, "same": 1, "first": 1, "second": 0, "ties": 0, "verdict": "unclear",
    }  # fmt: skip


def test_the_margin_decides_what_holds(scores: Path) -> None:
    wide = adjudge("audit", "--scores", scores, "--margin", "2", "--scale", "1,5", "--json").json
    probe = wide["judges"]["j"]["criteria"]["score"]["probes"]["tone"]
    assert probe["verdict"] == "holds"
    assert wide["judges"]["j"]["criteria"]["score"]["margin"] == 2.0


def test_terminal_and_markdown_show_every_probe(scores: Path) -> None:
    for flags in (("--full",), ("--full", "--markdown")):
        printed = adjudge("audit", "--scores", scores, *flags)
        assert printed.code == 0
        assert "length" in printed.out
        assert "tone" in printed.out


@pytest.mark.parametrize(
    "text",
    [
        "item,probe,value\n1,none,high\n",
        "item,order,choice\n1,xy,a\n",
        "item,order,choice\n1,ab,left\n",
        "item,probe,value\n1,none,1\n1,none,2\n",
        "item,value\n1,3\n",
        "item,probe,value\n1,tone,3\n",
    ],
)
def test_a_bad_file_is_an_error_of_the_user(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text, encoding="utf-8")
    assert adjudge("audit", "--scores", path).code == 2


@pytest.mark.parametrize("flags", [("--margin", "-1"), ("--scale", "5"), ("--scale", "5,1")])
def test_a_bad_flag_is_an_error_of_the_user(scores: Path, flags: tuple[str, ...]) -> None:
    assert adjudge("audit", "--scores", scores, *flags).code == 2


def test_nothing_to_audit_is_an_error_of_the_user(scores: Path, tmp_path: Path) -> None:
    assert adjudge("audit", "--store", tmp_path / "none.db").code == 2
    assert adjudge("audit", scores, "--scores", scores).code == 2


def test_the_first_screen_says_which_orders_cannot_be_compared(tmp_path: Path) -> None:
    rows = ["item,order,choice,pair", *(f"{k},{order},a,{k}-{order if k < 7 else ''}" for k in range(9)
            for order in ("ab", "ba"))]  # fmt: skip
    path = tmp_path / "orders.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    assert "7 of 9 pairs show different responses in the two orders" in adjudge("audit", "--scores", path).out
    one_order = tmp_path / "one.csv"
    one_order.write_text("item,order,choice\n1,ab,a\n2,ab,b\n", encoding="utf-8")
    assert "no pair has a choice in both orders" in adjudge("audit", "--scores", one_order).out


def test_no_tie_is_spoken_of_where_there_is_none(scores: Path) -> None:
    probe = adjudge("audit", "--scores", scores, "--json").json["judges"]["j"]["criteria"]["score"]["probes"]
    assert {probe["length"]["flips"]["method"], probe["tone"]["floor"]["method"]} == {
        "share, Wilson interval"
    }
