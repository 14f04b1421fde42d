"""From the properties of a file to its desired state, and to the reconciler that reads and plans it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from reactor.hostfs import Content, Inline, Source
from reactor.resources.download.source import is_url, split_credentials
from reactor.resources.file.observer import Observer
from reactor.resources.file.property_types import enterable, parse_mode, special_bits
from reactor.resources.file.state import Desired, Settings
from reactor.resources.file.validator import Validator

if TYPE_CHECKING:
    from reactor.resources.file.kind import File
    from reactor.resources.file.reconciler import Reconciler

_LARGEST = 4 << 30
"""The largest download, in bytes."""
_PACKED = (".gz", ".tgz", ".bz2", ".xz", ".zst", ".br", ".Z")
"""The ends of URLs of files that many servers call encoded."""
_TIMEOUT = 600.0
"""The longest time of a download, in seconds."""


def reconciler_for(file: File) -> Reconciler:
    """The reconciler of the path of ``file``."""
    if file.ensure == "link" and file.target is not None:
        from reactor.resources.file.link import DesiredLink, LinkReconciler  # noqa: PLC0415 - few files are links

        return LinkReconciler(DesiredLink(file.name, file.target, file.owner, file.group, file.force))
    itself = _path_reconciler(file)
    if not file.recurse:
        return itself
    from reactor.resources.file.owned_tree import DesiredTree, TreeReconciler  # noqa: PLC0415 - few directories

    special = special_bits(file.setgid is not None, file.sticky is not None)
    file_mode = None if file.file_mode is None else parse_mode(file.file_mode)
    spared = file.declared.managed_paths
    tree = DesiredTree(file.name, permissions_of(file), special, file_mode, spared)
    return TreeReconciler(itself, tree, file.changed_paths)


def _path_reconciler(file: File) -> Reconciler:
    """The reconciler of the path alone."""
    desired = _desired(file)
    if file.verify_with is None or desired.content is None:
        return _extended_reconciler(file, Observer(desired))
    from reactor.resources.file.verification import VerifiedReconciler, Verifier  # noqa: PLC0415 - few files

    validator = None if file.validate_with is None else Validator(file.validate_with)
    verifier = Verifier(file.name, file.verify_with, validator)
    settings = desired.settings._replace(validator=verifier)
    itself = _extended_reconciler(file, Observer(desired._replace(settings=settings)))
    return VerifiedReconciler(file.name, itself, verifier)


def _extended_reconciler(file: File, observer: Observer) -> Reconciler:
    """``observer``, with the ACL, extended attributes and capabilities if there are some."""
    if file.acl is None and file.xattrs is None and file.capabilities is None:
        return observer
    from reactor.resources.file.acl import parse_acl  # noqa: PLC0415 - few files have these
    from reactor.resources.file.extended import DesiredExtended, ExtendedReconciler  # noqa: PLC0415

    entries = None if file.acl is None else parse_acl(file.acl)
    mode = observer.desired.settings.mode
    return ExtendedReconciler(observer, DesiredExtended(mode, entries, file.xattrs, file.capabilities))


def permissions_of(file: File) -> int:
    """The desired mode of ``file`` with all twelve bits."""
    return _mode(file.ensure, file.mode or "0", file.setgid, file.sticky)


@lru_cache(maxsize=64)
def _mode(ensure: str, text: str, setgid: bool | None, sticky: bool | None) -> int:
    mode = parse_mode(text)
    return special_bits(setgid, sticky) | (enterable(mode) if ensure == "directory" else mode)


def _desired(file: File) -> Desired:
    if file.owner is None or file.group is None or file.mode is None or file.ensure == "absent":
        return Desired(file.name, Settings("absent", force=file.force))
    declared = file.declared
    properties = (
        file.ensure, file.owner, file.group, file.mode, file.setgid, file.sticky, file.validate_with,
        declared.is_covered, file.mounted_root or declared.form.is_ccm,
    )  # fmt: skip
    settings = _shared_settings(properties)
    content = Inline(file.content) if file.content is not None else _other_content(file)
    return Desired(file.name, settings, content)


_Properties = tuple[str, str, str, str, bool | None, bool | None, str | None, bool, bool]


@lru_cache(maxsize=1024)
def _shared_settings(properties: _Properties) -> Settings:
    """The settings of all files with these properties, which are mostly the same."""
    ensure, owner, group, mode, setgid, sticky, validate_with, is_covered, mounted_root = properties
    return Settings(
        ensure,
        owner,
        group,
        _mode(ensure, mode, setgid, sticky),
        validator=None if validate_with is None else Validator(validate_with),
        special=special_bits(setgid is not None, sticky is not None),
        is_covered=is_covered,
        mounted_root=mounted_root,
    )


def _other_content(file: File) -> Content | None:
    if file.source is None:
        return None if file.template is None else file.rendered
    return _remote(file, file.source) if is_url(file.source) else Source(file.source)


def _remote(file: File, url: str) -> Content:
    # Few files are copied from a server.
    from reactor.resources.download.remote_source import Source as Download  # noqa: PLC0415
    from reactor.resources.file.remote import Remote  # noqa: PLC0415

    bare, credentials = split_credentials(url)
    is_plain = file.checksum is None and not bare.partition("?")[0].endswith(_PACKED)
    hint = "name a smaller file"
    download = Download(bare, {}, credentials, _LARGEST, _TIMEOUT, hint, is_plain=is_plain)
    return Remote(file.name, download, file.checksum, file.meta.poll)
