"""Files far larger than memory should be: measured in a process of their own."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

# The peak of the process itself. getrusage would do, but on Linux it starts from the peak of the
# process that forked this one; VmHWM is reset with the program.
CODE = """
import re, resource, sys
from pathlib import Path
from adjudge.data import ItemFile

file = ItemFile(sys.argv[1])
checked = file.check()
count = sum(1 for _ in file)
status = Path("/proc/self/status")
if status.exists():
    peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", status.read_text())[1]) * 1024
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(checked, count, peak)
"""

MB = 1_000_000


def write_items(path: Path, count: int) -> Path:
    with path.open("w") as file:
        for n in range(count):
            file.write(
                json.dumps(
                    {
                        "id": f"item-{n}",
                        "system": f"m{n % 7}",
                        "question": "What: is it?",
                        "response": f"It is {n}.",
                    }
                )
                + "\n"
            )
    return path


def peak_of(path: Path) -> tuple[int, int, int]:
    done = subprocess.run([sys.executable, "-c", CODE, str(path)], capture_output=True, text=True, check=True)
    checked, count, peak = map(int, done.stdout.split())
    return checked, count, peak


@pytest.mark.slow
def test_memory_hardly_grows_with_the_number_of_items(tmp_path):
    few, _, small = peak_of(write_items(tmp_path / "few.jsonl", 1_000))
    many, count, large = peak_of(write_items(tmp_path / "many.jsonl", 50_000))
    assert (few, many, count) == (1_000, 50_000, 50_000)
    # Eight bytes an item are kept; a million items may then cost 60 MB above the program itself.
    assert large - small < 6 * MB
    assert large < 90 * MB


@pytest.mark.slow
def test_a_file_that_unpacks_to_one_endless_line_does_not_fill_the_memory(tmp_path):
    path = tmp_path / "bomb.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b'{"id": "good"}\n{"x": "')
        for _ in range(300):
            file.write(b" " * MB)
    code = CODE.replace("file.check()", "file.check(skip_bad=True)")
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    checked, count, peak = map(int, done.stdout.split())
    assert (checked, count) == (1, 1)
    assert peak < 250 * MB


@pytest.mark.slow
def test_a_million_items_stay_under_150_mb(tmp_path):
    checked, count, peak = peak_of(write_items(tmp_path / "items.jsonl", 1_000_000))
    assert checked == count == 1_000_000
    assert peak < 150 * MB
