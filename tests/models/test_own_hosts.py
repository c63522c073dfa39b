"""The hosts that a provider's key belongs to."""

from __future__ import annotations

import pytest

from adjudge.models.own_hosts import is_at_home, owners_of


@pytest.mark.parametrize(
    ("variable", "spec", "at_home"),
    [
        ("OPENAI_API_KEY", "openai:x", True),
        ("OPENAI_API_KEY", "decisions:x", True),
        ("OPENAI_API_KEY", "https://api.openai.com/v1#x", True),
        ("OPENAI_API_KEY", "https://API.OpenAI.com:443/v1#x", True),
        ("OPENAI_API_KEY", "http://api.openai.com/v1#x", False),
        ("OPENAI_API_KEY", "https://api.openai.com.evil.example/v1#x", False),
        ("OPENAI_API_KEY", "https://api.openai.com@evil.example/v1#x", False),
        ("OPENAI_API_KEY", "https://api.openai.com/v1,https://evil.example/v1#x", False),
        ("OPENAI_API_KEY", "anthropic:x", False),
        ("OPENAI_API_KEY", "ollama:x", False),
        ("OPENAI_API_KEY", "fake:text=x", True),
        ("AZURE_OPENAI_API_KEY", "https://mine.openai.azure.com/v1#x", True),
        ("AZURE_OPENAI_API_KEY", "https://evil.example/.openai.azure.com/v1#x", False),
        ("AWS_SECRET_ACCESS_KEY", "bedrock:x", True),
        ("AWS_SECRET_ACCESS_KEY", "openai:x", False),
    ],
)
def test_a_key_is_at_home_at_its_providers_hosts_alone(variable: str, spec: str, at_home: bool) -> None:
    assert is_at_home(variable, spec) is at_home


def test_the_users_address_takes_the_place_of_the_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://proxy.internal:8080/openai/v1")
    assert is_at_home("OPENAI_API_KEY", "http://proxy.internal:8080/v1#x")
    assert not is_at_home("OPENAI_API_KEY", "http://proxy.internal:8081/v1#x")
    assert not is_at_home("ANTHROPIC_API_KEY", "http://proxy.internal:8080/v1#x")


def test_a_variable_of_no_provider_has_no_owner() -> None:
    assert owners_of("HOUSE_KEY") == []
    assert owners_of("") == []
