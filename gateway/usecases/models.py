"""Model profiles with what was learnt from reported usage; token counts for callers; usage reports."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from assemblers.tokens import UNSCALED
from assemblers.trace.codec import decode_record
from assemblers.trace.content_codec import decode_content
from gateway.errors import FailedPrecondition, Internal, InvalidArgument, NotFound, Reason
from gateway.names import trace_name
from gateway.tokenizers import (
    ModelProfile,
    ModelProfiles,
    TextTooLargeError,
    WINDOW,
    TokenizerError,
    UnknownTokenizerError,
    calibrated_factor,
)
from gateway.usecases.lru import LruMap
from gateway.usecases.requests import RequestedModel
from storage.errors import NotFound as NotStored
from storage.ports import Receipt, TraceStore, UsageReport, UsageStore

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
        self._known: LruMap[tuple[str, str, str], ModelProfile] = LruMap(KNOWN_PROFILES)
        self._calibrated: LruMap[tuple[str, str], _Calibrated] = LruMap(KNOWN_PROFILES)

    def resolve(self, tenant_id: str, model: RequestedModel) -> ModelProfile:
        """The profile. Raises InvalidArgument for a tokenizer that is not shipped."""
        profile = self._profile(model)
        if profile.tokens.factor_permille == UNSCALED:
            return profile
        key = calibration_key(profile)
        observations = self._usage.peek_observations(tenant_id, key)
        if not observations:
            return profile
        known = self._calibrated.get((tenant_id, key))
        if known is None or known.observations is not observations:
            factor = calibrated_factor(profile.tokens.factor_permille, observations[-WINDOW:])
            known = _Calibrated(observations, profile.calibrated(factor))
            self._calibrated.put((tenant_id, key), known)
        return known.profile

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
def counting_errors() -> Iterator[None]:
    """Turns what a tokenizer refuses into an error that names the remedy."""
    try:
        yield
    except TextTooLargeError as error:
        raise InvalidArgument.of(
            "turn",
            f"a text of {error.characters} characters cannot be counted in one piece (at most {error.limit}): "
            "break it into lines or shorten it",
        ) from None
    except TokenizerError:
        raise Internal(
            Reason.TOKENIZER_FAILED,
            "the tokenizer could not count the prompt: shorten unusual runs of characters",
        ) from None


@dataclass(frozen=True, slots=True)
class Counted:
    """Counts of texts in the model's tokens, without any frame."""

    tokens: tuple[int, ...]
    profile: ModelProfile


class TokenCounts:
    """CountTokens."""

    def __init__(self, models: ModelBook) -> None:
        self._models = models

    def count(self, tenant_id: str, model: RequestedModel, texts: Sequence[str]) -> Counted:
        """Each text's tokens. Raises InvalidArgument."""
        profile = self._models.resolve(tenant_id, model)
        with counting_errors():
            counts = tuple([profile.tokens.scaled(profile.tokens.counter.count(text)) for text in texts])
        return Counted(counts, profile)


@dataclass(frozen=True, slots=True)
class UsageAnswer:
    """What was estimated for the trace, and the factor that is used from now on."""

    estimated_tokens: int
    factor_permille: int


class UsageReports:
    """ReportUsage: calibrates the estimates of models without a public tokenizer."""

    def __init__(self, traces: TraceStore, usage: UsageStore, models: ModelBook) -> None:
        self._traces, self._usage, self._models = traces, usage, models

    async def draft(
        self, tenant_id: str, trace_id: str, billed: tuple[int, int, int, int], now: datetime
    ) -> UsageReport:
        """The report for a trace; `billed` is input, cached, written and output tokens. Raises NotFound."""
        try:
            stored = await self._traces.get(tenant_id, trace_id)
        except NotStored:
            raise NotFound from None
        if stored.content is None:
            raise FailedPrecondition(
                Reason.ERASED,
                "trace: its content was erased, so its model is not known any more",
                {"name": trace_name(tenant_id, trace_id)},
            )
        record, asked = decode_record(stored.record), decode_content(stored.content).asked
        profile = self._models.resolve(
            tenant_id, RequestedModel(asked.provider, asked.model, record.counting.tokenizer)
        )
        raw = record.budget.used * UNSCALED // record.budget.factor_permille
        return UsageReport(tenant_id, trace_id, calibration_key(profile), raw, *billed, now)

    async def report(self, usage: UsageReport, receipt: Receipt[UsageReport]) -> UsageReport:
        """Store it."""
        return await self._usage.report(usage, receipt)

    def answer(self, usage: UsageReport) -> UsageAnswer:
        """What the caller learns from a stored report."""
        provider, model, tokenizer = usage.calibration_key.split(KEY_SEPARATOR)
        profile = self._models.resolve(usage.tenant_id, RequestedModel(provider, model, tokenizer))
        return UsageAnswer(profile.tokens.scaled(usage.estimated_raw), profile.tokens.factor_permille)
