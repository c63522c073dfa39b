"""The protocols that come with the package, and the folder of any protocol."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from ..did_you_mean import near_words
from ..errors import ProtocolError


def builtin_root() -> Path:
    """The folder of the built-in protocols."""
    return Path(str(resources.files(__package__))) / "builtin"


def builtin_ids() -> list[str]:
    """The ids of all built-in protocols, sorted."""
    root = builtin_root()
    places = (path.parent for depth in ("*", "*/*") for path in root.glob(f"{depth}/protocol.toml"))
    return sorted(place.relative_to(root).as_posix() for place in places)


def find_folder(ref: str | Path) -> tuple[Path, str]:
    """The folder and the id that a reference means: a built-in id, or the path of a folder."""
    text = str(ref)
    if isinstance(ref, str) and text in builtin_ids():
        return builtin_root() / text, text
    path = Path(ref)
    if path.is_dir():
        return path, _id_of_folder(path)
    near = near_words(text, builtin_ids(), 3, 0.5)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    raise ProtocolError(
        f"'{text}' is neither a built-in protocol nor a folder.{hint} adjudge protocols list shows the"
        " built-in ones."
    )


def _id_of_folder(folder: Path) -> str:
    """A user's protocol goes by the folder's name; a built-in one reached by its path keeps its id."""
    resolved, root = folder.resolve(), builtin_root().resolve()
    if resolved.is_relative_to(root):
        return resolved.relative_to(root).as_posix()
    return resolved.name
