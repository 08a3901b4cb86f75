"""Every fault that a receiver can have: nothing is lost, nothing is held twice, and no error says what a span says."""

from __future__ import annotations

import random
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from time import monotonic, time, tzset
from typing import Any

import pytest
from lab.otlp_sink import Keeps, OtlpSink
from tests.model.raw_endpoint import know_no_names, make_certificate

from stenograph.config.traces import Destination, DestinationKind, DestinationTable
from stenograph.errors import ConfigError, DeliveryError
from stenograph.testing.scripted_api import LoopbackServer, LoopbackService
from stenograph.traces.delivery import Sender, deliver, next_wait, retrying
from stenograph.traces.spans import Span, span_id_of, trace_id_of

SECRET = "sentinel-of-a-transcript"
KEY = "sentinel-of-a-key"


@pytest.fixture(autouse=True)
def _own_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy of the machine's, and no name server."""
    know_no_names(monkeypatch)
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def span(number: int, *, name: str = "span", text: str = SECRET) -> Span:
    return Span(trace_id_of("t"), span_id_of(f"{number}"), b"", name, 1_000 + number, 2_000 + number, {"text": text})


def spans(count: int, *, bad: tuple[int, ...] = ()) -> list[Span]:
    return [span(number, name="bad" if number in bad else "span") for number in range(count)]


def ids(*numbers: int) -> set[str]:
    return {span_id_of(f"{number}").hex() for number in numbers}


def to(sink: OtlpSink, **options: Any) -> Destination:
    return Destination("sink", DestinationKind.OTLP, sink.endpoint, headers=sink.headers, **options)


def held(sink: OtlpSink) -> set[str]:
    return {each.span_id for each in sink.spans}


def is_bad(each: Any) -> bool:
    return bool(each.name == "bad")


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def sender(self, sink: OtlpSink, *, patience: float = 600.0, **options: Any) -> Sender:
        return Sender(
            to(sink, **options), {}, patience_seconds=patience, sleep=self.sleep, clock=lambda: self.now, chance=lambda: 1.0
        )


# What is sent


def test_spans_arrive_compressed_with_resource_and_scope_over_one_connection() -> None:
    with OtlpSink() as sink, Sender(to(sink), {"service.name": "claude-code"}) as sender:
        assert sender.send(spans(3)).sent == 3
        assert sender.send([span(3)]).sent == 1
        assert held(sink) == ids(0, 1, 2, 3)
        assert {(each.resource["service.name"], each.scope[0]) for each in sink.spans} == {("claude-code", "stenograph")}
        assert len({request.peer for request in sink.requests}) == 1
        assert {request.headers["content-encoding"] for request in sink.requests} == {"gzip"}
        assert all(request.headers["user-agent"].startswith("stenograph/") for request in sink.requests)


def test_langfuse_gets_what_its_contract_asks_for() -> None:
    with OtlpSink(langfuse=True) as sink:
        assert deliver(spans(2), to(sink), {}).sent == 2


def test_nothing_is_posted_for_no_spans() -> None:
    with OtlpSink() as sink:
        delivery = deliver([], to(sink), {})
        assert (delivery.sent, delivery.bad, delivery.posts, sink.posts) == (0, (), 0, 0)


def test_requests_are_split_by_size_and_a_span_that_is_larger_goes_alone() -> None:
    # Each of the small ones takes a little more than 1000 bytes.
    given = [span(number, text="x" * 1_000) for number in range(7)]
    given.insert(3, span(7, text="x" * 9_000))
    with OtlpSink() as sink:
        delivery = deliver(given, to(sink, batch_bytes=2_500), {})
        assert [len(request.spans) for request in sink.requests] == [2, 1, 1, 2, 2]
        assert (delivery.sent, delivery.posts) == (8, 5)
        assert [each.span_id for each in sink.spans] == [each.span_id.hex() for each in given]


def test_spans_are_taken_from_their_source_only_as_they_are_sent() -> None:
    seen: list[int] = []

    def source(sink: OtlpSink) -> Iterator[Span]:
        for number in range(4):
            seen.append(sink.posts)
            yield span(number, text="x" * 1_000)

    with OtlpSink() as sink:
        deliver(source(sink), to(sink, batch_bytes=1_500), {})
    assert seen == [0, 0, 1, 2]


# Refused for good


@pytest.mark.parametrize("bad", [(0,), (4,), (8,), (0, 8), (3, 4, 5)])
def test_bad_spans_are_left_out_and_named_and_all_others_arrive(bad: tuple[int, ...]) -> None:
    with OtlpSink(refuse=is_bad) as sink:
        delivery = deliver(spans(9, bad=bad), to(sink), {})
        good = [number for number in range(9) if number not in bad]
        assert [each.span_id for each in sink.spans] == [span_id_of(f"{number}").hex() for number in good]
        assert delivery.sent == len(good)
        assert {each.span_id.hex() for each in delivery.bad} == ids(*bad)
        assert {(each.trace_id, each.status) for each in delivery.bad} == {(trace_id_of("t"), 400)}
        assert SECRET not in repr(delivery)


def test_halving_takes_no_more_requests_than_it_must() -> None:
    with OtlpSink(refuse=is_bad) as sink:
        # 0-7, 0-3, 0-1, 0, then 1 and 2-3 taken; 4-7, then 4-5 taken; 6-7, then 6 taken; 7.
        assert deliver(spans(8, bad=(0, 7)), to(sink), {}).posts == sink.posts == 11


def test_a_span_with_an_id_that_is_none_is_found_by_halving() -> None:
    odd = Span(trace_id_of("t"), b"short", b"", "odd", 1, 2, {})
    with OtlpSink() as sink:
        delivery = deliver([*spans(5), odd], to(sink), {})
        assert [each.span_id for each in delivery.bad] == [b"short"]
        assert held(sink) == ids(*range(5))


@pytest.mark.parametrize("keeps", Keeps)
def test_spans_of_a_partial_success_are_left_out_and_named(keeps: Keeps) -> None:
    with OtlpSink(reject=is_bad, keeps=keeps) as sink:
        delivery = deliver(spans(6, bad=(1, 4)), to(sink), {})
        assert held(sink) == ids(0, 2, 3, 5)
        assert {each.span_id.hex() for each in delivery.bad} == ids(1, 4)
        assert {each.status for each in delivery.bad} == {200}
        assert delivery.sent == 4


def test_a_partial_success_in_json_is_understood() -> None:
    with OtlpSink() as sink:
        sink.fail(200, body=b'{"partialSuccess":{"rejectedSpans":"1"}}', kind="application/json")
        # The sink, asked again for halves, takes both.
        assert deliver(spans(2), to(sink), {}).sent == 2
        assert sink.posts == 3


def test_a_request_that_is_too_large_is_halved_and_the_next_ones_are_smaller() -> None:
    given = [span(number, text="x" * 100_000) for number in range(16)]
    with OtlpSink(largest=450_000) as sink:
        delivery = deliver(given, to(sink, batch_bytes=850_000), {})
        assert (delivery.sent, delivery.bad) == (16, ())
        # 8 at once are too many; after that only 4 are tried, and none fails.
        assert [(request.status, len(request.spans)) for request in sink.requests] == [(413, 0)] + [(200, 4)] * 4


def test_a_span_that_is_too_large_by_itself_is_left_out() -> None:
    given = [span(0), span(1, text="x" * 5_000), span(2)]
    with OtlpSink(largest=2_000) as sink:
        [bad] = deliver(given, to(sink), {}).bad
        assert (bad.span_id.hex(), bad.status) == (*ids(1), 413)
        assert 5_000 < bad.size < 5_200
        assert held(sink) == ids(0, 2)


def test_a_bad_span_is_told_by_one_that_was_taken_before_in_another_request() -> None:
    with OtlpSink(refuse=is_bad) as sink, Sender(to(sink), {}) as sender:
        sender.send([span(0)])
        assert len(sender.send([span(1, name="bad")]).bad) == 1
        assert held(sink) == ids(0)


def test_a_bad_span_in_front_is_told_by_one_that_is_taken_after_it() -> None:
    given = [span(0, name="bad", text="x" * 1_000), span(1, text="x" * 1_000)]
    with OtlpSink(refuse=is_bad) as sink:
        delivery = deliver(given, to(sink, batch_bytes=1_100), {})
        assert (delivery.sent, len(delivery.bad)) == (1, 1)


@pytest.mark.parametrize("status", [400, 413, 422])
@pytest.mark.parametrize("count", [1, 2, 500])
def test_a_receiver_that_refuses_everything_loses_nothing(status: int, count: int) -> None:
    with OtlpSink() as sink:
        sink.fail(status, times=5_000)
        with pytest.raises(DeliveryError, match="rejects every span") as caught:
            deliver(spans(count), to(sink), {})
        assert (caught.value.is_permanent, caught.value.status) == (True, status)
        # 9 times halved, and 8 spans looked at: not two requests for each of 500.
        assert sink.posts <= 30


def test_a_receiver_that_refuses_one_span_after_the_other_is_not_asked_about_all() -> None:
    with OtlpSink() as sink:
        sink.fail(400, times=5_000)
        with pytest.raises(DeliveryError, match="rejects every span"):
            deliver(spans(500), to(sink, batch_bytes=1), {})
        assert sink.posts == 8


def test_a_receiver_that_begins_to_refuse_everything_loses_nothing() -> None:
    with OtlpSink() as sink, Sender(to(sink), {}) as sender:
        sender.send(spans(3))
        sink.fail(400, times=5_000)
        with pytest.raises(DeliveryError, match="rejects every span"):
            sender.send(spans(300))
        # The whole, 8 halves down to one span, and the one that was taken before.
        assert sink.posts - 1 <= 11
        sink.heal()
        assert sender.send(spans(300)).sent == 300


def test_a_receiver_that_rejects_all_spans_as_a_partial_success_loses_nothing() -> None:
    with OtlpSink(reject=lambda _: True) as sink, pytest.raises(DeliveryError) as caught:
        deliver(spans(20), to(sink), {})
    assert caught.value.is_permanent


# Not now


@pytest.mark.parametrize("status", [408, 425, 429, 500, 501, 502, 503, 504, 507])
def test_a_receiver_that_fails_for_now_is_asked_again(status: int) -> None:
    clock = Clock()
    with OtlpSink() as sink:
        sink.fail(status, times=3)
        with pytest.raises(DeliveryError) as caught:
            deliver(spans(2), to(sink), {})
        assert (caught.value.is_permanent, caught.value.status) == (False, status)
        assert sink.spans == []
        with clock.sender(sink) as sender:
            assert sender.send(spans(2)).sent == 2
        assert clock.slept == [1.0, 2.0]
        assert [each.times for each in sink.spans] == [1, 1]


@pytest.mark.parametrize("status", [300, 301, 302, 307, 308, 401, 402, 403, 404, 405, 407, 410, 415])
def test_a_receiver_that_says_never_is_not_asked_again(status: int) -> None:
    clock = Clock()
    with OtlpSink() as sink, clock.sender(sink) as sender:
        sink.fail(status, body=SECRET.encode())
        with pytest.raises(DeliveryError) as caught:
            sender.send(spans(2))
        assert (caught.value.is_permanent, caught.value.status, sink.posts, clock.slept) == (True, status, 1, [])
        assert SECRET not in str(caught.value)


def test_a_wrong_key_and_a_wrong_path_are_said_so() -> None:
    with OtlpSink(langfuse=True) as sink:
        with pytest.raises(DeliveryError, match=r"d rejects the key \(HTTP 401\); check its key$"):
            deliver(spans(1), Destination("d", DestinationKind.LANGFUSE, sink.endpoint, headers={"authorization": KEY}), {})
        with pytest.raises(DeliveryError, match=r"d has no such path \(HTTP 404\); check its `url`$"):
            deliver(spans(1), Destination("d", DestinationKind.LANGFUSE, sink.url + "/v1/traces"), {})


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 405, 413, 415])
def test_errors_name_no_setting_that_there_is_not(status: int) -> None:
    with OtlpSink() as sink:
        sink.fail(status, times=9)
        with pytest.raises(DeliveryError) as caught:
            deliver(spans(1), to(sink), {})
    named = re.findall(r"`(\w+)`", str(caught.value))
    assert named or "check its key" in str(caught.value)
    assert set(named) <= set(DestinationTable.__struct_fields__)
    assert "endpoint" not in str(caught.value)


def test_a_redirect_is_not_followed() -> None:
    with OtlpSink() as sink, OtlpSink() as elsewhere:
        sink._add(_redirect(elsewhere.endpoint), 1)
        with pytest.raises(DeliveryError, match=r"redirects \(HTTP 30\d\); set its `url` to the final address$") as caught:
            deliver(spans(1), to(sink), {})
        assert elsewhere.posts == 0
        assert elsewhere.endpoint not in str(caught.value)


def _redirect(address: str) -> Any:
    from lab.otlp_sink import Fault

    return Fault(status=307, headers={"location": address})


def test_a_login_page_is_no_acknowledgement() -> None:
    with OtlpSink() as sink:
        sink.fail(200, body=b"<html>", kind="text/html; charset=utf-8")
        with pytest.raises(DeliveryError, match="web page") as caught:
            deliver(spans(1), to(sink), {})
        assert not caught.value.is_permanent


@pytest.mark.parametrize(
    ("status", "body", "kind"), [(200, b"", ""), (202, b"", ""), (204, b"", ""), (200, b"{}", "application/json")]
)
def test_an_empty_answer_acknowledges(status: int, body: bytes, kind: str) -> None:
    with OtlpSink() as sink, Sender(to(sink), {}) as sender:
        sink.fail(status, body=body, kind=kind)
        assert sender.send(spans(2)).sent == 2
        assert sender.send(spans(2)).sent == 2
        assert len({request.peer for request in sink.requests}) == 1


def test_an_answer_without_an_end_is_read_no_further() -> None:
    with OtlpSink() as sink, Sender(to(sink), {}) as sender:
        sink.fail(200, body=b"\0" * 3_000_000)
        assert sender.send(spans(1)).sent == 1
        assert sender.send(spans(2)).sent == 2
        assert [each.times for each in sink.spans] == [1, 1]


# How long to wait


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        (" 7 ", 7.0),
        ("0", 0.0),
        ("999999999999", 600.0),
        ("-3", 0.0),
        ("soon", 0.0),
        ("", 0.0),
        ("1.5", 1.5),
        ("³", 0.0),
    ],
)
def test_seconds_to_wait_are_read_and_capped(value: str, seconds: float) -> None:
    with OtlpSink() as sink:
        sink.fail(429, retry_after=value)
        with pytest.raises(DeliveryError) as caught:
            deliver(spans(1), to(sink), {})
        assert caught.value.retry_after == seconds


@pytest.fixture
def far_west(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A clock on the wall that is eleven hours behind UTC."""
    with monkeypatch.context() as here:
        here.setenv("TZ", "XXX11")
        tzset()
        yield
    tzset()


@pytest.mark.parametrize(("offset", "low", "high"), [(60, 50.0, 60.0), (-60, 0.0, 0.0), (86_400, 600.0, 600.0)])
@pytest.mark.parametrize("zone", ["GMT", "-0000"])
@pytest.mark.usefixtures("far_west")
def test_a_date_to_wait_for_is_read_and_capped(offset: int, low: float, high: float, zone: str) -> None:
    with OtlpSink() as sink:
        sink.fail(503, retry_after=formatdate(time() + offset, usegmt=True).replace("GMT", zone))
        with pytest.raises(DeliveryError) as caught:
            deliver(spans(1), to(sink), {})
        assert low <= caught.value.retry_after <= high


def test_a_receiver_is_left_alone_as_long_as_it_asks_for() -> None:
    clock = Clock()
    with OtlpSink() as sink, clock.sender(sink) as sender:
        sink.fail(429, retry_after="30")
        sink.fail(429, retry_after="1")
        assert sender.send(spans(1)).sent == 1
    assert clock.slept == [30.0, 2.0]


def test_waits_grow_to_a_minute_and_end_with_the_patience() -> None:
    clock = Clock()
    with OtlpSink() as sink, clock.sender(sink, patience=300.0) as sender:
        sink.fail(503, times=100)
        with pytest.raises(DeliveryError):
            sender.send(spans(1))
        # 63 seconds, then minutes; a fourth minute would end after 300.
        assert clock.slept == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]
        assert sink.posts == 10


def test_nobody_sleeps_towards_the_end_of_the_patience_in_vain() -> None:
    clock = Clock()
    with OtlpSink() as sink, clock.sender(sink, patience=20.0) as sender:
        sink.fail(429, retry_after="21")
        with pytest.raises(DeliveryError) as caught:
            sender.send(spans(1))
    assert (clock.slept, caught.value.retry_after) == ([], 21.0)


def test_patience_begins_anew_with_every_request() -> None:
    clock = Clock()
    with OtlpSink() as sink, clock.sender(sink, patience=3.5, batch_bytes=1) as sender:
        for _ in range(3):
            sink.fail(503, times=2)
            sink.delay(0.0)
        assert sender.send(spans(3)).sent == 3
        assert clock.slept == [1.0, 2.0] * 3
        assert [each.times for each in sink.spans] == [1, 1, 1]


def test_waits_are_cut_by_chance_anywhere_between_nothing_and_all() -> None:
    clock = Clock()

    def fail() -> None:
        raise DeliveryError("not now")

    with pytest.raises(DeliveryError):
        retrying(fail, patience_seconds=20_000.0, sleep=clock.sleep, clock=lambda: clock.now, chance=random.Random(1).random)
    late = clock.slept[6:]
    assert len(late) > 300
    assert all(0.0 <= wait <= 60.0 for wait in late)
    assert 25.0 < sum(late) / len(late) < 35.0


def test_the_next_wait_doubles_up_to_a_minute_and_is_never_shorter_than_what_the_receiver_asks_for() -> None:
    """After so many failures in a row, of a chance of 1; a key that is not there is waited for as well."""
    down = DeliveryError("down")
    assert [next_wait(failures, down, lambda: 1.0) for failures in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert next_wait(1_000_000, down, lambda: 1.0) == 60
    assert next_wait(3, down, lambda: 0.25) == 2
    assert next_wait(0, DeliveryError("busy", retry_after=30.0), lambda: 1.0) == 30
    assert next_wait(7, DeliveryError("busy", retry_after=30.0), lambda: 1.0) == 60
    assert next_wait(0, DeliveryError("forbidden", is_permanent=True), lambda: 0.0) == 900
    assert next_wait(2, ConfigError("no key"), lambda: 1.0) == 4


def test_what_is_no_delivery_error_is_not_tried_again() -> None:
    clock = Clock()

    def fail() -> None:
        raise KeyError

    with pytest.raises(KeyError):
        retrying(fail, patience_seconds=9.0, sleep=clock.sleep, clock=lambda: clock.now)
    assert clock.slept == []


# Connections


def test_a_receiver_that_is_down_is_reached_once_it_is_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as held_port:
        port = held_port.getsockname()[1]
    destination = Destination("d", DestinationKind.OTLP, f"http://127.0.0.1:{port}/v1/traces")
    with pytest.raises(DeliveryError, match=r"cannot be reached \(ConnectionRefusedError\)") as caught:
        deliver(spans(1), destination, {})
    assert (caught.value.is_permanent, caught.value.status) == (False, 0)


def test_a_name_that_nobody_knows_is_not_permanent() -> None:
    destination = Destination("d", DestinationKind.OTLP, "http://receiver.invalid/v1/traces")
    with pytest.raises(DeliveryError, match="cannot be reached") as caught:
        deliver(spans(1), destination, {})
    assert not caught.value.is_permanent


def test_a_slow_receiver_runs_into_the_time_out_and_its_late_spans_count_once() -> None:
    clock = Clock()
    with OtlpSink() as sink, clock.sender(sink, timeout_seconds=1.0) as sender:
        sink.delay(30.0)
        assert sender.send(spans(2)).sent == 2
        assert clock.slept == [1.0]
        assert held(sink) == ids(0, 1)
    with OtlpSink() as sink:
        sink.delay(30.0)
        with pytest.raises(DeliveryError, match=r"did not answer within 0\.2 s"):
            deliver(spans(1), to(sink, timeout_seconds=0.2), {})


def test_a_time_out_on_a_kept_connection_is_not_taken_for_an_idle_one() -> None:
    with OtlpSink() as sink, Sender(to(sink, timeout_seconds=1.0), {}) as sender:
        sender.send([span(0)])
        sink.delay(30.0)
        with pytest.raises(DeliveryError, match="did not answer within 1 s") as caught:
            sender.send([span(1)])
        assert caught.value.__cause__ is None
        assert sender.send([span(1)]).sent == 1


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 500 Oh\r\ncontent-length: 9999\r\n\r\n"])
def test_an_answer_that_drips_is_not_waited_for(start: bytes) -> None:
    ended = threading.Event()

    def drip(server: socket.socket) -> None:
        with server.accept()[0] as connection, suppress(OSError):
            connection.recv(65_536)
            connection.sendall(start)
            for _ in range(600):
                connection.sendall(b"H")
                if ended.wait(0.1):
                    break

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=drip, args=(server,))
        thread.start()
        endpoint = f"http://127.0.0.1:{server.getsockname()[1]}/v1/traces"
        started = monotonic()
        with pytest.raises(DeliveryError) as caught:
            deliver([span(0)], Destination("d", DestinationKind.OTLP, endpoint, timeout_seconds=0.5), {})
        assert 1.4 < monotonic() - started < 30.0
        assert not caught.value.is_permanent
        ended.set()
        thread.join()


@pytest.mark.parametrize("keeps", Keeps)
def test_after_a_lost_acknowledgement_each_span_is_held_once(keeps: Keeps) -> None:
    clock = Clock()
    with OtlpSink(keeps=keeps) as sink, clock.sender(sink) as sender:
        sink.cut_after_storing()
        assert sender.send(spans(3)).sent == 3
        assert clock.slept == [1.0]
        assert [each.times for each in sink.spans] == [2, 2, 2]
        assert held(sink) == ids(0, 1, 2)


def test_a_connection_that_is_cut_before_it_is_read_loses_nothing() -> None:
    clock = Clock()
    given = [span(0, text=random.Random(1).randbytes(1_000_000).hex())]
    with OtlpSink() as sink, clock.sender(sink) as sender:
        sink.cut_before_reading(times=2)
        assert sender.send(given).sent == 1
        assert clock.slept == [1.0, 2.0]
        assert [each.times for each in sink.spans] == [1]


def test_a_connection_that_was_closed_while_idle_is_opened_again_at_once() -> None:
    with OtlpSink() as sink, Sender(to(sink), {}) as sender:
        sink.close_when_idle()
        sender.send([span(0)])
        assert sender.send([span(1)]).sent == 1
        assert [each.times for each in sink.spans] == [1, 1]
        assert len({request.peer for request in sink.requests}) == 2


def test_after_a_failed_send_a_sender_can_be_used_again() -> None:
    with OtlpSink() as sink, Sender(to(sink), {}) as sender:
        sink.cut_before_reading()
        with pytest.raises(DeliveryError):
            sender.send(spans(1))
        assert sender.send(spans(1)).sent == 1


def test_what_is_no_http_is_an_error_that_says_nothing_of_it() -> None:
    def answer(server: socket.socket) -> None:
        with server.accept()[0] as connection:
            connection.recv(65_536)
            connection.sendall(SECRET.encode() + b"\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer, args=(server,))
        thread.start()
        destination = Destination("d", DestinationKind.OTLP, f"http://127.0.0.1:{server.getsockname()[1]}/v1/traces")
        with pytest.raises(DeliveryError, match="cannot be reached") as caught:
            deliver([span(0, text="short")], destination, {})
        thread.join()
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None


# TLS and proxies


def test_tls_is_spoken_to_a_receiver_whose_certificate_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = make_certificate(tmp_path, "IP:127.0.0.1")
    with OtlpSink(certificate=pair) as sink:
        assert sink.endpoint.startswith("https://")
        with pytest.raises(DeliveryError, match="untrusted certificate") as caught:
            deliver(spans(1), to(sink), {})
        assert caught.value.is_permanent
        assert sink.posts == 0
        monkeypatch.setenv("SSL_CERT_FILE", str(pair[0]))
        with Sender(to(sink), {}) as sender:
            assert sender.send(spans(1)).sent == sender.send(spans(1)).sent == 1
        assert len({request.peer for request in sink.requests}) == 1


def test_plain_http_on_a_port_of_tls_is_an_error(tmp_path: Path) -> None:
    with OtlpSink(certificate=make_certificate(tmp_path, "IP:127.0.0.1")) as sink:
        wrong = Destination("d", DestinationKind.OTLP, sink.endpoint.replace("https", "http"), timeout_seconds=2.0)
        with pytest.raises(DeliveryError):
            deliver(spans(1), wrong, {})
    with OtlpSink() as sink:
        wrong = Destination("d", DestinationKind.OTLP, sink.endpoint.replace("http", "https"), timeout_seconds=2.0)
        with pytest.raises(DeliveryError, match="cannot be reached"):
            deliver(spans(1), wrong, {})


class Proxy(LoopbackService):
    """Notes what it is asked for. It answers a request by itself; a tunnel ends at its sink, whatever the name."""

    def __init__(self, sink: OtlpSink) -> None:
        self.asked: list[tuple[str, str, str | None]] = []
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
                """Say nothing on stderr."""

            def do_POST(self) -> None:
                proxy.asked.append((self.command, self.path, self.headers["proxy-authorization"]))
                self.rfile.read(int(self.headers["content-length"]))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def do_CONNECT(self) -> None:
                proxy.asked.append((self.command, self.path, self.headers["proxy-authorization"]))
                self.send_response(200)
                self.end_headers()
                with socket.create_connection(sink._server.server_address[:2]) as upstream:  # type: ignore[arg-type]
                    back = threading.Thread(target=pump, args=(upstream, self.connection))
                    back.start()
                    pump(self.connection, upstream)
                    back.join()

        super().__init__(LoopbackServer(("127.0.0.1", 0), Handler))


def pump(source: socket.socket, target: socket.socket) -> None:
    # A client that distrusts a certificate resets the connection.
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def test_a_proxy_of_the_environment_is_asked_with_the_whole_address(monkeypatch: pytest.MonkeyPatch) -> None:
    with OtlpSink() as sink, Proxy(sink) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url.replace("//", "//us%40er:pass@"))
        monkeypatch.setenv("http_proxy", proxy.url.replace("//", "//us%40er:pass@"))
        destination = Destination("d", DestinationKind.OTLP, "http://receiver.invalid/v1/traces?x=1")
        assert deliver(spans(1), destination, {}).sent == 1
    # printf us@er:pass | base64
    assert proxy.asked == [("POST", "http://receiver.invalid/v1/traces?x=1", "Basic dXNAZXI6cGFzcw==")]


def test_a_proxy_is_tunnelled_through_for_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = make_certificate(tmp_path, "DNS:receiver.invalid")
    with OtlpSink(certificate=pair) as sink, Proxy(sink) as proxy:
        monkeypatch.setenv("https_proxy", proxy.url.removeprefix("http://"))
        destination = Destination("d", DestinationKind.OTLP, "https://receiver.invalid/v1/traces", headers={"authorization": KEY})
        with pytest.raises(DeliveryError, match="untrusted certificate"):
            deliver(spans(1), destination, {})
        monkeypatch.setenv("SSL_CERT_FILE", str(pair[0]))
        with Sender(destination, {}) as sender:
            assert sender.send([span(0)]).sent == sender.send([span(1)]).sent == 1
        assert held(sink) == ids(0, 1)
        assert proxy.asked == [("CONNECT", "receiver.invalid:443", None)] * 2
        elsewhere = Destination("d", DestinationKind.OTLP, "https://other.invalid:8443/v1/traces")
        with pytest.raises(DeliveryError, match="untrusted certificate"):
            deliver(spans(1), elsewhere, {})
        assert proxy.asked[2:] == [("CONNECT", "other.invalid:8443", None)]


@pytest.mark.parametrize(
    ("endpoint", "variables"),
    [
        ("sink", {}),
        ("http://receiver.invalid/v1/traces", {"no_proxy": "receiver.invalid"}),
        ("http://receiver.invalid/v1/traces", {"no_proxy": "other,.invalid"}),
        ("http://receiver.invalid:81/v1/traces", {"no_proxy": "*"}),
    ],
)
def test_this_machine_and_what_no_proxy_names_are_reached_without_one(
    endpoint: str, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with OtlpSink() as sink, Proxy(sink) as proxy:
        for name, value in {"http_proxy": proxy.url, **variables}.items():
            monkeypatch.setenv(name, value)
        if endpoint == "sink":
            assert deliver(spans(1), to(sink), {}).sent == 1
        else:
            with pytest.raises(DeliveryError, match="cannot be reached"):
                deliver(spans(1), Destination("d", DestinationKind.OTLP, endpoint), {})
        assert proxy.asked == []


@pytest.mark.parametrize("proxy", ["ftp://proxy:21", "http://proxy:port", "http://:80"])
def test_a_proxy_of_another_kind_is_a_setting_to_change(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", proxy)
    with pytest.raises(ConfigError, match="proxy for the trace destination d"):
        Sender(Destination("d", DestinationKind.OTLP, "https://receiver.invalid/v1/traces"), {})


# Settings that nothing can be sent with


@pytest.mark.parametrize(
    "endpoint",
    [
        "",
        "receiver.invalid/v1/traces",
        "ftp://receiver.invalid/",
        "http://",
        "http:///v1/traces",
        "http://host:port/",
        "http://host:99999/",
        "http://host:0/",
        "http://a..b/",
        f"http://{'a' * 64}.invalid/",
        "http://[::1/",
        f"http://user:{KEY}@receiver.invalid/",
        f"http://receiver.invalid/{KEY} x",
        f"http://receiver.invalid/?{KEY}é",
        "http://bücher.invalid/",
    ],
)
def test_an_endpoint_that_is_none_is_told_without_showing_it(endpoint: str) -> None:
    with pytest.raises(ConfigError, match="the `url` of the trace destination d ") as caught:
        Sender(Destination("d", DestinationKind.OTLP, endpoint), {})
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "headers", [{"x-key": KEY + "\n"}, {"x-key": KEY + "…"}, {"x-key": KEY + "\0"}, {"x key": KEY}, {"": KEY}]
)
def test_a_header_that_http_does_not_allow_is_told_without_showing_it(headers: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="trace destination d") as caught:
        Sender(Destination("d", DestinationKind.OTLP, "http://127.0.0.1:1/", headers=headers), {})
    assert KEY not in str(caught.value)


def test_headers_of_the_settings_go_along_but_not_those_that_say_what_is_sent() -> None:
    headers = {"X-Key": "k", "Content-Type": "text/plain", "Content-Length": "1", "content-encoding": "br", "User-Agent": "me"}
    with OtlpSink() as sink:
        assert deliver(spans(2), Destination("d", DestinationKind.OTLP, sink.endpoint, headers=headers), {}).sent == 2
        [request] = sink.requests
    assert (request.headers["x-key"], request.headers["user-agent"]) == ("k", "me")


def test_no_error_holds_what_a_span_a_key_or_a_receiver_says() -> None:
    faults: list[Callable[[OtlpSink], None]] = [
        lambda sink: sink.fail(500, body=SECRET.encode()),
        lambda sink: sink.fail(401, body=SECRET.encode()),
        lambda sink: sink.fail(302, body=SECRET.encode()),
        lambda sink: sink.fail(400, body=SECRET.encode(), times=99),
        lambda sink: sink.fail(200, body=SECRET.encode(), kind="text/html"),
        lambda sink: sink.cut_after_storing(),
    ]
    for fault in faults:
        with OtlpSink() as sink:
            fault(sink)
            destination = Destination("d", DestinationKind.OTLP, sink.endpoint, headers={"authorization": KEY})
            with pytest.raises(DeliveryError) as caught:
                deliver(spans(3), destination, {})
            error: BaseException | None = caught.value
            told = ""
            while error is not None:
                told += f"{error!r} {vars(error)}"
                error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
            assert "trace destination d" in told
            assert SECRET not in told
            assert KEY not in told
