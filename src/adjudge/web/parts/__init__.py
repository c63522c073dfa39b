"""The parts of a run that a page shows, drawn and put into words once for the report and for the viewer.

    parts = run_parts(summary, card=None, ranking=None, points=None, timing=None, values=None)
    parts = run_parts(summary, **known_of(store, run, summary))     # with all that the store knows

and in a template `{% include "parts/run.html" %}` with `parts` in the context, or a section of its own from
`parts/{cautions,scores,ranking,pairs,panel,failures,card,readings,timing,method}.html`. Nothing here computes a statistic.
"""

from .known import known_of
from .run import RunParts, run_parts

__all__ = ["RunParts", "known_of", "run_parts"]
