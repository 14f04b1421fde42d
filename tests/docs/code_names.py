"""The names of code in pages."""

import importlib


def resolve(name):
    """The module, class or field that a dotted name leads to. Raises AssertionError where there is none."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            fields = getattr(found, "model_fields", {})
            assert hasattr(found, part) or part in fields or part in getattr(found, "__annotations__", {}), (
                name
            )
            found = getattr(found, part, None)
        return
    raise AssertionError(f"{name} is no module of reactor")
