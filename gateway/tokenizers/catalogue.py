"""The shape of `models.yaml`, and reading it: a mistake in the data stops the start with the place named."""

import re
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from assemblers.tokens import NEUTRAL, UNSCALED, Exactness, Frame

Tokens = Annotated[int, Field(ge=0)]


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FrameData(_Data):
    """The figures of a frame, in raw tokens."""

    prompt: Tokens
    message: Tokens
    tools: Tokens
    tool: Tokens
    call: Tokens
    result: Tokens

    def frame(self) -> Frame:
        """The same as the core's record."""
        return Frame(**self.model_dump())


class FramesData(_Data):
    """The frames of a family of models: the neutral one, and those of formats that differ from it."""

    source: str
    neutral: FrameData
    formats: dict[Literal["TEXT", "OPENAI_CHAT", "ANTHROPIC_MESSAGES"], FrameData] = {}

    def by_format(self) -> dict[str, Frame]:
        """Frames as `ModelTokens` takes them."""
        frames: dict[str, Frame] = {name: data.frame() for name, data in self.formats.items()}
        return frames | {NEUTRAL: self.neutral.frame()}


class CacheData(_Data):
    """How a provider caches prompts."""

    source: str
    control: Literal["EXPLICIT", "AUTOMATIC", "NONE"]
    max_breakpoints: Tokens = 0
    ttls: tuple[str, ...] = ()
    min_tokens: Tokens = 0
    lookback_blocks: Tokens = 0


class RuleData(_Data):
    """What holds for the models whose name matches."""

    name: str
    model: re.Pattern[str]
    provider: tuple[str, ...] = ()
    tokenizer: str
    exactness: Exactness
    factor_permille: Annotated[int, Field(ge=UNSCALED)] = UNSCALED
    frame: str
    cache: str
    context_window_tokens: Tokens | None = None
    min_cacheable_tokens: Tokens | None = None
    source: str

    def matches(self, provider: str, model: str) -> bool:
        """Whether the rule holds for a provider and a model, both normalised."""
        return (not self.provider or provider in self.provider) and self.model.search(model) is not None


class Catalogue(_Data):
    """All of `models.yaml`."""

    as_of: date
    frames: dict[str, FramesData]
    caches: dict[str, CacheData]
    models: tuple[RuleData, ...]
    fallback: RuleData

    @model_validator(mode="after")
    def _names_lead_somewhere(self) -> "Catalogue":
        for rule in (*self.models, self.fallback):
            if rule.frame not in self.frames:
                raise ValueError(f"models: {rule.name}: frame {rule.frame!r} is not among frames")
            if rule.cache not in self.caches:
                raise ValueError(f"models: {rule.name}: cache {rule.cache!r} is not among caches")
        return self

    def rule(self, provider: str, model: str) -> RuleData:
        """The first rule that matches, or the fallback."""
        return next((rule for rule in self.models if rule.matches(provider, model)), self.fallback)


def parse_catalogue(text: str) -> Catalogue:
    """Read a catalogue from YAML; raises `pydantic.ValidationError` or `yaml.YAMLError` with the place."""
    return Catalogue.model_validate(yaml.safe_load(text))


@cache
def shipped_catalogue() -> Catalogue:
    """The catalogue of this release, read once."""
    return parse_catalogue(files("gateway.tokenizers").joinpath("models.yaml").read_text(encoding="utf-8"))
