"""What a manifest says about itself."""

from __future__ import annotations

from collections.abc import Iterable

from generated.markdown import Generated, code, table
from reactor.manifest.document import Settings
from reactor.resource.attribute_docs import attribute_docs


class ManifestSettings(Generated):
    """The section ``settings``."""

    def markdown(self) -> Iterable[str]:
        """A table."""
        docs = attribute_docs(Settings)
        rows = [
            (code(name), " ".join(docs[name].replace("``", "`").split())) for name in Settings.model_fields
        ]
        return table(("setting", "meaning"), rows)
