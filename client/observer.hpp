// observer.hpp - an instance, and the tree below it, as a program with a loop of its own sees them:
// it follows them and asks beside that, over one connection, and no call waits.
//
// Everything happens on the thread that turns reactor(), to which the program adds what else it
// waits for. Paths are absolute. Requests may fail as those of Client do (client.hpp).
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "client/client.hpp"
#include "transport/codec/codec.hpp"

namespace holon::client {

class Observer {
 public:
  // Connects, and waits for that. Errors: those of Client::connect().
  static Result<Observer> connect(const Address& address = {});
  Observer(Observer&&) noexcept;
  Observer& operator=(Observer&&) noexcept;
  ~Observer();

  transport::Reactor& reactor();
  // Where the broker listens, and the path of the instance that is observed.
  const std::string& uri() const;
  const std::string& path() const;
  // false: the connection is lost, and may be made again.
  bool connected() const;
  // How many requests ask() and collect() have sent so far.
  std::uint64_t asked() const;

  // Follows the instance and all below it, as Client::follow_tree() does. `on_end` is called once
  // when that is over: the instance has ended, or there is no connection for Patience::restart.
  // REQUIRES: called once.
  void follow_tree(const msg::EventsRequest& request, const Client::OnTreePart& on_part,
                   std::function<void(const Status&)> on_end);

  // Asks the instance at `path`; the answer comes within `timeout` ms.
  template <class Reply, class Ask>
  void ask(const std::string& topic, const Ask& request, const std::string& path,
           std::function<void(Result<Reply>)> on_answer, Duration timeout = 30'000) {
    call(topic, transport::pack(request), path, timeout,
         [on_answer = std::move(on_answer)](const Result<std::string>& bytes) {
           if (!bytes) return on_answer(tl::unexpected<Error>(bytes.error()));
           on_answer(transport::unpack<Reply>(*bytes));
         });
  }

  // Collects a stream: its end comes with `on_end`, also after `on_chunk` has returned false.
  template <class Chunk, class Ask>
  void collect(const std::string& topic, const Ask& request, const std::string& path,
               std::function<bool(const Chunk&)> on_chunk,
               std::function<void(const Status&)> on_end, Duration timeout = 30'000) {
    stream(
        topic, transport::pack(request), path, timeout,
        [on_chunk = std::move(on_chunk)](const std::string& bytes) {
          const auto chunk = transport::unpack<Chunk>(bytes);
          return chunk && on_chunk(*chunk);
        },
        std::move(on_end));
  }

 private:
  struct Parts;
  explicit Observer(std::unique_ptr<Parts> parts);
  void call(const std::string& topic, std::string payload, const std::string& path,
            Duration timeout, std::function<void(const Result<std::string>&)> on_answer);
  void stream(const std::string& topic, std::string payload, const std::string& path,
              Duration timeout, std::function<bool(const std::string&)> on_chunk,
              std::function<void(const Status&)> on_end);
  std::unique_ptr<Parts> parts_;
};

}  // namespace holon::client
