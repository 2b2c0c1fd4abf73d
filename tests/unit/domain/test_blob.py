"""References of stored files: back as they left, and nothing else is one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.blob import BlobRef, referenced_blob

DIGEST = "0123456789abcdef" * 4
blobs = st.builds(
    BlobRef, digest=st.text("0123456789abcdef", min_size=64, max_size=64), size_bytes=st.integers(0, 2**60)
)


@given(blobs)
def test_a_reference_names_its_file(blob: BlobRef) -> None:
    assert referenced_blob(blob.reference) == blob


@pytest.mark.parametrize(
    "reference",
    [
        "",
        DIGEST,
        f"blob:{DIGEST}",
        f"blob:{DIGEST}:-1",
        f"blob:{DIGEST}:01",
        f"blob:{DIGEST}:1\n",
        f"blob:{DIGEST.upper()}:1",
        f"blob:../{DIGEST[3:]}:1",
        f"blob:{DIGEST}:{'9' * 20}",
        f"blob:{DIGEST}:\u0661",
    ],
)
def test_what_is_not_of_that_form_names_nothing(reference: str) -> None:
    assert referenced_blob(reference) is None
