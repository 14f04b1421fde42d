"""What CCM says of a problem, and what ours has to speak of: the words may be better, the matter is the same."""

import re

WORDING = [
    (r"health check status \"(\w+)\"", r"(?i){0}"),
    (r"exit code (\d+): exit code \1 not in allowed returns", r"exit code {0} is not"),
    (r"schema: at '/ccm/resources': got null, want array", "declares no resources"),
]
"""A pattern of CCM's text, and one that ours must match; ``{0}`` is what the first group found."""

_WORD = re.compile(r"[\w/-]{3,}")
_STOPWORDS = {
    "the", "and", "for", "with", "from", "must", "not", "are", "has", "have", "when", "manifest", "resource", "resources", "invalid",
    "error", "failed", "property", "cannot", "using", "value", "properties", "expr", "compile",
}  # fmt: skip


def matters(ccm, ours):
    """Whether ``ours`` speaks of what ``ccm`` does."""
    if ccm in ours:
        return True
    for pattern, template in WORDING:
        if match := re.search(pattern, ccm):
            return re.search(template.format(*map(re.escape, match.groups())), ours) is not None
    return bool(_words(ccm) & _words(ours))


def _words(text):
    return {word.lower() for word in _WORD.findall(text)} - _STOPWORDS
