"""Template logic in a prompt, which is text here and would be sent as it stands: loops, conditions,
filters."""

from __future__ import annotations

import re

from ..records import Protocol

_LOGIC = re.compile(
    r"\{%-?\s*(?:if|elif|else|endif|for|endfor|set|macro|endmacro|block|endblock|include|extends|import|from|raw|endraw"
    r"|with|endwith|filter|endfilter|call|endcall|assign|case|when|unless)\b[^%\n]{0,200}-?%\}"
    r"|\{\{-?\s?[#^/>][^{}\n]{1,100}\}\}"
    r"|\{\{-?\s*[\w.\[\]'\"]{1,100}\s*\|\s*\w[^{}\n]{0,100}\}\}"
    r"|\{\{-?\s*[\w.]{1,100}\([^{}\n]{0,100}\)[^{}\n]{0,40}\}\}"
)


def template_logic(protocol: Protocol) -> tuple[str, str] | None:
    """The first statement of a template language in a text of the protocol, and the file it stands in."""
    for file, text in (("user.md", protocol.user_text), ("system.md", protocol.system_text)):
        if match := _LOGIC.search(text):
            return file, match[0]
    return None
