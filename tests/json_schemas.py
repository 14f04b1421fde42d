"""Whether a JSON schema is one, if it says the same in thousands of places."""

import json
from unittest.mock import patch

from jsonschema import Draft202012Validator

_KEYWORDS = Draft202012Validator.VALIDATORS
_REFER = _KEYWORDS["$dynamicRef"]
"""By this keyword, the schema of schemas says that a part of a schema is a schema."""


def check_schema(schema):
    """``Draft202012Validator.check_schema``, which looks only once at parts that are equal."""
    right = set()

    def refer(validator, reference, part, schema):
        key = reference, json.dumps(part, sort_keys=True)
        if key not in right:
            errors = list(_REFER(validator, reference, part, schema))
            yield from errors
            if not errors:
                right.add(key)

    with patch.dict(_KEYWORDS, {"$dynamicRef": refer}):
        Draft202012Validator.check_schema(schema)
