"""Access to files on the host: the one way in which kinds read and write what they manage.

reactor runs as root below directories that other people own, and whoever owns a directory may replace what is in it at
any time. So nothing here is opened twice by path: a path is opened once, by rules that do not follow a stranger's
symlink, and everything else is done through that descriptor.

- ``errors``: errors of the operating system as sentences, with a hint;
- ``attributes``: file types, owner, group and mode;
- ``owners``: names of users and groups to ids;
- ``stat_stamp``: proof, by one stat, that a file has not changed since it was read;
- ``safe_open``: opening paths below directories that others own;
- ``temp_files``: temporary files, and those that a killed run left behind;
- ``disks``: changing file systems that may hang;
- ``fsync``: bringing written files to the disk, in groups;
- ``content``: what a file shall hold: a text, or a copy of another file;
- ``checksum``: the SHA-256 of a file;
- ``diff``: unified diffs of files;
- ``backups``: keeping what a file held before it is replaced or removed;
- ``private``: copies that other programs read and nobody else can reach;
- ``downloads``: where downloads go before they are put in place;
- ``records``: what kinds remember of what they made, in the state directory;
- ``normal_forms``: values that the system writes down in other words than they were given;
- ``tree``: removing directories with all that is in them;
- ``writers``: who else may write to a file, or put something in its place;
- ``write``: creating, replacing and removing files and directories.

The names below are the door: kinds import from here, never from the modules. They are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reactor.hostfs.attributes import NOTHING_WANTED, Attributes, Change, FileType, type_of
    from reactor.hostfs.backups import PreviousContent, keep_for_undo
    from reactor.hostfs.checksum import checksum_of
    from reactor.hostfs.content import EMPTY, INLINE_LIMIT, Content, Inline, Source, copy, read
    from reactor.hostfs.diff import attributes_diff, content_diff, new_file_diff, secret_diff
    from reactor.hostfs.downloads import opened_downloads
    from reactor.hostfs.errors import Explaining, explained
    from reactor.hostfs.fsync import flush, flush_directory, sync_file_system
    from reactor.hostfs.normal_forms import NormalForms, spelled_alike
    from reactor.hostfs.owners import MAX_ID, accounts, accounts_of, is_id, names_of
    from reactor.hostfs.private import private_copy, private_directory
    from reactor.hostfs.records import forget_record, read_record, write_record
    from reactor.hostfs.safe_open import (
        Parent,
        first_made,
        is_mount_point,
        make_missing,
        open_content,
        open_directory,
        open_path,
        open_place,
        open_source,
        opened_listing,
        refuse_foreign_link,
    )
    from reactor.hostfs.stat_stamp import Stamp, settled, stamp_of
    from reactor.hostfs.temp_files import (
        find_litter,
        is_litter,
        is_temporary_name,
        known_listing,
        listing_of,
        lock_temporary,
    )
    from reactor.hostfs.tree import mount_points_in
    from reactor.hostfs.write import Validator, create_directory, remove, remove_litter, set_attributes, store
    from reactor.hostfs.writers import is_changeable, is_only_ours, others_may_write, refuse_read_only

_HOMES = {
    "attributes": ("NOTHING_WANTED", "Attributes", "Change", "FileType", "type_of"),
    "backups": ("PreviousContent", "keep_for_undo"),
    "checksum": ("checksum_of",),
    "content": ("EMPTY", "INLINE_LIMIT", "Content", "Inline", "Source", "copy", "read"),
    "downloads": ("opened_downloads",),
    "diff": ("attributes_diff", "content_diff", "new_file_diff", "secret_diff"),
    "errors": ("Explaining", "explained"),
    "fsync": ("flush", "flush_directory", "sync_file_system"),
    "normal_forms": ("NormalForms", "spelled_alike"),
    "owners": ("MAX_ID", "accounts", "accounts_of", "is_id", "names_of"),
    "private": ("private_copy", "private_directory"),
    "records": ("forget_record", "read_record", "write_record"),
    "safe_open": ("Parent", "first_made", "is_mount_point", "make_missing", "open_content", "open_directory", "open_path", "open_place", "open_source", "opened_listing", "refuse_foreign_link"),
    "stat_stamp": ("Stamp", "settled", "stamp_of"),
    "temp_files": ("find_litter", "is_litter", "is_temporary_name", "known_listing", "listing_of", "lock_temporary"),
    "tree": ("mount_points_in",),
    "write": ("Validator", "create_directory", "remove", "remove_litter", "set_attributes", "store"),
    "writers": ("is_changeable", "is_only_ours", "others_may_write", "refuse_read_only"),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "EMPTY",
    "INLINE_LIMIT",
    "MAX_ID",
    "NOTHING_WANTED",
    "Attributes",
    "Change",
    "Content",
    "Explaining",
    "FileType",
    "Inline",
    "NormalForms",
    "Parent",
    "PreviousContent",
    "Source",
    "Stamp",
    "Validator",
    "accounts",
    "accounts_of",
    "attributes_diff",
    "checksum_of",
    "content_diff",
    "copy",
    "create_directory",
    "explained",
    "find_litter",
    "first_made",
    "flush",
    "flush_directory",
    "forget_record",
    "is_changeable",
    "is_id",
    "is_litter",
    "is_mount_point",
    "is_only_ours",
    "is_temporary_name",
    "keep_for_undo",
    "known_listing",
    "listing_of",
    "lock_temporary",
    "make_missing",
    "mount_points_in",
    "names_of",
    "new_file_diff",
    "open_content",
    "open_directory",
    "open_path",
    "open_place",
    "open_source",
    "opened_downloads",
    "opened_listing",
    "others_may_write",
    "private_copy",
    "private_directory",
    "read",
    "read_record",
    "refuse_foreign_link",
    "refuse_read_only",
    "remove",
    "remove_litter",
    "secret_diff",
    "set_attributes",
    "settled",
    "spelled_alike",
    "stamp_of",
    "store",
    "sync_file_system",
    "type_of",
    "write_record",
]  # fmt: skip


if not TYPE_CHECKING:  # a name that is not there is an error to a type checker

    def __getattr__(name: str) -> Any:
        if name not in _HOME_OF:
            raise AttributeError(f"module 'reactor.hostfs' has no attribute {name!r}")
        return getattr(import_module(f"reactor.hostfs.{_HOME_OF[name]}"), name)
