"""How tests look at a page: as a browser would read it, tag by tag, not as a string."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
CLOSES_ITSELF = frozenset("circle line rect polyline path".split())


class Page(HTMLParser):
    """All tags with their attributes, the text, and what is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.source = text
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.unbalanced: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in CLOSES_ITSELF | VOID:
            self.unbalanced.append(f"<{tag}/>")

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open[-1] != tag:
            self.unbalanced.append(f"</{tag}> at {self.getpos()}")
        else:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("style", "script"):
            self.texts.append(data)

    @property
    def text(self) -> str:
        """What a person reads, with single spaces."""
        return re.sub(r"\s+", " ", " ".join(self.texts))

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    def having(self, css: str) -> list[dict[str, str | None]]:
        return [attributes for _, attributes in self.tags if css in (attributes.get("class") or "").split()]

    def ids(self) -> set[str]:
        return {attributes["id"] or "" for _, attributes in self.tags if "id" in attributes}

    def marks(self) -> list[str]:
        """The texts that are marked as read."""
        return re.findall(r'<mark class="span"[^>]*>(.*?)</mark>', self.source, flags=re.DOTALL)

    def policy(self) -> str:
        (policy,) = [m for m in self.named("meta") if m.get("http-equiv") == "Content-Security-Policy"]
        return policy["content"] or ""


def acting(page: Page) -> list[str]:
    """Everything in a page that could run, load or send; empty for a page that only shows."""
    acting_parts = [f"<{tag}>" for tag, _ in page.tags if tag in _ACTING_TAGS]
    for tag, attributes in page.tags:
        for name, value in attributes.items():
            if name.startswith("on") or name in _ACTING_ATTRIBUTES:
                acting_parts.append(f"{tag} {name}={value}")
            if name in ("src", "href", "xlink:href", "srcset", "data") and not (value or "").startswith("#"):
                acting_parts.append(f"{tag} {name}={value}")
    return acting_parts


_ACTING_ATTRIBUTES = ("style", "srcdoc", "action", "formaction", "ping", "background")
_ACTING_TAGS = frozenset(
    (
        "script iframe frame object embed applet base form img image video audio source link "
        "foreignobject animate set use"
    ).split()
)


def hash_of_style(page: Page) -> str:
    """The hash of the one style block, as a policy writes it."""
    (css,) = re.findall(r"<style>(.*?)</style>", page.source, flags=re.DOTALL)
    return "sha256-" + base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
