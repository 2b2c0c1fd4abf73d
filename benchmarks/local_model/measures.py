"""Simple, stated measures of one answer. Each is a yes or no that a reader can check by eye."""

import re
from collections import Counter
from dataclasses import dataclass

_COMMON_ENGLISH = frozenset(
    {
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "but",
        "by",
        "can",
        "do",
        "for",
        "from",
        "have",
        "i",
        "if",
        "in",
        "is",
        "it",
        "me",
        "my",
        "of",
        "on",
        "or",
        "that",
        "the",
        "this",
        "to",
        "we",
        "what",
        "will",
        "with",
        "you",
        "your",
        "yes",
        "no",
        "hello",
        "hi",
    }
)
_NGRAM_WORDS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What an answer to one request should be like.

    Attributes:
        keywords: patterns that must each be found, case aside.
        max_words: more than this is rambling.
        english: whether the answer should be English.
    """

    keywords: tuple[str, ...]
    max_words: int
    english: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the model said; `ended` is false when the token limit cut it off."""

    text: str
    ended: bool
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """The measures of one answer, all of which should hold."""

    said_something: bool
    ended_by_itself: bool
    no_repetition: bool
    right_length: bool
    right_language: bool
    on_the_subject: bool

    def missed(self) -> tuple[str, ...]:
        """The names of the measures that do not hold."""
        return tuple(name.replace("_", " ") for name in self.__slots__ if not getattr(self, name))


def judge(answer: Answer, expected: Expectation) -> Marks:
    """Measure one answer.

    Repetition is a sentence said twice, or four words in a row said three times. English is an answer of ASCII
    letters of which one word in ten is among the commonest (answers of up to five words need only the letters).
    """
    words = re.findall(r"[\w']+", answer.text.lower())
    return Marks(
        said_something=bool(words),
        ended_by_itself=answer.ended,
        no_repetition=not _repeats(answer.text, words),
        right_length=0 < len(words) <= expected.max_words,
        right_language=not expected.english or _is_english(answer.text, words),
        on_the_subject=all(re.search(word, answer.text, re.IGNORECASE) for word in expected.keywords),
    )


def _repeats(text: str, words: list[str]) -> bool:
    sentences = [
        part.strip().lower() for part in re.split(r"[.!?\n]+", text) if len(part.split()) >= _NGRAM_WORDS
    ]
    runs = Counter(zip(*(words[start:] for start in range(_NGRAM_WORDS)), strict=False))
    return len(sentences) != len(set(sentences)) or any(count >= 3 for count in runs.values())


def _is_english(text: str, words: list[str]) -> bool:
    letters = [character for character in text if character.isalpha()]
    if sum(character.isascii() for character in letters) < 0.97 * len(letters):
        return False
    return len(words) <= 5 or sum(word in _COMMON_ENGLISH for word in words) * 10 >= len(words)
