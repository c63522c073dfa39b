"""Doors: the addresses of the items behind the marks of a run's page."""

from __future__ import annotations

from urllib.parse import urlencode

from msgspec import Struct

from ...analysis.report.summary import Summary
from ...analysis.report.words.failures import STATUSES
from ...analysis.run_view.tally import SKIPPED
from ...sections import Part, Section


class Doors(Struct, frozen=True):
    """The addresses of the items behind the marks of a run's page."""

    run: str
    keys: dict[str, tuple[str, str]]
    """name of a criterion → protocol and criterion"""
    n_judges: int = 1
    pairs: dict[str, tuple[str, str]] = {}
    """name of a pair as a table has it → its systems"""

    @classmethod
    def of(cls, summary: Summary) -> Doors:
        keys = {name: (about.protocol, about.criterion) for name, about in summary.criteria.items()}
        # A choice has no scale, so that it is not among the criteria; its name ends with its criterion.
        keys |= {name: ("", name.rpartition("/")[2]) for name in summary.pairs if name not in keys}
        pairs = {
            f"{pair.system_a} vs {pair.system_b}": (pair.system_a, pair.system_b)
            for several in summary.pairs.values()
            for pair in several
        }
        return cls(summary.run, keys, len(summary.models), pairs)

    def of_section(self, section: Section) -> Door:
        """The door of a section; one without a criterion leads to the items of all of them."""
        protocol, criterion = self.keys.get(section.criterion, ("", ""))
        return Door(self.run, protocol, criterion, self.n_judges == 1 and bool(criterion), self.pairs)


class Door(Struct, frozen=True):
    """The addresses of the items behind the marks of one section."""

    run: str
    protocol: str = ""
    criterion: str = ""
    has_scores: bool = True
    """whether a bar is of single results; with several judges it is of their means, which no item has"""
    pairs: dict[str, tuple[str, str]] = {}

    def url(self, **query: str | float) -> str:
        """The items of a filter."""
        given = {"run": self.run, "protocol": self.protocol, "criterion": self.criterion, **query}
        texts = {
            name: f"{value:.15g}" if isinstance(value, float) else value for name, value in given.items()
        }
        return f"/items?{urlencode({name: value for name, value in texts.items() if value != ''})}"

    def of_row(self, kind: str, name: str) -> dict[str, str | float]:
        """The filter of a row of a table: a system, a pair of them, or a judge."""
        if kind == "pair" and name in self.pairs:
            return dict(zip(("system", "other"), self.pairs[name], strict=True))
        return {"model" if kind == "judge" else "system": name}

    def of_part(self, kind: str, row: str, part: Part) -> str:
        """The items of one part of a bar; empty where they cannot be distinguished."""
        known = self.of_row(kind, row)
        if part.kind == SKIPPED:
            return ""
        if part.kind in STATUSES:
            return self.url(**known, status=part.kind)
        if kind == "pair" and self.has_scores:
            return self.url(**known, winner="tie" if part.kind == "tie" else part.name)
        if kind == "judge":
            return self.url(
                **known, **({"status": "failed"} if part.kind == "failed" else {"how": part.kind})
            )
        return ""
