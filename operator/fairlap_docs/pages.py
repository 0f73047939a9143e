"""The generated pages of the documentation, by file name in docs/."""

from fairlap_docs.architecture import architecture
from fairlap_docs.reason_pages import reasons_page
from fairlap_docs.reference import reference_page


def pages() -> dict[str, str]:
    """Return the text of each generated page by its file name."""
    return {"reference.md": reference_page(), "reasons.md": reasons_page(), "architecture.md": architecture()}
