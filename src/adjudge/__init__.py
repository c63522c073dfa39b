"""Adjudge scores model outputs with LLM judges, and says how far each score can be trusted."""

from __future__ import annotations
