"""The lines of CCM's log, and the same said by our events, as values that can be compared."""

import re
from dataclasses import dataclass, field

LEVELS = ("INFO", "WARN", "ERROR")
_VERBS = "changed|stable|refreshed|failed|skipped due to unmet requirement|skipped"
_RESOURCE = re.compile(
    rf"(?:{'|'.join(LEVELS)}) (?P<ref>[a-z]+#.+?)(?P<alias> \(alias\))? (?P<verb>{_VERBS})"
    r"(?: (?P<health>healthcheck=true))?(?: manifest=(?P<manifest>\S+))?(?: healthcheck=true)? ensure=(?P<ensure>\S*)"
    r" provider=(?P<provider>\S*)(?: noop=(?P<noop>.*?))?(?: errors=(?P<errors>.*))?(?: unmet=(?P<unmet>.*))?",
    re.DOTALL,
)
_HEALTH = re.compile(
    r"WARN Health check failed type=(\w+) name=(.+?) format=\w+ check=(.+?) try=(\d+) sleep=\S+ status=(\w+)"
)
_CHILD = re.compile(
    r"[A-Z]+ Child manifest .*? manifest=(\S+) resources=(\d+) changed=(\d+) failed=(\d+) skipped=(\d+)"
)
BETTER = {
    "Would have created the file": ("Would have updated the file", "Would have updated attributes"),
    "Would have created directory": ("Would have updated attributes",),
}
"""What CCM says of a dry run without looking whether the file is there already, and what is said of it here."""

_STOPPED = "Terminating manifest execution due to failed resource"


@dataclass
class Line:
    """What is said of one resource. ``errors``, ``noop`` and ``unmet`` are compared apart: the words may be better."""

    ref: str
    verb: str
    ensure: str
    provider: str
    manifest: str | None = None
    errors: str | None = field(default=None, compare=False)
    noop: str | None = field(default=None, compare=False)
    unmet: str | None = field(default=None, compare=False)

    def __str__(self):
        return (
            f"{self.ref} {self.verb} ensure={self.ensure} provider={self.provider} manifest={self.manifest}"
        )

    @property
    def is_trouble(self):
        """Whether the resource is not as it should be."""
        return self.verb in ("failed", "skipped due to unmet requirement")


@dataclass
class Log:
    """All that was said: ``lines`` of resources and of what commands wrote, in order; and what has no place in it.

    What was never attempted is told as soon as it is known, and CCM tells it when its turn has come: ``unattempted``
    holds these by name. ``health`` are checks that failed, with their tries; ``children`` the counts of child manifests.
    """

    lines: list = field(default_factory=list)
    unattempted: list = field(default_factory=list)
    health: dict = field(default_factory=dict)
    children: list = field(default_factory=list)
    stopped: bool = False

    @property
    def verdicts(self):
        """What is said of resources."""
        return [*(line for line in self.lines if isinstance(line, Line)), *self.unattempted]


def expected(texts, directory):
    """The log that CCM wrote."""
    log = Log()
    for text in (each.replace("$DIR", directory) for each in texts):
        if match := _RESOURCE.fullmatch(text):
            found = match.groupdict()
            names = ("ref", "verb", "ensure", "provider", "manifest", "errors", "noop", "unmet")
            _add(log, Line(**{name: found[name] for name in names}))
        elif match := _HEALTH.fullmatch(text):
            kind, name, check, tries, status = match.groups()
            log.health[f"{kind}#{name}", check] = (status.lower(), int(tries))
        elif match := _CHILD.fullmatch(text):
            log.children.append((match[1], *map(int, match.groups()[1:])))
        elif text.endswith(_STOPPED):
            log.stopped = True
        else:
            log.lines.append(text.removeprefix("INFO "))
    return log


def told(events, graph):
    """The log that CCM would have written, had it seen these events of a run of ``graph``."""
    return _Translation(events, graph).log


class _Translation:
    """``last`` is how the last check of each resource ended; ``wholes`` the `apply` that a resource belongs to."""

    def __init__(self, events, graph):
        self.graph = graph
        self.wholes = {ref: whole for whole, each in graph.resources.items() for ref in each.declared.members}
        self.blocked = {event["ref"] for event in events if event["event"] == "blocked"}
        self.last = {event["ref"]: event for event in events if event["event"] == "checked"}
        self.log = Log()
        for event in events:
            self._take(event)
        composites = [graph.resources[ref] for ref in self.last if graph.resources[ref].declared.members]
        self.log.children = [self._counts(each) for each in composites]

    def _take(self, event):
        match event["event"]:
            case "message":
                self.log.lines.append(event["text"])
            case "output":
                self.log.lines.append(event["line"])
            case "ended":
                self.log.stopped = "fail_on_error" in event["reason"]
            case "checked" if event is self.last[event["ref"]]:
                self._say(event, _verb(event))
            case "blocked" if (
                self.wholes.get(event["ref"]) not in self.blocked
            ):  # CCM never looks into that one
                self._say(event, "skipped due to unmet requirement")
            case "skipped" if event["reason"].startswith("control:"):
                self._say(event, "skipped")

    def _say(self, event, verb):
        resource, whole = self.graph.resources[event["ref"]], self.wholes.get(event["ref"])
        line = Line(
            ref=f"{resource.kind}#{resource.alias or resource.name}",
            verb=verb,
            ensure=resource.ensure,
            provider=resource.provider or resource.providers[0],
            manifest=self.graph.resources[whole].name if whole else None,
            errors=" ".join(filter(None, (event.get("error"), event.get("hint")))),
            noop=", ".join(event.get("actions", ())),
        )
        _add(self.log, line)
        bad = [check for check in event.get("health", ()) if check["status"] != "ok"]
        found = {check["name"]: (check["status"], check["tries"]) for check in bad}
        name = f"{resource.kind}#{resource.name}"
        self.log.health.update({(name, check): answer for check, answer in found.items()})

    def _counts(self, composite):
        """How many resources a child manifest has: in all, changed, failed and, as CCM says, skipped."""
        members = composite.declared.members
        results = [self.last[ref]["result"] for ref in members if ref in self.last]
        changed = sum(result in ("changed", "would_change") for result in results)
        failed = results.count("failed") + len(self.blocked & set(members))
        return composite.name, len(members), changed, failed, len(members) - changed - failed


def _add(log, line):
    (log.unattempted if line.verb.startswith("skipped") else log.lines).append(line)


def _verb(event):
    """The verb of CCM for how a check ended."""
    if event["result"] in ("changed", "would_change"):
        return "refreshed" if any("via subscribe" in action for action in event["actions"]) else "changed"
    return {"ok": "stable", "failed": "failed"}[event["result"]]
