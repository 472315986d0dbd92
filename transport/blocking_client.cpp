// blocking_client.cpp - turns a private reactor until the one answer that is waited for has come.
#include "transport/blocking_client.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

#include "transport/endpoint.hpp"
#include "transport/supervisor_lock.hpp"

namespace holon::transport {
namespace {

// A broker that is started again removes its socket and makes it anew. The directory goes with the
// instance: as long as it is there, the socket may come back.
constexpr Duration kRestart = 2000;
constexpr Duration kLookForDirectory = 100;

Duration patience(Duration timeout) {
  return timeout == 0 ? -1 : timeout;
}

bool directory_is_there(const std::string& ipc_uri) {
  std::error_code ignored;
  const std::filesystem::path socket = ipc_uri.substr(std::string_view("ipc://").size());
  return std::filesystem::is_directory(socket.parent_path(), ignored);
}

// Was the instance of this socket killed? Its supervisor's lock is there, and unheld: no other
// broker will listen here. Without a lock nothing is known.
bool is_abandoned(const std::string& ipc_uri) {
  const std::filesystem::path socket = ipc_uri.substr(std::string_view("ipc://").size());
  const std::string dir = socket.parent_path();
  const std::string lock = dir + "/" + SupervisorLock::kFile;
  return access(lock.c_str(), R_OK) == 0 && !supervisor_lives(dir);
}

tl::unexpected<Error> nobody_there(const std::string& uri, Duration timeout) {
  const std::string within = " within " + std::to_string(timeout) + " ms";
  if (uri.starts_with("ipc://")) {
    const auto state = probe_ipc(uri);
    if (state && *state == IpcState::absent)
      return fail(Errc::not_found, "no instance listens here", uri);
    if (state && *state == IpcState::stale)
      return fail(Errc::disconnected,
                  "the instance that listened here is gone, and did not come back" + within, uri);
  }
  return fail(Errc::timed_out, "the instance did not answer" + within, uri);
}

}  // namespace

struct BlockingClient::Parts {
  std::unique_ptr<Reactor> reactor;
  std::unique_ptr<Client> client;  // after the reactor it uses, so that it ends first
};

BlockingClient::BlockingClient(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
BlockingClient::BlockingClient(BlockingClient&&) noexcept = default;
BlockingClient& BlockingClient::operator=(BlockingClient&&) noexcept = default;
BlockingClient::~BlockingClient() = default;

Result<BlockingClient> BlockingClient::connect(const std::string& uri, Duration timeout,
                                               Options options) {
  if (uri.starts_with("ipc://")) {
    const auto state = probe_ipc(uri);
    if (!state) return tl::unexpected<Error>(state.error());
    if (*state != IpcState::alive && is_abandoned(uri))
      return fail(Errc::disconnected,
                  "the instance that listened here is gone: it was killed, and has no supervisor "
                  "that would start a broker again",
                  uri);
    if (*state == IpcState::absent) {
      if (!directory_is_there(uri)) return nobody_there(uri, 0);
      timeout = timeout == 0 ? kRestart : std::min(timeout, kRestart);
    }
  }
  auto reactor = Reactor::create();
  if (!reactor) return tl::unexpected<Error>(reactor.error());
  auto client = Client::connect(**reactor, uri, std::move(options));
  if (!client) return tl::unexpected<Error>(client.error());
  auto parts = std::make_unique<Parts>(Parts{std::move(*reactor), std::move(*client)});
  // An instance that is ending takes no new clients, and then its directory goes.
  bool gone = false;
  const auto look = parts->reactor->every(
      kLookForDirectory, [&] { gone = uri.starts_with("ipc://") && !directory_is_there(uri); });
  Client& connecting = *parts->client;
  parts->reactor->run_until([&] { return connecting.connected() || gone; }, patience(timeout));
  if (connecting.connected()) return BlockingClient(std::move(parts));
  if (connecting.refusal()) return tl::unexpected<Error>(*connecting.refusal());
  return nobody_there(uri, gone ? 0 : timeout);
}

Result<std::string> BlockingClient::call(const std::string& topic, std::string payload,
                                         const std::string& path, Duration timeout) {
  parts_->reactor->turn(0);  // a connection lost between two calls is made anew before this one
  std::optional<Result<std::string>> answer;
  parts_->client->call({topic, std::move(payload), path, timeout},
                       [&](Result<std::string> result) { answer = std::move(result); });
  parts_->reactor->run_until([&] { return answer.has_value(); }, -1);
  return std::move(*answer);
}

Status BlockingClient::stream(const std::string& topic, std::string payload,
                              const std::string& path,
                              const std::function<bool(std::string)>& on_chunk, Duration timeout) {
  parts_->reactor->turn(0);
  std::optional<Status> ended;
  StreamHandlers handlers;
  handlers.on_chunk = [&](std::string chunk) {
    if (!ended && !on_chunk(std::move(chunk))) ended = Status{};
  };
  handlers.on_end = [&](Status status) {
    if (!ended) ended = std::move(status);
  };
  const CallId id =
      parts_->client->open({topic, std::move(payload), path, timeout}, std::move(handlers));
  parts_->reactor->run_until([&] { return ended.has_value(); }, -1);
  parts_->client->cancel(id);
  return std::move(*ended);
}

Reactor& BlockingClient::reactor() {
  return *parts_->reactor;
}
Client& BlockingClient::client() {
  return *parts_->client;
}

}  // namespace holon::transport
