"""One registry for the whole folder: vocabularies are loaded once."""

import pytest

from gateway.tokenizers import TokenizerRegistry


@pytest.fixture(scope="session")
def registry() -> TokenizerRegistry:
    return TokenizerRegistry()
