"""What an adapter hands over in lists: mentions, references and attachments, whole and broken."""

import pytest

from fermix.domain.message import AttachmentKind
from tests.unit.domain.samples import LARGEST_STORED, message


@pytest.mark.parametrize("claim", [1, "true", "yes", None, [True]])
def test_only_true_itself_says_that_we_were_meant(claim: object) -> None:
    found = message(
        mentions=[{"id": 1, "start": 0, "end": 1, "is_us": claim}],
        references=[{"is_ours": claim}],
        mentions_detectable=claim,
    )
    assert (found.mentions_us, found.mentions_detectable) == (False, False)
    assert not found.references[0].is_ours


@pytest.mark.parametrize(
    "mention",
    [
        {"start": 0, "end": 1},
        {"id": 1, "start": 2, "end": 1},
        {"id": 1, "start": -1, "end": 1},
        {"id": 1, "start": 0, "end": 6},
        {"id": 1, "start": 0, "end": 10**30},
        {"id": 1, "start": 0.0, "end": 1},
        {"id": 1, "start": False, "end": 1},
        "fermix",
        None,
    ],
)
def test_a_broken_mention_is_left_out_and_its_neighbour_kept(mention: object) -> None:
    found = message(content="hello", mentions=[mention, {"id": 9, "start": 0, "end": 5}])
    assert [m.id for m in found.mentions] == ["9"]


@pytest.mark.requirement("ingress.normalise.attachment_can_be_fetched_again")
@pytest.mark.parametrize(
    "reference",
    [
        "http://cdn.test/a.jpg",
        "https://cdn.test/a.jpg",
        "HTTPS://cdn.test/a.jpg",
        "Http://cdn.test/a.jpg",
        " https://cdn.test/a.jpg",
        "\thttps://cdn.test/a.jpg",
        "ftp://cdn.test/a.jpg",
        "",
        None,
        7,
    ],
)
def test_an_attachment_that_is_only_an_address_is_left_out(reference: object) -> None:
    wanted = {"kind": "image", "reference": reference}
    found = message(attachments=[wanted, {"kind": "image", "reference": "AgACAgIAAx"}])
    assert [a.reference for a in found.attachments] == ["AgACAgIAAx"]


@pytest.mark.parametrize(
    "reference", ["AgAC-_x", "C1/1.5/F2", "/home/x/.local/share/signal/a.ogg", "wamid:http"]
)
def test_a_reference_that_can_fetch_again_is_kept_as_it_is(reference: str) -> None:
    (found,) = message(attachments=[{"kind": "file", "reference": reference}]).attachments
    assert found.reference == reference


def test_an_attachments_declared_facts_are_kept_where_they_make_sense() -> None:
    whole = {
        "kind": "audio",
        "reference": "r",
        "mime_type": "audio/ogg",
        "size_bytes": 12,
        "name": "a\nb.ogg",
    }
    odd = {"kind": "hologram", "reference": "r", "mime_type": 5, "size_bytes": -1, "name": None}
    too_large = {"kind": "file", "reference": "r", "size_bytes": LARGEST_STORED + 1}
    first, second, third = message(attachments=[whole, odd, too_large]).attachments
    assert (first.kind, first.mime_type, first.size_bytes) == (AttachmentKind.AUDIO, "audio/ogg", 12)
    assert (first.name, third.size_bytes) == ("a\nb.ogg", None)
    assert (second.kind, second.mime_type, second.size_bytes) == (AttachmentKind.OTHER, None, None)


@pytest.mark.parametrize("not_a_list", ["ab", b"ab", {"a": 1}, 5, None])
def test_what_is_no_list_counts_as_an_empty_one(not_a_list: object) -> None:
    found = message(
        attachments=not_a_list, mentions=not_a_list, references=not_a_list, sender_aliases=not_a_list
    )
    assert (found.attachments, found.mentions, found.references) == ((), (), ())
    assert found.sender.aliases == ()
