"""The kind ``locale``: a locale that programs can use, and the one that they use by default.

`kind` holds the properties and the plan. `installed` reads which locales there are, `generated` edits the list of Debian and
makes a locale, and `running_systemd` lets the systemd that runs know the default.
"""

from reactor.resources.locale.kind import Locale

__all__ = ["Locale"]
