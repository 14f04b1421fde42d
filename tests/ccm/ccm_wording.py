"""What CCM says of a problem, and what ours has to speak of: the words may be better, the matter is the same."""

import re

WORDING = [
    (r"hierarchy section is required", "hierarchy must be a map"),
    (r"context deadline exceeded", "timed out"),
    (r"health check status \"(\w+)\"", r"(?i){0}"),
    (r"exit code (\d+): exit code \1 not in allowed returns", r"exit code {0} is not"),
    (
        r"schema: at '/ccm/resources': got null, want array|manifest must contain resources",
        "declares no resources",
    ),
    (r"at '/ccm/resources': got object, want array", "resources must be a list, not a map"),
    (r"multiple defaults found in", "has defaults already"),
    (r"multiple resource names found in", "is one name with its properties"),
    (r"unknown resource type cron", "command is required"),  # a kind here, and none there
    (r"unknown resource type (\w+)", "unknown kind '{0}'"),
    (r"resource \d+: name is required", "the property 'name'|name: it must have at least 1 character"),
    (r"ensure is required", "the property 'ensure'"),
    (r"(\w+) cannot be empty", "{0} is required|{0}: it must not be empty|the property '{0}'"),
    (r"file path must be (?:canonical|absolute)", "path"),
    (r"invalid ensure value", "ensure must be|target is missing"),  # a link is a desired state here
    (r"invalid (?:require properties|subscribe format)", "a reference is written kind#name"),
    (r"no events found for (\S+)", "{0}|a dependency cycle"),
    (r"provider not found", "has no provider"),
    (r"invalid duration", "is not a duration|a duration needs a unit"),
    (r"invalid environment variable \"(.*?)=?(?:.*)\": missing '='", "has no '='"),
    (r"invalid environment variable .*: empty (\w+)", "has an empty {0}"),
    (r"Unterminated (single|double)-quoted string", "unterminated {0} quote"),
    (r"Unterminated backslash-escape", "a backslash at the end escapes nothing"),
    (r"'format' flag is required", "needs 'command' or 'goss_rules'"),
    (r"(\w+) is required", "the property '(?:[\\w.\\[\\]]+\\.)?{0}'"),
    (r"(\w+) '?\"?[^'\"]+['\"]? (?:must be between|is not a valid name|is not a valid Address)", "{0}: "),
    (r"additional properties '(\w+)'", "no property '{0}'"),
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
