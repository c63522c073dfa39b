"""From the text of a reply to scores and choices: what was read, where, how surely, or why not."""

from .free.choice import read_choice
from .free.json_scores import read_json
from .free.lists import read_list
from .free.option import read_option
from .free.score import read_score
from .judgment import parse, unanswered

__all__ = ["parse", "read_choice", "read_json", "read_list", "read_option", "read_score", "unanswered"]
