"""The kind `firewall`: its properties, state and plan."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import AfterValidator

from reactor import (
    Action,
    Claim,
    Diff,
    Flag,
    PathWatch,
    Plan,
    PropertyProblem,
    Relations,
    Resource,
    ResourceError,
    SandboxAccess,
    Watch,
    emit_output,
    in_thread,
    matching_text,
)
from reactor.resources.firewall import boot, nft, record, trial
from reactor.resources.firewall.kernel import INET, read_table
from reactor.resources.firewall.nft_syntax import check_declarations
from reactor.resources.firewall.property_types import ANY, Confirm, Policy, Rule
from reactor.resources.firewall.ruleset import Line, ruleset
from reactor.watchers.nftables import NftablesWatch

_TABLE = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,30}")
_SSH = 22
_ATTEMPTS = 3
_PROGRAM = "/usr/sbin/nft"


class FirewallState(NamedTuple):
    """What was found.

    ``form`` is the digest of the table in the kernel, None if there is no table. ``is_right`` says whether it is what the
    rules read back as. ``trial`` is how the change to these rules stands.
    """

    form: str | None
    is_right: bool
    files: boot.BootFiles
    trial: Literal["none", "pending", "refused"] = "none"
    is_confirmed: bool = False


class Firewall(Resource[FirewallState], kind="firewall"):
    """Manage one table of nftables: which packets are accepted. Other tables are left alone."""

    example = "host"

    ensure: Literal["present", "absent"] = "present"
    table: Annotated[
        str, matching_text(_TABLE, "is not the name of a table: use letters, digits and _, at most 31")
    ] = "reactor"
    """The name of the table; its family is `inet`, which is IPv4 and IPv6."""
    policy: Policy = Policy()
    """What happens to packets that no rule decides: `{input: drop, forward: drop, output: accept}`. By default, `input` is
    `drop`, and the other chains are left alone."""
    rules: tuple[Rule, ...] = ()
    """The rules, in order; the first that fits decides."""
    basics: Flag = True
    """Whether answers, the loopback link and what IPv6 needs are accepted before all rules."""
    declarations: Annotated[str, AfterValidator(check_declarations)] | None = None
    """Anything else for the table in the syntax of nft: sets, maps, chains for NAT."""
    confirm: Confirm | None = None
    """How a change proves that it does not cut this host off: `{seconds: 30, connect: "192.0.2.1:22"}`. Otherwise it is taken
    back."""
    persist: Flag = True
    """Whether the table is set at boot, too, by a unit of systemd."""

    def warnings(self) -> Iterable[PropertyProblem]:
        """SSH that no rule accepts."""
        if self.ensure == "absent" or self.policy.input != "drop" or self.confirm or self.declarations:
            return
        if not any(rule.chain == "input" and _may_accept_ssh(rule) for rule in self.rules):
            hint = "add {accept: tcp/22}, or `confirm`"
            yield PropertyProblem(("rules",), "no rule accepts SSH, so it can't be used to come back", hint)

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Properties that have no effect."""
        yield from super().property_problems()
        if self.ensure == "absent":
            for name in ("policy", "rules", "declarations", "confirm"):
                if name in self.model_fields_set:
                    yield PropertyProblem(
                        (name,), f"{name} is only valid with 'ensure: present'", f"remove {name}"
                    )

    def watches(self) -> Iterable[Watch]:
        """The table, the program, and the files for the next boot and of a trial."""
        yield NftablesWatch(INET, self.table)
        yield PathWatch(_PROGRAM, is_input=True)
        for path in filter(None, boot.paths(self.table)):
            yield PathWatch(path)
        if (own := self._trial) is not None and self.confirm is not None:
            yield PathWatch(own.refused)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: Its files for the next boot.

        Depends on: The program nft.
        """
        files = tuple(filter(None, boot.paths(self.table)))
        if self._then == boot.BootFiles():
            return Relations(removes=files, depends_on=(_PROGRAM,))
        return Relations(provides=files, depends_on=(_PROGRAM,))

    def sandbox_access(self) -> Iterable[SandboxAccess | str]:
        """The permission to change the network, and its files."""
        return (SandboxAccess.NETWORK, *filter(None, boot.paths(self.table)))

    def claims(self) -> Iterable[Claim]:
        """The table: it is replaced as a whole."""
        desired = {"ensure": self.ensure, "rules": self._rules, "persist": self.persist}
        yield Claim("nftables table", self.table, desired)
        for path, content in zip(boot.paths(self.table), self._then, strict=True):
            if path is not None and content is not None:
                yield Claim("path", path, {"ensure": "present", "content": content})

    async def observe(self) -> FirewallState:
        """The table, its files, and how its trial stands. Raises ResourceError."""
        table = await in_thread(read_table, self.table)
        known = record.load(self.table)
        is_right = (known.rules, known.form) == (self._rules, table.form)
        stands: Literal["none", "pending", "refused"] = "none"
        if (own := self._trial) is not None and self.ensure == "present":
            stands = "refused" if own.is_refused else "pending" if own.is_pending else "none"
        files = boot.found(self.table)
        return FirewallState(table.form, is_right, files, stands, known.confirmed == self._rules)

    async def describe(self) -> Mapping[str, Any]:
        """Whether the table exists, and the rules that it has."""
        table = await in_thread(read_table, self.table)
        text = None if table.form is None else await nft.listing(self.table)
        return {"ensure": "absent" if text is None else "present", "table": self.table, "ruleset": text or ""}

    def plan(self, state: FirewallState, *, refresh: bool) -> Plan:  # noqa: ARG002  rules have nothing to refresh
        """Replace or remove the table as a whole, then its files: rules without a proof must not be set at boot.

        Raises ResourceError when these rules were taken back.
        """
        steps = []
        if self.ensure == "absent":
            if state.form is not None:
                words = f"removed the table inet {self.table}"
                diff = partial(self._diff, "")
                steps.append(Action.proven(words, self._remove, diff))
        elif self.confirm is not None and state.trial == "refused" and not state.is_confirmed:
            raise trial.refusal(self._own_trial, self.confirm)
        elif not state.is_right:
            words = f"{'made' if state.form is None else 'replaced'} the table inet {self.table}"
            needs_proof = self.confirm is not None and not state.is_confirmed
            run, diff = partial(self._apply, needs_proof), partial(self._diff, nft.text_of(self._lines))
            steps.append(Action.proven(words, run, diff))
        elif state.trial == "pending":
            words = "confirmed the rules"
            steps.append(Action.proven(words, self._go_on))
        steps += boot.steps(self.table, state.files, boot.without_systemd(self._then))
        return tuple(steps)

    async def preflight(self, state: FirewallState) -> None:
        """Ask nft whether it accepts the rules, and check that the files can be written."""
        if self.ensure == "present" and not state.is_right:
            await nft.check(self._lines)
        boot.preflight(self.table, state.files, boot.without_systemd(self._then))

    async def reversal(self, state: FirewallState) -> Self:
        """No table where there was none; a former one can't be written as properties."""
        if state.form is None:
            return type(self)(name=self.name, table=self.table, ensure="absent")
        words = f"reverse could not restore the former table inet {self.table}"
        raise ResourceError(words, "remove it by hand before, or remove reverse")

    def is_undone_by(self, recorded: Self) -> bool | None:
        """Always, unless it is another table now."""
        return True if recorded.table == self.table else None

    @cached_property
    def _lines(self) -> Sequence[Line]:
        return ruleset(self.table, self.policy, self.rules, self.declarations or "", basics=self.basics)

    @cached_property
    def _rules(self) -> str:
        return record.digest_of(self._lines)

    @cached_property
    def _then(self) -> boot.BootFiles:
        is_kept = self.ensure == "present" and self.persist
        return boot.wanted(self.table, self._lines) if is_kept else boot.BootFiles()

    @property
    def _trial(self) -> trial.Trial | None:
        return trial.trial_of(self.table, self._rules)

    @property
    def _own_trial(self) -> trial.Trial:
        if (own := self._trial) is None:
            raise ResourceError("a change can't be confirmed without a state directory", "remove confirm")
        return own

    async def _apply(self, needs_proof: bool) -> None:
        if self.confirm is None or not needs_proof:
            await self._replace()
            self._keep()
            return
        own = self._own_trial
        await nft.check(self._lines)
        await trial.begin(self.table, own, self.confirm)
        try:
            await self._replace()
        except ResourceError:
            trial.forget(self.table)
            raise
        await self._prove(own, self.confirm)

    async def _go_on(self) -> None:
        """Go on with the trial that a killed run began."""
        if self.confirm is None:
            self._keep()
        else:
            await self._prove(self._own_trial, self.confirm)

    async def _prove(self, own: trial.Trial, confirm: Confirm) -> None:
        if confirm.connect is None:
            emit_output(f"within {confirm.seconds} s, log in again and confirm the rules: rm {own.pending}")
        await trial.prove(own, confirm)
        self._keep()

    def _keep(self) -> None:
        record.save(self.table, record.load(self.table)._replace(confirmed=self._rules))
        trial.forget(self.table)

    async def _replace(self) -> None:
        """Replace the table, and read back the normal form of the rules.

        If another program changed any table in between, what reads back may be its work: then once more.
        """
        for _ in range(_ATTEMPTS):
            before = await in_thread(read_table, self.table)
            await nft.apply(self._lines)
            after = await in_thread(read_table, self.table)
            if after.generation == before.generation + 1:
                break
        known = record.load(self.table)
        record.save(self.table, known._replace(rules=self._rules, form=after.form or ""))

    async def _remove(self) -> None:
        trial.forget(self.table)
        await nft.remove(self.table)

    async def _diff(self, wanted: str) -> Diff:
        """The table as nft lists it, and the rules that replace it."""
        found = await nft.listing(self.table) or ""
        return partial(_table_diff, f"inet {self.table}", found, wanted)


async def _table_diff(table: str, found: str, wanted: str) -> str:
    """A unified diff from one ruleset to another one, without the commands before the table."""
    rules = wanted.partition("\ntable ")
    lines = f"table {rules[2]}".splitlines(keepends=True) if rules[2] else []
    return "".join(difflib.unified_diff(found.splitlines(keepends=True), lines, table, table))


def _may_accept_ssh(rule: Rule) -> bool:
    if rule.raw is not None:
        return True
    return rule.accept is not None and any(
        each.protocol == ANY
        or (each.protocol == "tcp" and (each.ports is None or each.ports[0] <= _SSH <= each.ports[1]))
        for each in rule.services
    )
