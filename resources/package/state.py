"""What is known of one package on the host."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PackageState:
    """``version`` is what is there, None for nothing. Files that only remain as configuration are nothing."""

    version: str | None = None
    is_whole: bool = True
    """Whether what is there was unpacked and configured to the end."""
    is_essential: bool = False
    """Whether the host, or the package manager, does not work without it."""
    is_held: bool = False
    """Whether the administrator has forbidden to change it."""
    beside: tuple[str, ...] = ()
    """Other versions that are there at the same time, as with kernels of RPM."""
    has_configuration: bool = False
    """Whether it was removed, and its configuration left (dpkg)."""
    provided_by: tuple[str, ...] = ()
    """The installed packages that provide what is only virtual; known only where it is to be present."""
    newest: str | None = None
    """The version that the package manager would choose, or a file holds; known only where one of them is wanted."""


NOT_INSTALLED = PackageState()
