"""One plug-in of each kind for Adjudge: a model, a reader, a probe, a format of traces and a target."""
