"""The page of a fleet without its token."""

import httpx

from reactor.control.listen_address import parse_address
from reactor.ui.access import Access
from reactor.ui.fleet_application import FleetPage, application


class NoSource:
    def metrics(self, accept):
        raise AssertionError("without a token, nothing is read")


async def test_without_the_token_it_names_the_command_that_shows_it(tmp_path):
    access = Access.to(parse_address("127.0.0.1:8471"), str(tmp_path), "reactor fleet serve")
    page = application(FleetPage(access, NoSource()), print)
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(page), base_url="http://127.0.0.1:8471"
    ) as client:
        for path in ("/", "/fleet", "/metrics"):
            answer = await client.get(path)
            assert answer.status_code == 401
            assert (
                answer.text
                == "This page needs its token: open the address that 'reactor fleet serve' shows.\n"
            )
