// blocking_client.hpp - the command line's view of a broker: connect, ask, wait for the answer.
//
// A Client with a reactor of its own that turns while a call waits. Heavy only through codec.hpp.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "transport/codec/codec.hpp"
#include "transport/rpc.hpp"

namespace holon::transport {

class BlockingClient {
 public:
  // Waits until the server has answered, even if it is being restarted. Errors: not_found (no such
  // ipc socket; where its directory is there, none within 2 s), disconnected (a socket nobody
  // listens at, within the whole `timeout`), timed_out, invalid_argument.
  static Result<BlockingClient> connect(const std::string& uri, Duration timeout = 5000,
                                        Options options = {});
  BlockingClient(BlockingClient&&) noexcept;
  BlockingClient& operator=(BlockingClient&&) noexcept;
  ~BlockingClient();

  // The answer's bytes. timeout in ms; 0: wait for ever.
  Result<std::string> call(const std::string& topic, std::string payload, const std::string& path,
                           Duration timeout);

  template <class Reply, class Ask>
  Result<Reply> call(const std::string& topic, const Ask& ask, const std::string& path = "",
                     Duration timeout = 30000) {
    auto answer = call(topic, pack(ask), path, timeout);
    if (!answer) return tl::unexpected<Error>(answer.error());
    return unpack<Reply>(*answer);
  }

  // Calls `on_chunk` for every chunk until the stream ends (ok or its error) or on_chunk returns
  // false (ok; the server is told). `timeout` bounds the wait for the first sign of the stream
  // only; 0: none.
  Status stream(const std::string& topic, std::string payload, const std::string& path,
                const std::function<bool(std::string)>& on_chunk, Duration timeout = 30000);

  template <class Chunk, class Ask>
  Status stream(const std::string& topic, const Ask& ask, const std::string& path,
                const std::function<bool(const Chunk&)>& on_chunk, Duration timeout = 30000) {
    Status bad_chunk;
    Status ended = stream(
        topic, pack(ask), path,
        [&](std::string bytes) {
          auto chunk = unpack<Chunk>(bytes);
          if (chunk) return on_chunk(*chunk);
          bad_chunk = tl::unexpected<Error>(chunk.error());
          return false;
        },
        timeout);
    return bad_chunk ? ended : bad_chunk;
  }

  // For signals and timers beside a call, e.g. Ctrl-C in a stream; and for asynchronous calls.
  Reactor& reactor();
  Client& client();

 private:
  struct Parts;
  explicit BlockingClient(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace holon::transport
