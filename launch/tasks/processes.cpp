#include "launch/tasks/processes.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "launch/tracking/leftovers.hpp"
#include "launch/tracking/process.hpp"
#include "launch/tracking/taken_units.hpp"

namespace holon::launch {
namespace {

class OwnProcesses final : public Processes {
 public:
  OwnProcesses(transport::Reactor& reactor, Spawner spawner)
      : reactor_(reactor), spawner_(std::move(spawner)) {}

  tl::expected<pid_t, SpawnError> spawn(const SpawnRequest& request) override {
    return spawner_.spawn(request);
  }
  std::uint64_t start_of(pid_t process) const override {
    const auto stat = stat_of(process);
    return stat ? stat->start : 0;
  }
  Result<transport::Subscription> on_end(pid_t process,
                                         std::function<void(const transport::ChildExit&)> ended,
                                         std::function<void()> before_reap) override {
    return reactor_.on_child(process, std::move(ended), std::move(before_reap));
  }
  void signal_group(pid_t leader, int signal) override { ::kill(-leader, signal); }
  std::size_t kill_sessions(const std::vector<msg::ProcessId>& leaders,
                            const std::string& prefix) override {
    return launch::kill_sessions(leaders, prefix);
  }

 private:
  transport::Reactor& reactor_;
  Spawner spawner_;
};

}  // namespace

int Processes::open_file(const std::string& user, const std::string& path, int flags, int mask) {
  if (!user.empty()) return -EPERM;
  constexpr mode_t kMode = 0666;
  const mode_t usual = mask < 0 ? 0 : umask(static_cast<mode_t>(mask));
  const int fd = ::open(path.c_str(), flags, kMode);
  if (mask >= 0) umask(usual);
  return fd < 0 ? -errno : fd;
}

Result<std::size_t> Processes::end_on_taken_units(const Node& node, const std::string& prefix,
                                                  const TakenUnits& taken) {
  return launch::end_on_taken_units(node, prefix, taken);
}

bool Processes::end_leftovers(Leftovers& rest) {
  return rest.end();
}

Result<std::unique_ptr<Processes>> own_processes(transport::Reactor& reactor) {
  auto spawner = Spawner::create();
  if (!spawner) return tl::unexpected<Error>(spawner.error());
  return std::unique_ptr<Processes>(std::make_unique<OwnProcesses>(reactor, std::move(*spawner)));
}

}  // namespace holon::launch
