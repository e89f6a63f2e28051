"""From provider, model and perhaps tokenizer to a profile: how its tokens are counted, how it caches."""

import re
from dataclasses import dataclass, replace
from datetime import date

from assemblers.tokens import UNSCALED, Exactness, ModelTokens
from gateway.tokenizers.catalogue import CacheData, Catalogue, RuleData, shipped_catalogue
from gateway.tokenizers.registry import TokenizerRegistry

_SEPARATORS = re.compile(r"[.:@_\s]+")


@dataclass(frozen=True, slots=True)
class CacheRules:
    """What a provider's prompt cache takes."""

    control: str
    """EXPLICIT (breakpoints), AUTOMATIC or NONE."""
    max_breakpoints: int
    """Breakpoints per request; 0 where there are none."""
    ttls: tuple[str, ...]
    """TTL classes, the shortest first, as the provider spells them."""
    min_tokens: int
    """A prefix of fewer tokens (the model's, not raw ones) is silently not cached; 0 where unknown."""
    lookback_blocks: int
    """Content blocks before a breakpoint that are searched for an earlier entry; 0 where unlimited."""


@dataclass(frozen=True, slots=True)
class ModelProfile:
    """What is known of a model on the date of the catalogue."""

    provider: str
    model: str
    rule: str
    """Name of the catalogue's rule that decided; `unknown` for the fallback."""
    tokens: ModelTokens
    cache: CacheRules
    context_window_tokens: int | None
    """None where it is not known: then only the caller's limits count."""
    as_of: date
    source: str
    """Where the tokenizer, factor and sizes come from."""

    @property
    def calibration_key(self) -> tuple[str, str, str]:
        """Provider, model and tokenizer: under these, and the tenant, reported usage is collected."""
        return normalised(self.provider), normalised(self.model), self.tokens.counter.id

    def calibrated(self, factor_permille: int) -> "ModelProfile":
        """The profile with a learnt factor; a factor other than the configured one makes it an ESTIMATE."""
        if factor_permille == self.tokens.factor_permille:
            return self
        tokens = replace(self.tokens, factor_permille=factor_permille, exactness=Exactness.ESTIMATE)
        return replace(self, tokens=tokens)


def normalised(name: str) -> str:
    """A provider's or model's name as it is compared: lower case, `-` for `.`, `:`, `@`, `_` and spaces."""
    return _SEPARATORS.sub("-", name.strip().lower())


class ModelProfiles:
    """Resolves profiles from a catalogue; safe to use from several threads."""

    def __init__(self, registry: TokenizerRegistry, catalogue: Catalogue | None = None) -> None:
        self._registry = registry
        self._catalogue = catalogue if catalogue is not None else shipped_catalogue()

    def resolve(self, provider: str = "", model: str = "", tokenizer: str = "") -> ModelProfile:
        """The profile of a model; one that is not known gets the documented fallback, never an error.

        `tokenizer` overrides the vocabulary: the caller knows what the model uses. Its frame stays a guess,
        so the exactness is then ESTIMATE. Raises `UnknownTokenizerError` for an id that this build does not
        carry.
        """
        rule = self._catalogue.rule(normalised(provider), normalised(model))
        return ModelProfile(
            provider=provider,
            model=model,
            rule=rule.name,
            tokens=self._tokens(rule, tokenizer),
            cache=_cache_rules(self._catalogue.caches[rule.cache], rule),
            context_window_tokens=rule.context_window_tokens,
            as_of=self._catalogue.as_of,
            source=rule.source,
        )

    def _tokens(self, rule: RuleData, override: str) -> ModelTokens:
        foreign = bool(override) and override != rule.tokenizer
        return ModelTokens(
            counter=self._registry.counter(override or rule.tokenizer),
            frames=self._catalogue.frames[rule.frame].by_format(),
            exactness=Exactness.ESTIMATE if foreign else rule.exactness,
            factor_permille=self._factor(rule, foreign),
        )

    def _factor(self, rule: RuleData, foreign: bool) -> int:
        # The fallback's factor covers for not knowing the vocabulary, and an override says which it is. The
        # factor of a model without a public one stays: an override cannot be its own vocabulary either.
        return UNSCALED if foreign and rule is self._catalogue.fallback else rule.factor_permille


def _cache_rules(cache: CacheData, rule: RuleData) -> CacheRules:
    minimum = rule.min_cacheable_tokens
    return CacheRules(
        control=cache.control,
        max_breakpoints=cache.max_breakpoints,
        ttls=cache.ttls,
        min_tokens=cache.min_tokens if minimum is None else minimum,
        lookback_blocks=cache.lookback_blocks,
    )
