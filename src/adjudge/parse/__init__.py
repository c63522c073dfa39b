"""From the text of a reply to scores and choices: what was read, where, how surely, or why not."""

from .choice import read_choice
from .json_replies import read_json
from .judgment import parse, unanswered
from .lists import read_list
from .named_options import read_option
from .score import read_score

__all__ = ["parse", "read_choice", "read_json", "read_list", "read_option", "read_score", "unanswered"]
