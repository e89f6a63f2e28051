"""Tokenizers and model profiles: the adapters behind the core's `TokenCounter`, and dated data on models."""

from gateway.tokenizers.calibration import MIN_OBSERVATIONS, WINDOW, calibrated_factor
from gateway.tokenizers.errors import (
    TextNotEncodableError,
    TextTooLargeError,
    TokenizerError,
    TokenizerFailedError,
    UnknownTokenizerError,
)
from gateway.tokenizers.profiles import CacheRules, ModelProfile, ModelProfiles
from gateway.tokenizers.registry import DEFAULT_TOKENIZER, TOKENIZER_IDS, TokenizerRegistry

__all__ = [
    "DEFAULT_TOKENIZER",
    "MIN_OBSERVATIONS",
    "TOKENIZER_IDS",
    "WINDOW",
    "CacheRules",
    "ModelProfile",
    "ModelProfiles",
    "TextNotEncodableError",
    "TextTooLargeError",
    "TokenizerError",
    "TokenizerFailedError",
    "TokenizerRegistry",
    "UnknownTokenizerError",
    "calibrated_factor",
]
