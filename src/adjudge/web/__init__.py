"""Pages for people: the single-file report, the viewer, and the page to label on.

Nothing is imported here: templates and the server are heavy, and only their own commands need them.
"""
