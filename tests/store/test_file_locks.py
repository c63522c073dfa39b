"""Nothing opens a store past SQLite: whoever closes a file drops every lock that its process holds on it, and
two processes could write at once."""

from __future__ import annotations

from pathlib import Path

from running import ROOT, ended, python

COMMANDS = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
folder = Path(sys.argv[1])
os.chdir(folder)
store, other, opened = folder / "s.db", folder / "other.db", []

def note(event, arguments):
    # SQLite opens its files by itself, so that Python sees none of them.
    if event == "open" and str(arguments[0]).startswith((str(store), str(other), "s.db", "other.db")):
        opened.append(str(arguments[0]))

sys.addaudithook(note)
from adjudge.store import open_store
from adjudge.web.labelling.session import open_session
from running import DIRECT, EXAMPLES, adjudge, write_rows
from webclient import Browser

rows = [
    {"id": f"i{k}", "system": "xy"[k % 2], "instruction": "Greet.", "response": f"Hi {k}."} for k in range(8)
]
items = write_rows(folder / "items.jsonl", rows)
for name, path, score in (("one", store, 4), ("two", store, 3), ("three", other, 2)):
    model = f"fake:text=Kind. [RESULT] {score}"
    done = adjudge("run", items, *DIRECT, "-m", model, "--run", name, "--store", path)
    assert done.code == 0, done.err
with open_store(store, write=False) as kept, open_session(store, "one", 4) as session:
    run = kept.run("one")
    for sheet in session.sheets:
        session.give("ann", sheet.key, 0, 3)
    for words in (
        ("runs",), ("runs", "show", "one"), ("report", "one"), ("trust", "one"), ("compare", "one", "two"),
        ("gate", "one", "--min", "tact=2"), ("gate", "one", "--baseline", "two", "--max-drop", "tact=1"),
        ("export", "one"), ("sample", "one"), ("reread", "one"), ("doctor",), ("runs", "merge", other),
        ("labels", "show", "one"), ("report", "one", "--html", folder / "report.html"),
        ("push", "one", "otlp:x", "--dry-run"),
        ("run", items, *DIRECT, "-m", "fake:text=Kind. [RESULT] 4", "--run", "one"),
    ):
        done = adjudge(*words, "--store", store)
        assert done.code in (0, 1, 2, 3), done.err
    browser = Browser(store)
    for address in ("/", "/run?run=one", "/items?run=one", "/compare?with=one&with=two", "/item?run=one&n=0"):
        assert browser.get(address).status in (200, 303), address
    assert len(kept.labels(run)) == 4
assert opened == [], opened
store.read_bytes()
assert opened == [str(store)]  # it would have been noted
"""


def test_no_command_and_no_page_opens_the_file_of_a_store_itself(tmp_path: Path) -> None:
    done = ended(python(COMMANDS, tmp_path, ROOT / "tests"))
    assert done.code == 0, done.err
