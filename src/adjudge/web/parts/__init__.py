"""Parts of pages: what a run, a section, a text or a comparison looks like as HTML."""
