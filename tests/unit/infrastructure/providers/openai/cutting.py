"""Cutting a byte stream at any places, as networks do."""

from itertools import pairwise


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """`data` in pieces, some of them empty; the places wrap around at its end."""
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]
