"""Pages as files of a static copy: what needs a server is left out or done by the page's script.

A link either leads to a file of the copy or is none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import unescape
from html.parser import HTMLParser
from urllib.parse import urlencode

from markupsafe import escape
from msgspec import Struct

_POLICY = (
    "default-src 'none'; style-src 'self' file:; script-src 'self' file:; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'"
)
"""As the server's. Not every browser counts a file beside
the page as 'self'; a page of a web server loads no file.
"""


_HREF = re.compile(r'\s(?:href|data-copy)="([^"]*)"')
"""A quotation mark in a text is escaped: only attributes of our templates match."""


_FORM = re.compile(r"<form\s.*?</form>", re.DOTALL)


_KEPT_FORMS = ("#rows", "#runs")
"""Filters of lists, which the script of the copy applies."""


_DROPPED_ATTRIBUTES = ("data-live", "data-version", "data-pane")


_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())


def links_in(text: str) -> list[str]:
    return [unescape(href) for href in _HREF.findall(text)]


class Choice(Struct):
    """One selection of a form: its label and its options (value, text, whether it is selected)."""

    name: str
    label: str
    options: list[tuple[str, str, bool]]


class ChoosingForm(Struct):
    """A form that chooses how a page is shown, by selections alone."""

    action: str
    fixed: dict[str, str]
    choices: list[Choice]

    def href(self, choice: Choice, value: str) -> str:
        """The address of the page with another choice."""
        chosen = {
            one.name: next((option for option, _, is_selected in one.options if is_selected), "")
            for one in self.choices
        }
        query = {**self.fixed, **chosen, choice.name: value}
        return f"{self.action}?{urlencode({name: text for name, text in query.items() if text})}"

    @property
    def hrefs(self) -> list[str]:
        return [self.href(choice, value) for choice in self.choices for value, _, _ in choice.options]


def _is_choosing(attributes: Mapping[str, str | None]) -> bool:
    target = attributes.get("data-instant")
    return (
        target is not None and target not in _KEPT_FORMS and (attributes.get("action") or "").startswith("/")
    )


def choosing_forms(text: str) -> list[ChoosingForm]:
    if "data-instant" not in text:
        return []
    reader = _FormReader()
    # The tables that they filter are most of a page, and need not be read.
    for form in _FORM.finditer(text):
        reader.feed(form[0])
    reader.close()
    return reader.forms


class _FormReader(HTMLParser):
    """Reads the forms that choose a view."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.forms: list[ChoosingForm] = []
        self._form: ChoosingForm | None = None
        self._label: list[str] = []
        self._option: tuple[str, bool] | None = None
        self._text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "form" and _is_choosing(values):
            self._form = ChoosingForm(values.get("action") or "", {}, [])
            self.forms.append(self._form)
        if self._form is None:
            return
        if tag == "input" and values.get("type") == "hidden":
            self._form.fixed[values.get("name") or ""] = values.get("value") or ""
        elif tag == "label":
            self._label = []
        elif tag == "select":
            self._form.choices.append(Choice(values.get("name") or "", "".join(self._label).strip(), []))
        elif tag == "option":
            self._option = (values.get("value") or "", "selected" in values)
            self._text = []

    def handle_data(self, data: str) -> None:
        (self._text if self._option is not None else self._label).append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "option" and self._option is not None:
            if self._form is not None:
                value, is_selected = self._option
                self._form.choices[-1].options.append((value, "".join(self._text).strip(), is_selected))
            self._option = None


class Rewriter(HTMLParser):
    """Writes a page as a file of the copy. What is not changed is copied as it stands."""

    def __init__(
        self,
        links: Mapping[str, str | None],
        forms: Sequence[ChoosingForm],
        prefix: str,
        note: str,
        compared: Sequence[tuple[tuple[str, str], str]],
    ) -> None:
        super().__init__(convert_charrefs=False)
        self._links, self._forms, self._prefix = links, list(forms), prefix
        self._note, self._compared = note, compared
        self._out: list[str] = []
        self._skipped = ""
        self._depth = 0
        self._kept_forms: list[bool] = []

    def rewrite(self, text: str) -> str:
        self.feed(text)
        self.close()
        return "".join(self._out)

    # Tags

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._skipped:
            self._depth += tag == self._skipped
            return
        values = dict(attrs)
        if tag == "form" and self._begin_form(values):
            return
        if self._needs_server(tag, values):
            if tag not in _VOID:
                self._skipped, self._depth = tag, 1
            return
        self._out.append(self._start(tag, values))
        if tag == "meta" and "charset" in values:
            self._out.append(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">')
        if tag == "footer":
            self._out.append(f"<p>{escape(self._note)}</p>")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del tag, attrs  # marks of a chart, which lead nowhere
        if not self._skipped:
            self._out.append(self.get_starttag_text() or "")

    def handle_endtag(self, tag: str) -> None:
        if self._skipped:
            self._depth -= tag == self._skipped
            if not self._depth:
                self._skipped = ""
            return
        if tag == "form" and self._kept_forms and not self._kept_forms.pop():
            return
        self._out.append(f"</{tag}>")

    def _begin_form(self, values: Mapping[str, str | None]) -> bool:
        """Whether a form was replaced by something else."""
        if _is_choosing(values) and self._forms:
            self._out.append(self._choices(self._forms.pop(0)))
            self._skipped, self._depth = "form", 1
            return True
        if values.get("method") == "post" or {"data-save", "data-form"} & values.keys():
            self._skipped, self._depth = "form", 1
            return True
        is_kept = values.get("method") == "dialog" or values.get("data-instant") in _KEPT_FORMS
        self._kept_forms.append(is_kept)
        if not is_kept and values.get("action") == "/compare":
            self._out.append(self._comparisons())
        return not is_kept

    def _needs_server(self, tag: str, values: Mapping[str, str | None]) -> bool:
        if tag == "meta":
            return values.get("name") == "csrf" or (values.get("http-equiv") or "").lower() == "refresh"
        if "data-post" in values or "data-form" in values or "data-copy-text" in values:
            return True
        in_form = bool(self._kept_forms) and self._kept_forms[-1]
        is_control = tag in ("input", "select", "textarea") or (tag == "button" and "data-help" not in values)
        return is_control and not in_form and not {"data-theme-switch", "data-copy"} & values.keys()

    def _start(self, tag: str, values: dict[str, str | None]) -> str:
        """A start tag with its links as the copy has them."""
        changed = {name: value for name, value in values.items() if name not in _DROPPED_ATTRIBUTES}
        if tag == "html":
            changed["data-static"] = ""
        elif tag == "form":
            changed = {name: value for name, value in changed.items() if name != "action"}
        for name in ("href", "src", "data-copy"):
            value = changed.get(name)
            if value is None or tag == "base":
                continue
            if value.startswith("/static/"):
                changed[name] = f"{self._prefix}{value[1:]}"
            elif not value.startswith("data:"):
                target = self._links.get(value)
                changed[name] = target
                if target is None:
                    del changed[name]
                    changed |= (
                        {"aria-disabled": "true", "title": "not in this copy"} if name == "href" else {}
                    )
        if changed == values:
            return self.get_starttag_text() or ""
        parts = [name if value is None else f'{name}="{escape(value)}"' for name, value in changed.items()]
        return f"<{' '.join((tag, *parts))}>"

    # Text

    def _copy(self, text: str) -> None:
        if not self._skipped:
            self._out.append(text)

    def handle_data(self, data: str) -> None:
        self._copy(data)

    def handle_entityref(self, name: str) -> None:
        self._copy(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._copy(f"&#{name};")

    def handle_decl(self, decl: str) -> None:
        self._copy(f"<!{decl}>")

    # What takes the place of forms

    def _choices(self, form: ChoosingForm) -> str:
        lines = []
        for choice in form.choices:
            links = []
            for value, text, is_selected in choice.options:
                href = self._links.get(form.href(choice, value))
                current = ' aria-current="true"' if is_selected else ""
                if href is not None:
                    links.append(
                        f'<a class="chip" href="{escape(href)}"{current}><bdi>{escape(text)}</bdi></a>'
                    )
            if len(links) > 1:
                lines.append(
                    f'<span class="row small"><span class="muted">{escape(choice.label)}</span> '
                    f"{' '.join(links)}</span>"
                )
        return f'<nav class="toolbar" aria-label="View">{" ".join(lines)}</nav>' if lines else ""

    def _comparisons(self) -> str:
        links = [
            f'<a class="chip" href="{escape(href)}"><bdi>{escape(first)}</bdi> and '
            f"<bdi>{escape(second)}</bdi></a>"
            for (first, second), href in self._compared
        ]
        return (
            '<nav class="row small" aria-label="Comparisons"><span class="muted">Compare</span> '
            f"{' '.join(links)}</nav>"
            if links
            else ""
        )
