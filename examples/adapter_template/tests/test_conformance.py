"""Every check of Fermix, run by pytest; `fermix conformance fermix_parley` runs the same and prints the gaps."""

from fermix_parley.conformance import ParleyConformance


class TestParley(ParleyConformance):
    """The suite, under a name that pytest collects."""
