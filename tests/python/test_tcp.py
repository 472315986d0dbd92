"""An address on another machine: tcp, with CURVE and MUNGE's word, against a broker of the test's own."""
import os
import secrets
import stat
import threading

import pytest
import zmq
from zmq.utils import z85

import holon
from holon._wire import codec, envelope, msgpack
from holon.messages import ProveRequest, TreeNode


class Broker:
    """Answers hello, user.prove and status, and asks for its marks back. `key`: its CURVE key, hexadecimal; "": it has none."""

    def __init__(self, with_key):
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.ROUTER)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.key = ""
        if with_key:
            public, secret = zmq.curve_keypair()
            self.socket.curve_server = True
            self.socket.curve_secretkey = secret
            self.key = z85.decode(public).hex()
        self.port = self.socket.bind_to_random_port("tcp://127.0.0.1")
        self.proofs, self.marks, self.pending = [], [], set()
        self.is_over = False
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    @property
    def uri(self):
        return "tcp://127.0.0.1:%d" % self.port + ("?key=" + self.key if self.key else "")

    def serve(self):
        while not self.is_over:
            if self.socket.poll(20):
                self.take(*self.socket.recv_multipart())

    def take(self, who, data):
        asked = envelope.decode(data)
        say = lambda *places, **named: self.socket.send_multipart([who, envelope.encode(envelope.Envelope(*places, **named))])  # noqa: E731
        if asked.kind == envelope.HELLO:
            mark = secrets.token_bytes(8)
            self.pending.add(mark)
            say(envelope.HEARTBEAT, payload=mark)
            say(envelope.WELCOME, asked.id, payload=msgpack.pack({"name": "test", "pid": 1, "incarnation": 5, "max_message": 1 << 20}))
        elif asked.kind == envelope.HEARTBEAT and asked.payload:
            self.marks.append(asked.payload in self.pending)
        elif asked.kind == envelope.REQUEST and asked.topic == "user.prove":
            self.proofs.append(codec.unpack(ProveRequest, asked.payload).credential)
            say(envelope.RESPONSE, asked.id)
        elif asked.kind == envelope.REQUEST and asked.topic in ("status", "user.instance"):
            say(envelope.RESPONSE, asked.id, payload=codec.pack(TreeNode(cores=7) if asked.topic == "status" else holon.messages.OwnInstanceReply()))
        elif asked.kind == envelope.REQUEST and asked.topic == "tree":
            say(envelope.BYE, payload=msgpack.pack({"code": "busy", "what": "too much is unread", "where": ""}))

    def close(self):
        self.is_over = True
        self.thread.join()
        self.socket.close()
        self.context.term()


@pytest.fixture(params=[True, False], ids=["curve", "loopback"])
def broker(request):
    made = Broker(request.param)
    yield made
    made.close()


@pytest.fixture
def munge(tmp_path, monkeypatch):
    program = tmp_path / "munge"
    program.write_text('#!/bin/sh\necho "MUNGE:$2:"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", "%s:%s" % (tmp_path, os.environ["PATH"]))


def test_it_proves_who_it_is_and_sends_marks_back(broker, munge):
    with holon.Instance.connect(broker.uri) as instance:
        assert instance.status().cores == 7
        if broker.key:
            [proof] = broker.proofs
            assert proof.startswith("MUNGE:holon connection ") and len(proof.split()) == 4
        else:
            assert broker.proofs == []
    assert broker.marks and all(broker.marks)


def test_a_bye_ends_the_connection_and_the_next_one_is_made(broker, munge):
    with holon.Instance.connect(broker.uri) as instance:
        with pytest.raises(holon.Disconnected, match="too much is unread"):
            instance.tree()
        assert instance.status().cores == 7
        with pytest.raises(holon.OutOfRange, match="the broker takes 1048576"):
            instance.submit(["true", "x" * (1 << 20)])


def test_another_key_is_no_answer(munge):
    broker = Broker(True)
    try:
        with pytest.raises(holon.HolonError):
            holon.Instance.connect(broker.uri[:-64] + "ab" * 32, patience=holon.Patience(connect=2, restart=0))
    finally:
        broker.close()


def test_without_munge_or_pyzmq_it_says_what_is_missing(monkeypatch, tmp_path):
    import sys

    broker = Broker(True)
    try:
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(holon.Unsupported, match="MUNGE"):
            holon.Instance.connect(broker.uri)
        monkeypatch.setitem(sys.modules, "zmq", None)
        with pytest.raises(holon.Unsupported, match="python3-zmq"):
            holon.Instance.connect(broker.uri)
    finally:
        monkeypatch.undo()
        broker.close()
