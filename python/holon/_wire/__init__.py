"""What travels: msgpack, envelopes, ZMTP 3, a connection. docs/protocol.md describes it."""
