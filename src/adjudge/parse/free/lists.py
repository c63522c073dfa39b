"""Read a list from a reply: numbered, bulleted or JSON; and find its entries again in the text that they came
from.

Only a mark at the beginning of a line makes an entry: numbers and bullets inside a quotation, a code fence or
a sentence that is split over lines do not. Of a list that was cut off, the whole entries count, and what is
left of the last one is kept apart, so that the caller can count it as a failure. This file knows nothing of
claims or checklists.
"""

from __future__ import annotations

from ...records import Listing
from ..text.characters import narrow
from ..text.own_voice import ASIDE, masked, thoughts, window
from ..text.refusals import declines
from .json_lists import json_list
from .line_lists import line_list
from .option_names import flat_name

MOST_ENTRIES = 2_000
"""No judge lists more; a longer list is not read at all, because something else is wrong then."""

_NOTHING = frozenset(
    "none nothing noclaims nofacts nostatements nopoints noclaimsfound therearenoclaims therearenone "
    "noneofthese empty [] - "
    "theresponsemakesnoclaims theresponsemakesnofactualclaims nofactualclaims noquestions 无 無 没有 없음 "
    "없습니다 なし".split()
)


def read_list(text: str, *, finish: str | None = None) -> Listing:
    """The entries of the one list in a reply; an empty list where the reply says that there is nothing to
    list.

    `finish` is the model's own word on why it stopped: with "length", the last entry of an open list is cut
    off.
    """
    start, end = window(text)
    reply = text[start:end]
    if not reply:
        return Listing()
    if finish == "content_filter":
        return Listing(status="refused")
    hidden = masked(reply, thoughts(reply)) if "<" in reply else reply
    listing = json_list(hidden) or line_list(hidden, finish)
    if listing is None:
        is_nothing = len(hidden) <= 80 and flat_name(hidden.replace(ASIDE, " ")) in _NOTHING
        if is_nothing:
            listing = Listing(status="ok", how="strict")
        elif finish == "length":
            listing = Listing(status="truncated")
        else:
            listing = Listing(status="refused" if declines(narrow(hidden[:4_000])) else "unparsed")
    if len(listing.entries) > MOST_ENTRIES:
        return Listing(status="unparsed", flags=("overlong_list",))
    how = "anchored" if listing.how == "strict" and reply != text.strip() else listing.how
    spans = tuple((start + first, start + last) for first, last in listing.spans)
    return Listing(listing.entries, spans, listing.status, how, listing.cut, listing.flags)
