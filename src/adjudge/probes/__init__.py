"""Probes of an audit: deterministic edits of items that must not move a score, or must.

A probe is a folder with `probe.toml`: texts and the name of an edit, no code. Here are the edits, which
probes apply to a protocol, and the items of an audit.
"""

from .audit_items import AuditItems, audit_items, response_field
from .probe import (
    CONTROL,
    FORM,
    LEVELS,
    REPEAT,
    UNCHANGED,
    Probe,
    ProbeKind,
    Variant,
    builtin_names,
    load_probes,
    split_id,
    variant_id,
)

__all__ = [
    "CONTROL",
    "FORM",
    "LEVELS",
    "REPEAT",
    "UNCHANGED",
    "AuditItems",
    "Probe",
    "ProbeKind",
    "Variant",
    "audit_items",
    "builtin_names",
    "load_probes",
    "response_field",
    "split_id",
    "variant_id",
]
