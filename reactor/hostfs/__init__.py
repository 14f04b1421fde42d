"""Safe access to files on the host. All kinds, also those of third parties, read and write files through this package.

reactor runs as root, also below directories of other users. The owner of a directory can replace anything in it
between two system calls. So a path is opened once, without following a symlink of another user, and everything else is
done through that descriptor.

Most kinds need only a few of the names: `open_content` and `read` to read a file, `content_diff` to show a change,
`write_file`, `create_directory`, `set_attributes` and `remove_path` to make it, and `ErrorContext` to turn an OSError
into a sentence.

- ``errors``: turns errors of the operating system into sentences, with a hint;
- ``attributes``: file types, owner, group and mode;
- ``owners``: looks up the ids of users and groups;
- ``stat_stamp``: finds out by one stat whether a file has changed since it was read;
- ``safe_open``: opens paths below directories that other users own;
- ``temp_files``: makes temporary files and puts them in place, and finds those that a killed run left behind;
- ``disks``: changes file systems that may hang;
- ``fsync``: flushes written files to the disk, in groups; ``grouped_work``: runs work for groups of items, and
  whole changes of a disk, in one call of a thread;
- ``checksum``: computes digests of files;
- ``content``: the desired content of a file: a string, or a copy of another file;
- ``diff``: unified diffs of files;
- ``backups``: keeps the content of a file before it is replaced or removed;
- ``private``: makes copies that other programs can read and other users can't reach;
- ``downloads``: the directory of downloads in progress;
- ``records``: stores small records of a kind in the state directory;
- ``record_locks``: finds out who holds a lock on a file;
- ``normal_forms``: recognizes values that the system writes in another spelling;
- ``tree``: removes directories with everything in them, and reads them without what is mounted there;
- ``writers``: finds out whether other users can write to a file, or replace it;
- ``extended``: ACLs, capabilities and other extended attributes;
- ``links``: makes symbolic links;
- ``held_file``: holds what a change replaces until the change has proved good;
- ``replacement``: replaces files atomically; ``attributes``: sets owner, group and mode;
- ``create_and_remove``: creates directories, and removes files and directories.

Kinds import these names from here, never from the modules. Each module is imported when one of its names is first
used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reactor.hostfs.attributes import (
        NOTHING_WANTED,
        PROGRAM_BITS,
        Attributes,
        Change,
        FileType,
        OpenFile,
        drop_lists,
        refuse_exposed_program,
        set_attributes,
        type_of,
    )
    from reactor.hostfs.backups import PreviousContent, ShortFile, is_short, keep_for_undo
    from reactor.hostfs.checksum import checksum_of, digest_of
    from reactor.hostfs.content import (
        EMPTY,
        INLINE_LIMIT,
        Content,
        Inline,
        Source,
        at_hand,
        copy,
        read,
        read_now,
    )
    from reactor.hostfs.create_and_remove import (
        create_directory,
        make_directories,
        make_directory,
        remove_path,
        remove_same,
        remove_stale_temporaries,
    )
    from reactor.hostfs.diff import (
        added_lines_diff,
        attributes_diff,
        content_diff,
        new_file_diff,
        replaced_text,
        secret_diff,
    )
    from reactor.hostfs.downloads import opened_downloads
    from reactor.hostfs.errors import ErrorContext, permission_hint, resource_error
    from reactor.hostfs.extended import (
        Extended,
        read_extended,
        refuse_exposed,
        require_support,
        set_extended,
    )
    from reactor.hostfs.fsync import flush, flush_directory, sync_file_system
    from reactor.hostfs.held_file import held, is_held, put_back
    from reactor.hostfs.links import (
        KEEP,
        LinkOwner,
        find_stale_links,
        link_text,
        remove_stale_links,
        set_link_owner,
        write_link,
    )
    from reactor.hostfs.normal_forms import NormalForms, spelled_alike
    from reactor.hostfs.owners import MAX_ID, accounts, accounts_of, is_id, names_of
    from reactor.hostfs.private import private_copy, private_directory
    from reactor.hostfs.record_locks import lock_holder
    from reactor.hostfs.records import forget_record, read_record, state_folder, write_record
    from reactor.hostfs.replacement import Validator, refuse_replacement, write_file, write_if_unchanged
    from reactor.hostfs.safe_open import (
        Parent,
        belongs_to_another,
        first_missing_path,
        is_mount_point,
        open_content,
        open_directory,
        open_path,
        open_resolved,
        open_source,
        refuse_foreign_link,
        scan_directory,
    )
    from reactor.hostfs.stat_stamp import Stamp, stamp_is_reliable, stamp_of
    from reactor.hostfs.temp_files import (
        find_stale_temporaries,
        is_stale_temporary,
        is_temporary_name,
        known_listing,
        listing_of,
        lock_temporary,
    )
    from reactor.hostfs.tree import entries_of, mounted_below, refuse_mounts
    from reactor.hostfs.writers import (
        effective_capabilities,
        is_only_ours,
        others_may_replace,
        others_may_write,
        refuse_forbidden,
        refuse_foreign_attributes,
        refuse_foreign_owner,
        refuse_read_only,
        refuse_unchangeable,
    )

_HOMES = {
    "attributes": ("NOTHING_WANTED", "Attributes", "Change", "FileType", "OpenFile", "PROGRAM_BITS", "belongs_to_another", "drop_lists", "refuse_exposed_program", "set_attributes", "type_of"),
    "backups": ("PreviousContent", "ShortFile", "is_short", "keep_for_undo"),
    "checksum": ("checksum_of", "digest_of"),
    "content": ("EMPTY", "INLINE_LIMIT", "Content", "Inline", "Source", "at_hand", "copy", "read", "read_now"),
    "create_and_remove": ("create_directory", "make_directories", "make_directory", "remove_path", "remove_same", "remove_stale_temporaries"),
    "downloads": ("opened_downloads",),
    "diff": ("added_lines_diff", "attributes_diff", "content_diff", "new_file_diff", "replaced_text", "secret_diff"),
    "errors": ("ErrorContext", "permission_hint", "resource_error"),
    "extended": ("Extended", "read_extended", "refuse_exposed", "require_support", "set_extended"),
    "fsync": ("flush", "flush_directory", "sync_file_system"),
    "held_file": ("held", "is_held", "put_back"),
    "links": ("KEEP", "LinkOwner", "find_stale_links", "link_text", "remove_stale_links", "set_link_owner", "write_link"),
    "normal_forms": ("NormalForms", "spelled_alike"),
    "owners": ("MAX_ID", "accounts", "accounts_of", "is_id", "names_of"),
    "private": ("private_copy", "private_directory"),
    "record_locks": ("lock_holder",),
    "records": ("forget_record", "read_record", "state_folder", "write_record"),
    "replacement": ("Validator", "refuse_replacement", "write_file", "write_if_unchanged"),
    "safe_open": ("Parent", "belongs_to_another", "first_missing_path", "is_mount_point", "open_content", "open_directory", "open_path", "open_resolved", "open_source", "scan_directory", "refuse_foreign_link"),
    "stat_stamp": ("Stamp", "stamp_is_reliable", "stamp_of"),
    "temp_files": ("find_stale_temporaries", "is_stale_temporary", "is_temporary_name", "known_listing", "listing_of", "lock_temporary"),
    "tree": ("entries_of", "mounted_below", "refuse_mounts"),
    "writers": ("effective_capabilities", "others_may_replace", "is_only_ours", "others_may_write", "refuse_forbidden", "refuse_foreign_attributes", "refuse_foreign_owner", "refuse_read_only", "refuse_unchangeable"),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "EMPTY",
    "INLINE_LIMIT",
    "KEEP",
    "MAX_ID",
    "NOTHING_WANTED",
    "PROGRAM_BITS",
    "Attributes",
    "Change",
    "Content",
    "ErrorContext",
    "Extended",
    "FileType",
    "Inline",
    "LinkOwner",
    "NormalForms",
    "OpenFile",
    "Parent",
    "PreviousContent",
    "ShortFile",
    "Source",
    "Stamp",
    "Validator",
    "accounts",
    "accounts_of",
    "added_lines_diff",
    "at_hand",
    "attributes_diff",
    "belongs_to_another",
    "checksum_of",
    "content_diff",
    "copy",
    "create_directory",
    "digest_of",
    "drop_lists",
    "effective_capabilities",
    "entries_of",
    "find_stale_links",
    "find_stale_temporaries",
    "first_missing_path",
    "flush",
    "flush_directory",
    "forget_record",
    "held",
    "is_held",
    "is_id",
    "is_mount_point",
    "is_only_ours",
    "is_short",
    "is_stale_temporary",
    "is_temporary_name",
    "keep_for_undo",
    "known_listing",
    "link_text",
    "listing_of",
    "lock_holder",
    "lock_temporary",
    "make_directories",
    "make_directory",
    "mounted_below",
    "names_of",
    "new_file_diff",
    "open_content",
    "open_directory",
    "open_path",
    "open_resolved",
    "open_source",
    "opened_downloads",
    "others_may_replace",
    "others_may_write",
    "permission_hint",
    "private_copy",
    "private_directory",
    "put_back",
    "read",
    "read_extended",
    "read_now",
    "read_record",
    "refuse_exposed",
    "refuse_exposed_program",
    "refuse_forbidden",
    "refuse_foreign_attributes",
    "refuse_foreign_link",
    "refuse_foreign_owner",
    "refuse_mounts",
    "refuse_read_only",
    "refuse_replacement",
    "refuse_unchangeable",
    "remove_path",
    "remove_same",
    "remove_stale_links",
    "remove_stale_temporaries",
    "replaced_text",
    "require_support",
    "resource_error",
    "scan_directory",
    "secret_diff",
    "set_attributes",
    "set_extended",
    "set_link_owner",
    "spelled_alike",
    "stamp_is_reliable",
    "stamp_of",
    "state_folder",
    "sync_file_system",
    "type_of",
    "write_file",
    "write_if_unchanged",
    "write_link",
    "write_record",
]  # fmt: skip


if not TYPE_CHECKING:  # so that a type checker reports a missing name

    def __getattr__(name: str) -> Any:
        if name not in _HOME_OF:
            raise AttributeError(f"module 'reactor.hostfs' has no attribute {name!r}")
        return getattr(import_module(f"reactor.hostfs.{_HOME_OF[name]}"), name)
