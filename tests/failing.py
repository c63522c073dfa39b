"""Replies of each kind that fails, with a real 0 and a real 2 beside them, on a scale of 0 to 2."""

from __future__ import annotations

RUBRIC = "name = 'tact'\ncriterion = 'Is it kind?'\n[levels]\n0 = 'no'\n1 = 'a little'\n2 = 'yes'\n"
REPLIES: dict[str, dict[str, str]] = {
    # A real 0 beside the failures: a sink that wrote 0 for both would not be seen otherwise.
    "zero": {"text": "Cold. [RESULT] 0"},
    "two": {"text": "Warm. [RESULT] 2"},
    "unparsed": {"text": "What a day."},
    "no letters": {"text": ""},
    "off the scale": {"text": "[RESULT] 9"},
    "below the scale": {"text": "[RESULT] -1"},
    "off the step": {"text": "[RESULT] 0.5"},
    "not a number": {"text": "[RESULT] NaN"},
    "infinite": {"text": "[RESULT] Infinity"},
    "no value": {"text": "[RESULT] null"},
    "conflicting": {"text": "[RESULT] 0\nOn second thoughts:\n[RESULT] 2"},
    "refused": {"text": "I'm sorry, but I can't help with that request."},
    "filtered": {"text": "[RESULT] 0", "finish": "content_filter"},
    "cut off": {"text": "Feedback: it is quite", "finish": "length"},
    "server": {"error": "server"},
    "timeout": {"error": "timeout"},
    "missing": {"error": "missing"},
    "bad reply": {"error": "bad_reply"},
}
SCORES = {"zero": 0.0, "two": 2.0}
FAILED = [name for name in REPLIES if name not in SCORES]
ITEMS = [{"id": name, "instruction": "Greet.", "response": f"This one is <{name}>."} for name in REPLIES]
