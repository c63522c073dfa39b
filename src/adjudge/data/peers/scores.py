"""Which tool wrote a file of results, and its scores as rows of `item`, `system`, `group`, `criterion` and
`value`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Literal, get_args

from ..encoding import BrokenFileError
from ..json_objects import objects_in
from ..json_rows import Row
from ..table import Problems, Table
from .eval_archive import SUFFIX
from .inspect_log import is_inspect_log, read_inspect_scores
from .lm_eval import is_lm_eval, read_lm_eval_scores
from .promptfoo import is_promptfoo, read_promptfoo_scores

Peer = Literal["inspect", "promptfoo", "lm-eval"]
PEERS: tuple[Peer, ...] = get_args(Peer)
_Scores = Callable[[list[tuple[int, Row]], Problems], Iterator[tuple[int, Row]]]
_SCORES: Mapping[Peer, _Scores] = {
    "inspect": read_inspect_scores,
    "promptfoo": read_promptfoo_scores,
    "lm-eval": read_lm_eval_scores,
}


def peer_of(record: Row) -> Peer | None:
    """The tool that wrote a record; none where it is none of the known ones."""
    if is_inspect_log(record):
        return "inspect"
    if is_promptfoo(record):
        return "promptfoo"
    return "lm-eval" if is_lm_eval(record) else None


def peer_of_file(table: Table) -> Peer | None:
    """The tool that wrote a file, by its first record; a table of another form is none."""
    if table.suffix == SUFFIX:
        return "inspect"
    if table.suffix != ".json" and not table.is_by_line:
        return None
    try:
        first = next(objects_in(table, Problems(table)), None)
    except BrokenFileError:
        return None  # the reader of tables says what is wrong
    return peer_of(first[1]) if first is not None else None


def peer_scores(table: Table, peer: Peer, problems: Problems) -> Iterator[tuple[int, Row]]:
    """The scores of a file as rows."""
    return _SCORES[peer](list(objects_in(table, problems)), problems)
