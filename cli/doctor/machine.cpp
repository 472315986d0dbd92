#include <arpa/inet.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <thread>

#include "base/idset.hpp"
#include "cli/doctor/finding.hpp"
#include "instance/basics/surroundings.hpp"
#include "launch/hardware/gpus.hpp"
#include "launch/node.hpp"
#include "transport/unique_fd.hpp"

namespace holon::cli {
namespace {

using State = Finding::State;

constexpr double kGiB = 1024.0 * 1024 * 1024;

// Binds the calling thread to each core in turn.
Finding bind_each(const launch::Node& node) {
  Idset refused;
  std::string why;
  for (std::uint64_t core = 0; core < node.cores(); ++core) {
    Idset one;
    one.insert(core);
    const auto mask = node.cpus_of(one);
    const auto bound = mask ? mask->apply() : Status(tl::unexpected(mask.error()));
    const auto now = launch::CpuMask::current();
    if (bound && now && mask->covers(*now)) continue;
    refused.insert(core);
    why = bound ? "the kernel gave other CPUs" : bound.error().what;
  }
  const std::string all =
      fmt::format("{} core{}, CPUs {}", node.cores(), node.cores() == 1 ? "" : "s", node.cpuset());
  if (refused.empty()) return {"cores", State::ok, all + "; each can be bound", ""};
  return {"cores", State::failed,
          fmt::format("{}; core{} {} cannot be bound: {}", all, refused.count() == 1 ? "" : "s",
                      refused.str(), why),
          "the CPUs are those of this process (taskset -p $$): have the batch system grant all of "
          "them, or start holon under taskset with those that can be used"};
}

// The GPUs that an instance here would have: granted by the batch system, or named in the variable
// of their library.
void gpus(const instance::Surroundings& around, const launch::Node& node, Findings& all) {
  auto devices = around.allocation.gpus;
  const auto visible = launch::visible_gpus(node.makers());
  if (!visible.empty()) devices.emplace();
  for (const auto& [maker, shown] : visible)
    devices->insert(devices->end(), shown.begin(), shown.end());
  if (!devices && node.gpus() == 0) return;
  const std::size_t count = devices ? devices->size() : node.gpus();
  std::string found = fmt::format("{} GPU{}", count, count == 1 ? "" : "s");
  if (devices && count > 0) found += fmt::format(", devices {}", fmt::join(*devices, ","));
  all.push_back({"gpus", State::ok, found, ""});
}

// Cores that an instance would offer: cut and bound on a thread that then ends.
void cores(const instance::Surroundings& around, Findings& all) {
  std::thread([&] {
    const auto cut = instance::keep_granted_cores(around);
    if (!cut) {
      all.push_back({"cores", State::failed, to_string(cut.error()), ""});
      return;
    }
    if (!cut->empty())
      all.push_back({"grant", State::warning, *cut,
                     "ask the batch system for more, or --conf resource.cgroup-limits=false or "
                     "batch.system=none for all that hwloc finds"});
    const auto node = launch::Node::discover("");
    if (!node)
      all.push_back(
          {"cores", State::failed, to_string(node.error()), "hwloc must be able to read /sys"});
    if (!node) return;
    all.push_back(bind_each(*node));
    gpus(around, *node, all);
  }).join();
}

void cgroups(const instance::Surroundings& around, Findings& all) {
  const auto& limits = around.limits;
  if (limits.cpus)
    all.push_back(
        {"cgroup", State::warning, fmt::format("{}: {:.3g} CPUs", limits.cpus_from, *limits.cpus),
         fmt::format("{} core{} at most are offered; resource.cgroup-limits=false ignores it",
                     *limits.cores(), *limits.cores() == 1 ? "" : "s")});
  if (limits.memory)
    all.push_back({"cgroup", State::warning,
                   fmt::format("{}: {:.3g} GiB", limits.memory_from,
                               static_cast<double>(*limits.memory) / kGiB),
                   "no more memory is offered; resource.cgroup-limits=false ignores it"});
}

// Listens on a port given by the system and connects to it.
Finding loopback() {
  const auto failed = [](const char* what) {
    return Finding{"loopback", State::failed, to_string(system_error(what).value()),
                   "`ip link set lo up`: a container without a loopback cannot be used"};
  };
  const transport::UniqueFd server(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const transport::UniqueFd client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (server.get() < 0 || client.get() < 0) return failed("socket");
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* address = reinterpret_cast<sockaddr*>(&at);
  socklen_t length = sizeof at;
  if (bind(server.get(), address, length) != 0) return failed("a port of 127.0.0.1");
  if (listen(server.get(), 1) != 0) return failed("listening on 127.0.0.1");
  getsockname(server.get(), address, &length);
  if (connect(client.get(), address, length) != 0) return failed("connecting to 127.0.0.1");
  return {"loopback", State::ok, "127.0.0.1 listens and can be reached", ""};
}

std::string limit_text(rlim_t value, double unit, const char* name) {
  if (value == RLIM_INFINITY) return "unlimited";
  return fmt::format("{:.0f}{}", static_cast<double>(value) / unit, name);
}

struct Limit {
  const char* check;
  int which;
  rlim_t least, enough;  // below the first nothing works, below the second not much
  double unit;
  const char* unit_name;
  const char* remedy;
};

// The broker raises the soft limit of descriptors to the hard one by itself.
constexpr Limit kLimits[] = {
    {"descriptors", RLIMIT_NOFILE, 128, 1024, 1, "",
     "each client and each task needs some: `ulimit -n 65536` before holon start"},
    {"processes", RLIMIT_NPROC, 32, 512, 1, "", "`ulimit -u 4096` before holon start"},
    {"locked memory", RLIMIT_MEMLOCK, 0, 65'536, 1024.0 * 1024, " MiB",
     "MPI over InfiniBand locks memory: `ulimit -l unlimited` before holon start"},
};

}  // namespace

Findings look_at_limits() {
  Findings all;
  for (const Limit& limit : kLimits) {
    rlimit now{};
    if (getrlimit(static_cast<__rlimit_resource_t>(limit.which), &now) != 0) continue;
    const std::string found =
        fmt::format("{}, at most {}", limit_text(now.rlim_cur, limit.unit, limit.unit_name),
                    limit_text(now.rlim_max, limit.unit, limit.unit_name));
    const State state = now.rlim_cur < limit.least    ? State::failed
                        : now.rlim_cur < limit.enough ? State::warning
                                                      : State::ok;
    all.push_back({limit.check, state, found, state == State::ok ? "" : limit.remedy});
  }
  return all;
}

Findings look_at_machine(const instance::Surroundings& around) {
  Findings all;
  cgroups(around, all);
  cores(around, all);
  if (const auto most = instance::most_memory(around); most > 0)
    all.push_back({"memory", State::ok,
                   fmt::format("{:.3g} GiB granted here", static_cast<double>(most) / kGiB), ""});
  all.push_back(loopback());
  return all;
}

}  // namespace holon::cli
