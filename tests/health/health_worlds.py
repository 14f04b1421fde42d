"""What the tests of health checks share: one look by goss, and a socket that listens."""

import socket

from ports import free_port

from reactor.resource.health import HealthCheck, find_runner


async def look(rules):
    """What one look finds: the status, and the lines said."""
    check = HealthCheck(goss_rules=rules)
    finding = await find_runner("goss_rules").examine(check.goss_rules)
    return str(finding.status), finding.output.splitlines()


async def holds(rules):
    status, lines = await look(rules)
    assert (status == "ok") == lines[0].endswith(("rule holds", "rules hold")), lines
    return status == "ok"


def port_check(port, **properties):
    """A check without any waiting, so that the clock may jump."""
    return {"goss_rules": {"port": {f"tcp:{port}": {}}}, "name": "port", **properties}


def listener(family=socket.AF_INET, host="127.0.0.1", port=None):
    """A TCP socket that listens; its port is free before and after."""
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    found.bind((host, port or free_port()))
    found.listen()
    return found
