#include "cli/verbs/instance/await_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <optional>
#include <ostream>
#include <set>

#include "base/text/printable.hpp"
#include "cli/outcome.hpp"
#include "cli/show/units.hpp"
#include "instance/basics/clock.hpp"
#include "instance/shape/tree_shape.hpp"

namespace holon::cli {
namespace {

constexpr Duration kTellAgain = 10'000;     // ms between two words about what is missing
constexpr Duration kTreePatience = 60'000;  // ms for the instance to end

std::string below(const std::string& path, std::uint64_t job) {
  return fmt::format("{}/{}", path == "/" ? "" : path, job);
}

// What is known of the instances of a tree while they come up.
class Rising {
 public:
  Rising(std::string top, std::size_t levels) : top_(std::move(top)), levels_(levels) {}

  // False: there is nothing more to wait for.
  bool hear(const std::string& path, const msg::EventsPart& part) {
    At& at = known_[path];
    for (const auto& node : part.node) {
      at.answers = node.health == "up";
      if (at.answers) at.planted = node.planted;
    }
    for (const auto& job : part.jobs) at.active.insert(job.id);
    // A snapshot is complete with its cursor: what was planted and is not in it is over.
    if (!at.is_complete && !part.cursor.empty()) {
      at.is_complete = true;
      for (const auto id : at.planted)
        if (!at.active.contains(id)) at.over.insert(id);
    }
    for (const auto& event : part.events)
      if (event.name == "clean" && is_planted(at, event.id)) failed_ = {path, event.id};
    return !failed_ && !is_up(top_, 0);
  }

  // The instance and the number of a child that has ended meanwhile.
  struct Child {
    std::string instance;
    std::uint64_t job = 0;
  };
  const std::optional<Child>& failed() const { return failed_; }

  std::size_t leaves_up() const { return leaves(top_, 0); }
  // Children that had ended before.
  std::vector<std::string> over() const {
    std::vector<std::string> paths;
    for (const auto& [path, at] : known_)
      for (const auto id : at.over) paths.push_back(below(path, id));
    return paths;
  }

 private:
  struct At {
    bool answers = false, is_complete = false;
    std::vector<std::uint64_t> planted;
    std::set<std::uint64_t> active, over;
  };

  static bool is_planted(const At& at, std::uint64_t job) {
    return std::find(at.planted.begin(), at.planted.end(), job) != at.planted.end();
  }

  bool is_up(const std::string& path, std::size_t level) const {
    const auto found = known_.find(path);
    if (found == known_.end() || !found->second.answers) return false;
    if (level == levels_) return true;
    const At& at = found->second;
    return at.is_complete && !at.planted.empty() &&
           std::all_of(at.planted.begin(), at.planted.end(), [&](std::uint64_t id) {
             return at.over.contains(id) || is_up(below(path, id), level + 1);
           });
  }

  std::size_t leaves(const std::string& path, std::size_t level) const {
    const auto found = known_.find(path);
    if (found == known_.end() || !found->second.answers) return 0;
    if (level == levels_) return 1;
    std::size_t up = 0;
    for (const auto id : found->second.planted) up += leaves(below(path, id), level + 1);
    return up;
  }

  const std::string top_;
  const std::size_t levels_;
  std::map<std::string, At> known_;
  std::optional<Child> failed_;
};

// Over a connection of its own: the other one is in the middle of a call.
void end_instance(const std::string& uri, const std::string& reason) {
  auto client = Client::connect({uri, {}, {}, {}});
  if (client && client->shutdown({reason})) (void)client->wait_until_gone(kTreePatience);
}

// Signals are blocked in a process that has made an instance in the background.
void die_of(int signal) {
  std::signal(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  raise(signal);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

// Were the children planted by the run that is waited for? Those of an earlier one have queues.
bool is_new_tree(Client& client, const msg::TreeNode& here) {
  if (here.planted.empty()) return true;
  const auto first = client.record(here.planted.front());
  return first && first->t_submit >= here.t_started;
}

Error why_it_ended(Client& client, const Rising::Child& child, bool is_new) {
  client.set_path(child.instance);
  const auto record = client.record(child.job);
  const std::string why = record ? failure_of(*record) : record.error().what;
  return {Errc::system,
          fmt::format("the child {} did not come up: {}; {}", below(child.instance, child.job),
                      why.empty() ? "it ended" : why,
                      is_new ? "the tree is ended"
                             : "the others go on, as they did before; `holon shutdown` ends them"),
          {}};
}

void tell_up(Invocation& call, Client& client, const Rising& rising) {
  for (const auto& path : rising.over())
    call.io.err << fmt::format("holon start: the child {} had ended; `holon job info` tells why\n",
                               path);
  const std::size_t up = rising.leaves_up();
  const auto here = client.status();
  const std::string took =
      here ? " after " + show_duration(instance::wall_clock_ms() - here->t_started) : "";
  call.io.err << fmt::format("holon start: {} {} up{}\n", up, up == 1 ? "leaf is" : "leaves are",
                             took)
              << std::flush;
}

}  // namespace

Status await_tree(Invocation& call, const std::string& uri, const std::string& shape) {
  const auto parsed = instance::parse_tree_shape(shape);
  if (!parsed) return tl::unexpected(parsed.error());
  auto client = Client::connect({uri, {}, {}, {}});
  if (!client) return tl::unexpected(client.error());
  const auto here = client->status();
  if (!here) return tl::unexpected(here.error());
  const bool is_new = is_new_tree(*client, *here);
  Rising rising(here->path, parsed->size());
  Client::SignalGuard guard = client->catch_signals([&](int signal) {
    if (is_new) end_instance(uri, "holon start was told to end before the tree was up");
    guard.reset();
    die_of(signal);
  });
  const auto tells = client->reactor().every(kTellAgain, [&] {
    call.io.err << fmt::format("holon start: {} of {} leaves are up; `holon tree` shows them\n",
                               rising.leaves_up(), instance::leaves_of(*parsed))
                << std::flush;
  });
  msg::EventsRequest request;
  request.node = true;
  request.names = {"instance", "clean"};
  const auto followed = client->follow_tree(
      request, {}, [&](const std::string& path, const msg::EventsPart& part, const auto&) {
        return rising.hear(path, part);
      });
  if (rising.failed()) {
    auto why = why_it_ended(*client, *rising.failed(), is_new);
    if (is_new) end_instance(uri, why.what);
    return tl::unexpected(std::move(why));
  }
  if (!followed) return followed;
  tell_up(call, *client, rising);
  return {};
}

}  // namespace holon::cli
