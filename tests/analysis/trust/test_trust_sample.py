"""What the card says of the sample of labels, of systems without labels, and of failures on bad items."""

from __future__ import annotations

import random
from functools import partial

from adjudge.analysis.labels.join import join
from adjudge.analysis.run_view.criteria import by_criterion
from adjudge.analysis.run_view.given_results import view_of_results
from adjudge.analysis.trust.card import CriterionCard
from adjudge.analysis.trust.labelled_sample import sample_of_labels
from adjudge.analysis.trust.words.card import trust_sections
from adjudge.analysis.trust.words.first_screen import trust_screen
from adjudge.analysis.trust.words.sample import sample_notes
from adjudge.records import Label
from adjudge.terminal.sections import section_lines
from judged import FIVE, score
from views import judge_card

scored = partial(score, criterion="tact", model="judge")


def world(seed: int = 1) -> tuple[dict[str, float], dict[str, float]]:
    """The judge's scores and people's of 120 items."""
    rng = random.Random(seed)
    people = {f"i{k}": float(rng.randint(1, 5)) for k in range(120)}
    return {
        name: min(5.0, max(1.0, value + rng.choice([-1, 0, 0, 1]))) for name, value in people.items()
    }, people


def card_of(scores: dict[str, float | None], labels: dict[str, float], systems: int = 1) -> CriterionCard:
    results = [scored(name, value, f"s{int(name[1:]) % systems}") for name, value in scores.items()]
    given = [Label(name, "tact", "ann", value) for name, value in labels.items()]
    return judge_card(results, given, scales={"tact": FIVE}, n_resamples=100).criteria["tact"]


def test_a_random_sample_is_compared_with_the_other_items() -> None:
    scores, people = world()
    card = card_of(dict(scores), {name: people[name] for name in list(people)[:40]})
    note = next(note for note in card.notes if note.startswith("Labels on 40 of 120 items: "))
    assert "no significant difference" in note
    assert card.sample is not None
    assert card.sample.judge is not None
    assert card.sample.judge.difference.n == 40


def test_labels_of_the_best_items_are_called_no_random_sample() -> None:
    scores, people = world()
    best = sorted(people, key=lambda name: -scores[name])[:40]
    card = card_of(dict(scores), {name: people[name] for name in best})
    assert any("are not a random sample" in note for note in card.notes)


def test_systems_without_labels_are_named() -> None:
    scores, people = world()
    card = card_of(dict(scores), {name: value for name, value in people.items() if int(name[1:]) % 3 == 0}, 3)
    assert card.sample is not None
    assert card.sample.without_labels == ("s1", "s2")
    assert any(note.startswith("Fewer than two labels of s1 and s2") for note in card.notes)
    assert card.pooled is None


def test_failures_on_bad_items_are_seen_in_the_labels_of_failed_items() -> None:
    scores, people = world()
    failing = [name for name in people if people[name] <= 2][:30]
    given = {name: None if name in failing else value for name, value in scores.items()}
    card = card_of(given, people)
    assert card.informative_failures is not None
    assert card.informative_failures.difference.high is not None
    assert card.informative_failures.difference.high < 0
    assert (card.informative_failures.imputed.value or 0) < (card.corrected["s0"].judge_only.value or 0)
    assert "People rate failed items lower than the others (−" in card.sentences[2].text
    assert "including them)" in card.sentences[2].text


def test_failures_that_do_not_differ_significantly_are_given_with_what_they_may_change() -> None:
    scores, people = world()
    given = {name: None if name in ("i0", "i2", "i3") else value for name, value in scores.items()}
    card = card_of(given, people, systems=2)
    text = card.sentences[2].text
    assert "do not differ significantly" in text
    assert "; means including failures: " in text
    assert " for s0" in text
    assert " for s1" in text


def test_a_mean_that_labels_cannot_give_is_explained_on_the_first_screen() -> None:
    scores, people = world()
    results = [scored(name, value, "s0", "one group") for name, value in scores.items()]
    given = [Label(name, "tact", "ann", people[name]) for name in list(people)[:40]]
    card = judge_card(results, given, scales={"tact": FIVE}, n_resamples=100)
    lines = [text for text, _ in section_lines(list(trust_screen(card, 10)), None)]
    assert any("No corrected mean of s0: " in line for line in lines)
    assert list(trust_sections(card))


def test_a_bias_of_one_system_is_said_of_this_system_in_every_sentence() -> None:
    _, people = world()
    scores: dict[str, float | None] = {name: min(5.0, value + 1) for name, value in people.items()}
    card = card_of(scores, {name: value for name, value in people.items() if int(name[1:]) % 2 == 0}, 2)
    assert "points too lenient on s0;" in card.recommendation.reason
    assert "points too lenient on s0: fewer than two labels of s1" in card.sentences[1].text


def test_random_labels_of_many_judges_are_called_selected_no_more_often_than_of_one() -> None:
    n_cards = 0
    for seed in range(20):
        rng = random.Random(seed)
        people = {f"i{k}": float(rng.randint(1, 5)) for k in range(120)}
        results = [
            score(name, min(5.0, max(1.0, value + rng.choice([-1, 0, 0, 1]))), "s0", model=f"m{model}",
                  criterion="tact")
            for model in range(8)
            for name, value in people.items()
        ]  # fmt: skip
        given = [Label(name, "tact", "ann", people[name]) for name in rng.sample(list(people), 40)]
        tables = join(view_of_results(results, by_criterion({"tact": FIVE})), given).values()
        samples = [sample_of_labels(table, len(tables)) for table in tables]
        n_cards += any(
            "not a random" in note
            for sample in samples if sample is not None
            for note in sample_notes(sample, "scores", is_drawn=False)
        )  # fmt: skip
    assert n_cards <= 3


def test_a_selected_sample_is_not_told_together_with_a_random_one() -> None:
    scores, people = world()
    best = sorted(people, key=lambda name: -scores[name])[:40]
    rng = random.Random(3)
    results = [
        score(name, value, "s0", model=model, criterion="tact")
        for name, right in scores.items()
        for model, value in (("blind", float(rng.randint(1, 5))), ("seeing", right))
    ]
    given = [Label(name, "tact", "ann", people[name]) for name in best]
    card = judge_card(results, given, scales={"tact": FIVE}, n_resamples=50)
    text = " ".join(line for line, _ in section_lines(list(trust_screen(card, 10)), None))
    assert "no significant difference" in text
    assert "are not a random sample" in text


def test_failures_on_bad_items_are_a_warning_on_the_first_screen() -> None:
    scores, people = world()
    failing = [name for name in people if people[name] <= 2][:30]
    results = [scored(name, None if name in failing else value, "s0") for name, value in scores.items()]
    given = [Label(name, "tact", "ann", value) for name, value in people.items()]
    card = judge_card(results, given, scales={"tact": FIVE}, n_resamples=50)
    text = " ".join(line.strip() for line, _ in section_lines(list(trust_screen(card, 10)), None))
    assert "Failures are informative: people rate failed items lower than others (−" in text
    assert "with them the judge's mean is" in text
