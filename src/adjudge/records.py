"""The records that carry a judgment from the prompt to the estimate.

This file knows nothing of files, models or formats; all other modules use these records. They are
immutable. A failure is a `status`, never a number.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Container, Mapping
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

Status = Literal["ok", "unparsed", "out_of_range", "conflicting", "refused", "truncated", "no_reply"]
"""The outcome of one score. Only `ok` has a value."""

How = Literal["strict", "anchored", "reask", "likelihood", "rule"]
"""How a score was read from the reply; `rule`: no judge was asked, because a rule decides beyond doubt."""

Estimator = Literal["parsed", "samples", "probability", "likelihood", "decision"]
Task = Literal["score", "compare"]
Subject = Literal["a", "b"]
Choice = Literal["a", "b", "tie"]
Order = Literal["ab", "ba"]
Given = Literal["rubric", "criterion", "steps"]
ReaderName = Literal["tag", "marker", "first_line", "label", "json", "ranking", "free", "list", "likelihood"]


class Scale(Struct, frozen=True):
    """The values that a score may take, and which end is best.

    A scale without `low` and `high` is unbounded (a log-probability). `best` is one of the two
    ends, "high" or "low" where the scale is unbounded, "unknown" in an imported original that
    contradicts itself: then only raw values are reported; or "none" where the values are classes
    without an order, whose names are in `names`.
    """

    low: float | None
    high: float | None
    best: float | Literal["high", "low", "unknown", "none"]
    step: float | None = None
    levels: dict[float, str] = {}
    names: dict[float, str] = {}

    def status_of(self, value: float) -> Status:
        """`ok` where the value is on the scale and on its step, otherwise `out_of_range`."""
        if value != value or value in (float("inf"), float("-inf")):
            return "out_of_range"
        if (self.low is not None and value < self.low) or (self.high is not None and value > self.high):
            return "out_of_range"
        if self.step is not None and self.low is not None:
            steps = (value - self.low) / self.step
            if abs(steps - round(steps)) > 1e-9:
                return "out_of_range"
        return "ok"

    @property
    def direction(self) -> int:
        """1 where a higher score is better, -1 where a lower
        one is, 0 where that is unknown or there is no order.
        """
        if self.best in ("unknown", "none"):
            return 0
        return 1 if self.best in ("high", self.high) else -1

    @property
    def is_nominal(self) -> bool:
        """Whether the values are classes without an order: they have no mean and no better end."""
        return self.best == "none"

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes; empty where the values are numbers on a scale."""
        return tuple(name for _, name in sorted(self.names.items())) if self.is_nominal else ()

    @property
    def limits(self) -> tuple[float, float] | None:
        """The lowest and the highest score; none where the scale is unbounded."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def ends(self) -> tuple[float, float] | None:
        """The worst and the best score; none where the scale is unbounded, or no end is known to be best."""
        if self.limits is None or self.best not in self.limits:
            return None
        return self.limits if self.best == self.high else self.limits[::-1]

    def values(self, most: int = 1000) -> list[float]:
        """Every score that the scale has, lowest first; empty
        without a step, or where there are more than `most`.
        """
        if self.low is None or self.high is None or not self.step:
            return []
        n_steps = (self.high - self.low) / self.step + 1e-9
        if not 1 <= n_steps < most:
            return []
        return [round(self.low + place * self.step, 9) for place in range(int(n_steps) + 1)]

    def normalized(self, value: float) -> float | None:
        """The distance from the worst end as a share of the width; none where the scale has no ends."""
        if self.ends is None:
            return None
        worst, best = self.ends
        return (value - worst) / (best - worst) + 0.0  # never -0.0


class Language(Struct, frozen=True):
    """The language of the prompt, and the language the judge replies in."""

    prompt: str
    reply: str


class Answer(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How a reply is read: the reader and its settings. Paths are keys joined by dots."""

    reader: str
    """a name that is not built in is that of a plug-in"""
    tag: str | None = None
    marker: str | None = None
    labels: tuple[str, ...] = ()
    score: str | None = None
    choice: str | None = None
    confidence: str | None = None
    choice_confidence: str | None = None
    evidence: str | None = None
    reason: str | None = None
    notes: dict[str, str] = {}
    """name → path, for texts that belong to the whole judgment"""
    scores: dict[str, str] = {}
    """criterion → path, where it differs from `score`"""
    subjects: dict[Subject, str] = {}
    """what {subject} stands for in a path: a → "response_a"; empty: the scores have no subject"""
    choices: dict[Choice, str] = {}
    """the answers that the prompt asks for: a → "A", tie → "tie"; without a tie, none is offered"""
    target: str | None = None
    """likelihood: the input whose likelihood is scored"""
    evidence_in: tuple[str, ...] = ()
    """the inputs that evidence is looked for in; without any: the judged response"""
    options: dict[str, float | Literal["none"]] = {}
    """the names that the judge chooses from → the value of
    each on the scale; "none": counted, but without a value
    """
    settings: dict[str, str | float | bool] = {}
    """settings of the reader of a plug-in"""

    @property
    def is_pair_of_scores(self) -> bool:
        """Whether the first line holds one score for each of two responses."""
        return self.reader == "first_line" and bool(self.subjects)

    def scored_subjects(self, criterion: str) -> tuple[Subject | None, ...]:
        """The responses that a criterion is scored for, in the order shown.

        None in particular where there is one score.
        """
        path = self.scores.get(criterion, self.score or "")
        return ("a", "b") if "{subject}" in path or self.is_pair_of_scores else (None,)


QuestionForm = Literal["", "yes-no", "choice", "levels", "reversed", "renamed"]
"""Another form of the same typed question; empty: the form that follows from the scale."""

StepKind = Literal["extract", "check", "combine"]
Combination = Literal["share", "mean", "all", "weakest", "precision"]
"""How the values of an item's elements become one value;
`precision` is average precision, which depends on their order.
"""


class Step(Struct, frozen=True, omit_defaults=True):
    """One step of a protocol: a text becomes a list, each
    element of the list is checked, the checks become a score.
    """

    name: str
    kind: StepKind
    prompt: str = ""
    """the file of its prompt"""
    text: str = ""
    """what that file holds"""
    answer: Answer | None = None
    field: str = ""
    """extract: the field whose entries are the elements, without a call"""
    rule: str = "entries"
    """extract: how that field becomes elements"""
    judged: str = "response"
    """extract: the input in which each element is looked for, to show its place"""
    elements: str = ""
    """check: the extract step whose elements it checks"""
    per_call: int = 1
    """check: how many elements one call checks; 0: all"""
    how: Combination = "share"
    criterion: str = ""
    """combine: the criterion that it scores"""
    of: str = ""
    """combine: the criterion of the checks that it combines, where that is another one"""
    set_aside: Literal["leave out", "worst"] = "leave out"
    """combine: what becomes of elements whose option has no value"""


class Rubric(Struct, frozen=True):
    """A user's criterion, with a text for each level."""

    name: str
    criterion: str
    scale: Scale


class Example(Struct, frozen=True):
    """A judged item that the judge is shown: the inputs, the judgment of a good judge, and its kind."""

    fields: dict[str, FieldValue]
    judgment: str
    kind: Literal["positive", "negative"]


class ExampleWords(Struct, frozen=True, forbid_unknown_fields=True):
    """The words around examples, in the language of the prompt."""

    intro: str
    positive: str
    negative: str
    judgment: str


class Accepted(Struct, frozen=True, forbid_unknown_fields=True):
    """A suspicion of `protocols check` that a person has reviewed and accepted."""

    name: str
    reason: str


class ModelSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One judge and what belongs to it alone; a table `[models.ALIAS]` of the run file."""

    model: str
    """the spec, as after `-m`"""
    key_env: str | None = None
    """the environment variable with the key; sent to this model's host only"""
    price: tuple[float, float] | None = None
    """USD for a million tokens in and a million tokens out"""
    headers: dict[str, str] = {}
    """sent with every call; a value `$NAME` is read from the environment"""
    temperature: float | None = None
    max_tokens: int | None = None
    reasoning_effort: str | None = None
    thinking_tokens: int | None = None
    batch: bool = False
    map_scores: str | None = None
    """a file of `adjudge calibrate` that maps this model's scores"""


class NamedModel(ModelSettings, frozen=True, kw_only=True):
    """A judge with the name that reports show in place of its address."""

    alias: str = ""


VOCABULARY: dict[str, tuple[str, ...]] = {
    "task": ("instruction",),
    "response": ("generated_response", "summary"),
    "source": ("source_text",),
    "conversation": ("messages", "trace"),
}
"""The names of inputs that the built-in protocols share →
their names in single protocols. An item may use either.
"""

_SYNONYMS = {name: (common, *names) for common, names in VOCABULARY.items() for name in (common, *names)}


_DATASET_NAMES = {
    "instruction": ("orig_instruction",),
    "response": ("orig_response",),
    "reference": ("orig_reference_answer",),
    "response_a": ("orig_response_A",),
    "response_b": ("orig_response_B",),
}
"""The columns of Prometheus' data sets, Feedback-Collection and Preference-Collection."""

_BUILTIN_ALONE = ("classify",)
"""Built-in protocols that belong to no family, so that their ids have no slash."""

TRANSCRIPT_TOKENS = 32_000

Rule = Literal["equal"]
"""`equal`: a response that is nothing but a number, an
option or a short answer is compared with the reference.
"""


EMPTY_RESPONSE = "empty_response"
"""The flag of a judgment of an empty response."""


_RESPONSES = ("response", "generated_response", "summary", "answer", "output")
"""Inputs that are the judged text by their names, the surest first."""


def _is_shown(character: str) -> bool:
    return not character.isspace() and unicodedata.category(character) not in ("Cf", "Cc")


def is_empty(value: FieldValue) -> bool:
    """Whether a field has no text, and nothing else to show: invisible characters are no text."""
    if isinstance(value, str):
        return not any(map(_is_shown, value))
    return all(isinstance(part, str) and is_empty(part) for part in value)


def protocol_ref(protocol: str, digest: str) -> str:
    """The name of a protocol in calls and results."""
    return f"{protocol}@{digest}"


class AskedCriterion(Struct, frozen=True, omit_defaults=True):
    """One of several criteria of the user's in one prompt; its levels are those of its scale."""

    text: str
    steps: tuple[str, ...] = ()


class Protocol(Struct, frozen=True, omit_defaults=True):
    """One way of judging: what is asked, on which scale, and how the reply is read."""

    id: str
    digest: str
    title: str
    task: Task
    language: Language
    inputs: tuple[str, ...]
    optional: tuple[str, ...]
    criteria: dict[str, Scale | None]
    """criterion → scale; none: the judge only chooses between responses"""
    system_text: str
    user_text: str
    answer: Answer
    source: str
    at_least_one: tuple[str, ...] = ()
    """optional inputs of which an item must have one"""
    fence: bool = False
    """whether inputs are put between boundary tags that their text cannot close"""
    not_given: str = "(not given)"
    """the text in the prompt for an optional input that an item lacks"""
    takes: tuple[Given, ...] = ()
    """what the user gives in addition to the items; it fills the slots of the same name"""
    refuses: dict[str, str] = {}
    """field → the protocol that uses it: an item with this field is refused, not judged without it"""
    example_words: ExampleWords | None = None
    """how examples are introduced in {{examples}}; none: the protocol takes no examples"""
    examples: tuple[Example, ...] = ()
    rubric: Rubric | None = None
    criterion_text: str = ""
    """a user's criterion in words, for {{criterion}}"""
    is_named: bool = False
    """whether the user named the criterion; without a name,
    criteria with different texts are different criteria
    """
    steps: tuple[str, ...] = ()
    """evaluation steps, given or generated, for {{steps}}"""
    alias: dict[str, str] = {}
    """slot in the text → item field, where an imported prompt uses other names"""
    transcripts: tuple[str, ...] = ()
    """inputs that are conversations: shown with numbered turns, and cut where they are too long"""
    transcript_tokens: int = TRANSCRIPT_TOKENS
    """about how many tokens of one conversation are shown"""
    rule: Rule | None = None
    """a rule that judges an item without a call where it is certain"""
    accept: tuple[Accepted, ...] = ()
    imported: str = ""
    """the sha256 of the document that the texts were copied from, byte for byte"""
    folder: str = ""
    """the folder it was loaded from, for messages; not part of the digest"""
    numbered: tuple[str, ...] = ()
    """inputs whose entries are shown with their numbers: retrieved passages"""
    pipeline: tuple[Step, ...] = ()
    """the steps of a judgment that takes several calls; without any, one prompt is one judgment"""

    empty_fails: bool = False
    """whether an item without a judged text fails and is not asked (`--empty fail`); not part of the
    digest"""
    asked_criteria: dict[str, AskedCriterion] = {}
    """criterion → its words, where a run asks for several of the user's criteria in one prompt"""
    question_form: QuestionForm = ""
    """how typed questions are put, where an audit asks them in another form; not used in prompts"""

    @property
    def judged_inputs(self) -> tuple[str, ...]:
        """The inputs that hold the judged text: one, or for a pair two; empty where they are not known."""
        names = (*self.inputs, *self.optional)
        if self.task == "compare":
            firsts = [name for name in ("response_a", *names) if name in names and name.endswith("_a")]
            first = next(iter(firsts), "")
            second = f"{first.removesuffix('_a')}_b"
            return (first, second) if second in names else (first,) if first else ()
        matches = (name for name in (*_RESPONSES, *self.transcripts, *reversed(names)) if name in names)
        return tuple(name for name in (next(matches, ""),) if name)

    def words_of(self, criterion: str) -> str:
        """A criterion in the words of the user's; empty where it was not given in words."""
        asked = self.asked_criteria.get(criterion)
        return self.criterion_text if asked is None else asked.text

    def is_unanswered(self, fields: Mapping[str, FieldValue]) -> bool:
        """Whether an item fails because a judged text is empty: where the user says so, and always where the
        likelihood of the text is asked.
        """
        if not (self.empty_fails or self.answer.reader == "likelihood"):
            return False
        matches = (self.field_for(name, fields) for name in self.judged_inputs)
        return any(name is not None and is_empty(fields[name]) for name in matches)

    @property
    def ref(self) -> str:
        """Its name in calls and results: the id, and the digest of all its texts and settings."""
        return protocol_ref(self.id, self.digest)

    def synonyms(self, name: str) -> tuple[str, ...]:
        """The names that mean the same input, the common one first; the name alone in a user's protocol.

        That goes by the name of its folder, which has no slash, and what its inputs mean is not known.
        """
        is_builtin = "/" in self.id or self.id in _BUILTIN_ALONE
        return _SYNONYMS.get(name, (name,)) if is_builtin else (name,)

    def field_for(self, name: str, fields: Container[str]) -> str | None:
        """The field of an item that fills an input: the one of its name, or of another name for it.

        An item may have the names of the source instead: those of an imported prompt's slots, or of
        Prometheus' data sets, where a plain `instruction` is the whole prompt.
        """
        if not self.alias and name in fields and "orig_criteria" not in fields:
            return name
        source = next((slot for slot, field in self.alias.items() if field == name and slot in fields), None)
        if source is None and "rubric" in self.takes and "orig_criteria" in fields:
            source = next((column for column in _DATASET_NAMES.get(name, ()) if column in fields), None)
        if source is not None:
            return source
        if name in fields:
            return name
        declared = (*self.inputs, *self.optional)
        others = (other for other in self.synonyms(name) if other in fields and other not in declared)
        return next(others, None)


class ToolCall(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A call of a tool that a message makes."""

    name: str
    arguments: str
    """as the model wrote them, usually JSON"""
    id: str = ""


class Image(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An image in a conversation or a prompt. The hash identifies it: a store keeps no image data."""

    media_type: str
    """empty for an image at an address, whose content is not known here"""
    sha256: str
    """of the bytes; of the address for an image at an address"""
    size: int = 0
    """bytes"""
    address: str = ""
    """https; empty where the data is given"""
    data: str = ""
    """base64; empty where only the address or the hash is known"""

    @property
    def is_known(self) -> bool:
        """Whether it can be sent: an image from the store is known by its hash alone."""
        return bool(self.data or self.address)

    @property
    def label(self) -> str:
        """What a reader sees in place of the image."""
        if self.address:
            return f"[image, {self.address[:200]}, sha {self.sha256[:8]}]"
        size = f"{round(self.size / 1000):,} kB" if self.size >= 1000 else f"{self.size} bytes"
        return f"[image, {size}, sha {self.sha256[:8]}]"


class Message(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """One turn of a conversation: in a prompt, or inside a field that holds a transcript.

    A turn reads in the order of the fields: the text, the images, the tool calls. What a provider's message
    has in another order is several records, of which all but the first `continue` the same turn.
    """

    role: str
    content: str
    images: tuple[Image, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    """the call whose result this is"""
    name: str = ""
    """the tool whose result this is, or the name of the speaker"""
    is_error: bool = False
    """whether the tool failed"""
    is_thought: bool = False
    """whether the content is the model's thinking, which its user does not see"""
    continues: bool = False
    """whether this belongs to the same turn as the record before it"""

    @property
    def is_plain(self) -> bool:
        """Whether it has a role and a text, and nothing else."""
        return not (
            self.images
            or self.tool_calls
            or self.tool_call_id
            or self.name
            or self.is_error
            or self.is_thought
            or self.continues
        )

    @property
    def speaker(self) -> str:
        """Who says it, for people: the role, with the name of a tool, or that it is a thought."""
        details = (self.name, "thinks" if self.is_thought else "", "failed" if self.is_error else "")
        said = ", ".join(filter(None, details))
        return f"{self.role} ({said})" if said else self.role

    @property
    def shown(self) -> str:
        """Its text with all that it holds besides, for people."""
        if not (self.images or self.tool_calls):
            return self.content
        calls = [f"{call.name}({call.arguments})" for call in self.tool_calls]
        return "\n".join(filter(None, [self.content, *(image.label for image in self.images), *calls]))


FieldValue = str | tuple[str | Message, ...]
"""A field of an item: a text, a list that is shown line by line, or a transcript."""


class Item(Struct, frozen=True, gc=False):
    """One thing to judge. A pair has `system_a` and `system_b` in place of `system`."""

    id: str
    fields: dict[str, FieldValue]
    system: str = "all"
    system_a: str | None = None
    system_b: str | None = None
    group: str | None = None
    line: int | None = None
    """its line in the file, for messages"""
    has_id: bool = True
    """whether the file gives its id; otherwise it is a hash of the content, in older runs the line"""


class Rendered(Struct, frozen=True):
    """The messages for one item, and the flags of its texts."""

    messages: tuple[Message, ...]
    flags: tuple[str, ...] = ()
    target: str | None = None


QUESTIONS = "questions"
"""The role of the message that holds the typed questions of
a call, as JSON; the messages before it are the input.
"""

QuestionType = Literal["predicate", "choice", "score"]


class Option(Struct, frozen=True, omit_defaults=True):
    """One possible answer to a typed question: its label and
    description, and what it means on the protocol's scale.
    """

    label: str
    text: str = ""
    value: float | None = None
    """none: counted, but without a value"""
    choice: Choice | None = None
    """of a comparison, in the order shown"""


class Question(Struct, frozen=True, omit_defaults=True):
    """A typed question to a decision model, and the score or choice that its answer becomes."""

    name: str
    """unique within a call"""
    type: QuestionType
    instructions: str
    options: tuple[Option, ...]
    """lowest first; of a predicate: what false and true mean"""
    criterion: str = ""
    """empty: the choice of a comparison"""
    subject: Subject | None = None
    """in the order shown"""
    element: int | None = None
    is_class: bool = False
    """whether the options are classes without an order, so that the answer is one of them and not a mean"""


class Call(Struct, frozen=True, gc=False):
    """One request to a judge, identified by a hash of everything that the model sees."""

    key: str
    item: str
    protocol: str
    criteria: tuple[str, ...]
    model: str
    messages: tuple[Message, ...]
    order: Order = "ab"
    sample: int = 0
    kind: Literal["generate", "likelihood", "reask", "steps", "extract", "check", "combine"] = "generate"
    """`combine` is never sent: it stands for what the calls of the other steps amount to"""
    parent: str | None = None
    target: str | None = None
    """the text whose likelihood is scored; the answer of a rule where no judge is asked"""
    step: str = ""
    """the name of the protocol's step that it belongs to"""
    element: int | None = None
    """the number of the first element that it checks, from 1"""
    line: int | None = None
    """the line of an item without an id, which recorded replies may name; neither sent nor stored"""

    @property
    def asks_questions(self) -> bool:
        """Whether it asks typed questions, which a decision model answers with probabilities."""
        return bool(self.messages) and self.messages[-1].role == QUESTIONS

    @property
    def is_ruled(self) -> bool:
        """Whether a rule has the answer, so that there is no prompt and no judge is asked."""
        return not self.messages and self.target is not None


PART_KINDS = frozenset(("reask", "steps", "extract", "check"))
"""Kinds of calls whose replies are only a part of a judgment."""


ErrorKind = Literal[
    "rate_limited",
    "quota",
    "auth",
    "too_long",
    "server",
    "transport",
    "timeout",
    "bad_reply",
    "filtered",
    "missing",
]


class TopToken(Struct, frozen=True, gc=False):
    """An alternative token at one position of a reply, with its log-probability."""

    token: str
    logprob: float


class TokenLogprob(Struct, frozen=True, gc=False):
    """One token of a reply (or of a target), with the likeliest alternatives at its position."""

    token: str
    logprob: float
    top: tuple[TopToken, ...] = ()


class ReplyError(Struct, frozen=True):
    """Why a call has no reply. The message is short and contains no API key."""

    kind: ErrorKind
    message: str
    is_retryable: bool = False


class Reply(Struct, frozen=True, gc=False):
    """The unchanged reply of a model to one call, or a typed error."""

    call: str
    text: str = ""
    reasoning: str = ""
    """thinking that the model returned separately from its answer"""
    logprobs: tuple[TokenLogprob, ...] | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float | None = None
    seconds: float = 0.0
    model_name: str = ""
    """the model name that the server reported"""
    fingerprint: str = ""
    finish: str | None = None
    error: ReplyError | None = None
    flags: tuple[str, ...] = ()
    """what a judgment of this reply should say about it; not stored with the reply but with the judgment"""


class Reading(Struct, frozen=True, gc=False):
    """The result of one reader: a value with its span in the text, or why there is none."""

    value: float | str | None = None
    status: Status = "unparsed"
    how: How | None = None
    span: tuple[int, int] | None = None
    flags: tuple[str, ...] = ()
    is_sure: bool = False
    """whether the reply declares the value as its answer: by
    a mark, alone on its line, in a sentence that concludes
    """


class Score(Struct, frozen=True, gc=False):
    """One criterion's score of one subject. `value` is none unless `status` is `ok`."""

    criterion: str
    status: Status
    subject: Subject | None = None
    value: float | None = None
    how: How | None = None
    span: tuple[int, int] | None = None
    estimator: Estimator = "parsed"
    distribution: dict[float, float] | None = None
    caught_mass: float | None = None
    confidence: float | None = None
    explanation: str | None = None
    evidence: tuple[str, ...] = ()
    grounded: float | None = None
    quotes_stand: tuple[bool, ...] | UnsetType = UNSET
    """of each quotation of the evidence, whether it stands in the judged text; unset where there is none"""
    reply: int | UnsetType = UNSET
    """the follow-up reply that the value is from; unset where it is the first reply"""
    """the share of the evidence that is a verbatim quote of the judged text"""
    label: str | None = None
    """the option that the judge chose, where the protocol names options; one that is set aside has no value
    """


class Listing(Struct, frozen=True):
    """The entries of a list in a reply, each with its span, or why there are none. A list may be empty."""

    entries: tuple[str, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()
    status: Status = "unparsed"
    how: How | None = None
    cut: str | None = None
    """the beginning of the entry at which the reply was cut off: not an entry, but a failure"""
    flags: tuple[str, ...] = ()


class Element(Struct, frozen=True, omit_defaults=True):
    """One part of what is judged, with its own scores: a claim, a passage, a point of a checklist, a turn."""

    number: int
    text: str
    scores: tuple[Score, ...] = ()
    """one for each criterion that the check asks for; without a value where the check failed"""
    span: tuple[int, int] | None = None
    """where it stands in the judged text, word for word; none: it was put into other words"""
    passage: int | None = None
    """the number of the passage that its evidence is from"""
    call: str = ""
    """the key of the call that checked it"""


class Judgment(Struct, frozen=True, gc=False):
    """Everything parsed from one reply. `choice` names the item's response a or b, in either order shown."""

    scores: tuple[Score, ...]
    call: str = ""
    choice: Choice | None = None
    choice_status: Status | None = None
    """none where the protocol asks for no choice"""
    choice_how: How | None = None
    choice_span: tuple[int, int] | None = None
    choice_confidence: float | None = None
    explanation: str = ""
    notes: dict[str, str] = {}
    flags: tuple[str, ...] = ()
    elements: tuple[Element, ...] | UnsetType = UNSET
    """what a protocol with steps has checked one by one; other judgments have none"""

    choice_reply: int | UnsetType = UNSET
    """the follow-up reply that the choice is from; unset where it is the first reply"""

    choice_probabilities: dict[Choice, float] | UnsetType = UNSET
    """of a decision model's choice, in the item's frame; other judgments have none"""

    @property
    def checked(self) -> tuple[Element, ...]:
        """The elements, of which there are none without steps."""
        return () if self.elements is UNSET else self.elements

    @property
    def is_unread(self) -> bool:
        """Whether any score, or the choice, could not be read."""
        return self.choice_status not in (None, "ok") or any(score.status != "ok" for score in self.scores)


class Evidence(Struct, frozen=True, gc=False):
    """A quotation that a judge gives for a score."""

    quote: str
    grounded: bool | None = None
    """whether it stands in the judged text; none where that is not known"""


class Result(Struct, frozen=True, gc=False):
    """All judgments of one item, protocol, criterion, subject and model as one value.

    What `export` writes, and what trust, rank and gate read.
    """

    item: str
    protocol: str
    criterion: str
    model: str
    status: Status
    system: str = "all"
    group: str | None = None
    subject: Subject | None = None
    value: float | None = None
    normalized: float | None = None
    spread: float | None = None
    how: How | None = None
    estimator: Estimator = "parsed"
    n_samples: int = 0
    n_failed: int = 0
    choice: Choice | None = None
    confidence: float | None = None
    explanation: str = ""
    system_a: str | None = None
    system_b: str | None = None
    flags: tuple[str, ...] = ()
    label: str | None = None
    """the class, where the values are classes; `value` is its number"""
    probabilities: dict[str, float] = {}
    """answer → probability, of a judge that gives them, or of several samples; empty where neither is known
    """
    evidence: tuple[Evidence, ...] = ()
    """what the judge quotes for this score, from all samples"""
    notes: dict[str, str] = {}
    """what the judge says beside the scores, by name: rationale, differences, recommendations"""
    reply: int = 0
    """which reply the score is from: 0 the first one, k the k-th follow-up"""


class Label(Struct, frozen=True, gc=False):
    """A human label of one item."""

    item: str
    criterion: str
    rater: str
    value: float | str
    subject: Subject | None = None
    probability: float | None = None
    """the probability with which the item was sampled for labelling"""
    origin: Literal["file", "annotate"] = "file"
    text_hash: str | None = None
    """a hash of the response(s) that the rater read; none where they are not known"""


ReviewVerdict = Literal["judge", "people", "both", "unclear"]
"""A review's decision: the judge is right, people are right,
both are defensible, or the item itself is unclear.
"""


class Review(Struct, frozen=True):
    """A reviewer's decision about one cell: an item on one criterion, and for a pair one of its responses."""

    item: str
    protocol: str
    criterion: str
    model: str
    """the judge that was reviewed; of a panel, the one that the reviewer sides with"""
    reviewer: str
    verdict: ReviewVerdict
    subject: Subject | None = None
    answer: float | str | None = None
    """the judge's answer that the reviewer saw"""
    label: float | str | None = None
    """people's label that the reviewer saw"""
    reason: str = ""
    """the queue that showed the cell: people, judges, orders, confidence, injection or random"""
    note: str = ""
    made: str = ""


class Note(Struct, frozen=True):
    """What one person wrote about an item: a text, and tags to find it by."""

    item: str
    author: str
    text: str = ""
    tags: tuple[str, ...] = ()
    made: str = ""


class Estimate(Struct, frozen=True):
    """A number with its uncertainty, the method, and the number of observations."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    n_failed: int = 0
    n_undefined: int = 0
    method: str = ""
    unit: str = ""
    """what was resampled, or what counts as one independent observation"""
    seed: int | None = None
    signature: str = ""
    reason: str = ""
    """why there is no value or no interval; empty where both are there"""
    caution: str = ""
    """why the interval says little: too few units, for instance"""


class ElementSummary(Struct, frozen=True):
    """What the steps of a protocol have checked one by one: claims, passages, points of a checklist."""

    system: str
    model: str
    n_items: int
    counts: dict[str, int]
    """verdict → elements, those that are set aside included"""
    failures: dict[str, int]
    """status → elements that could not be read: they are in no mean"""
    mean: Estimate
    """over all elements with a value, clustered by item;
    each element counts the same, so long texts count more
    """
    n_quoted: int
    """elements whose verdict quotes evidence"""
    n_found: int
    """those whose quotations all stand word for word in the source"""
