"""The Discord channel. Its library is imported here first, since it imports what Python has deprecated."""

import warnings

with warnings.catch_warnings():
    # `audioop`, which the library needs for voice; on Python 3.13 it brings one of its own.
    warnings.simplefilter("ignore", DeprecationWarning)
    import discord  # noqa: F401  # for what importing it leaves behind
