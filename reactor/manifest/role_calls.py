"""Handles manifests that are roles: parameters, outputs, and names of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from reactor.errors import ReactorError
from reactor.manifest import parameters as parameters_of
from reactor.manifest.declaration import Declaration
from reactor.manifest.deferred import DeferredBinding
from reactor.manifest.document import OUTPUTS, Document
from reactor.manifest.expression_context import ExpressionContext
from reactor.manifest.inputs import Inputs
from reactor.manifest.phrasing import listed, shown
from reactor.manifest.resource_table import ResourceTable
from reactor.manifest.source import Problems
from reactor.manifest.values import ValueReader, checked_map
from reactor.resource.base import Resource
from reactor.resource.common_properties import Subscription
from reactor.resource.diagnostic import ManifestError
from reactor.resource.property_types import Model
from reactor.resource.role import RoleResource
from reactor.suggestions import did_you_mean

_REFERENCES = ("require", "subscribe", "after")


class Call(NamedTuple):
    """A role as a manifest uses it: the resource, where it is declared, and the problems of that file."""

    role: RoleResource
    declaration: Declaration
    problems: Problems

    def at(self, *path: str | int) -> int:
        """Return the offset of a value of the resource, or of the value around it."""
        return self.declaration.find(type(self.role), path).at

    def key_at(self, *path: str | int) -> int:
        """Return the offset of the key of a value."""
        return self.declaration.find(type(self.role), path).key_at


def locate(call: Call, inputs: Inputs, directory: str, table: ResourceTable) -> bool:
    """Find the directory of the role, and return whether there is one. Reports why not."""
    role, problems = call.role, call.problems
    if (remote := role.remote) is None:
        return True
    if inputs.roles is None:
        problems.add("R0123", "a role from a URL can't be used here", call.at("source"), "copy it")
        return False
    table.files[inputs.roles.lock_path(directory)] = None
    try:
        role.found_in(inputs.roles.find(remote, directory))
    except ManifestError as error:
        table.problems += error.diagnostics
        return False
    except ReactorError as error:
        problems.add(error.code, f"{role.ref}: {error.message}", call.at("source"), error.hint)
        return False
    return True


def with_parameters(
    document: Document,
    problems: Problems,
    context: ExpressionContext,
    given: Mapping[str, Any],
    call: Call | None,
) -> ExpressionContext | None:
    """Return ``context`` with the parameters that the manifest declares; None if they are wrong, after reporting why.

    ``given`` are their values, from the resource of ``call``, or from a test of the manifest.
    """
    before = problems.count
    declared = parameters_of.read_parameters(document.root, problems, context)
    is_whole = problems.count == before
    bound, faults = parameters_of.bind(declared, given)
    lacking = parameters_of.missing(declared, given)
    unknown = [name for name in given if name not in declared]
    if call is None:
        _report_at_declaration(declared, faults, lacking, unknown, problems)
    elif is_whole:
        _report_at_call(call, declared, faults, lacking, unknown)
    if not is_whole or faults or lacking or unknown:
        return None
    if not declared:
        return context
    secrets = frozenset((parameters_of.ROOT, *path) for path in bound.secrets)
    return context.inside({parameters_of.ROOT: bound.values}, secrets)


def _report_at_call(
    call: Call,
    declared: Mapping[str, parameters_of.Declared],
    faults: Iterable[parameters_of.Fault],
    lacking: Iterable[str],
    unknown: Iterable[str],
) -> None:
    ref, problems = call.role.ref, call.problems
    for fault in faults:
        at = call.at("parameters", *fault.path)
        problems.add("R0121", f"{ref}: parameter {fault.message}", at, fault.hint)
    for name in unknown:
        at = call.key_at("parameters", name)
        hint = did_you_mean(name, declared) or (
            f"it takes {listed(declared, 'and')}" if declared else "it takes none"
        )
        problems.add("R0122", f"{ref} has no parameter {shown(name)}", at, hint)
    for name in lacking:
        kind = declared[name].parameter.type
        hint = f"write parameters: {{{name}: ...}}, {'any value' if kind == 'any' else f'of type {kind}'}"
        problems.add("R0122", f"{ref} requires the parameter {name!r}", call.declaration.at, hint)


def _report_at_declaration(
    declared: Mapping[str, parameters_of.Declared],
    faults: Iterable[parameters_of.Fault],
    lacking: Iterable[str],
    unknown: Iterable[str],
    problems: Problems,
) -> None:
    for fault in faults:
        at = declared[str(fault.path[0])].at
        problems.add("R0121", f"the parameter {fault.message}", at, fault.hint)
    for name in lacking:
        hint = (
            "a manifest that uses this role gives it: role: [NAME: {parameters: ...}]; or give it a default"
        )
        problems.add("R0122", f"the parameter {name!r} has no value", declared[name].at, hint)
    for name in unknown:
        problems.add(
            "R0122", f"this manifest has no parameter {shown(name)}", 0, did_you_mean(name, declared)
        )


class _AnyOutputs(Model):
    """The model of a map whose keys are free."""


def outputs_of(document: Document, problems: Problems, context: ExpressionContext) -> dict[str, Any]:
    """Return the values under ``outputs``. Reports those that fail."""
    section = checked_map(OUTPUTS, document.root, problems, "write 'NAME: VALUE' below it")
    return {} if section is None else ValueReader(problems, context.scope).read(section, _AnyOutputs).plain


def bind_names(scope: str, members: Iterable[Resource]) -> None:
    """Let references within a role mean its own resources, if it has one of that name.

    ``scope`` is what the names of its own execs, roles and aliases begin with. A glob covers the resources of the role
    if it matches any of them.
    """
    members = [*members]
    own: dict[str, str] = {}
    for each in members:
        kind, _, name = each.ref.partition("#")
        own[f"{kind}#{name.removeprefix(scope)}"] = each.ref
        if each.alias is not None:
            own[f"{kind}#{each.alias.removeprefix(scope)}"] = f"{kind}#{each.alias}"
    moved = {name: ref for name, ref in own.items() if name != ref}
    for each in members:
        for name in _REFERENCES:
            if references := getattr(each, name):
                found = tuple(meant for one in references for meant in _meant(one, own, each.ref))
                if found != references:
                    setattr(each, name, found)
        if moved and isinstance(deferred := each.declared.deferred, DeferredBinding):
            deferred.rename(moved)


def _meant(reference: Any, own: Mapping[str, str], owner: str) -> list[Any]:
    """Return what a reference, or a reference with its ``quiet``, means within a role."""
    target = reference.ref if isinstance(reference, Subscription) else reference
    if target in own:
        found = [own[target]]
    elif "*" in target:
        found = [
            *dict.fromkeys(ref for name, ref in own.items() if fnmatchcase(name, target) and ref != owner)
        ]
    else:
        found = []
    if not found:
        return [reference]
    if isinstance(reference, Subscription):
        return [reference.model_copy(update={"ref": ref}) for ref in found]
    return [*found]
