"""Which tokenizer, factor, frame and cache rules a model gets, and what happens to one that is not known."""

from datetime import date

import pydantic
import pytest

from assemblers.tokens import ANTHROPIC_MESSAGES, NEUTRAL, TEXT, Exactness, Frame
from gateway.tokenizers import ModelProfiles, TokenizerRegistry, UnknownTokenizerError
from gateway.tokenizers.catalogue import parse_catalogue, shipped_catalogue

MINIMAL = """
as_of: 2026-11-29
frames:
  plain:
    source: a test
    neutral: {prompt: 1, message: 2, tools: 3, tool: 4, call: 5, result: 6}
    formats: {TEXT: {prompt: 0, message: 0, tools: 0, tool: 0, call: 0, result: 0}}
caches: {none: {source: a test, control: NONE}}
models: []
fallback: {name: unknown, model: '', tokenizer: o200k_base, exactness: ESTIMATE, frame: plain, cache: none,
           source: a test}
"""


@pytest.fixture(scope="session")
def profiles(registry: TokenizerRegistry) -> ModelProfiles:
    return ModelProfiles(registry)


@pytest.mark.parametrize(
    ("provider", "model", "tokenizer", "exactness", "factor"),
    [
        ("openai", "gpt-5.6", "o200k_base", "EXACT", 1000),
        ("openai", "gpt-5-2025-08-07", "o200k_base", "EXACT", 1000),
        ("openai", "gpt-4o-mini", "o200k_base", "EXACT", 1000),
        ("", "openai/o3-mini", "o200k_base", "EXACT", 1000),
        ("openai", "gpt-4-0613", "cl100k_base", "EXACT", 1000),
        ("azure", "gpt-35-turbo", "cl100k_base", "EXACT", 1000),
        ("", "openai/gpt-oss-20b", "o200k_harmony", "EXACT", 1000),
        ("", "llama3:8b", "llama3", "EXACT", 1000),
        ("", "meta-llama/Llama-3.1-8B-Instruct", "llama3", "UPPER_BOUND", 1000),
        ("", "Qwen/Qwen3-8B", "qwen3", "EXACT", 1000),
        ("", "deepseek-v3.1", "deepseek_v3", "UPPER_BOUND", 1000),
        ("deepseek", "deepseek-chat", "deepseek_v3", "ESTIMATE", 1000),
        ("", "glm-4.5", "glm4", "UPPER_BOUND", 1000),
        ("", "kimi-k2-instruct", "kimi_k2", "UPPER_BOUND", 1000),
        ("", "mistral-large-latest", "tekken", "ESTIMATE", 1000),
        ("anthropic", "claude-3-5-sonnet-latest", "o200k_base", "ESTIMATE", 1250),
        ("bedrock", "us.anthropic.claude-opus-4-6-v1:0", "o200k_base", "ESTIMATE", 1250),
        ("vertex", "claude-opus-4@20250514", "o200k_base", "ESTIMATE", 1250),
        ("anthropic", "claude-sonnet-4-6", "o200k_base", "ESTIMATE", 1250),
        ("anthropic", "claude-opus-4-7", "o200k_base", "ESTIMATE", 1800),
        ("", "anthropic/claude-sonnet-5", "o200k_base", "ESTIMATE", 1800),
        ("anthropic", "claude-opus-4-12", "o200k_base", "ESTIMATE", 1800),
        ("google", "gemini-2.5-pro", "o200k_base", "ESTIMATE", 1200),
    ],
)
def test_a_known_model_gets_its_vocabulary_and_factor(
    profiles: ModelProfiles, provider: str, model: str, tokenizer: str, exactness: str, factor: int
):
    tokens = profiles.resolve(provider, model).tokens
    assert (tokens.counter.id, tokens.exactness.name, tokens.factor_permille) == (
        tokenizer,
        exactness,
        factor,
    )


@pytest.mark.parametrize(
    "model", ["", "gpt-6", "marco-o1", "llama-4", "qwen3.5", "deepseek-r1-distill-qwen-7b", "🤖"]
)
def test_an_unknown_model_gets_the_fallback(profiles: ModelProfiles, model: str):
    profile = profiles.resolve("somebody", model)
    assert profile.rule == "unknown"
    assert profile.tokens.counter.id == "o200k_base"
    assert profile.tokens.factor_permille == 1500
    assert profile.tokens.exactness is Exactness.ESTIMATE
    assert profile.context_window_tokens is None
    assert profile.cache.control == "NONE"


def test_an_unknown_model_of_a_known_provider_gets_the_providers_safer_figures(profiles: ModelProfiles):
    profile = profiles.resolve("Anthropic", "next-big-thing")
    assert profile.tokens.factor_permille == 1800
    assert profile.cache.max_breakpoints == 4


@pytest.mark.parametrize(
    ("model", "minimum"),
    [
        ("claude-opus-4-8", 4096),
        ("claude-opus-4-5", 4096),
        ("claude-haiku-4-5-20251001", 4096),
        ("claude-sonnet-4-6", 2048),
        ("claude-sonnet-4-5", 1024),
        ("claude-sonnet-5", 1024),
        ("claude-fable-5", 2048),
        ("claude-opus-5.5", 512),
        ("claude-sonnet-5.5", 512),
    ],
)
def test_cache_rules_of_claude_depend_on_the_model(profiles: ModelProfiles, model: str, minimum: int):
    cache = profiles.resolve("anthropic", model).cache
    assert cache.min_tokens == minimum
    assert (cache.control, cache.max_breakpoints, cache.ttls) == ("EXPLICIT", 4, ("5m", "1h"))
    assert cache.lookback_blocks == 20


def test_openai_caches_by_itself_until_explicit_breakpoints_came(profiles: ModelProfiles):
    assert profiles.resolve("openai", "gpt-5.5").cache.control == "AUTOMATIC"
    assert profiles.resolve("openai", "gpt-5.6").cache.control == "EXPLICIT"
    assert profiles.resolve("openai", "gpt-5.10").cache.control == "EXPLICIT"
    assert profiles.resolve("openai", "gpt-5.5").cache.min_tokens == 1024


def test_frames_are_those_of_the_models_template(profiles: ModelProfiles):
    frames = {
        model: profiles.resolve("", model).tokens.frame()
        for model in ("gpt-5", "gpt-oss-20b", "llama3", "qwen3", "claude-opus-4-5")
    }
    shape = {model: (frame.message, frame.prompt) for model, frame in frames.items()}
    assert shape == {
        "gpt-5": (4, 3),
        "gpt-oss-20b": (4, 2),
        "llama3": (5, 5),
        "qwen3": (5, 3),
        "claude-opus-4-5": (4, 3),
    }


def test_tools_turn_an_exact_model_into_an_estimate(profiles: ModelProfiles):
    tokens = profiles.resolve("openai", "gpt-5").tokens
    assert tokens.exactness_for(has_tools=False) is Exactness.EXACT
    assert tokens.exactness_for(has_tools=True) is Exactness.ESTIMATE


def test_an_override_names_the_vocabulary_of_an_unknown_model(profiles: ModelProfiles):
    tokens = profiles.resolve("vllm", "our-own", "qwen3").tokens
    assert (tokens.counter.id, tokens.factor_permille, tokens.exactness.name) == ("qwen3", 1000, "ESTIMATE")


def test_an_override_that_says_what_is_known_changes_nothing(profiles: ModelProfiles):
    assert profiles.resolve("openai", "gpt-5", "o200k_base") == profiles.resolve("openai", "gpt-5")
    assert profiles.resolve("", "our-own", "o200k_base").tokens.factor_permille == 1500


def test_an_override_does_not_take_the_factor_from_a_model_without_a_public_vocabulary(
    profiles: ModelProfiles,
):
    tokens = profiles.resolve("anthropic", "claude-opus-4-7", "cl100k_base").tokens
    assert (tokens.counter.id, tokens.factor_permille) == ("cl100k_base", 1800)


def test_an_override_that_is_not_carried_is_refused(profiles: ModelProfiles):
    with pytest.raises(UnknownTokenizerError, match="use one of o200k_base"):
        profiles.resolve("openai", "gpt-5", "gpt2")


def test_a_learnt_factor_makes_an_estimate_and_the_same_factor_changes_nothing(profiles: ModelProfiles):
    profile = profiles.resolve("openai", "gpt-5")
    assert profile.calibrated(1000) is profile
    learnt = profile.calibrated(1100)
    assert learnt.tokens.exactness is Exactness.ESTIMATE
    assert learnt.tokens.scaled(10) == 11


def test_spellings_of_a_model_share_their_calibration(profiles: ModelProfiles):
    first = profiles.resolve("Anthropic", "Claude-Opus-4.7").calibration_key
    second = profiles.resolve("anthropic", "claude-opus-4-7").calibration_key
    assert first == second == ("anthropic", "claude-opus-4-7", "o200k_base")


def test_a_profile_says_when_and_from_where_its_figures_are(profiles: ModelProfiles):
    profile = profiles.resolve("google", "gemini-3-pro")
    assert profile.as_of == date(2026, 11, 29)
    assert profile.source


def test_every_rule_of_the_shipped_catalogue_resolves(registry: TokenizerRegistry):
    catalogue = shipped_catalogue()
    for rule in (*catalogue.models, catalogue.fallback):
        assert registry.counter(rule.tokenizer).id == rule.tokenizer
        assert rule.factor_permille == 1000 or rule.exactness is Exactness.ESTIMATE, rule.name


def test_a_format_may_have_a_frame_of_its_own(registry: TokenizerRegistry):
    tokens = ModelProfiles(registry, parse_catalogue(MINIMAL)).resolve().tokens
    assert tokens.frame(TEXT) == Frame(prompt=0, message=0)
    assert tokens.frame(ANTHROPIC_MESSAGES) == tokens.frame(NEUTRAL) == Frame(1, 2, 3, 4, 5, 6)


@pytest.mark.parametrize(
    ("good", "bad", "message"),
    [
        ("frame: plain", "frame: fancy", "unknown: frame 'fancy' is not among frames"),
        ("cache: none", "cache: some", "unknown: cache 'some' is not among caches"),
        ("model: ''", "model: '('", "model"),
        ("exactness: ESTIMATE", "exactness: SURE", "exactness"),
        ("prompt: 1", "prompt: -1", "prompt"),
        ("source: a test\n    neutral", "neutral", "source"),
        ("control: NONE", "control: NONE, colour: red", "colour"),
    ],
)
def test_a_mistake_in_the_catalogue_is_named(good: str, bad: str, message: str):
    assert good in MINIMAL
    with pytest.raises(pydantic.ValidationError, match=message):
        parse_catalogue(MINIMAL.replace(good, bad))
