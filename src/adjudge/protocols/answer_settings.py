"""What must fit together in `[answer]`: the reader with its settings, options and criteria."""

from __future__ import annotations

from ..did_you_mean import did_you_mean
from ..parse.asked.plugin_reader import BUILT_IN_READERS, is_of_plugin
from ..parse.free.option_names import flat_name
from ..plugins import plugins
from ..records import Protocol
from .folder_problems import FolderProblems
from .setting_lines import Steps

_NEEDED_BY_READER = {
    "tag": ("tag",),
    "marker": ("marker",),
    "label": ("labels",),
    "likelihood": ("target",),
    "ranking": ("choices",),
}


def check_answer(problems: FolderProblems, protocol: Protocol, where: Steps) -> None:
    """The reader needs its settings, and takes no others."""
    answer = protocol.answer
    if is_of_plugin(answer):
        _check_reader(problems, answer.reader, where)
    elif answer.settings:
        message = f"reader '{answer.reader}' takes no [answer.settings]; they are for readers of plug-ins."
        problems.add("bad-answer", message, "Leave them out.", steps=where)
    for key in _NEEDED_BY_READER.get(answer.reader, ()):
        if not getattr(answer, key):
            message = f"reader '{answer.reader}' needs '{key}'."
            problems.add("bad-answer", message, f"Add {key} = … under [answer].", steps=where)
    if answer.reader == "json" and answer.score is None and answer.choice is None and not answer.scores:
        message = "reader 'json' needs the path of a score or of a choice."
        problems.add("bad-answer", message, 'Add score = "path.to.score" under [answer].', steps=where)
    if answer.reader == "list" and where == ("answer",):
        message = "reader 'list' reads a list, which is no score."
        problems.add("bad-answer", message, "Use it in an extract step: [[steps]].", steps=where)

    if answer.options:
        _check_options(problems, protocol, (*where, "options"))


def _check_reader(problems: FolderProblems, reader: str, where: Steps) -> None:
    """A reader that is not built in must be one of an installed plug-in, which is not loaded here."""
    names = [*BUILT_IN_READERS, *(name for name in plugins("readers") if name not in BUILT_IN_READERS)]
    if reader not in names:
        inside = "[answer]" if where == ("answer",) else f"[{'.'.join(str(part) for part in where)}]"
        todo = f"{did_you_mean(reader, names)} It can be: {', '.join(names)}.".lstrip()
        message = f"reader in {inside} cannot be '{reader:.40}'."
        problems.add("bad-value", message, todo, steps=(*where, "reader"))


def _check_options(problems: FolderProblems, protocol: Protocol, steps: Steps) -> None:
    """Options must be distinguishable, and each needs a value on the scale."""
    answer = protocol.answer
    is_step = steps[0] == "steps"
    if answer.reader in ("likelihood", "list") or is_of_plugin(answer):
        message = f"reader '{answer.reader}' reads no options."
        problems.add("bad-answer", message, "Leave options out, or use another reader.", steps=steps)
    same: dict[str, str] = {}
    for name, value in answer.options.items():
        if not flat_name(name):
            problems.add("bad-answer", f"option '{name}' has no name.", "Write a word.", steps=steps)
        elif (other := same.setdefault(flat_name(name), name)) != name:
            message = f"options '{other}' and '{name}' read the same: case, spaces and hyphens do not count."
            problems.add("bad-answer", message, "Give one of them another name.", steps=steps)
        if value == "none":
            if is_step:
                continue
            message = f"option '{name}' has no value, so an item that gets it would have no score."
            todo = "Give it a value on the scale; only the options of a check step may be set aside."
            problems.add("bad-answer", message, todo, steps=steps)
            continue
        for criterion, scale in protocol.criteria.items():
            if scale is not None and scale.status_of(float(value)) != "ok":
                message = (
                    f"option '{name}' has the value {value:g}, which is not on the scale of '{criterion}'."
                )
                problems.add("bad-answer", message, "Correct the value or the scale.", steps=steps)


def check_scores(problems: FolderProblems, protocol: Protocol) -> None:
    """Each criterion needs a separate number: one number is not a judgment of two criteria."""
    answer = protocol.answer
    for name in answer.scores:
        if name not in protocol.criteria:
            message = f"answer.scores names '{name}', which is no criterion."
            problems.add("bad-answer", message, "Correct the name.", steps=("answer", "scores"))
    if answer.reader != "json":
        return
    readers: dict[str, list[str]] = {}
    for name, scale in protocol.criteria.items():
        path = answer.scores.get(name, answer.score)
        if scale is not None and path is not None:
            readers.setdefault(path.replace("{criterion}", name), []).append(f"'{name}'")
    for path, names in readers.items():
        if len(names) > 1:
            message = f"the criteria {', '.join(names)} all read the same number, '{path}' of the reply."
            todo = "Write {criterion} into the path, or give each its own path under [answer.scores]."
            problems.add("same-score", message, todo, steps=("answer", "score"))
