// Instances that jobs of an instance are: children over one or several agents, and users' own.
#include <fcntl.h>
#include <unistd.h>

#include <map>

#include "transport/secret.hpp"
#include "world/instance.hpp"
#include "world/machine.hpp"

namespace holon::world {
namespace {

// The secrets that the agent hands over in a descriptor: "KEY=VALUE", each with a zero behind it.
std::map<std::string, std::string> secrets_in(int fd) {
  std::map<std::string, std::string> secrets;
  const auto text = transport::take_secret(fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  for (std::size_t at = 0; text && at < text->size();) {
    const std::string entry = text->c_str() + at;
    at += entry.size() + 1;
    const auto cut = entry.find('=');
    if (cut != std::string::npos) secrets[entry.substr(0, cut)] = entry.substr(cut + 1);
  }
  return secrets;
}

}  // namespace

// A user's own instance, as the broker asks for it: it runs until it has been idle, and speaks to
// its parent as its user, by the kernel's word.
Instance::Begin Instance::own_instance(const launch::SpawnRequest& request) const {
  Begin child;
  child.user = request.user;
  child.is_idle_over = true;
  // The folder of this user's instances, which nobody else reads.
  child.state_dir = fmt::format("{}/home/{}/{}", machine_.dir, child.user, machine_.new_pid());
  child.conf = begin_.own_conf;
  for (std::size_t i = 1; i < request.argv.size(); ++i)
    if (request.argv[i - 1] == "--conf") child.conf.push_back(request.argv[i]);
  if (machine_.planted(Plant::kept_own)) child.conf.emplace_back("instance.idle-timeout=1h");
  return child;
}

// argv: "instance", ms that its program runs, the number of its agents if its parent has told it no
// place, --conf items and --exit-on-loss. Or the argv of a user's own instance.
void Instance::begin_child(Task& task, const launch::SpawnRequest& request) {
  auto secrets = secrets_in(request.secrets);
  auto place = instance::parse_child_place(secrets);
  if (!place)
    return machine_.history.violation("{} is told no place: {}", task.path, place.error().what);
  if (machine_.edition < 2) *place = {static_cast<std::size_t>(task.rank), {}, true};
  // Elsewhere all nodes are of one host, and children stay on theirs.
  const bool may_get_hosts = machine_.edition >= 9 && is_on_hosts();
  if (place->hosts.size() == 1 && !may_get_hosts) place->hosts.clear();
  if (place->index > 0)
    return begin_agent_of_child(
        task, {secrets["HOLON_PARENT_URI"], secrets["HOLON_TOKEN"],
               std::strtoull(task.path.c_str() + task.path.rfind('/') + 1, nullptr, 10), "",
               std::move(*place)});
  const bool is_own = request.argv[0] != "instance";
  Begin child = is_own ? own_instance(request) : Begin();
  child.path = task.path;
  child.task = task.pid;
  child.host = task.host;
  if (!is_own) child.state_dir = secrets["HOLON_STATE_DIR"];
  child.parent_uri = secrets["HOLON_PARENT_URI"];
  child.token = secrets["HOLON_TOKEN"];
  child.goes_on = secrets["HOLON_GOES_ON"] == "1";
  if (!is_own) {
    child.program = std::strtoll(request.argv[1].c_str(), nullptr, 10) * kMs;
    child.agents = static_cast<std::uint32_t>(std::strtoul(request.argv[2].c_str(), nullptr, 10));
    child.conf.assign(request.argv.begin() + 3, request.argv.end());
    child.exit_on_loss = std::erase(child.conf, "--exit-on-loss") > 0;
  }
  if (!place->hosts.empty()) child.agents = static_cast<std::uint32_t>(place->hosts.size());
  child.hosts = std::move(place->hosts);
  child.on_hosts = is_on_hosts();
  begin_instance(task, std::move(child));
}

void Instance::begin_instance(Task& task, Begin child) {
  auto made = std::make_unique<Instance>(machine_, all_, std::move(child));
  task.instance = made.get();
  all_.add(std::move(made));
}

void Instance::begin_agent_of_child(Task& task, instance::ChildAgentOptions how) {
  if (how.place.hosts.empty()) return;  // it does nothing until it is ended
  if (how.place.is_by_name)
    machine_.history.note("{} has got {}", task.path, how.place.hosts[how.place.index]);
  auto agent = std::make_unique<AgentProcess>(
      machine_, fmt::format("agent {} of {}", how.place.index, task.path), task.pid,
      [&all = all_, path = task.path] { return all.find(path); }, task.host);
  task.child_agent = agent.get();
  agent->on_death = [&machine = machine_, &all = all_, raw = agent.get()](bool killed, int code) {
    machine.tasks.lose_agent(raw->pid());
    machine.tasks.end(raw->pid(), killed ? SIGKILL : code << 8);
    all.remove(*raw);
  };
  agent->ask_parent(how);
  all_.add(std::move(agent));
}

}  // namespace holon::world
