"""The kind ``locale``: a locale that programs can use, and the one that they use by default.

`installed` reads which locales there are, and `generated` edits the list of Debian and makes a locale.
"""

from reactor.resources.locale.kind import Locale

__all__ = ["Locale"]
