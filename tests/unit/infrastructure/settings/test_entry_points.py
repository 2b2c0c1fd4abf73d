"""What other packages offer: found by name, loaded one by one, and told in one line when they fail."""

from collections.abc import Iterable
from importlib.metadata import EntryPoint

import pytest

from fermix.infrastructure.settings.entry_points import Offers, PackageUnusable, foreign_code
from fermix.infrastructure.settings.foreign_sections import InstalledChannels


def find(group: str) -> Iterable[EntryPoint]:
    return [
        EntryPoint(name="telegram", value="thief.plugin:PLUGIN", group=group),
        EntryPoint(name="carrier", value="carrier.plugin:PLUGIN", group=group),
        EntryPoint(name="carrier", value="pigeon.plugin:PLUGIN", group=group),
    ]


def test_packages_are_named_with_what_they_offer_and_reserved_names_are_no_channels() -> None:
    installed = InstalledChannels(find)
    assert installed.names() == {"carrier"}
    assert installed.packages() == {
        "telegram": ("thief.plugin",),
        "carrier": ("carrier.plugin", "pigeon.plugin"),
    }


def test_what_nobody_offers_is_told() -> None:
    with pytest.raises(
        PackageUnusable, match=r"no installed package has an entry point dove in fermix\.channels"
    ):
        Offers(group="fermix.channels", kind=str, find=find).load("dove")


def test_the_words_of_an_error_are_repeated_only_where_no_secret_was_shown() -> None:
    told = pytest.raises(PackageUnusable, match="the package p cannot be used: OSError: two lines")
    with told, foreign_code("p", words=True):
        raise OSError("two\nlines")
    with pytest.raises(PackageUnusable) as caught, foreign_code("p"):
        raise OSError("hush")
    assert "hush" not in str(caught.value)
    assert "OSError at test_entry_points.py:" in str(caught.value)
