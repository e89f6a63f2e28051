"""From what a call names to what it gets: policy revision, prefix, model and budget."""

from dataclasses import dataclass
from typing import Protocol

from assemblers.policy.model import Policy, PolicyRevision, PrefixSection
from assemblers.records import PrefixRevision
from gateway.errors import FailedPrecondition, InvalidArgument, Reason
from gateway.tokenizers.profiles import ModelProfile
from gateway.usecases.degradations import POLICY_AS_IT_WAS
from gateway.usecases.freshness import Standing
from gateway.usecases.last_good import LastGood
from gateway.usecases.requests import ContextRequest, RequestedBudget, RequestedModel
from storage.ports import PrefixStore

MAX_TOKENS = 2**31 - 1
"""The largest limit that a report can state."""


class PolicyCatalog(Protocol):
    """Parsed policy revisions."""

    async def resolve(self, tenant_id: str, policy: str) -> PolicyRevision:
        """The revision for "" (the tenant's default, else the built-in one), an id, or a resource name.

        Raises NotFound for an unknown one and FailedPrecondition for one that cannot be used.
        """
        ...


class ModelCatalog(Protocol):
    """Model profiles with the factor that was learnt for the tenant."""

    async def resolve(self, tenant_id: str, model: RequestedModel) -> ModelProfile: ...


@dataclass(frozen=True, slots=True)
class Resolved:
    """Policy, prefix, model and limit of one assembly. `limit` is in the model's tokens."""

    policy: PolicyRevision
    prefix: PrefixRevision | None
    profile: ModelProfile
    limit: int
    warnings: tuple[str, ...]


class Resolver:
    """Resolves one request's policy, prefix, model and limit, from memory unless it is the first time."""

    def __init__(self, policies: PolicyCatalog, models: ModelCatalog, prefixes: PrefixStore) -> None:
        self._policies, self._models, self._prefixes = policies, models, prefixes
        self._last_policies: LastGood[PolicyRevision] = LastGood()
        self._last_models: LastGood[ModelProfile] = LastGood()
        self._last_prefixes: LastGood[PrefixRevision | None] = LastGood()

    async def resolve(self, request: ContextRequest, standing: Standing) -> Resolved:
        """Raises NotFound, InvalidArgument or FailedPrecondition with the remedy.

        Where SQL does not answer, what was resolved last for the same tenant is in force; where that is nothing,
        `StorageUnavailable`.
        """
        tenant = request.session.tenant_id
        epoch, answers = standing.required.tenant, standing.sql_answers
        found = await self._last_policies.get(
            (tenant, request.policy), lambda: self._policies.resolve(tenant, request.policy), epoch, answers
        )
        revision = found.value
        model = requested_model(request.model, revision.policy)
        profile = await self._last_models.get(
            (tenant, model), lambda: self._models.resolve(tenant, model), epoch, answers
        )
        prefix, warnings = await self._prefix(tenant, revision.policy, epoch, answers)
        if found.is_behind:
            warnings = (POLICY_AS_IT_WAS, *warnings)
        stated = model.context_window_tokens
        window = profile.value.context_window_tokens if stated is None else stated
        most = limit(request.budget, window, revision.policy)
        return Resolved(revision, prefix, profile.value, most, warnings)

    async def _prefix(
        self, tenant: str, policy: Policy, epoch: int, answers: bool
    ) -> tuple[PrefixRevision | None, tuple[str, ...]]:
        settings = policy.settings(PrefixSection)
        if settings is None:
            return None, ()
        key = (tenant, settings.prefix_id, settings.revision)
        found = (await self._last_prefixes.get(key, lambda: self._prefixes.find(*key), epoch, answers)).value
        if found is not None:
            return found, ()
        what = f"prefix {settings.prefix_id!r}" + (
            f" revision {settings.revision}" if settings.revision else ""
        )
        remedy = "register it with PrefixService.RegisterPrefixRevision"
        if settings.required:
            raise FailedPrecondition(
                Reason.POLICY_UNUSABLE,
                f"{what}, which the policy requires, is not registered: {remedy}",
                {"policy": policy.policy_id},
            )
        return None, (f"{what} is not registered, the prompt has none: {remedy}",)


def requested_model(model: RequestedModel | None, policy: Policy) -> RequestedModel:
    """The call's model, else the policy's."""
    if model is not None and model.model:
        return model
    chosen = policy.model
    base = RequestedModel(chosen.provider, chosen.model, chosen.tokenizer)
    if model is None:
        return base
    return RequestedModel(
        base.provider, base.model, model.tokenizer or base.tokenizer, model.context_window_tokens
    )


def limit(asked: RequestedBudget, window: int | None, policy: Policy) -> int:
    """The smaller of the set ones of `max_input_tokens` and window - reserve; none set: the policy's.

    A window counts as set where the caller reserves output tokens or names no limit beside one of its own.
    """
    reserve = asked.reserve_output_tokens
    bounds = [] if asked.max_input_tokens is None else [asked.max_input_tokens]
    if window is not None:
        held_back = policy.budget.reserve_output_tokens if reserve is None else reserve
        if held_back > window:
            raise InvalidArgument.of(
                "budget.reserve_output_tokens",
                f"{held_back} is more than the context window of {window} tokens: reserve less",
            )
        bounds.append(window - held_back)
    if asked.max_input_tokens is None and reserve is None:
        bounds.append(policy.budget.max_input_tokens)
    return min(*bounds, MAX_TOKENS)
