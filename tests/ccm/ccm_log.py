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
"""What CCM says of a rehearsal without looking whether the file is there already, and what is said of it here."""

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
    log = Log()
    composites = {ref: name for name, each in graph.resources.items() for ref in each.members}
    untried = {event["ref"] for event in events if event["event"] == "blocked"}
    last = {event["ref"]: event for event in events if event["event"] == "checked"}
    for event in events:
        kind, ref = event["event"], event.get("ref")
        if kind == "message":
            log.lines.append(event["text"])
        elif kind == "output":
            log.lines.append(event["line"])
        elif kind == "ended":
            log.stopped = "fail_fast" in event["reason"]
        elif composites.get(ref) in untried:
            continue  # CCM never looks into the manifest
        elif kind in ("checked", "blocked", "skipped") and (kind != "checked" or event is last[ref]):
            if (verb := _verb(event)) is not None:
                _add(log, _line(event, verb, graph.resources[ref], composites.get(ref), graph))
            for check in event.get("health", ()):
                if check["status"] != "ok":
                    resource = graph.resources[ref]
                    log.health[f"{resource.kind}#{resource.name}", check["name"]] = (
                        check["status"],
                        check["tries"],
                    )
    log.children = [
        _counts(graph.resources[ref], last, events) for ref in last if graph.resources[ref].members
    ]
    return log


def _add(log, line):
    (log.unattempted if line.verb.startswith("skipped") else log.lines).append(line)


def _verb(event):
    """The verb of CCM; None for what it has no line for."""
    if event["event"] == "blocked":
        return "skipped due to unmet requirement"
    if event["event"] == "skipped":
        return "skipped" if event["reason"].startswith("control:") else None
    if event["result"] in ("changed", "would_change"):
        return "refreshed" if any("via subscribe" in action for action in event["actions"]) else "changed"
    return {"ok": "stable", "failed": "failed"}[event["result"]]


def _line(event, verb, resource, composite, graph):
    name = f"{resource.alias} (alias)" if resource.alias else resource.name
    return Line(
        ref=f"{resource.kind}#{name}".removesuffix(" (alias)"),
        verb=verb,
        ensure=resource.ensure,
        provider=resource.provider or resource.providers[0],
        manifest=graph.resources[composite].name if composite else None,
        errors=" ".join(filter(None, (event.get("error"), event.get("hint")))),
        noop=", ".join(event.get("actions", ())),
        unmet=", ".join(event.get("culprits", ())),
    )


def _counts(composite, last, events):
    blocked = {event["ref"] for event in events if event["event"] == "blocked"}
    results = [last[ref]["result"] for ref in composite.members if ref in last]
    changed = sum(result in ("changed", "would_change") for result in results)
    failed = results.count("failed") + len(blocked & set(composite.members))
    return (
        composite.name,
        len(composite.members),
        changed,
        failed,
        len(composite.members) - changed - failed,
    )
