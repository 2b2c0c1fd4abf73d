"""A list changed item by item, and everything else as it was."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.infrastructure.settings.document_edit import EditRefused
from fermix.infrastructure.settings.list_edit import with_items
from fermix.infrastructure.settings.value_text import toml_text

ROOTS = ("sandbox", "allowed_roots")
DOCUMENT = """\
# top
[sandbox]
allowed_roots = [ # my folders
    "~/a", # first
    # about b
    "~/b", # second
]  # end
mode = "open"
"""


def test_an_item_is_added_behind_the_others_with_their_comments() -> None:
    edited = with_items(DOCUMENT, ROOTS, ["~/a", "~/b", "/x"])
    assert edited == DOCUMENT.replace("# second\n", '# second\n    "/x",\n')


def test_an_item_is_taken_out_and_the_others_keep_their_comments() -> None:
    edited = with_items(DOCUMENT, ROOTS, ["~/b"])
    assert edited == DOCUMENT.replace('    "~/a", # first\n', "")


def test_windows_line_ends_stay() -> None:
    edited = with_items(DOCUMENT.replace("\n", "\r\n"), ROOTS, ["~/a", "~/b", "/x"])
    assert "\n" not in edited.replace("\r\n", "")


@pytest.mark.parametrize(
    "document",
    [
        "",
        "[sandbox]\n",
        "[sandbox]\nallowed_roots = []",
        'sandbox = { allowed_roots = ["~/a"] }\n',
        "[other]\n",
    ],
)
def test_every_way_to_write_it_can_be_edited(document: str) -> None:
    assert tomllib.loads(with_items(document, ROOTS, ["~/a", "/x"]))["sandbox"]["allowed_roots"] == [
        "~/a",
        "/x",
    ]


def test_a_list_below_a_value_is_refused() -> None:
    with pytest.raises(EditRefused):
        with_items("sandbox = 1\n", ROOTS, ["/x"])


ITEMS = st.lists(st.text(alphabet='ab/~ "\\\n#,]ä', max_size=5), max_size=4)


@given(before=ITEMS, after=ITEMS, in_lines=st.booleans())
def test_the_list_says_what_was_asked_for_whatever_is_in_it(
    before: list[str], after: list[str], in_lines: bool
) -> None:
    texts = [toml_text(item) for item in before]
    written = "[\n" + "".join(f"  {text}, # c\n" for text in texts) + "]" if in_lines else toml_text(before)
    document = f"# top\n[sandbox]\nallowed_roots = {written}\nmode = 'open' # end\n"

    edited = with_items(document, ROOTS, after)

    assert tomllib.loads(edited) == {"sandbox": {"allowed_roots": after, "mode": "open"}}
    assert edited.startswith("# top\n")
    assert edited.endswith("mode = 'open' # end\n")
