"""A connection: messages, requests, and what happens when the server goes away."""

from signal import SIGCONT, SIGSTOP

import pytest
import trio
import trio.testing
from nats_servers import PATIENCE, NatsServer

from reactor.fleet.link.connection import Connection, connected
from reactor.fleet.link.errors import (
    DisconnectedError,
    NoAnswerError,
    NoRespondersError,
    TooLargeError,
    UnreachableError,
)
from reactor.fleet.link.options import Options, Timing


@pytest.fixture
async def link(server):
    async with connected(Options(servers=(server.url,)), seconds=PATIENCE) as connection:
        yield connection


async def test_a_message_arrives_with_its_headers_and_reply(link):
    with link.messages("a.*") as messages:
        await link.publish("a.b", b"\r\nPING\r\n", reply="answer.here", headers={"One": "1", "Two": "zwei ä"})
        message = await anext(messages)
    assert (message.subject, message.data, message.reply) == ("a.b", b"\r\nPING\r\n", "answer.here")
    assert message.headers == {"One": "1", "Two": "zwei ä"}


async def test_after_the_block_of_a_subscription_nothing_comes(link):
    with link.messages("gone") as messages:
        pass
    await link.publish("gone", b"x")
    await link.flush()
    assert len(messages) == 0


async def test_each_message_of_a_queue_goes_to_one_member(link):
    with link.messages("work", queue="q") as one, link.messages("work", queue="q") as two:
        for _ in range(20):
            await link.publish("work")
        await link.flush()
        assert len(one) + len(two) == 20


async def test_a_request_is_answered(link):
    async def answer(messages):
        message = await anext(messages)
        await link.publish(message.reply, message.data * 2)

    with link.messages("double") as messages:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(answer, messages)
            assert (await link.request("double", b"ab")).data == b"abab"


async def test_a_request_that_nothing_answers_says_so_at_once_or_in_time(link):
    with pytest.raises(NoRespondersError, match=r"nothing answers to nothing\.here"):
        await link.request("nothing.here")
    with link.messages("silent"), pytest.raises(NoAnswerError, match="no answer from the NATS server"):
        await link.request("silent", seconds=0.02)


async def test_each_request_has_its_own_time_limit(link):
    late = []

    async def ask(seconds):
        try:
            await link.request("silent", seconds=seconds)
        except NoAnswerError as error:
            late.append(str(error).rpartition(" in ")[2])

    with link.messages("silent"):
        async with trio.open_nursery() as nursery:
            for seconds in (60, 0.06, 0.02):
                nursery.start_soon(ask, seconds)
            await link.flush()
            with trio.fail_after(PATIENCE):
                while len(late) < 2:  # noqa: ASYNC110 - the requests end by the clock
                    await trio.sleep(0.01)
            assert len(link.requests) == 1
            nursery.cancel_scope.cancel()
    assert late == ["0.02 s", "0.06 s"]
    assert len(link.requests) == 0


async def test_a_request_ends_in_time_though_the_server_takes_nothing(server, link):
    server.signal(SIGSTOP)
    try:
        for _ in range(2):  # what the system takes, and then the outbox
            while not link.outbox.full:
                await link.publish("much", b"x" * 1_000_000)
            await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(NoAnswerError, match=r"to much in 0\.02 s"):
            await link.request("much", seconds=0.02)
    finally:
        server.signal(SIGCONT)
    await link.flush(20)


async def test_a_request_ends_with_the_task_that_runs_the_connection(server):
    connection = Connection(Options(servers=(server.url,)))
    life = trio.CancelScope()

    async def live():
        with life:
            await connection.run()

    async def ask():
        with pytest.raises(DisconnectedError, match="there is no connection"):
            await connection.request("silent", seconds=60)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(live)
        await connection.wait_up()
        with connection.messages("silent"), trio.fail_after(PATIENCE):
            async with trio.open_nursery() as asking:
                asking.start_soon(ask)
                await connection.flush()
                life.cancel()


async def test_what_is_published_last_before_the_end_reaches_the_server(server, link):
    with link.messages("farewell") as messages:
        await link.flush()
        async with connected(Options(servers=(server.url,)), seconds=PATIENCE) as other:
            await other.publish("farewell", b"x" * 900_000)
        assert len((await anext(messages)).data) == 900_000


async def test_messages_that_are_not_read_are_bounded_and_told_once(server):
    told = []
    async with connected(Options(servers=(server.url,)), on_problem=told.append) as link:
        with link.messages("many", most=10) as messages:
            for _ in range(30):
                await link.publish("many")
            await link.flush()
            assert (len(messages), messages.lost) == (10, 20)
    assert [str(each) for each in told] == ["messages of many are lost: they come faster than they are read"]


async def test_who_publishes_much_waits_for_the_network(server):
    async with connected(Options(servers=(server.url,)), seconds=PATIENCE) as link:
        for _ in range(40):
            await link.publish("much", b"x" * 1_000_000)
            assert len(link.outbox) < 10_000_000
        await link.flush(20)


async def test_subscriptions_survive_a_restart_and_waiting_requests_are_told(server):
    told = []
    async with (
        connected(Options(servers=(server.url,)), on_problem=told.append) as link,
        trio.open_nursery() as nursery,
    ):
        with link.messages("after") as messages, link.messages("never.answered"):
            failed = trio.Event()

            async def ask():
                with pytest.raises(DisconnectedError, match="was lost"):
                    await link.request("never.answered", seconds=60)
                failed.set()

            nursery.start_soon(ask)
            await link.flush()
            server.kill()
            with trio.fail_after(PATIENCE):
                await failed.wait()
            with pytest.raises(DisconnectedError, match="there is no connection to the NATS server"):
                await link.publish("x")
            server.start()
            with trio.fail_after(PATIENCE):
                await link.wait_up()
            assert link.epoch == 2
            await link.publish("after", b"still there")
            assert (await anext(messages)).data == b"still there"
    assert all(server.url in str(each) for each in told)
    assert len({str(each) for each in told}) == len(told) >= 1, "a reason is told once"


async def test_a_server_that_is_not_there_is_told_in_one_line():
    with pytest.raises(UnreachableError) as caught:
        async with connected(Options(servers=("nats://127.0.0.1:1",))):
            pass
    assert str(caught.value) == "can't reach the NATS server nats://127.0.0.1:1: Connection refused"
    assert caught.value.hint == "check that nats-server runs there, the URL, and firewalls between"


async def test_each_reason_for_being_down_is_told_once(server):
    told = []
    options = Options(servers=("nats://127.0.0.1:1", "nats://127.0.0.1:2"))
    connection = Connection(
        options, on_problem=told.append, timing=Timing(first_pause=0.001, longest_pause=0.001)
    )
    attempts = 0
    many = trio.Event()

    def count(_status):
        nonlocal attempts
        attempts += 1
        if attempts == 20:
            many.set()

    async with trio.open_nursery() as nursery:
        with connection.watched(count):
            nursery.start_soon(connection.run)
            await many.wait()
        nursery.cancel_scope.cancel()
    assert {str(each)[len("can't reach the NATS server nats:") :] for each in told} == {
        f"//127.0.0.1:{port}: Connection refused" for port in (1, 2)
    }
    assert len(told) == 2


async def test_an_error_of_the_block_is_not_wrapped(server):
    with pytest.raises(KeyError):
        async with connected(Options(servers=(server.url,))):
            raise KeyError


async def test_bad_subjects_and_headers_are_refused_before_anything_is_sent(link):
    for subject in ("", "a b", "a\r\nPUB x 0\r\n", "a..b", ".a", "a.", "a\tb", "a\x00", "a.*", "a.>"):
        with pytest.raises(ValueError, match="not a subject"):
            await link.publish(subject)
    for subject in ("", "a b", "a\nb", "a..b"):
        with pytest.raises(ValueError, match="not a subject"), link.subscribed(subject, print):
            pass
    with pytest.raises(ValueError, match="not a subject"):
        await link.publish("a", reply="b c")
    for headers in ({"a": "b\r\nc: d"}, {"a: b": "c"}, {"a\n": "b"}, {"": "x"}, {"a": "\0"}):
        with pytest.raises(ValueError, match="not a header"):
            await link.publish("a", headers=headers)
    assert (await link.request("$JS.API.INFO")).data


async def test_a_message_that_the_server_does_not_take_is_refused_and_the_connection_stays(tmp_path):
    with NatsServer(tmp_path, "max_payload: 100", jetstream=False) as small:
        async with connected(Options(servers=(small.url,)), seconds=PATIENCE) as link:
            with link.messages("fits") as messages:
                with pytest.raises(
                    TooLargeError, match=r"for fits has 101 bytes, .* takes at most 100$"
                ) as told:
                    await link.publish("fits", b"x" * 101)
                assert "max_payload" in told.value.hint
                with pytest.raises(TooLargeError, match=r"for asked has 10\d bytes"):
                    await link.request("asked", b"x" * 90, headers={"A": "b"})
                await link.publish("fits", b"y" * 100)
                assert (await anext(messages)).data == b"y" * 100
            assert link.epoch == 1


async def test_a_connection_that_is_not_up_yet_says_why():
    connection = Connection(Options(servers=("nats://127.0.0.1:1",)))
    with pytest.raises(
        DisconnectedError, match=r"there is no connection to the NATS server nats://127.0.0.1:1"
    ):
        await connection.request("a")
