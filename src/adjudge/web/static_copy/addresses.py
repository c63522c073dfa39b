"""Addresses of the pages in a static copy: one spelling for all links that show the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit


class PageAddress(NamedTuple):
    """A page of the application, in one spelling for all addresses that show the same."""

    path: str
    query: tuple[tuple[str, str], ...]

    @property
    def url(self) -> str:
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path

    def get(self, name: str) -> str:
        return dict(self.query).get(name, "")


_QUERIES = {
    "/": (),
    "/run": ("run",),
    "/items": ("run",),
    "/items/export": ("run", "format"),
    "/item": ("run", "n"),
    "/matrix": ("run", "of", "by", "colour", "sort", "page"),
    "/compare": ("with",),
}
"""The parts of a query that make another page; a filter of a list is applied by the script of the copy."""


_BY_SCRIPT = ("/", "/items")
"""Lists that the script of the copy filters and sorts: the rest of their query becomes the fragment."""


def read_address(href: str) -> tuple[PageAddress, str]:
    """The page that a link of the application leads to, and the fragment of the link in a copy."""
    parts = urlsplit(href)
    path, fragment = unquote(parts.path), parts.fragment
    query = parse_qsl(parts.query)
    kept = _QUERIES.get(path)
    if path == "/matrix" and dict(query).get("open"):
        # The item of a cell opens beside the matrix by a separate request: in a copy it is a page.
        return PageAddress("/item", (("n", dict(query)["open"]), ("run", dict(query).get("run", "")))), ""
    if kept is None:
        return PageAddress(path, _in_order(query)), fragment
    rest = [(name, value) for name, value in query if name not in kept and name != "part"]
    if path in _BY_SCRIPT and rest:
        fragment = urlencode(rest)
    return PageAddress(path, _in_order([pair for pair in query if pair[0] in kept])), fragment


def _in_order(query: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """A query in one order for all addresses of a page; which of two runs comes first stays as it is."""
    return tuple(sorted((pair for pair in query if pair != ("page", "1")), key=lambda pair: pair[0]))
