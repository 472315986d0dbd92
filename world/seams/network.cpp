#include "world/seams/network.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "world/machine.hpp"
#include "world/seams/process.hpp"

namespace holon::world {

using transport::ConnectionId;

class WorldListener final : public transport::Listener,
                            public std::enable_shared_from_this<WorldListener> {
 public:
  WorldListener(Wires& wires, Process& its_owner, Events its_events,
                std::optional<transport::Admission> its_keys = std::nullopt)
      : owner(its_owner), events(std::move(its_events)), keys(std::move(its_keys)), wires_(wires) {}
  ~WorldListener() override { shut(); }

  bool send(ConnectionId id, std::string bytes) override {
    const auto found = links.find(id);
    if (found == links.end() || found->second->dead)
      return found != links.end() && found->second->silent;
    wires_.send(found->second, false, std::move(bytes));
    return true;
  }
  void leave(ConnectionId id) override {
    if (const auto found = links.find(id); found != links.end()) {
      found->second->unread = true;
      close(id);
    }
  }
  void close(ConnectionId id) override {
    const auto found = links.find(id);
    if (found == links.end()) return;
    const auto link = found->second;
    links.erase(found);
    wires_.hang_up(link, false);
  }
  void admit(ConnectionId) override {}
  void favour(ConnectionId) override {}
  std::optional<transport::Principal> principal(ConnectionId id) const override {
    const auto found = links.find(id);
    const bool has_key = found != links.end() && !found->second->key_name.empty();
    const bool ignores_keys = wires_.machine().planted(Plant::wrong_rank) && has_key &&
                              found->second->key_name.starts_with("agent ");
    if (has_key && !ignores_keys)
      return transport::Principal{transport::Principal::Kind::key, 0, 0, 0,
                                  found->second->key_name};
    const auto pid =
        found == links.end() || found->second->client == nullptr ? 0 : found->second->client->pid();
    const bool is_known = found != links.end() && found->second->client != nullptr;
    const uid_t uid = is_known ? uid_of(*found->second->client) : geteuid();
    return transport::Principal{transport::Principal::Kind::ipc, uid, getegid(), pid};
  }
  std::optional<std::size_t> unsent(ConnectionId) const override { return 0; }
  std::size_t places() const override { return 0; }
  void shut() override {
    while (!links.empty()) close(links.begin()->first);
    is_shut = true;
  }

  uid_t uid_of(const Process& client) const {
    const Machine& machine = wires_.machine();
    if (machine.planted(Plant::open_door)) return geteuid();
    const bool is_taken_for_another =
        machine.planted(Plant::wrong_user) && client.uid() == kPeople.front();
    return is_taken_for_another ? kPeople.back() : client.uid();
  }

  Process& owner;
  Events events;
  std::optional<transport::Admission> keys;  // of a listener that asks for them
  std::map<ConnectionId, std::shared_ptr<Link>> links;
  bool is_shut = false;

 private:
  Wires& wires_;
};

class WorldLine final : public transport::Line, public std::enable_shared_from_this<WorldLine> {
 public:
  WorldLine(Wires& wires, Process& owner, std::string uri, std::string public_key,
            Events its_events)
      : events(std::move(its_events)),
        wires_(wires),
        owner_(owner),
        uri_(std::move(uri)),
        public_key_(std::move(public_key)) {}
  ~WorldLine() override { close(); }

  bool send(std::string bytes) override {
    if (!link || link->dead) return link && link->silent;
    wires_.send(link, true, std::move(bytes));
    return true;
  }
  void close() override {
    is_closed = true;
    if (const auto last = std::exchange(link, nullptr)) wires_.hang_up(last, true);
  }
  void connect_soon(Micros delay) {
    wires_.machine().timeline.after(delay, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->try_it();
    });
  }
  void broken(const std::shared_ptr<Link>& which) {
    if (is_closed || link != which) return;
    link = nullptr;
    patience_ = kFirst;
    connect_soon(patience_);
    events.on_broken();
  }

  Events events;
  std::shared_ptr<Link> link;
  bool is_closed = false;

 private:
  static constexpr Micros kFirst = 10 * kMs, kLongest = 250 * kMs;

  void try_it() {
    if (is_closed || link || !owner_.alive()) return;
    link = wires_.connect(shared_from_this(), owner_, uri_, public_key_);
    if (!link) {
      connect_soon(patience_);
      patience_ = std::min(2 * patience_, kLongest);
      return;
    }
    owner_.deliver([weak = weak_from_this(), made = link] {
      const auto self = weak.lock();
      if (self && self->link == made && !self->is_closed) self->events.on_made();
    });
  }

  Wires& wires_;
  Process& owner_;
  std::string uri_, public_key_;
  Micros patience_ = kFirst;
};

namespace {

class Port final : public transport::Network {
 public:
  Port(Wires& wires, Process& owner) : wires_(wires), owner_(owner) {}
  Result<std::shared_ptr<transport::Listener>> listen(transport::Reactor&, const std::string& uri,
                                                      transport::Listener::Events events) override {
    address_for_keys_ = Wires::address_for_keys(uri);
    return wires_.listen(owner_, uri, std::move(events));
  }
  Result<transport::RouterListenerAt> listen_for_keys(transport::Reactor&,
                                                      transport::Admission admission,
                                                      transport::Listener::Events events) override {
    return transport::RouterListenerAt{
        wires_.listen_for_keys(owner_, address_for_keys_, std::move(admission), std::move(events)),
        address_for_keys_};
  }
  Result<std::shared_ptr<transport::Line>> connect(transport::Reactor&, const std::string& uri,
                                                   const std::string& public_key,
                                                   transport::Line::Events events) override {
    auto line = std::make_shared<WorldLine>(wires_, owner_, uri, public_key, std::move(events));
    line->connect_soon(wires_.machine().dice.between(100, 5 * kMs));
    return std::shared_ptr<transport::Line>(std::move(line));
  }

 private:
  Wires& wires_;
  Process& owner_;
  std::string address_for_keys_;  // beside the last one that was listened at
};

}  // namespace

std::unique_ptr<transport::Network> Wires::port(Process& owner) {
  return std::make_unique<Port>(*this, owner);
}

Result<std::shared_ptr<transport::Listener>> Wires::listen(Process& owner, const std::string& uri,
                                                           transport::Listener::Events events) {
  constexpr std::string_view kIpc = "ipc://";
  auto& place = listeners_[uri];
  if (const auto there = place.lock(); there && !there->is_shut && there->owner.alive())
    return fail(Errc::exists, "another process listens there", uri);
  auto listener = std::make_shared<WorldListener>(*this, owner, std::move(events));
  place = listener;
  std::ofstream(uri.substr(kIpc.size())).flush();  // brokers look whether their socket is there
  return std::shared_ptr<transport::Listener>(std::move(listener));
}

std::shared_ptr<transport::Listener> Wires::listen_for_keys(Process& owner,
                                                            const std::string& address,
                                                            transport::Admission admission,
                                                            transport::Listener::Events events) {
  auto listener =
      std::make_shared<WorldListener>(*this, owner, std::move(events), std::move(admission));
  listeners_[address] = listener;
  return listener;
}

std::shared_ptr<Link> Wires::connect(const std::shared_ptr<WorldLine>& line, Process& client,
                                     const std::string& uri, const std::string& public_key) {
  if (const auto block = blocked_.find({client.pid(), uri});
      block != blocked_.end() && block->second > machine_.timeline.now())
    return nullptr;
  const auto listener = listeners_[uri].lock();
  if (!listener || listener->is_shut || !listener->owner.alive()) return nullptr;
  if (machine_.hosts.cut_until(client.host(), listener->owner.host()) > machine_.timeline.now())
    return nullptr;
  auto link = std::make_shared<Link>();
  link->id = ++last_id_;
  if (listener->keys) {
    link->id += transport::kFirstWithKey;
    link->key_name = listener->keys->name_of(public_key);
    if (link->key_name.empty()) return nullptr;
  }
  link->uri = uri;
  link->client = &client;
  link->server = &listener->owner;
  link->line = line;
  link->listener = listener;
  listener->links[link->id] = link;
  links_[link->id] = link;
  all_.push_back(link);
  return link;
}

Micros Wires::delay(const Link& link) {
  const Micros near = machine_.dice.one_in(10) ? machine_.dice.between(kMs, 60 * kMs)
                                               : machine_.dice.between(30, 900);
  const bool is_far = link.client != nullptr && link.server != nullptr &&
                      link.client->host() != link.server->host() && machine_.hosts.distance > 0;
  return is_far ? near + machine_.dice.between(0, machine_.hosts.distance) : near;
}

void Wires::send(const std::shared_ptr<Link>& link, bool up, std::string bytes) {
  Process* const from = up ? link->client : link->server;
  if (from == nullptr || !from->has_effect() || link->dead) return;
  ++messages_;
  if (tap(link, up, bytes)) carry(link, up, std::move(bytes));
}

void Wires::carry(const std::shared_ptr<Link>& link, bool up, std::string bytes) {
  if (up ? link->loses_up : link->loses_down) return;
  Micros& last = up ? link->last_up : link->last_down;
  last = std::max({machine_.timeline.now() + delay(*link), last + 1, link->held_until});
  machine_.timeline.at(last, [link, up, bytes = std::move(bytes)] {
    Process* const to = up ? link->server : link->client;
    if (link->dead || to == nullptr) return;
    to->deliver([link, up, bytes] {
      if (link->dead) return;
      if (up) {
        const auto listener = link->listener.lock();
        if (listener && !listener->is_shut && !link->unread)
          listener->events.on_message(link->id, bytes);
      } else {
        const auto line = link->line.lock();
        if (line && line->link == link && !line->is_closed) line->events.on_message(bytes);
      }
    });
  });
}

// The other side hears of it after all that is on its way to it.
void Wires::hang_up(const std::shared_ptr<Link>& link, bool by_client) {
  if (link->dead || links_.erase(link->id) == 0) return;
  const Micros last = by_client ? link->last_up : link->last_down;
  tell_broken(link, !by_client,
              std::max({machine_.timeline.now() + delay(*link), last + 1, link->held_until}));
}

void Wires::tell_broken(const std::shared_ptr<Link>& link, bool client, Micros when) {
  machine_.timeline.at(when, [link, client] {
    Process* const to = client ? link->client : link->server;
    if (to == nullptr) return;
    to->deliver([link, client] {
      link->dead = true;
      if (client) {
        if (const auto line = link->line.lock()) line->broken(link);
      } else if (const auto listener = link->listener.lock(); listener && !listener->is_shut) {
        if (listener->links.erase(link->id) != 0) listener->events.on_closed(link->id);
      }
    });
  });
}

void Wires::gone(Process& process) {
  for (const auto& link : live()) {
    if (link->client != &process && link->server != &process) continue;
    const bool was_client = link->client == &process;
    hang_up(link, was_client);
    if (machine_.dice.one_in(2)) {  // messages that it had sent are lost with it
      link->dead = true;
      tell_broken(link, !was_client,
                  std::max(machine_.timeline.now() + delay(*link), link->held_until));
    }
  }
  std::erase_if(all_, [&](const std::weak_ptr<Link>& weak) {
    const auto link = weak.lock();
    if (link && link->client == &process) link->client = nullptr;
    if (link && link->server == &process) link->server = nullptr;
    return !link;
  });
}

std::vector<std::shared_ptr<Link>> Wires::live() const {
  std::vector<std::shared_ptr<Link>> all;
  for (const auto& [id, link] : links_) all.push_back(link);
  return all;
}

std::shared_ptr<Link> Wires::some_link() {
  const auto all = live();
  if (all.empty()) return nullptr;
  auto link = all[static_cast<std::size_t>(
      machine_.dice.between(0, static_cast<std::int64_t>(all.size()) - 1))];
  return link->client == nullptr || link->server == nullptr ? nullptr : link;
}

void Wires::break_one() {
  if (const auto link = some_link()) break_link(link);
}

void Wires::break_link(const std::shared_ptr<Link>& link) {
  if (link->dead || link->client == nullptr || link->server == nullptr) return;
  machine_.history.note("the connection of {} to {} breaks", link->client->name(),
                        link->server->name());
  links_.erase(link->id);
  link->dead = true;
  for (const bool client : {true, false})
    tell_broken(link, client, machine_.timeline.now() + delay(*link));
}

void Wires::lose_one(Micros duration) {
  const auto link = some_link();
  if (!link) return;
  const auto which = machine_.dice.between(1, 3);
  link->loses_up = which != 1;
  link->loses_down = which != 2;
  machine_.history.note("what is sent over the connection of {} to {} is lost",
                        link->client->name(), link->server->name());
  machine_.timeline.after(duration, [this, link] { break_link(link); });
}

void Wires::cut(int host, Micros duration) {
  const Micros until = machine_.timeline.now() + duration;
  machine_.history.note("host {} is cut off for {} ms", host, duration / kMs);
  machine_.hosts.cut(host, until);
  for (const auto& link : live()) {
    if (link->client == nullptr || link->server == nullptr) continue;
    const Micros held = machine_.hosts.cut_until(link->client->host(), link->server->host());
    link->held_until = std::max(link->held_until, held);
  }
}

void Wires::host_died(int host) {
  for (const auto& link : live()) {
    if (link->client == nullptr || link->server == nullptr) continue;
    const bool client_is_there = link->client->host() == host;
    if (client_is_there == (link->server->host() == host)) continue;
    links_.erase(link->id);
    link->dead = link->silent = true;
  }
}

void Wires::hold_one(Micros duration) {
  if (const auto link = some_link()) hold(link, duration);
}

void Wires::hold_of(const Process& client, const std::string& uri, Micros duration) {
  for (const auto& link : live())
    if (link->client == &client && link->uri == uri && link->server != nullptr)
      return hold(link, duration);
}

void Wires::hold(const std::shared_ptr<Link>& link, Micros duration) {
  const Micros until = machine_.timeline.now() + duration;
  machine_.history.note("the connection of {} to {} is cut for {} ms", link->client->name(),
                        link->server->name(), duration / kMs);
  link->held_until = until;
  blocked_[{link->client->pid(), link->uri}] = until;
}

void Wires::heal() {
  blocked_.clear();
  for (const auto& link : live()) link->held_until = 0;
}

}  // namespace holon::world
