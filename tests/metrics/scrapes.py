"""Asking for metrics, as Prometheus does."""

import http.client
import socket
from contextlib import closing
from functools import partial

import trio
from prometheus_client.parser import text_string_to_metric_families

from reactor.journal.state_directory import short_socket_path


class Scrape:
    """One answer."""

    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.text = response.read().decode()

    @property
    def families(self):
        """By name."""
        return {family.name: family for family in text_string_to_metric_families(self.text)}

    @property
    def samples(self):
        """The value of each series, by its name and the values of its labels in their order."""
        return {
            (sample.name, *sample.labels.values()): sample.value
            for family in self.families.values()
            for sample in family.samples
        }

    def __getitem__(self, name):
        return self.samples[name,] if isinstance(name, str) else self.samples[name]


def scrape_socket(directory, path="/metrics", **headers):
    connected = socket.socket(socket.AF_UNIX)
    with short_socket_path(str(directory)) as short:
        connected.connect(short)
    return _scrape(connected, path, headers)


def scrape_port(address, path="/metrics", **headers):
    return _scrape(socket.create_connection((address.host, address.port)), path, headers)


def _scrape(connected, path, headers):
    connected.settimeout(60)
    with closing(http.client.HTTPConnection("localhost")) as connection:
        connection.sock = connected
        connection.request("GET", path, headers=headers)
        return Scrape(connection.getresponse())


async def scraped(scrape, *args, **headers):
    """In a thread, as it blocks."""
    with trio.fail_after(60):
        return await trio.to_thread.run_sync(partial(scrape, *args, **headers))
