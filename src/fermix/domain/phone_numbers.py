"""Phone numbers as ids: one spelling of what people write, and the spellings that one phone is known by."""

import re

_WRITTEN = re.compile(r"\+?\d[\d ().-]*", re.ASCII)
_NO_DIGIT = re.compile(r"\D", re.ASCII)

_MEXICO = re.compile(r"52(1?)(\d{10})", re.ASCII)
_ARGENTINA = re.compile(r"54(9?)(\d{10})", re.ASCII)
_BRAZIL = re.compile(r"55(\d{2})(9?)([6-9]\d{7})", re.ASCII)
"""A mobile number: without its ninth digit it begins with 6 to 9, as no landline does."""


def digits_of(written: str) -> str:
    """The digits of what is written as a phone number (`+1 (555) 123-0001`); any other id as it is."""
    return _NO_DIGIT.sub("", written) if _WRITTEN.fullmatch(written) else written


def other_spellings(digits: str) -> tuple[str, ...]:
    """Other numbers that the same phone goes by.

    Numbering plans were changed, and messengers kept the old numbers: mobiles of Mexico had a 1 after the country
    code and of Argentina a 9, those of Brazil had no 9 after the area code. No other digit is ever touched.
    """
    if found := _MEXICO.fullmatch(digits):
        return (f"52{'' if found[1] else '1'}{found[2]}",)
    if found := _ARGENTINA.fullmatch(digits):
        return (f"54{'' if found[1] else '9'}{found[2]}",)
    if found := _BRAZIL.fullmatch(digits):
        return (f"55{found[1]}{'' if found[2] else '9'}{found[3]}",)
    return ()
