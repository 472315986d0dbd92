#include "world/user.hpp"

#include "world/machine.hpp"

namespace holon::world {
namespace {

std::unique_ptr<transport::Client> connected(transport::Reactor& reactor, const std::string& uri,
                                             const std::string& name) {
  transport::Options options;
  options.name = name;
  auto client = transport::Client::connect(reactor, uri, options);
  return client ? std::move(*client) : nullptr;
}

}  // namespace

User::User(Machine& machine, const std::string& name)
    : Process(machine, name, machine.new_pid(), Hosts::kEverywhere) {}
User::~User() {
  run([this] { clients_.clear(); });
}

void User::ask(const std::string& uri, const std::string& topic, std::string payload,
               std::function<void(const Result<std::string>&)> done, const std::string& path) {
  deliver([this, uri, topic, path, payload = std::move(payload), done = std::move(done)] {
    auto& client = clients_[uri];
    if (!client) client = connected(reactor(), uri, "user");
    client->call({topic, payload, path, 8'000}, done);
  });
}

void User::leave(const std::string& uri) {
  deliver([this, uri] { clients_.erase(uri); });
}

Ghost::Ghost(Machine& machine, pid_t pid, const Words& words, std::function<void()> taken)
    : Process(machine, "ghost", pid, Hosts::kEverywhere) {
  run([&] {
    client_ = connected(reactor(), words.uri, "child ghost");
    client_->call({words.topic, words.hello, "", 5'000},
                  [this, taken = std::move(taken)](const Result<std::string>& answer) {
                    if (answer) taken();
                    exit(0);
                  });
  });
}
Ghost::~Ghost() {
  run([this] { client_.reset(); });
}

}  // namespace holon::world
