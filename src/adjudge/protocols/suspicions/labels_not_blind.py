"""`labels-not-blind`: the labels of two responses say which is meant to be better."""

from __future__ import annotations

from collections.abc import Iterator

from .prompt import MODEL_NAME, TELLING_SIDES, Prompt, PromptSlot, Suspicion, tokens_of

LABELS_NOT_BLIND = "labels-not-blind"


_ALONE = frozenset(
    "baseline enhanced improved our ours competitor production proposed treatment challenger champion"
    " finetuned optimized 基线 改进 优化 베이스라인 개선 chosen rejected winner loser".split()
)
"""Words that tell by themselves; the others tell only as a pair."""


_PAIRS = (*TELLING_SIDES, ("旧", "新"), ("原始", "修改"), ("之前", "之后"), ("人工", "模型"),
          ("기존", "신규"), ("기존", "새"), ("이전", "이후"),
          ("원본", "수정"), ("원본", "수정본"), ("사람", "모델"))  # fmt: skip


def labels_not_blind(prompt: Prompt) -> Iterator[Suspicion]:
    """The labels, the words of the choice, and, where inputs are fenced, their names."""
    pair = prompt.compared
    if pair is None:
        return
    a, b = (_seen(prompt, slot, side) for slot, side in zip(pair, ("a", "b"), strict=True))
    revealing = _revealing(a, b)
    if revealing:
        yield Suspicion(
            pair[0].label_start,
            f"the two responses are called {revealing}, which reveals to the judge which one should win.",
            "Call them Response A and Response B, and judge both orders.",
        )


def _seen(prompt: Prompt, slot: PromptSlot, side: str) -> tuple[str, ...]:
    """All that the judge reads as the name of one side."""
    answer = prompt.protocol.answer
    names = [slot.label]
    if prompt.protocol.fence:
        names.append(slot.field)
    names += [words[side] for words in (answer.choices, answer.subjects) if side in words]  # type: ignore[index]
    return tuple(names)


def _revealing(first_names: tuple[str, ...], second_names: tuple[str, ...]) -> str:
    for left, right in zip(first_names, second_names, strict=False):
        named = [match[0] for text in (left, right) if (match := MODEL_NAME.search(text))]
        if named and left.lower() != right.lower():
            return " and ".join(f"'{name}'" for name in named)
        is_revealed = any(_has(left, word) != _has(right, word) for word in _ALONE) or any(
            _has(left, a) and _has(right, b) and not _has(left, b)
            for pair in _PAIRS
            for a, b in (pair, pair[::-1])
        )
        if is_revealed:
            return f"'{left}' and '{right}'"
    return ""


def _has(name: str, word: str) -> bool:
    # Chinese and Korean names are not cut into words, so there a part of the name will do.
    return word in tokens_of(name) if word.isascii() else word in name
