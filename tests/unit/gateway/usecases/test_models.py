"""Models and their factors: what is learnt, for whom, and what refused texts are told."""

import pytest

from assemblers.tokens import Exactness
from gateway.errors import Internal, InvalidArgument, Reason
from gateway.tokenizers import MIN_OBSERVATIONS, ModelProfiles, TokenizerRegistry
from gateway.tokenizers.errors import TextTooLargeError, TokenizerFailedError
from gateway.usecases.models import ModelBook, TokenCounts, calibration_key, counting_errors
from gateway.usecases.requests import RequestedModel
from storage.ports import Receipt, UsageReport

CLAUDE = RequestedModel("anthropic", "claude-opus-4-6")
PROFILES = ModelProfiles(TokenizerRegistry())


class Usage:
    """Observations of one tenant and key. Like the store, it gives the same tuple until one is added."""

    def __init__(self, pairs: tuple[tuple[int, int], ...] = ()) -> None:
        self.pairs = pairs
        self.asked: list[tuple[str, str]] = []

    async def report(self, usage: UsageReport, receipt: Receipt[UsageReport]) -> UsageReport:
        self.pairs = (*self.pairs, (usage.estimated_raw, usage.input_tokens))
        return usage

    async def observations(self, tenant_id: str, calibration_key: str) -> tuple[tuple[int, int], ...]:
        self.asked.append((tenant_id, calibration_key))
        return self.pairs if tenant_id == "acme" else ()

    def forget_tenant(self, tenant_id: str) -> None:
        """Nothing is kept."""


async def test_too_few_reports_leave_the_configured_factor():
    book = ModelBook(PROFILES, Usage(((1000, 1500),) * (MIN_OBSERVATIONS - 1)))
    assert await book.factor("acme", CLAUDE) == 1250


async def test_enough_reports_raise_the_factor_for_their_tenant():
    book = ModelBook(PROFILES, Usage(((1000, 1500),) * MIN_OBSERVATIONS))
    profile = await book.resolve("acme", CLAUDE)
    assert (profile.tokens.factor_permille, profile.tokens.exactness) == (1500, Exactness.ESTIMATE)
    assert await book.factor("other", CLAUDE) == 1250


async def test_the_factor_after_a_report_is_known_before_it_is_stored():
    usage = Usage(((1000, 1500),) * (MIN_OBSERVATIONS - 1))
    book = ModelBook(PROFILES, usage)
    foretold = await book.factor("acme", CLAUDE, (1000, 1500))
    usage.pairs = (*usage.pairs, (1000, 1500))
    assert foretold == await book.factor("acme", CLAUDE) == 1500


async def test_only_the_latest_reports_count():
    old, new = ((1000, 3000),) * 300, ((1000, 1400),) * 200
    assert await ModelBook(PROFILES, Usage(old + new)).factor("acme", CLAUDE) == 1400


async def test_a_calibrated_profile_is_the_same_object_until_a_report_comes():
    usage = Usage(((1000, 1500),) * MIN_OBSERVATIONS)
    book = ModelBook(PROFILES, usage)
    first = await book.resolve("acme", CLAUDE)
    assert await book.resolve("acme", CLAUDE) is first
    usage.pairs = ((1000, 2000),) * MIN_OBSERVATIONS
    assert (await book.resolve("acme", CLAUDE)).tokens.factor_permille == 2000


async def test_a_public_vocabulary_asks_for_no_observations():
    usage = Usage(((1000, 1500),) * MIN_OBSERVATIONS)
    model = RequestedModel("openai", "gpt-4o")
    assert await ModelBook(PROFILES, usage).factor("acme", model, (1000, 9000)) == 1000
    assert usage.asked == []


async def test_the_vocabulary_of_a_trace_finds_the_key_that_the_model_had():
    book = ModelBook(PROFILES, Usage())
    named = RequestedModel("anthropic", "claude-opus-4-6", "o200k_base")
    assert calibration_key(await book.resolve("acme", CLAUDE)) == calibration_key(
        await book.resolve("acme", named)
    )


async def test_texts_are_counted_with_the_factor_rounded_up_each():
    counted = await TokenCounts(ModelBook(PROFILES, Usage())).count(
        "acme", CLAUDE, ["hello", "", "hello world"]
    )
    assert counted.tokens == (2, 0, 3)


async def test_an_unknown_vocabulary_is_refused_with_those_there_are():
    with pytest.raises(InvalidArgument, match="o200k_base") as caught:
        await ModelBook(PROFILES, Usage()).resolve("acme", RequestedModel("openai", "gpt-4o", "p50k"))
    assert caught.value.metadata["field"] == "model.tokenizer"


def test_what_cannot_be_counted_names_field_and_remedy_and_no_text():
    with (
        pytest.raises(InvalidArgument, match=r"texts: a text of 9 characters .* shorten it"),
        counting_errors("texts"),
    ):
        raise TextTooLargeError(9, 5)
    with pytest.raises(Internal) as caught, counting_errors():
        raise TokenizerFailedError("o200k_base")
    assert caught.value.reason is Reason.TOKENIZER_FAILED
