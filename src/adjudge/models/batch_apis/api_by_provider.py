"""The batch API of each provider that has one."""

from __future__ import annotations

from ..providers import BatchForm
from .anthropic_batches import AnthropicBatches
from .base import BatchApi
from .gemini_batches import GeminiBatches
from .openai_batches import AzureBatches, OpenAIBatches

FORMS: dict[BatchForm, type[BatchApi]] = {
    "openai": OpenAIBatches, "azure": AzureBatches, "gemini": GeminiBatches, "anthropic": AnthropicBatches,
}  # fmt: skip
