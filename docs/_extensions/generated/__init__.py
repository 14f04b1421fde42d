"""Parts of pages that are made of the code when the documentation is built, so that they can't differ from it.

- ``markdown``: tables and the like, as text; and the base of the directives below;
- ``kinds``: the properties of a kind, and what it does by itself;
- ``commands``: every command with its options;
- ``exit_codes``: how a run ends;
- ``error_codes``: what the codes of errors mean;
- ``settings``: what a manifest says about itself;
- ``terminals``: tables and links, where there is no room for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from generated.commands import CommandReference
from generated.error_codes import ErrorCodes
from generated.exit_codes import ExitCodes
from generated.kinds import CommonProperties, KindBehaviour, KindList, KindProperties
from generated.settings import ManifestSettings
from generated.terminals import ForTerminals

if TYPE_CHECKING:
    from sphinx.application import Sphinx

DIRECTIVES = {
    "command-reference": CommandReference,
    "common-properties": CommonProperties,
    "error-codes": ErrorCodes,
    "exit-codes": ExitCodes,
    "kind-behaviour": KindBehaviour,
    "kind-list": KindList,
    "kind-properties": KindProperties,
    "manifest-settings": ManifestSettings,
}


def setup(app: Sphinx) -> dict[str, Any]:
    """Tell Sphinx of all that."""
    for name, directive in DIRECTIVES.items():
        app.add_directive(name, directive)
    app.add_post_transform(ForTerminals)
    return {"parallel_read_safe": True}
