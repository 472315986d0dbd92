#include "client/observer.hpp"

#include <optional>
#include <utility>

#include "client/parts.hpp"
#include "client/tree_follower.hpp"
#include "msg/users.hpp"

namespace holon::client {

struct Observer::Parts {
  Parts(Reached reached, Patience at_most, std::string at)
      : client(std::move(reached.client)), patience(at_most), path(std::move(at)) {}

  transport::BlockingClient client;
  Patience patience;
  std::string path;
  std::uint64_t asked = 0;
  std::optional<TreeFollower> follower;
};

Observer::Observer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Observer::Observer(Observer&&) noexcept = default;
Observer& Observer::operator=(Observer&&) noexcept = default;
Observer::~Observer() = default;

Result<Observer> Observer::connect(const Address& address) {
  auto reached = reach_instance(address);
  if (!reached) return tl::unexpected(reached.error());
  if (reached->may_have_own) {
    auto own = reached->client.call<msg::OwnInstanceReply>(
        "user.instance", msg::OwnInstanceRequest{false}, "", address.patience.answer);
    if (!own) return tl::unexpected(own.error());
    reached->path = own->path;
  }
  const auto here = reached->client.call<msg::TreeNode>("status", msg::StatusRequest{},
                                                        reached->path, address.patience.answer);
  if (!here) return tl::unexpected(here.error());
  return Observer(std::make_unique<Parts>(std::move(*reached), address.patience, here->path));
}

transport::Reactor& Observer::reactor() {
  return parts_->client.reactor();
}
const std::string& Observer::uri() const {
  return parts_->client.client().uri();
}
const std::string& Observer::path() const {
  return parts_->path;
}
bool Observer::connected() const {
  return parts_->client.client().connected();
}
std::uint64_t Observer::asked() const {
  return parts_->asked;
}

void Observer::follow_tree(const msg::EventsRequest& request, const Client::OnTreePart& on_part,
                           std::function<void(const Status&)> on_end) {
  parts_->follower.emplace(parts_->client, parts_->patience.restart, request, TreeCursors(),
                           on_part, std::move(on_end));
  parts_->follower->begin(parts_->path);
}

void Observer::call(const std::string& topic, std::string payload, const std::string& path,
                    Duration timeout, std::function<void(const Result<std::string>&)> on_answer) {
  ++parts_->asked;
  parts_->client.client().call({topic, std::move(payload), path, timeout}, std::move(on_answer));
}

void Observer::stream(const std::string& topic, std::string payload, const std::string& path,
                      Duration timeout, std::function<bool(const std::string&)> on_chunk,
                      std::function<void(const Status&)> on_end) {
  struct Open {
    transport::CallId call;
    std::function<bool(const std::string&)> on_chunk;
    std::function<void(const Status&)> on_end;
    bool over = false;
  };
  ++parts_->asked;
  auto open = std::make_shared<Open>();  // shared by the two handlers
  open->on_chunk = std::move(on_chunk);
  open->on_end = std::move(on_end);
  transport::Client& line = parts_->client.client();
  transport::StreamHandlers handlers;
  handlers.on_chunk = [open, &line](const std::string& bytes) {
    if (open->over || open->on_chunk(bytes)) return;
    open->over = true;
    line.cancel(open->call);
    open->on_end({});
  };
  handlers.on_end = [open](const Status& status) {
    if (!std::exchange(open->over, true)) open->on_end(status);
  };
  open->call = line.open({topic, std::move(payload), path, timeout}, std::move(handlers));
}

}  // namespace holon::client
