"""Model profiles with what was learnt from reported usage, and token counts for callers."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from assemblers.tokens import UNSCALED
from gateway.errors import GatewayError, Internal, InvalidArgument, Reason
from gateway.tokenizers import (
    WINDOW,
    ModelProfile,
    ModelProfiles,
    TextTooLargeError,
    TokenizerError,
    UnknownTokenizerError,
    calibrated_factor,
)
from gateway.usecases.requests import RequestedModel
from gateway.usecases.resolution import ModelCatalog
from storage.lru import Lru
from storage.ports import UsageStore

KNOWN_PROFILES = 512
KEY_SEPARATOR = "\x1f"


@dataclass(frozen=True, slots=True)
class _Calibrated:
    observations: tuple[tuple[int, int], ...]
    profile: ModelProfile


class ModelBook:
    """Resolves models; an estimate's factor is the one learnt for the tenant."""

    def __init__(self, profiles: ModelProfiles, usage: UsageStore) -> None:
        self._profiles, self._usage = profiles, usage
        self._known: Lru[tuple[str, str, str], ModelProfile] = Lru(KNOWN_PROFILES)
        self._calibrated: Lru[tuple[str, str], _Calibrated] = Lru(KNOWN_PROFILES)

    async def resolve(self, tenant_id: str, model: RequestedModel) -> ModelProfile:
        """The profile. Raises InvalidArgument for a tokenizer that is not shipped."""
        profile = self._profile(model)
        if profile.tokens.factor_permille == UNSCALED:
            return profile
        key = calibration_key(profile)
        observations = await self._usage.observations(tenant_id, key)
        if not observations:
            return profile
        known = self._calibrated.get((tenant_id, key))
        if known is None or known.observations is not observations:
            factor = calibrated_factor(profile.tokens.factor_permille, observations[-WINDOW:])
            known = _Calibrated(observations, profile.calibrated(factor))
            self._calibrated.put((tenant_id, key), known)
        return known.profile

    async def factor(
        self, tenant_id: str, model: RequestedModel, reported: tuple[int, int] | None = None
    ) -> int:
        """The factor in thousandths; with `reported`, a raw estimate and what was billed, as it is after that."""
        if reported is None:
            return (await self.resolve(tenant_id, model)).tokens.factor_permille
        profile = self._profile(model)
        configured = profile.tokens.factor_permille
        if configured == UNSCALED:
            return configured
        known = await self._usage.observations(tenant_id, calibration_key(profile))
        return calibrated_factor(configured, (*known, reported)[-WINDOW:])

    def _profile(self, model: RequestedModel) -> ModelProfile:
        key = (model.provider, model.model, model.tokenizer)
        profile = self._known.get(key)
        if profile is None:
            try:
                profile = self._profiles.resolve(*key)
            except UnknownTokenizerError as error:
                raise InvalidArgument.of(
                    "model.tokenizer",
                    f"is not shipped: choose one of {', '.join(error.known)}, or leave it empty",
                ) from None
            self._known.put(key, profile)
        return profile


def calibration_key(profile: ModelProfile) -> str:
    """Under which key a model's usage is collected."""
    return KEY_SEPARATOR.join(profile.calibration_key)


@contextmanager
def counting_errors(field: str = "turn") -> Iterator[None]:
    """Raises `uncountable` for what a tokenizer refuses. `field` is where the texts come from."""
    try:
        yield
    except TokenizerError as error:
        raise uncountable(error, field) from None


def uncountable(error: TokenizerError, field: str = "turn") -> GatewayError:
    """What a tokenizer refuses as an error that names the remedy."""
    if isinstance(error, TextTooLargeError):
        return InvalidArgument.of(
            field,
            f"a text of {error.characters} characters cannot be counted in one piece (at most {error.limit}): "
            "break it into lines or shorten it",
        )
    return Internal(
        Reason.TOKENIZER_FAILED,
        "the tokenizer could not count the texts: shorten unusual runs of characters",
    )


@dataclass(frozen=True, slots=True)
class Counted:
    """Counts of texts in the model's tokens, without any frame."""

    tokens: tuple[int, ...]
    profile: ModelProfile


class TokenCounts:
    """CountTokens."""

    def __init__(self, models: ModelCatalog) -> None:
        self._models = models

    async def count(self, tenant_id: str, model: RequestedModel, texts: Sequence[str]) -> Counted:
        """Each text's tokens. Raises InvalidArgument."""
        profile = await self._models.resolve(tenant_id, model)
        counts = []
        for index, text in enumerate(texts):
            with counting_errors(f"texts[{index}]"):
                counts.append(profile.tokens.scaled(profile.tokens.counter.count(text)))
        return Counted(tuple(counts), profile)
