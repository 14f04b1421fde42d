"""Metrics under CCM's names, from a running converger."""

import json
import os

from processes_of_cli import environment, spawned
from scrapes import scrape_port

from reactor.control.listen_address import parse_address
from reactor.engine.events import Cause, Checked, Reloaded, Result, Skipped
from reactor.metrics.ccm import CcmMetrics
from reactor.resource.health import Examination, HealthStatus

OWN = f"owner: '{os.getuid()}', group: '{os.getgid()}', mode: '0644', ensure: present"


def test_checks_and_health_checks_are_counted_as_ccm_names_them(tmp_path):
    name = f"{tmp_path}/out"
    manifest = tmp_path / "m.yaml"
    manifest.write_text(
        f"resources:\n  - file:\n      - {name}: {{{OWN}, content: x, health_checks: [{{name: up, command: /bin/true}}]}}\n"
        f"      - {tmp_path}/not: {{{OWN}, content: x, control: {{if: 'false'}}}}\n"
    )
    options = ("--format", "json", "--metrics", "127.0.0.1:0", "--metrics-compat", "ccm")
    with spawned("run", *options, manifest, env=environment(REACTOR_STATE_DIR=tmp_path / "state")) as process:
        events = (json.loads(line) for line in process.stdout)
        url = next(event["url"] for event in events if event["event"] == "metrics")
        next(event for event in events if event["event"] == "converged")
        found = scrape_port(parse_address(url.removeprefix("http://").removesuffix("/metrics")))
        process.kill()
    assert found["choria_ccm_resource_state_changed_count", name, "file"] == 1
    checks = found["choria_ccm_resource_state_total_count", name, "file"]
    assert checks >= 1  # what it wrote may be looked at again
    assert found["choria_ccm_resource_state_skipped_count", f"{tmp_path}/not", "file"] == 1
    assert found["choria_ccm_resource_apply_duration_seconds_count", name, "reactor", "file"] == checks
    assert found["choria_ccm_healthcheck_status_count", "up", name, "OK", "file"] == checks
    assert found["choria_ccm_healthcheck_duration_seconds_sum", "up", name, "file"] > 0
    assert found.families["choria_ccm_resource_state_total_count"].type == "unknown"
    assert found["reactor_resources"] >= 1


def test_a_resource_that_leaves_the_manifest_takes_its_series_with_it():
    metrics = CcmMetrics()
    health = (Examination("up", HealthStatus.OK, "", 1, 0.1),)
    for name in ("stays", "goes"):
        metrics(Checked(0.0, f"exec#{name}", Result.OK, Cause.AUDIT, 0.1, health=health))
        metrics(Skipped(0.0, f"exec#{name}", ""))

    def named(metrics):
        return {labels[each.labels.index("name")] for each in metrics.gauges() for labels in each.values}

    assert named(metrics) == {"stays", "goes"}
    metrics(Reloaded(0.0, 1, (), (), ("exec#goes", "exec#never seen")))
    assert named(metrics) == {"stays"}
    assert len(list(metrics.gauges())) == 11


def test_states_are_counted_by_the_alias_where_there_is_one(tmp_path):
    manifest = tmp_path / "m.yaml"
    manifest.write_text(
        "ccm:\n  resources:\n    - exec:\n        - one: {command: 'true', alias: both}\n"
        "        - two: {command: 'true', alias: both}\n        - again: {command: 'true'}\n        - again: {command: 'true'}\n"
    )
    options = ("--format", "json", "--metrics", "127.0.0.1:0", "--metrics-compat", "ccm")
    with spawned("run", *options, manifest, env=environment(REACTOR_STATE_DIR=tmp_path / "state")) as process:
        events = (json.loads(line) for line in process.stdout)
        url = next(event["url"] for event in events if event["event"] == "metrics")
        next(event for event in events if event["event"] == "converged")
        found = scrape_port(parse_address(url.removeprefix("http://").removesuffix("/metrics")))
        process.kill()
    assert found["choria_ccm_resource_state_changed_count", "both", "exec"] == 2
    assert found["choria_ccm_resource_state_changed_count", "again", "exec"] == 2
