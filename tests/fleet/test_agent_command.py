"""``reactor agent``: CCM's configuration, with a real server."""

import json
import signal

import pytest
from nats_site import manifest, on
from processes_of_cli import environment, finish, spawned, wait_until

from reactor.fleet.registry.stream import look_up, make_stream


def test_it_runs_as_ccms_agent_is_configured(site):
    site.put("data: {content: hello}")
    entry = {
        "cluster": "agent",
        "service": "web",
        "protocol": "http",
        "address": "192.0.2.1",
        "port": 1,
        "priority": 1,
    }
    text = manifest(site.root, "${ Data.content }")
    path = site.root / "m.yaml"
    path.write_text(
        text.replace("ensure: present", f"ensure: present, register_when_stable: [{json.dumps(entry)}]")
    )
    config = site.root / "agent.yaml"
    config.write_text(
        f"interval: 5m\nlog_level: warn\nmanifests: [{path}]\nexternal_data_url: {site.data}\n"
        f"cache_dir: {site.root}/cache\nregistration: jetstream\nnats_context: CCM\n"
    )
    on(site.server, lambda js: make_stream(js, max_age=600))
    words = ("agent", "--config", config, "--state-dir", site.root / "state")
    with spawned(*words, env=environment(**site.variables)) as process:
        for line in process.stdout:
            if b"converged" in line:
                break
        assert site.out == "hello"
        site.put("data: {content: welcome}")
        for line in process.stdout:
            if b"/out  changed" in line:
                break
        assert site.out == "welcome"
        [found] = wait_until(lambda: on(site.server, lambda js: look_up(js, ["agent", "*", "*", "*"])))
        process.send_signal(signal.SIGTERM)
        done = finish(process)
    assert done.code == 0
    assert done.err.count("reactor does not need interval, log_level") == 1
    assert found.record == entry


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("manifests: []", "manifests names no manifest"),
        ("manifests: [a]\ninterval: 10s", "interval must be at least 30s"),
        ("manifests: [a]\nhealth_check_interval: often", "health_check_interval: 'often' is not a duration"),
        ("manifests: [a]\nlog_level: loud", "log_level must be one of: debug, info, warn, error"),
        ("manifests: [a]\nregistration: http", 'invalid registration destination "http"'),
        ("manifests: [a]\nintervall: 5m", "there is no setting intervall"),
        (
            "manifests: [a]\nx: 5m",
            "settings: cache_dir, external_data_url, health_check_interval, interval, log_level, man",
        ),
        ("manifests: [a]\nmonitor_port: 70000", "monitor_port must be a port"),
        ("manifests: [", "agent.yaml:"),
    ],
)
def test_a_wrong_configuration_is_named(text, message, tmp_path, reactor):
    config = tmp_path / "agent.yaml"
    config.write_text(text)
    done = reactor("agent", "--config", config)
    assert done.code == 2
    assert message in done.err


def test_health_is_checked_at_its_interval(tmp_path):
    well = tmp_path / "well"
    well.touch()
    manifest = tmp_path / "m.yaml"
    manifest.write_text(
        f"ccm: {{resources: [{{exec: [{{'true': {{health_checks: [{{command: test -e {well}}}]}}}}]}}]}}"
    )
    config = tmp_path / "agent.yaml"
    config.write_text(f"manifests: [{manifest}]\nhealth_check_interval: 100ms\ncache_dir: {tmp_path}/cache\n")
    words = ("agent", "--config", config, "--state-dir", tmp_path / "state")
    with spawned(*words, env=environment()) as process:
        assert any(b"converged" in line for line in process.stdout)
        well.unlink()
        assert any(b"is warning" in line for line in process.stdout)
        process.send_signal(signal.SIGTERM)
        done = finish(process)
    assert "does not need" not in done.err
    assert done.code == 1


def test_the_exit_code_is_that_of_the_run(tmp_path, reactor):
    (tmp_path / "invalid.yaml").write_text("ccm: {resources: [{nosuch: []}]}")
    config = tmp_path / "agent.yaml"
    config.write_text(f"manifests: [{tmp_path}/invalid.yaml]")
    done = reactor("agent", "--config", config, "--state-dir", tmp_path / "state")
    assert "unknown kind 'nosuch'" in done.err
    assert done.code == 2
