#include "launch/remote/relay.hpp"

#include <unistd.h>

#include <filesystem>

#include "transport/endpoint.hpp"

namespace holon::launch {
namespace {

// Not "broker": a search for instances on this node must not take the relay for one.
constexpr const char* kSocket = "relay";

bool is_owners(const transport::Principal& who) {
  return who.kind == transport::Principal::Kind::ipc && (who.uid == geteuid() || who.uid == 0);
}

}  // namespace

Relay::Relay(transport::Reactor& reactor, transport::Client& broker, std::string uri,
             transport::Options options)
    : reactor_(reactor), broker_(broker), uri_(std::move(uri)), options_(std::move(options)) {}

Relay::~Relay() {
  children_.clear();
  server_.reset();
  std::error_code ignored;
  if (!dir_.empty()) std::filesystem::remove_all(dir_, ignored);
}

Result<std::unique_ptr<Relay>> Relay::open(transport::Reactor& reactor, transport::Client& broker,
                                           std::string uri, transport::Options options,
                                           const std::string& dir) {
  std::unique_ptr<Relay> relay(new Relay(reactor, broker, std::move(uri), std::move(options)));
  if (auto listening = relay->listen(dir); !listening) return tl::unexpected(listening.error());
  return relay;
}

Status Relay::listen(const std::string& dir) {
  auto made = transport::make_runtime_dir(dir);
  if (!made) return tl::unexpected(made.error());
  dir_ = std::move(*made);
  const auto here = transport::ipc_uri(dir_, kSocket);
  if (!here) return tl::unexpected(here.error());
  transport::Options options;
  options.name = "relay";
  options.kept_for = {"child"};
  auto server = transport::Server::listen(reactor_, *here, options);
  if (!server) return tl::unexpected(server.error());
  server_ = std::move(*server);
  server_->on_request([this](const transport::Request& request) { pass_on(request); });
  // Not at once: it may be in the middle of a call.
  server_->on_peer_lost(
      [this](transport::PeerId peer) { reactor_.defer([this, peer] { children_.erase(peer); }); });
  return {};
}

// What it passes on counts as asked by the owner, as what comes to the broker's own socket does. It
// must not count as said by the agent: that only the agent itself says.
void Relay::pass_on(const transport::Request& request) {
  if (!is_owners(request.principal()))
    return request.fail({Errc::denied, "this instance is of another user", {}});
  if (request.topic().starts_with("agent."))
    return request.fail({Errc::denied, request.topic() + " is not passed on", {}});
  const auto child = children_.find(request.peer());
  if (child != children_.end()) return child->second->forward(request, request.path());
  if (request.topic() != "hello") return broker_.forward(request, request.path());
  const auto own = own_connection(request.peer());
  if (!own) return request.fail(own.error());
  (*own)->forward(request, request.path());
}

Result<transport::Client*> Relay::own_connection(transport::PeerId child) {
  transport::Options options = options_;
  options.name = "child, by the " + options.name;
  auto client = transport::Client::connect(reactor_, uri_, std::move(options));
  if (!client) return tl::unexpected(client.error());
  transport::Client& own = *(children_[child] = std::move(*client));
  own.on_request([this, child](const transport::Request& request) {
    server_->forward(child, request, request.path());
  });
  // The child says hello again, and so gets a new one.
  own.on_lost([this, child] { server_->dismiss(child); });
  server_->favour(child);
  return &own;
}

}  // namespace holon::launch
