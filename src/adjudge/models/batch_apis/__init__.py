"""The batch APIs of providers."""
