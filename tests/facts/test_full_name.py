"""The full name of the host, as its files say it: no server is asked."""

import pytest

from reactor.facts.host import full_name


@pytest.mark.parametrize(
    ("hostname", "hosts", "fqdn"),
    [
        ("web1.example.com", "", "web1.example.com"),
        ("web1.example.com", "127.0.1.1 other.example.org web1.example.com\n", "web1.example.com"),
        ("web1", "127.0.0.1 localhost\n127.0.1.1\tweb1.example.com web1\n", "web1.example.com"),
        ("web1", "127.0.1.1 web1 web1.example.com # its name\n", "web1.example.com"),
        ("web1", "10.0.0.1 web1.a.example web1\n10.0.0.2 web1.b.example web1\n", "web1.a.example"),
        ("web1", "#127.0.1.1 web1.example.com web1\n", "web1"),
        ("web1", "127.0.1.1 www.example.com web1\n", "www.example.com"),
        ("web1", "127.0.1.1 web1\n\n127.0.1.1\n", "web1"),
        ("web", "127.0.1.1 web1.example.com web1\n", "web"),
        ("web1", "", "web1"),
    ],
)
def test_it_is_the_name_with_a_domain_in_the_first_line_of_hosts_that_has_it(hostname, hosts, fqdn):
    assert full_name(hostname, hosts) == fqdn
