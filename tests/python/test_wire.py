"""What travels, byte by byte, without an instance."""
import pytest

from holon import messages
from holon._wire import codec, envelope, find, lines, msgpack, zmtp
from holon import InvalidArgument

VALUES = [
    None, True, False, 0, 1, 127, 128, 255, 256, 65535, 65536, 2**32 - 1, 2**32, 2**63 - 1, 2**64 - 1, -1, -32, -33, -128, -129, -32768,
    -32769, -2**31, -2**31 - 1, -2**63, 0.0, 1.5, -1e300, "", "a", "ä" * 20, "x" * 31, "x" * 32, "x" * 255, "x" * 256, "x" * 70000, b"",
    b"\xff\0", b"y" * 300, b"y" * 70000, [], [1, "a", None], list(range(20)), list(range(70000)), {}, {"a": 1},
    {str(i): i for i in range(20)}, {str(i): [i] for i in range(70000)}, [[[{"a": [b"", {}]}]]],
]


@pytest.mark.parametrize("value", VALUES, ids=lambda v: repr(v)[:20])
def test_a_value_comes_back_from_the_plain_msgpack(value):
    assert msgpack.unpack_plainly(msgpack.pack_plainly(value)) == value


@pytest.mark.parametrize("value", VALUES, ids=lambda v: repr(v)[:20])
def test_the_plain_msgpack_writes_and_reads_what_the_library_does(value):
    import msgpack as library

    assert msgpack.pack_plainly(value) == library.packb(value, use_bin_type=True)
    assert library.unpackb(msgpack.pack_plainly(value), raw=False, strict_map_key=False) == value


@pytest.mark.parametrize("data", [
    b"", b"\xc1", b"\xd9", b"\xd9\x05ab", b"\x92\x01", b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\x01\x02", b"\xc7\x01\x02\x03",
    b"\x91" * 300 + b"\x01", b"\xcb\0",
], ids=repr)
def test_what_is_no_message_is_refused(data):
    with pytest.raises(ValueError):
        msgpack.unpack_plainly(data)


def test_what_cannot_travel_is_refused():
    with pytest.raises(TypeError):
        msgpack.pack_plainly(object())
    with pytest.raises(OverflowError):
        msgpack.pack_plainly(2**64)


def test_a_message_travels_without_its_defaults_and_comes_back():
    record = messages.JobRecord(id=7, name="ä", pids=[1, 2], exit_code=-1)
    part = messages.EventsPart(jobs=[record], cursor="c", events=[messages.JobEvent(id=7, name="start")])
    assert codec.to_map(record) == {"id": 7, "name": "ä", "pids": [1, 2]}
    assert codec.unpack(messages.EventsPart, codec.pack(part)) == part
    assert codec.unpack(messages.EventsPart, b"") == messages.EventsPart()


def test_unknown_fields_are_passed_over_and_wrong_ones_named():
    assert codec.from_map(messages.JobRecord, {"id": 3, "of_tomorrow": [1]}) == messages.JobRecord(id=3)
    with pytest.raises(ValueError, match="jobs: id: an integer"):
        codec.from_map(messages.EventsPart, {"jobs": [{"id": "3"}]})
    with pytest.raises(ValueError, match="a map"):
        codec.unpack(messages.JobRecord, msgpack.pack([1]))


def test_a_word_of_python_is_a_field_all_the_same():
    obstacle = codec.from_map(messages.Obstacle, {"from": 5, "until": 6})
    assert obstacle.from_ == 5 and codec.to_map(obstacle) == {"from": 5, "until": 6}


def test_what_is_no_text_travels_as_bytes():
    chunk = codec.from_map(messages.OutputChunk, {"data": b"a\xff"})
    assert chunk.data.encode("utf-8", "surrogateescape") == b"a\xff"
    assert codec.to_map(chunk) == {"task": chunk.task, "data": b"a\xff"} or codec.to_map(chunk)["data"] == b"a\xff"


def test_an_envelope_comes_back_and_a_wrong_one_is_refused():
    sent = envelope.Envelope(envelope.REQUEST, 5, "submit", "/3", b"\x80")
    assert envelope.decode(envelope.encode(sent)) == sent
    for places in ([2, 1, 1, "", "", b""], [1, 1, 1], [1, "x", 1, "", "", b""], [1, 1, 1, "", "", "text"], 5):
        with pytest.raises(ValueError):
            envelope.decode(msgpack.pack(places))
    assert envelope.decode(msgpack.pack([1, 2, 1, "", "", b"", "of tomorrow"])).kind == envelope.RESPONSE


def test_an_error_on_the_wire_is_the_exception_of_its_code():
    told = envelope.decode_error(msgpack.pack({"code": "not_found", "what": "no job 7", "where": "ids/0"}))
    assert type(told).__name__ == "NotFound" and told.code == "not_found" and told.where == "ids/0" and "no job 7" in str(told)
    assert envelope.decode_error(msgpack.pack({"code": "new", "what": "x"})).code == "new"
    assert envelope.decode_error(b"\xc1").code == "protocol"


SERVER = zmtp.GREETING + zmtp.command(b"READY", b"\x0bSocket-Type\0\0\0\x06ROUTER")


@pytest.mark.parametrize("step", [1, 7, 10**6])
def test_frames_are_cut_wherever_they_are_torn(step):
    sent = [b"", b"a", b"b" * 255, b"c" * 256, b"d" * 100000]
    data = SERVER + b"".join(map(zmtp.frame, sent)) + zmtp.command(b"PING", b"\0\x0aping")
    data += b"\x01\x01x" + b"\x00\x01y" + zmtp.frame(b"last")  # one of two parts, which is none of ours
    framer, found = zmtp.Framer(), []
    for at in range(0, len(data), step):
        found += framer.feed(data[at:at + step])
    assert found == sent + [b"last"] and framer.is_ready
    assert framer.answers == [zmtp.command(b"PONG", b"ping")]


@pytest.mark.parametrize("data", [
    b"HTTP/1.1 400 Bad Request" + b" " * 60, b"\xff" + b"\0" * 8 + b"\x7e" + b"\3" * 60,
    zmtp.GREETING[:12] + b"CURVE".ljust(20, b"\0") + zmtp.GREETING[32:], SERVER + b"\x08\x01x", SERVER + b"\x02" + b"\xff" * 8,
    zmtp.GREETING + zmtp.command(b"ERROR", b"\x02no"),
], ids=lambda d: repr(d[:14]))
def test_what_is_no_zmtp_is_refused(data):
    with pytest.raises(ValueError):
        zmtp.Framer().feed(data)


def test_addresses_are_read():
    key = "ab" * 32
    assert lines.parse_tcp("tcp://host:123?key=" + key) == ("host", 123, key)
    assert lines.parse_tcp("tcp://[::1]:123") == ("::1", 123, "")
    for wrong in ("tcp://host", "tcp://:1", "tcp://h:x", "tcp://h:1?key=ab"):
        with pytest.raises(InvalidArgument):
            lines.parse_tcp(wrong)
    assert find.uri_of("/a/b") == "ipc:///a/b"
