"""`adjudge export --format latex` and `--format markdown`: the means of a run as a table for a paper.

A row is a system, a column a criterion; a cell is the mean with its interval. The line below says how the
numbers were made, because a table in a paper stands alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ..errors import DataError
from ..untrusted import safe

if TYPE_CHECKING:
    from ..analysis.report.summary import Cell, Summary

Form = Literal["latex", "markdown"]

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
        "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$", "–": "--",
    }
)  # fmt: skip
_MARKDOWN = str.maketrans({"|": r"\|", "\\": r"\\", "*": r"\*", "_": r"\_", "`": r"\`", "<": r"\<"})


def paper_table(summary: Summary, form: Form) -> str:
    """The table as text."""
    if not summary.systems:
        raise DataError(
            f"{summary.run} compares pairs, so it has no means. "
            f"Its ranking: adjudge rank {summary.run} --markdown"
        )
    heads = ["system", *(_name(summary, key) for key in summary.criteria), "n", "failed"]
    rows = [[system, *_cells(summary, cells)] for system, cells in summary.systems.items()]
    return (_latex if form == "latex" else _markdown)(heads, rows, _method(summary))


def _name(summary: Summary, key: str) -> str:
    """The criterion's own name; with its protocol where two have the same."""
    name = key.rpartition("/")[2]
    is_unique = sum(other.rpartition("/")[2] == name for other in summary.criteria) == 1
    return name if is_unique else key


def _cells(summary: Summary, cells: dict[str, Cell]) -> list[str]:
    from ..words import decimals, interval

    shown = [
        interval(cells[key], decimals(criterion.scale)) if key in cells else "–"
        for key, criterion in summary.criteria.items()
    ]
    ns, failed = ([getattr(cell, name) for cell in cells.values()] for name in ("n", "n_failed"))
    return [*shown, _range(ns), str(sum(failed))]


def _range(values: list[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def _method(summary: Summary) -> str:
    judges = ", ".join(summary.models)
    methods = ", ".join(
        dict.fromkeys(
            cell.method for cells in summary.systems.values() for cell in cells.values() if cell.method
        )
    )
    return (
        f"Means of {judges} with 95 % confidence intervals ({methods}); failed judgments are excluded. "
        f"Adjudge {summary.version}."
    )


def _latex(heads: list[str], rows: list[list[str]], method: str) -> str:
    def line(cells: list[str]) -> str:
        return " & ".join(safe(cell).translate(_LATEX) for cell in cells) + r" \\"

    columns = "l" + "c" * (len(heads) - 3) + "rr"
    body = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", line(heads), r"\midrule", *map(line, rows)]
    note = rf"\par\smallskip{{\footnotesize {safe(method).translate(_LATEX)}}}"
    return "\n".join(["% needs \\usepackage{booktabs}", *body, r"\bottomrule", r"\end{tabular}", note, ""])


def _markdown(heads: list[str], rows: list[list[str]], method: str) -> str:
    def line(cells: list[str]) -> str:
        return "| " + " | ".join(safe(cell).translate(_MARKDOWN) for cell in cells) + " |"

    rule = "|---" * (len(heads) - 2) + "|---:|---:|"
    return "\n".join([line(heads), rule, *map(line, rows), "", safe(method).translate(_MARKDOWN), ""])
