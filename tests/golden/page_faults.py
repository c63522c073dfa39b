"""What must hold of the HTML of every page, whatever it says: the golden files show only the text of
pages."""

from __future__ import annotations

import re
from collections import Counter
from urllib.parse import unquote

from pageparsing import Page


def page_faults(html: str) -> list[str]:
    """What is wrong with a page; empty for a sound one."""
    page = Page(html)
    ids = Counter(values["id"] for _, values in page.tags if "id" in values)
    faults = [f"{part} closes nothing" for part in page.unbalanced]
    faults += [f"<{tag}> is not closed" for tag in page.open]
    faults += [f"id {name!r} is given {count} times" for name, count in ids.items() if count > 1]
    faults += [f"{name!r} is referred to, but is no id" for name in sorted(_referred_to(page) - set(ids))]
    faults += [
        f"a heading of a table has no scope: {values}"
        for values in page.named("th")
        if not values.get("scope")
    ]
    headings = [tag for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    if headings.count("h1") != 1:
        faults.append(f"{headings.count('h1')} headings of the first level")
    return faults + _pictures_without_words(page)


def _referred_to(page: Page) -> set[str]:
    """The ids that links within the page, labels and descriptions name."""
    names: set[str] = set()
    for _, values in page.tags:
        href = values.get("href") or ""
        if href.startswith("#") and href != "#":
            names.add(unquote(href[1:]))
        for attribute in ("aria-labelledby", "aria-describedby", "aria-controls", "for"):
            names.update((values.get(attribute) or "").split())
    return names


def _pictures_without_words(page: Page) -> list[str]:
    pictures = re.findall(r"<svg\b([^>]*)>(.*?)</svg>", page.source, flags=re.DOTALL)
    return [
        f"a picture says nothing in words: <svg{attributes}>"
        for attributes, drawn in pictures
        if not any(word in attributes for word in ("aria-hidden", "aria-label")) and "<title" not in drawn
    ]
