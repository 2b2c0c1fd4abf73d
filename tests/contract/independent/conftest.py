"""Proofs against what none of us wrote; those that need a later Python are not looked at by an earlier one."""

import sys

import fermix.infrastructure.channels.discord  # noqa: F401  # simcord would load discord.py with its warning
from tests.contract.independent.proofs import PROOFS

collect_ignore = [f"{proof.module}.py" for proof in PROOFS if sys.version_info[:2] < proof.python]
