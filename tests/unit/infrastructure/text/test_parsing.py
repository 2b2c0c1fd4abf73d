"""The tree of a text: what is in it, where it stands, and what people mean who know no CommonMark."""

from hypothesis import given
from hypothesis import strategies as st

from fermix.infrastructure.text.document import (
    Block,
    Break,
    Code,
    CodeBlock,
    Heading,
    Image,
    Inline,
    Items,
    Link,
    Paragraph,
    Quote,
    Style,
    Styled,
    Table,
    Words,
    in_brackets,
    plain,
)
from fermix.infrastructure.text.parsing import parse, parse_commonmark, tidy

_PIECES = st.sampled_from(
    ["**", "*", "_", "~~", "`", "```\n", "\n", "\n\n", "# ", "- ", "1. ", "> ", "[", "](x)", "![", "|", "|---|",
     "---\n", "===\n", "word", "2*3", "    ", "\t", "\\", "<b>", "&amp;", "[a]: b\n", "[a]", "é🎉"]
)  # fmt: skip
MARKDOWN = st.lists(_PIECES | st.text(max_size=4), max_size=40).map("".join)


def only(source: str) -> Block:
    (block,) = parse(source).blocks
    return block


def inner(source: str) -> tuple[Inline, ...]:
    block = only(source)
    assert isinstance(block, Paragraph)
    return block.inner


def test_words_have_looks_inside_each_other() -> None:
    assert inner("a **b _c_** ~~d~~") == (
        Words(text="a "),
        Styled(
            style=Style.STRONG,
            inner=(Words(text="b "), Styled(style=Style.EMPHASIS, inner=(Words(text="c"),))),
        ),
        Words(text=" "),
        Styled(style=Style.STRUCK, inner=(Words(text="d"),)),
    )


def test_links_pictures_code_and_breaks_are_what_they_are() -> None:
    assert inner("[a](x)\n![b](y)`c`") == (
        Link(inner=(Words(text="a"),), url="x"),
        Break(),
        Image(inner=(Words(text="b"),), url="y"),
        Code(text="c"),
    )


def test_a_star_inside_a_word_is_a_star() -> None:
    assert inner("2*3*4") == (Words(text="2*3*4"),)
    assert inner("*a*") == (Styled(style=Style.EMPHASIS, inner=(Words(text="a"),)),)


def test_a_definition_and_an_underlined_line_stay_words() -> None:
    assert plain(inner("[a]: https://x.test\n==="), link=in_brackets) == "[a]: https://x.test\n==="
    (heading,) = parse_commonmark("a\n===").blocks
    assert isinstance(heading, Heading)


def test_items_carry_their_markers() -> None:
    numbered, signed = only("3. a\n4. b"), only("- a\n- b")
    assert isinstance(numbered, Items)
    assert isinstance(signed, Items)
    assert [item.marker for item in numbered.items] == ["3. ", "4. "]
    assert [item.marker for item in signed.items] == ["• ", "• "]


def test_a_block_knows_its_lines_and_whether_it_stands_apart() -> None:
    document = parse("# a\nb\n\n> c\n> d")
    assert [type(block) for block in document.blocks] == [Heading, Paragraph, Quote]
    assert [block.lines for block in document.blocks] == [range(1), range(1, 2), range(3, 5)]
    assert [block.apart for block in document.blocks] == [False, False, True]


def test_code_has_no_empty_edges_and_no_tabs() -> None:
    block = only("~~~py\n\n\tx = 1  \n\n~~~")
    assert isinstance(block, CodeBlock)
    assert (block.text, block.info, block.fence) == ("    x = 1", "py", "~~~")


def test_a_table_is_its_rows_with_the_heads_first() -> None:
    table = only("| a | b |\n|---|---|\n| c | |")
    assert isinstance(table, Table)
    assert table.rows == (((Words(text="a"),), (Words(text="b"),)), ((Words(text="c"),), ()))


@given(MARKDOWN)
def test_each_text_has_a_tree_whose_blocks_stand_in_order(markdown: str) -> None:
    source = tidy(markdown)
    document = parse(source)
    assert "\n".join(document.lines) == source
    edges = [line for block in document.blocks for line in (block.lines.start, block.lines.stop)]
    assert edges == sorted(edges)


@given(MARKDOWN)
def test_a_tidy_text_stays_as_it_is(markdown: str) -> None:
    once = tidy(markdown)
    assert tidy(once) == once
    assert "\r" not in once
    once.encode()
