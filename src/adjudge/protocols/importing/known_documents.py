"""The five documents that are recognised by their sha256: facts about them, none of their sentences.

Line numbers count from 1. Notes are in our own words; they end up in the NOTES.md of a folder.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from .find_prompts import Document, string_variables
from .folders import NewFolder, Setting, Table, Value, file_text, slotted, written

# What a recipe for a known document says, and how it is carried out.
#
# A recipe holds positions, slot names, scales and readers. The sentences of a prompt come from
# the user's own copy of the document and nowhere else.


class Lines(Struct, frozen=True):
    """A stretch of the document: line numbers from 1, both included."""

    first: int
    last: int
    indent: int = 0
    """the spaces that the container put before each line"""
    skip: int = 0
    """the characters of the container before the text, on the first line"""


class Variable(Struct, frozen=True):
    """A string constant of a Python document, by the name that it is assigned to."""

    name: str


Location = Lines | Variable


class KnownScale(Struct, frozen=True):
    """The scale of all criteria of a recipe."""

    low: float
    high: float
    best: float | str
    step: float | None = None


class Recipe(Struct, frozen=True):
    """One prompt of a known document."""

    name: str
    title: str
    user: Location
    criteria: tuple[str, ...]
    scale: KnownScale | None
    answer: Mapping[str, Value]
    inputs: tuple[str, ...]
    slots: Mapping[str, str]
    """slot → item field, in the order in which they are listed in the settings"""
    system: Location | None = None
    task: str = "score"
    optional: tuple[str, ...] = ()
    at_least_one: tuple[str, ...] = ()
    not_given: str = ""
    refuses: Mapping[str, str] = {}
    notes: tuple[str, ...] = ()
    """decisions that concern this prompt alone"""


class KnownDocument(Struct, frozen=True):
    """A document that is recognised by its sha256."""

    sha256: str
    source: str
    language: Mapping[str, str]
    slot_form: str
    """a placeholder as the document writes it, with `x` for the name"""
    recipes: tuple[Recipe, ...]
    undone: tuple[str, ...]
    decisions: tuple[str, ...]


def follow(known: KnownDocument, document: Document) -> list[NewFolder]:
    """The folders of a known document, its texts unchanged but for the container."""
    return [_folder(known, recipe, document) for recipe in known.recipes]


def _folder(known: KnownDocument, recipe: Recipe, document: Document) -> NewFolder:
    files = {
        "protocol.toml": _settings(known, recipe, document),
        "user.md": file_text(_prompt(known, recipe, recipe.user, document)),
    }
    if recipe.system is not None:
        files["system.md"] = file_text(_prompt(known, recipe, recipe.system, document))
    files["NOTES.md"] = _notes(known, recipe, document)
    return NewFolder(recipe.name, files)


def _prompt(known: KnownDocument, recipe: Recipe, place: Location, document: Document) -> str:
    return slotted(text_at(place, document.text), [known.slot_form], recipe.slots)


def text_at(place: Location, text: str) -> str:
    """The text at a place of the document, without its container and without its last line end."""
    if isinstance(place, Variable):
        return string_variables(text)[place.name]
    lines = text.split("\n")[place.first - 1 : place.last]
    # A blank line need not carry the indentation.
    dedented = [line[min(place.indent, len(line) - len(line.lstrip(" "))) :] for line in lines]
    dedented[0] = lines[0][place.skip :] if place.skip else dedented[0]
    return "\n".join(dedented)


def _settings(known: KnownDocument, recipe: Recipe, document: Document) -> str:
    top = [
        Setting("title", recipe.title),
        Setting("task", recipe.task),
        Setting("language", known.language),
        Setting("source", f"{known.source}; the text as it stands in {document.name}"),
        Setting("imported", document.sha256),
        Setting("inputs", recipe.inputs),
    ]
    optional = ("optional", "at_least_one", "not_given", "refuses")
    top += [Setting(key, value) for key in optional if (value := getattr(recipe, key))]
    top.append(Setting("fence", False))
    tables = [Table("", top)]
    for name in recipe.criteria:
        tables.append(Table("[[criteria]]", [Setting("name", name)]))
        if recipe.scale is not None:
            tables.append(Table("[criteria.scale]", _scale(recipe.scale)))
    renamed = [Setting(slot, field) for slot, field in recipe.slots.items() if slot != field]
    if renamed:
        tables.append(Table("[alias]", renamed))
    tables.append(Table("[answer]", [Setting(key, value) for key, value in recipe.answer.items()]))
    return written(tables)


def _scale(scale: KnownScale) -> list[Setting]:
    lines = [Setting("low", scale.low), Setting("high", scale.high)]
    if scale.step is not None:
        lines.append(Setting("step", scale.step))
    return [*lines, Setting("best", scale.best)]


def _notes(known: KnownDocument, recipe: Recipe, document: Document) -> str:
    places = [f"`user.md`: {_location_text(recipe.user)}"]
    if recipe.system is not None:
        places.append(f"`system.md`: {_location_text(recipe.system)}")
    renamed = [
        f"`{{{{{slot}}}}}` shows the field `{field}`" for slot, field in recipe.slots.items() if slot != field
    ]
    parts = [
        f"# {recipe.name}: an imported original",
        f"From `{document.name}` (sha256 {document.sha256}), recognised by its hash. The words of the prompt are "
        "its author's, unchanged, faults included; to change them, copy this folder under another name.",
        _list("Where it stands in the document", places),
        _list("What was undone", known.undone),
        _list("What was decided", (*known.decisions, *recipe.notes)),
    ]
    if renamed:
        parts.append(_list("Slots and item fields", renamed))
    return "\n\n".join(parts) + "\n"


def _location_text(place: Location) -> str:
    if isinstance(place, Variable):
        return f"the string `{place.name}`"
    return f"line {place.first}" if place.first == place.last else f"lines {place.first} to {place.last}"


def _list(heading: str, points: tuple[str, ...] | list[str]) -> str:
    return "\n".join([f"## {heading}", "", *(f"- {point}" for point in points)])


_PAIR = {"a": "A", "b": "B"}


# -- nine aspects, one under each heading, answered in Korean

_KOREAN_LABELS = ("평가 점수", "최종 점수", "점수")


def _aspect(title: str, first: int, last: int, *korean: str, notes: tuple[str, ...] = ()) -> Recipe:
    name = title.lower().replace(" ", "-")
    spellings = [f"{word} 점수" for word in korean]
    return Recipe(
        name=name,
        title=f"{title}: an imported original",
        user=Lines(first, last),
        criteria=(name,),
        scale=KnownScale(1, 5, best=5),
        answer={
            "reader": "label",
            "labels": [f"{title} Score (1-5)", f"{title} Score", *spellings, *_KOREAN_LABELS],
        },
        inputs=("source_text", "generated_response"),
        slots={"source_text": "source_text", "generated_response": "generated_response"},
        notes=notes,
    )


_ASPECTS = KnownDocument(
    sha256="92da368fb0b06c19f9871ca1e83ba8fe5e45c64c4ccf839910d2037d3c102642",
    source="a set of form-filling prompts named after GPTScore (Fu et al., 2023, arXiv:2302.04166)",
    language={"prompt": "en", "reply": "ko"},
    slot_form="{x}",
    recipes=(
        _aspect(
            "Factuality", 4, 25, "사실성",
            notes=("It asks for no explanation, unlike its eight siblings, and one line holds only spaces: both are kept.",),
        ),
        _aspect("Consistency", 28, 53, "일관성"),
        _aspect("Relevance", 56, 81, "관련성"),
        _aspect("Fluency", 84, 109, "유창성"),
        _aspect("Coherence", 112, 137, "응집성", "일관성"),
        _aspect("Accuracy", 140, 165, "정확성", "정확도"),
        _aspect(
            "Multidimensional Quality", 168, 193, "다차원 품질", "종합 품질",
            notes=("The label in its last line is followed by a space, which is kept.",),
        ),
        _aspect("Semantic Appropriateness", 196, 221, "의미적 적절성", "의미 적절성"),
        _aspect("Understandability", 224, 249, "이해 용이성", "이해 가능성", "이해도"),
    ),
    undone=("A placeholder in single braces became a slot in double braces.",),
    decisions=(
        "The heading above the prompt is layout of the document: the text starts on the line below it.",
        "The text ends with the label for the score, without the blank lines before the next heading.",
        "The scale has no step, because the prompt does not ask for a whole number.",
        "The other spellings of the label are not in the prompt: judges that answer in Korean write them.",
    ),
)  # fmt: skip


# -- two responses, compared in JSON

_COMPARISON = KnownDocument(
    sha256="548a7fc99686537be2f2fa0446d000f9acca4f7f202eadf4baf38e8b345b0656",
    source="a comparison template in the manner of G-Eval (Liu et al., 2023, arXiv:2303.16634)",
    language={"prompt": "en", "reply": "en"},
    slot_form="{{x}}",
    recipes=(
        Recipe(
            name="compare",
            title="Baseline and enhanced response, compared: an imported original",
            task="compare",
            user=Lines(8, 133),
            criteria=("accuracy", "completeness", "clarity", "actionability", "relevance", "overall"),
            scale=KnownScale(1, 5, best="unknown"),
            inputs=("task", "response_a", "response_b"),
            slots={"task": "task", "baseline_response": "response_a", "enhanced_response": "response_b"},
            answer={
                "reader": "json",
                "score": "{criterion}.score",
                "evidence": "{criterion}.evidence",
                "reason": "{criterion}.reasoning",
                "scores": {"overall": "overall.{subject}_score"},
                "choice": "overall.winner",
                "choice_confidence": "overall.confidence",
                "subjects": {"a": "baseline", "b": "enhanced"},
                "choices": {"a": "baseline", "b": "enhanced", "tie": "tie"},
            },
        ),
    ),
    undone=(
        "The line that opens the outer fence was left out. The fences inside the prompt are part of it.",
    ),
    decisions=(
        "Where the prompt ends is ambiguous: fences stand inside the fence and do not pair up, so that a Markdown "
        "reader would end it at the first slot for a response. The flow of the text decides: the prompt ends before "
        "the ruled line, so that the standards for the scores and the final summary belong to it. The blank line "
        "before the ruled line does not.",
        "best is unknown: the list of levels makes 1 the good end, all else reads as if 5 were. Raw values are "
        "kept; nothing is normalised and no gate is applied.",
        "A criterion has one score although two responses are shown, so these scores have no subject. Only the "
        "overall criterion has a score for each response.",
        "The scale has no step, because the prompt does not ask for whole numbers.",
        "The final summary has no place in the JSON; a reply may carry it as text behind it.",
    ),
)


# -- faithfulness of an opinion summary, from a Python file

_ATTRIBUTES = ("product_title", "description", "key_features", "specifications", "reviews", "average_rating")

_OPINION_SUMMARY = KnownDocument(
    sha256="18b29bc8c19d7adb26c644ce96a8a47f2524ee95a7ef463dd71485fa2dc80e1d",
    source="a prompt for judging product opinion summaries, in the line of SummEval-OP (Siledar et al., 2024)",
    language={"prompt": "en", "reply": "en"},
    slot_form="{x}",
    recipes=(
        Recipe(
            name="faithfulness",
            title="Faithfulness of a product opinion summary: an imported original",
            user=Variable("faithfulness_prompt_template"),
            system=Variable("system_msg"),
            criteria=("faithfulness",),
            scale=KnownScale(1, 5, best=5, step=1),
            inputs=("summary",),
            optional=_ATTRIBUTES,
            at_least_one=_ATTRIBUTES,
            not_given="N/A",
            slots={
                "system_message": "system_message",
                **{name: name for name in _ATTRIBUTES},
                "Product_Opinion_Summary": "summary",
            },
            answer={"reader": "tag", "tag": "score"},
        ),
    ),
    undone=(
        "The Python strings were evaluated: escapes became the characters that they stand for, and the line ends "
        "at the beginning and the end of the strings are kept.",
        "A placeholder in single braces became a slot in double braces.",
    ),
    decisions=(
        "The prompt pastes the system text into the user text, so it is sent there, once, and not as a system message too.",
        "The six attributes of a product are optional, since products lack some; a missing one is shown as N/A. "
        "At least one must be there.",
        "The scale has step 1: the prompt describes five levels and nothing between.",
    ),
)


# -- five criteria of Chinese news commentary

_EXAMPLE_SLOTS = {
    "示例指令": "example.instruction",
    "示例模型回答": "example.response",
    "示例打分回答": "example.judgment",
}
_ITEM_SLOTS = {"指令": "instruction", "模型回答": "response"}


def _commentary(name: str, chinese: str, first: int, last: int) -> Recipe:
    is_json = name == "evidence"
    return Recipe(
        name=name,
        title=f"{chinese} ({name}): an imported original",
        user=Lines(first, last),
        criteria=(name,),
        scale=KnownScale(0, 10, best=10),
        inputs=("instruction", "response"),
        slots=_ITEM_SLOTS if is_json else {**_EXAMPLE_SLOTS, **_ITEM_SLOTS},
        answer={"reader": "json", "score": "score", "reason": "reason"}
        if is_json
        else {"reader": "first_line"},
        notes=(
            "The backslashes before the quotation marks in its JSON stay, as the document has them.",
            "It has no slots for an example, unlike its four siblings.",
        )
        if is_json
        else (
            "It has slots for exactly one example, and cannot be sent without: give a file with one line with --examples.",
        ),
    )


_COMMENTARY = KnownDocument(
    sha256="5b9e8e038dcbe57cd4b38387720d2739f2b5820ae4eee57221834c65f71431db",
    source="ThoughtWave, github.com/PamKing7/ThoughtWave: the prompts for scoring Chinese news commentary",
    language={"prompt": "zh", "reply": "zh"},
    slot_form="*{**x**}*",
    recipes=(
        _commentary("structure", "结构", 9, 51),
        _commentary("reasoning", "论证", 57, 99),
        _commentary("thesis", "立论", 105, 147),
        _commentary("evidence", "论据", 153, 175),
        _commentary("language", "语言", 181, 223),
    ),
    undone=("The emphasis around a placeholder was taken off, and its braces doubled.",),
    decisions=(
        "The heading above the prompt is layout of the document, and so is the line break tag between the end of a "
        "prompt and the next heading.",
        "Line break tags inside the prompt, emphasised words, blank lines and the two characters that stand for a "
        "line end stay as the document has them. The prompts that the authors sent had no such layout.",
        "The scale has no step, because the prompt does not ask for a whole number.",
    ),
)


# -- Prometheus

_LEVEL_SLOTS = {f"orig_score{level}_description": f"rubric.{level}" for level in range(1, 6)}
_DIRECT = {"orig_instruction": "instruction", "orig_response": "response"}
_PAIRWISE = {
    "orig_instruction": "instruction",
    "orig_response_A": "response_a",
    "orig_response_B": "response_b",
}
_REFERENCE = {"orig_reference_answer": "reference"}
_RUBRIC = {"orig_criteria": "rubric.criterion"}
_MARKER = {"reader": "marker", "marker": "[RESULT]"}

_PROMETHEUS = KnownDocument(
    sha256="af9cfdfdb97a7cbbeab4d1081d6422dfd589dd6f926a84d36089f310432334ed",
    source="Prometheus 2 (Kim et al., 2024, arXiv:2405.01535) and the project prometheus-eval",
    language={"prompt": "en", "reply": "en"},
    slot_form="{x}",
    recipes=(
        Recipe(
            name="direct",
            title="One response by a rubric, without a reference: an imported original",
            user=Lines(50, 71, indent=2),
            system=Lines(14, 14, indent=2),
            criteria=("direct",),
            scale=KnownScale(1, 5, best=5, step=1),
            inputs=("instruction", "response"),
            slots={**_DIRECT, **_RUBRIC, **_LEVEL_SLOTS},
            refuses={"reference": "direct-reference"},
            answer=_MARKER,
            notes=("Its words speak of a reference answer, and no slot shows one: kept as it is.",),
        ),
        Recipe(
            name="direct-reference",
            title="One response by a rubric, with a reference: an imported original",
            user=Lines(20, 44, indent=2),
            system=Lines(14, 14, indent=2),
            criteria=("direct-reference",),
            scale=KnownScale(1, 5, best=5, step=1),
            inputs=("instruction", "response", "reference"),
            slots={**_DIRECT, **_REFERENCE, **_RUBRIC, **_LEVEL_SLOTS},
            answer=_MARKER,
        ),
        Recipe(
            name="pairwise",
            title="The better of two responses, without a reference: an imported original",
            task="compare",
            user=Lines(120, 139, indent=2, skip=5),
            system=Lines(89, 89, indent=2),
            criteria=("pairwise",),
            scale=None,
            inputs=("instruction", "response_a", "response_b"),
            slots={**_PAIRWISE, **_RUBRIC},
            refuses={"reference": "pairwise-reference"},
            answer={**_MARKER, "choices": _PAIR},
            notes=("Its first line stands on the line of the opening fence, where a Markdown reader would lose it.",),
        ),
        Recipe(
            name="pairwise-reference",
            title="The better of two responses, with a reference: an imported original",
            task="compare",
            user=Lines(94, 116, indent=2),
            system=Lines(89, 89, indent=2),
            criteria=("pairwise-reference",),
            scale=None,
            inputs=("instruction", "response_a", "response_b", "reference"),
            slots={**_PAIRWISE, **_REFERENCE, **_RUBRIC},
            answer={**_MARKER, "choices": _PAIR},
            notes=("It shows a reference answer that its words never mention: kept as it is.",),
        ),
    ),
    undone=(
        "The fence was taken off, and with it the two spaces that indent each of its lines.",
        "A placeholder in single braces became a slot in double braces.",
    ),
    decisions=(
        "The space at the end of the last line stays: a model trained on this text notices it. The line end before "
        "the closing fence belongs to the fence.",
        "Backslashes before quotation marks stay where the document has them.",
        "The slots for the criterion and its levels show the parts of the rubric that is given with --rubric.",
        "The fences that show the format of a reply are no prompts and were left out.",
    ),
)  # fmt: skip

KNOWN = {
    document.sha256: document
    for document in (_ASPECTS, _COMPARISON, _OPINION_SUMMARY, _COMMENTARY, _PROMETHEUS)
}
"""sha256 → what is known of the document with these bytes"""
