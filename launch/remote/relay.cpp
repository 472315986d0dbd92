#include "launch/remote/relay.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

#include "launch/remote/output_note.hpp"
#include "transport/bounds.hpp"
#include "transport/codec/codec.hpp"
#include "transport/curve/admission.hpp"
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
             transport::Options options, std::optional<msg::VouchRequest> users)
    : reactor_(reactor),
      broker_(broker),
      uri_(std::move(uri)),
      options_(std::move(options)),
      users_(std::move(users)),
      refusals_(reactor, broker) {}

Relay::~Relay() {
  own_.clear();
  server_.reset();
  std::error_code ignored;
  if (!dir_.empty() && noted_output_folder(dir_).empty())
    std::filesystem::remove_all(dir_, ignored);
}

Result<std::unique_ptr<Relay>> Relay::open(transport::Reactor& reactor, transport::Client& broker,
                                           std::string uri, transport::Options options,
                                           const std::string& dir,
                                           std::optional<msg::VouchRequest> users) {
  std::unique_ptr<Relay> relay(
      new Relay(reactor, broker, std::move(uri), std::move(options), std::move(users)));
  if (auto listening = relay->listen(dir); !listening) return tl::unexpected(listening.error());
  return relay;
}

Status Relay::listen(const std::string& dir) {
  constexpr mode_t kOwners = 0700, kPassedThrough = 0711;
  // An earlier agent may have opened the folder to the users.
  if (users_ && !dir.empty()) chmod(dir.c_str(), kOwners);
  auto made = transport::make_runtime_dir(dir);
  if (!made) return tl::unexpected(made.error());
  dir_ = std::move(*made);
  const auto here = transport::ipc_uri(dir_, kSocket);
  if (!here) return tl::unexpected(here.error());
  transport::Options options;
  options.name = "relay";
  options.kept_for = {"child"};
  options.for_everybody = users_.has_value();
  auto server = transport::Server::listen(reactor_, *here, options);
  if (!server) return tl::unexpected(server.error());
  server_ = std::move(*server);
  if (users_ && chmod(dir_.c_str(), kPassedThrough) != 0)
    return system_error("cannot be opened to users", dir_);
  server_->on_request([this](const transport::Request& request) { pass_on(request); });
  // Later, not at once: the connection may be in the middle of a call.
  server_->on_peer_lost(
      [this](transport::PeerId peer) { reactor_.defer([this, peer] { own_.erase(peer); }); });
  return {};
}

// To an instance that serves users, root of this node has no special rights.
bool Relay::is_users(const transport::Principal& who) const {
  return users_ && who.kind == transport::Principal::Kind::ipc && who.uid != geteuid();
}

// Requests passed on over the agent's connection count as the owner's, as requests at the broker's
// own socket do. They must not count as the agent's: only the agent itself speaks as agent.
void Relay::pass_on(const transport::Request& request) {
  const bool is_servers =
      request.topic() == transport::kBoundReached && request.peer().value() == 0;
  if (is_servers) return refusals_.add(request, request.payload());  // its user has been told
  const bool of_user = is_users(request.principal());
  if (!of_user && !is_owners(request.principal()))
    return refuse(request, "this instance is of another user");
  if (request.topic().starts_with("agent."))
    return refuse(request, request.topic() + " is not passed on");
  const auto found = own_.find(request.peer());
  if (found == own_.end() && !of_user && request.topic() != "hello")
    return broker_.forward(request, request.path());
  const auto own = found != own_.end() ? Result<Own*>(&found->second) : own_connection(request);
  if (!own) return request.fail(own.error());
  if ((*own)->is_open) return (*own)->client->forward(request, request.path());
  (*own)->early.push_back(request);
}

void Relay::refuse(const transport::Request& request, const std::string& why) {
  refusals_.add(request, why);
  request.fail({Errc::denied, why, {}});
}

Result<Relay::Own*> Relay::own_connection(const transport::Request& request) {
  const transport::PeerId peer = request.peer();
  const bool of_user = is_users(request.principal());
  transport::Options options = options_;
  options.name = (request.topic() == "hello" ? "child, by the " : "user, by the ") + options.name;
  if (of_user) {
    const auto keys = transport::new_key_pair();
    if (!keys) return tl::unexpected(keys.error());
    options.security.public_key = keys->public_key;
    options.security.secret_key = keys->secret_key;
  }
  auto client = transport::Client::connect(reactor_, uri_, std::move(options));
  if (!client) return tl::unexpected(client.error());
  Own& own = own_[peer];
  own.client = std::move(*client);
  own.client->on_request([this, peer](const transport::Request& asked) {
    server_->forward(peer, asked, asked.path());
  });
  // The client says hello again, and so gets a new connection.
  own.client->on_lost([this, peer] { server_->dismiss(peer); });
  if (of_user) vouch(peer, own, request.principal());
  if (request.topic() == "hello" && !of_user) server_->favour(peer);  // users have no such proof
  return &own;
}

void Relay::vouch(transport::PeerId peer, Own& own, const transport::Principal& who) {
  own.is_open = false;
  msg::VouchRequest word = *users_;
  word.uid = who.uid;
  word.gid = who.gid;
  own.client->call({"agent.vouch", transport::pack(word), "", 0},
                   [this, peer](const Result<std::string>& answer) {
                     const auto found = own_.find(peer);
                     if (found == own_.end()) return;
                     found->second.is_open = answer.has_value();
                     for (const auto& early : std::exchange(found->second.early, {}))
                       answer ? found->second.client->forward(early, early.path())
                              : early.fail(answer.error());
                     if (!answer) server_->dismiss(peer);
                   });
}

}  // namespace holon::launch
