"""The gaps that our six adapters declare, as `docs/adapters.md` lists them.

`python -m tests.contract.channel.declared_gaps` writes them into the page.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fermix.testing.channel_conformance import Gap
from tests.contract.channel.cli_far_side import CLI_GAPS
from tests.contract.channel.discord_far_side import DISCORD_GAPS
from tests.contract.channel.signal_far_side import SIGNAL_GAPS
from tests.contract.channel.slack_far_side import SLACK_GAPS
from tests.contract.channel.whatsapp_far_side import WHATSAPP_GAPS

PAGE = Path(__file__).parents[3] / "docs" / "adapters.md"
MARK = "<!-- gaps: python -m tests.contract.channel.declared_gaps -->\n"

GAPS: Mapping[str, Sequence[Gap]] = {
    "Telegram": (),
    "WhatsApp": WHATSAPP_GAPS,
    "Slack": SLACK_GAPS,
    "Discord": DISCORD_GAPS,
    "Signal": SIGNAL_GAPS,
    "The terminal": CLI_GAPS,
}


def listed(gaps: Mapping[str, Sequence[Gap]]) -> str:
    """The end of the page: a table for each channel, checks with one reason in one row."""
    return "\n".join(_lines(gaps)) + "\n"


def _lines(gaps: Mapping[str, Sequence[Gap]]) -> Iterator[str]:
    for channel, declared in gaps.items():
        yield f"\n### {channel}\n"
        if not declared:
            yield "None."
            continue
        yield "| Why | Checks |"
        yield "|---|---|"
        reasons = dict.fromkeys(gap.reason for gap in declared)
        for reason in reasons:
            checks = ", ".join(f"`{gap.check}`" for gap in declared if gap.reason == reason)
            yield f"| {reason} | {checks} |"


if __name__ == "__main__":
    before, mark, _ = PAGE.read_text("utf-8").partition(MARK)
    PAGE.write_text(before + mark + listed(GAPS), "utf-8")
