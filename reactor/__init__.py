"""reactor makes a Linux host match a manifest and keeps it matched.

The parts of this package. No part imports one that is listed after it:

- ``named_tuple``: makes named tuples in a fifth of the time;
- ``errors``: the base class of the errors that users see, and the tree of all of them;
- ``error_codes``: the meaning of each error code;
- ``distributions``: entry points and versions of installed distributions, found without importlib.metadata;
- ``lean_dataclass``: makes the data classes of libraries in half the time;
- ``late_functions``: compiles the methods that attrs writes when they are first called;
- ``late_imports``: lets trio, pydantic and yaml be imported without what a run does not use, such as OpenSSL;
- ``own_process``: when this process began, what it runs, and who it is;
- ``suggestions``: finds the known name that a misspelt one probably means;
- ``number_format``: durations, times and counts as text;
- ``trust/``: decides whether a file may control a run: checks that untrusted users can't change it;
- ``mountinfo``: the mounts that this process sees;
- ``resource/``: resources: base class, property types, plan, watch declarations, registry;
- ``atomic_write``: writes our own small files atomically;
- ``hostfs/``: access to files on the host: opening below untrusted directories, atomic replacement, fsync, diffs;
- ``language/``: expressions inside ``{{ }}`` and ``${ }``, and templates in Jinja2, Go's text/template and Jet; it
  knows nothing of the project;
- ``data/``: the data of a manifest: merges its layers by its hierarchy, and makes the checks in its comments;
- ``http/``: sends requests to servers, and limits their responses;
- ``secrets/``: reads secrets from outside of the manifest;
- ``manifest/``: parses YAML with positions, reports problems, binds typed properties;
- ``documents``: files that contain only values;
- ``unpacking/``: unpacks untrusted archives, and writes only below one directory;
- ``facts/``: facts about this host, gathered when they are first read;
- ``graph/``: the networkx DAG: build steps, selection, export;
- ``source/``: downloads and unpacks manifests behind URLs;
- ``roles/``: fetches, checks and locks roles from git and URLs;
- ``loading``: from a manifest file to a graph that can run;
- ``lsp/``: the language server for editors, by the Language Server Protocol;
- ``manifest_tests/``: tests of manifests: facts and data in, expected resources and problems out;
- ``clock``: whether the host's clock can be trusted;
- ``backup/``: the contents of files before they were replaced or removed;
- ``engine/``: the scheduler, a state machine without I/O, and the trio driver around it; events;
- ``notify/``: sends notifications of a run;
- ``journal/``: the data that outlives the process: the state directory, its lock, pending refreshes and history in
  SQLite;
- ``ensure/``: one resource without a manifest, sessions of scripts, requests over a pipe;
- ``console/``: sinks that turn events into text, tables, progress and JSON lines;
- ``metrics/``: metrics for Prometheus;
- ``service/``: reactor as a systemd service: its unit, and notifications to systemd;
- ``control/``: status and control of a running converger: pauses, HTTP on a Unix socket;
- ``ui/``: the live page of a running converger, for a browser;
- ``fleet/``: many hosts: bundles, pushing them over ssh, releases and rollouts, and the network between hosts (NATS);
- ``cli/``: one module per command;
- ``testing/``: the test kit for kinds and watchers.

The kinds, and the code that runs health checks, are in ``resources/``, the event sources in ``watchers/``, beside this
package. They are found through entry points and use only the names below. So a third party's kind can do everything
that a built-in kind can.

The names are imported when they are first used, because ``reactor --help`` needs none of the modules behind them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from reactor import late_imports

if TYPE_CHECKING:
    from reactor.engine.engine import Engine
    from reactor.engine.events import Cause, Event, Result
    from reactor.engine.options import RunOptions
    from reactor.errors import Place, ReactorError
    from reactor.graph.graph import EdgeKind, Graph
    from reactor.http.client import http_response
    from reactor.http.request import ConnectionLostError, HttpError, HttpLimits, HttpRequest, TooLargeError
    from reactor.http.response import HttpResponse
    from reactor.language.errors import TemplateError, TemplateSourceError
    from reactor.language.expression.gjson import gjson_get
    from reactor.language.templates.sandbox.engine import sandboxed_engine
    from reactor.loading import LoadedManifest, load
    from reactor.mountinfo import MountInfo, is_shared_mount, read_mounts
    from reactor.resource.base import Resource
    from reactor.resource.child_handle import child_handle
    from reactor.resource.common_properties import Meta
    from reactor.resource.composite import Composite
    from reactor.resource.declared import Declared
    from reactor.resource.diagnostic import Diagnostic, InvalidPropertiesError, ManifestError, PropertyProblem
    from reactor.resource.escaping import escaped
    from reactor.resource.git_credentials import git_credentials
    from reactor.resource.health import HealthResult, HealthStatus
    from reactor.resource.mount_health import follow_mounts, fragile_mounts
    from reactor.resource.output import emit_note, emit_output
    from reactor.resource.own_renames import own_renames
    from reactor.resource.plan import Action, Diff, GroupError, Plan, ResourceError
    from reactor.resource.property_types import (
        AbsolutePath,
        Duration,
        Flag,
        OneOrMany,
        Rate,
        Reference,
        References,
        matching_text,
        readable_text,
    )
    from reactor.resource.protected_processes import protect_process
    from reactor.resource.redaction import (
        masked_start,
        register_header_secrets,
        register_secret,
        register_url_secrets,
    )
    from reactor.resource.relations import (
        Claim,
        Contradiction,
        Exclusion,
        NamedProgram,
        PathState,
        Relations,
        SandboxAccess,
        TemplateSource,
    )
    from reactor.resource.role import RemoteRole, RoleResource
    from reactor.resource.threads import in_thread, stop_if_cancelled
    from reactor.resource.time_slice import TimeSlice
    from reactor.resource.watch import (
        ChangedPaths,
        PathWatch,
        TimerWatch,
        Watch,
        Watcher,
        WatchSink,
        WatchState,
    )
    from reactor.trust.authorities import tls_context
    from reactor.trust.inputs import (
        open_input,
        require_input_directory,
        require_input_place,
        require_input_tree,
    )
    from reactor.trust.rule import DistrustedError
    from reactor.unpacking.formats import ARCHIVE_SUFFIXES, archive_format, single_name
    from reactor.unpacking.members import UnpackingError, UnpackingLimits, size_in_words
    from reactor.unpacking.single import SingleFile
    from reactor.unpacking.unpack import unpack

late_imports.import_late()

_HOMES = {
    "reactor.engine.engine": ("Engine",),
    "reactor.engine.events": ("Cause", "Event", "Result"),
    "reactor.engine.options": ("RunOptions",),
    "reactor.errors": ("Place", "ReactorError"),
    "reactor.language.expression.gjson": ("gjson_get",),
    "reactor.graph.graph": ("EdgeKind", "Graph"),
    "reactor.http.response": ("HttpResponse",),
    "reactor.http.client": ("http_response",),
    "reactor.http.request": ("ConnectionLostError", "HttpError", "HttpLimits", "HttpRequest", "TooLargeError"),
    "reactor.loading": ("LoadedManifest", "load"),
    "reactor.mountinfo": ("MountInfo", "is_shared_mount", "read_mounts"),
    "reactor.resource.base": ("Resource",),
    "reactor.resource.child_handle": ("child_handle",),
    "reactor.resource.common_properties": ("Meta",),
    "reactor.resource.composite": ("Composite",),
    "reactor.resource.declared": ("Declared",),
    "reactor.resource.diagnostic": ("Diagnostic", "InvalidPropertiesError", "ManifestError", "PropertyProblem"),
    "reactor.resource.escaping": ("escaped",),
    "reactor.resource.git_credentials": ("git_credentials",),
    "reactor.resource.health": ("HealthResult", "HealthStatus"),
    "reactor.resource.protected_processes": ("protect_process",),
    "reactor.resource.mount_health": ("follow_mounts", "fragile_mounts"),
    "reactor.resource.output": ("emit_note", "emit_output"),
    "reactor.resource.plan": ("Action", "Diff", "GroupError", "Plan", "ResourceError"),
    "reactor.resource.property_types": ("AbsolutePath", "Duration", "Flag", "OneOrMany", "Rate", "Reference", "References", "matching_text", "readable_text"),
    "reactor.resource.redaction": ("masked_start", "register_header_secrets", "register_secret", "register_url_secrets"),
    "reactor.resource.relations": ("Claim", "Contradiction", "Exclusion", "NamedProgram", "PathState", "Relations", "SandboxAccess", "TemplateSource"),
    "reactor.resource.own_renames": ("own_renames",),
    "reactor.resource.role": ("RemoteRole", "RoleResource"),
    "reactor.resource.threads": ("in_thread", "stop_if_cancelled"),
    "reactor.resource.time_slice": ("TimeSlice",),
    "reactor.resource.watch": ("ChangedPaths", "PathWatch", "TimerWatch", "Watch", "WatchSink", "WatchState", "Watcher"),
    "reactor.language.templates.sandbox.engine": ("sandboxed_engine",),
    "reactor.language.errors": ("TemplateError", "TemplateSourceError"),
    "reactor.trust.authorities": ("tls_context",),
    "reactor.trust.inputs": ("open_input", "require_input_directory", "require_input_place", "require_input_tree"),
    "reactor.trust.rule": ("DistrustedError",),
    "reactor.unpacking.formats": ("ARCHIVE_SUFFIXES", "archive_format", "single_name"),
    "reactor.unpacking.members": ("UnpackingError", "UnpackingLimits", "size_in_words"),
    "reactor.unpacking.single": ("SingleFile",),
    "reactor.unpacking.unpack": ("unpack",),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "ARCHIVE_SUFFIXES",
    "AbsolutePath",
    "Action",
    "Cause",
    "ChangedPaths",
    "Claim",
    "Composite",
    "ConnectionLostError",
    "Contradiction",
    "Declared",
    "Diagnostic",
    "Diff",
    "DistrustedError",
    "Duration",
    "EdgeKind",
    "Engine",
    "Event",
    "Exclusion",
    "Flag",
    "Graph",
    "GroupError",
    "HealthResult",
    "HealthStatus",
    "HttpError",
    "HttpLimits",
    "HttpRequest",
    "HttpResponse",
    "InvalidPropertiesError",
    "LoadedManifest",
    "ManifestError",
    "Meta",
    "MountInfo",
    "NamedProgram",
    "OneOrMany",
    "PathState",
    "PathWatch",
    "Place",
    "Plan",
    "PropertyProblem",
    "Rate",
    "ReactorError",
    "Reference",
    "References",
    "Relations",
    "RemoteRole",
    "Resource",
    "ResourceError",
    "Result",
    "RoleResource",
    "RunOptions",
    "SandboxAccess",
    "SingleFile",
    "TemplateError",
    "TemplateSource",
    "TemplateSourceError",
    "TimeSlice",
    "TimerWatch",
    "TooLargeError",
    "UnpackingError",
    "UnpackingLimits",
    "Watch",
    "WatchSink",
    "WatchState",
    "Watcher",
    "archive_format",
    "child_handle",
    "emit_note",
    "emit_output",
    "escaped",
    "follow_mounts",
    "fragile_mounts",
    "git_credentials",
    "gjson_get",
    "http_response",
    "in_thread",
    "is_shared_mount",
    "load",
    "masked_start",
    "matching_text",
    "open_input",
    "own_renames",
    "protect_process",
    "read_mounts",
    "readable_text",
    "register_header_secrets",
    "register_secret",
    "register_url_secrets",
    "require_input_directory",
    "require_input_place",
    "require_input_tree",
    "sandboxed_engine",
    "single_name",
    "size_in_words",
    "stop_if_cancelled",
    "tls_context",
    "unpack",
]  # fmt: skip


if not TYPE_CHECKING:  # for type checkers, an unknown name must stay an error

    def __getattr__(name: str) -> Any:
        if name not in _HOME_OF:
            raise AttributeError(f"module 'reactor' has no attribute {name!r}")
        return getattr(import_module(_HOME_OF[name]), name)
