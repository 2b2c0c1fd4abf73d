"""What the agent may do: capabilities, and the filter from trust and policies to what a turn sees."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias, assert_never

from fermix.domain.authorization import Trust


class RiskClass(StrEnum):
    """What running a capability can touch."""

    READ_ONLY = "read_only"
    READ_WRITE = "read_write"
    EXEC = "exec"
    NETWORK = "network"
    EXTERNAL_API = "external_api"
    GUI_CONTROL = "gui_control"


APPROVAL_CATEGORY = "approval"
"""Capabilities that ask the owner something; work that was handed on has nobody to ask."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """Something the agent may do, without the code that does it.

    Attributes:
        name: what the model calls it by; unique.
        parameters: JSON schema of its arguments, an object.
        risk: what it can touch.
        owner_data: whether it reads what belongs to the owner (files, memory, jobs). No default: whoever
            adds a capability must say.
        repeatable: running it twice does no more than running it once; calls that are neither read-only nor
            repeatable are journalled.
        category: capabilities of category `channel` speak to the conversation; one a step.
        terminal: a call of it can be the whole answer: where it is a step's only call, succeeds and comes
            without text, the turn ends and the model is not asked again.
    """

    name: str
    description: str
    risk: RiskClass
    owner_data: bool
    parameters: Mapping[str, object] = field(default_factory=lambda: {"type": "object", "properties": {}})
    repeatable: bool = False
    category: str = "general"
    terminal: bool = False

    @property
    def journalled(self) -> bool:
        """Whether each call leaves an effect row before and after it runs."""
        return self.risk is not RiskClass.READ_ONLY and not self.repeatable


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlyNames:
    """Nothing but these names; an empty set means nothing at all."""

    names: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class WithoutNames:
    """None of these names."""

    names: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlyRisks:
    """Nothing outside these risk classes."""

    risks: frozenset[RiskClass]


@dataclass(frozen=True, slots=True, kw_only=True)
class WithoutCategories:
    """None of these categories."""

    categories: frozenset[str]


Narrowing: TypeAlias = OnlyNames | WithoutNames | OnlyRisks | WithoutCategories


def _allows(policy: Narrowing, capability: Capability) -> bool:
    match policy:
        case OnlyNames(names=names):
            return capability.name in names
        case WithoutNames(names=names):
            return capability.name not in names
        case OnlyRisks(risks=risks):
            return capability.risk in risks
        case WithoutCategories(categories=categories):
            return capability.category not in categories
        case _:
            assert_never(policy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """How much of the registry a turn may see. It can be narrowed, never widened.

    Attributes:
        trust: of the sender; `None` behaves like a guest.
        narrowing: every policy must allow a capability.
        delegated: the work was handed on (sub-agent, background); screen control and asking the owner for
            approval are never handed on.
    """

    trust: Trust | None = None
    narrowing: tuple[Narrowing, ...] = ()
    delegated: bool = False

    def allows(self, capability: Capability) -> bool:
        """Whether a turn of this scope may see and call `capability`."""
        if self.trust is not Trust.OPERATOR and (
            capability.risk is not RiskClass.READ_ONLY or capability.owner_data
        ):
            return False
        if self.delegated and (
            capability.risk is RiskClass.GUI_CONTROL or capability.category == APPROVAL_CATEGORY
        ):
            return False
        return all(_allows(policy, capability) for policy in self.narrowing)

    def visible(self, capabilities: Iterable[Capability]) -> tuple[Capability, ...]:
        """The capabilities this scope allows, in the order given."""
        return tuple(capability for capability in capabilities if self.allows(capability))

    def narrowed(self, *policies: Narrowing, trust: Trust | None = Trust.OPERATOR) -> "Scope":
        """This scope with more policies, and with the lower of its trust and `trust`."""
        lower = Trust.OPERATOR if self.trust is trust is Trust.OPERATOR else Trust.GUEST
        return replace(self, trust=None if self.trust is None else lower, narrowing=self.narrowing + policies)

    def within(self, other: "Scope") -> "Scope":
        """What both scopes allow; a policy that both have is written once."""
        added = tuple(policy for policy in other.narrowing if policy not in self.narrowing)
        both = self.narrowed(*added, trust=other.trust)
        return replace(both, delegated=self.delegated or other.delegated)

    def handed_on(self, *policies: Narrowing) -> "Scope":
        """The scope of work delegated by a turn of this one."""
        return replace(self.narrowed(*policies, trust=self.trust), delegated=True)

    def encode(self) -> str:
        """Text for the turn's row; `decode` gives the same scope back."""
        return json.dumps(
            {
                "trust": self.trust,
                "delegated": self.delegated,
                "narrowing": [_encode(policy) for policy in self.narrowing],
            }
        )

    @classmethod
    def decode(cls, text: str) -> "Scope":
        """The scope that `encode` wrote.

        Raises:
            ValueError: the text is not one of ours; nothing is guessed from it.
        """
        try:
            raw = json.loads(text)
            scope = cls(
                trust=None if raw["trust"] is None else Trust(raw["trust"]),
                delegated=raw["delegated"] is True,
                narrowing=tuple(_decode(kind, values) for kind, values in raw["narrowing"]),
            )
        except (KeyError, TypeError, RecursionError) as exc:
            raise ValueError("not a capability scope") from exc
        if json.loads(scope.encode()) != raw or raw["delegated"] is not scope.delegated:
            raise ValueError("not a capability scope")
        return scope


def _encode(policy: Narrowing) -> tuple[str, list[str]]:
    match policy:
        case OnlyNames(names=names):
            return "only_names", sorted(names)
        case WithoutNames(names=names):
            return "without_names", sorted(names)
        case OnlyRisks(risks=risks):
            return "only_risks", sorted(risks)
        case WithoutCategories(categories=categories):
            return "without_categories", sorted(categories)
        case _:
            assert_never(policy)


def _decode(kind: str, values: list[str]) -> Narrowing:
    if not all(isinstance(value, str) for value in values):
        raise ValueError("a narrowing policy lists texts")
    match kind:
        case "only_names":
            return OnlyNames(names=frozenset(values))
        case "without_names":
            return WithoutNames(names=frozenset(values))
        case "only_risks":
            return OnlyRisks(risks=frozenset(RiskClass(value) for value in values))
        case "without_categories":
            return WithoutCategories(categories=frozenset(values))
        case _:
            raise ValueError(f"unknown narrowing policy {kind!r}")
