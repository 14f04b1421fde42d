"""What the cells of apt and of dnf want alike."""

WANTED_OF_BOTH: dict[str, tuple[str, str]] = {
    "present": ("app", "present"),
    "latest": ("app", "latest"),
    "1.0": ("app", "1.0-1"),
    "2.0": ("app", "2.0-1"),
    "no such version": ("app", "9.9-1"),
    "absent": ("app", "absent"),
    "no such package": ("no-such-package", "present"),
    "what is not there, absent": ("no-such-package", "absent"),
    "what depends on it": ("dependent", "present"),
    "a dependency that no repository offers": ("needy", "present"),
    "a dependency in a version that no repository offers": ("picky", "present"),
    "what can't be installed": ("bad", "present"),
}
"""Name of the package and ``ensure``, by title."""
