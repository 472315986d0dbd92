#include "instance/process/instance_cgroup.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "launch/tracking/cgroup.hpp"
#include "launch/tracking/process.hpp"

namespace holon::instance {
namespace {

namespace fs = std::filesystem;

// The pid namespace: the supervisor's pid is part of the name.
std::uint64_t pid_namespace() {
  struct stat info {};
  return stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

// The end of the name, which is the same in all runs.
std::string name_end(const StateClaim& claim) {
  constexpr std::size_t kEnough = 16;
  return "-" + claim.mark.substr(0, kEnough) + claim.mark.substr(claim.mark.rfind('-'));
}

std::string note_in(const std::string& state_dir) {
  return state_dir + "/cgroup";
}

Status note(const std::string& file, const std::string& text) {
  const transport::UniqueFd out(open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (out && write(out.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()))
    return {};
  return fail(Errc::system, std::strerror(errno), file);
}

// Removes cgroups of killed supervisors, of this instance or others.
void remove_abandoned(const std::string& beside) {
  std::error_code error;
  for (fs::directory_iterator entry(beside, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::uint64_t space = 0, start = 0;
    int pid = 0;
    if (std::sscanf(name.c_str(), "holon-%lu-%d-%lu-", &space, &pid, &start) != 3 ||
        space != pid_namespace())
      continue;
    const auto supervisor = launch::stat_of(pid);
    const bool lives = supervisor && supervisor->start == start && !supervisor->is_over();
    const std::string dir = entry->path().string();
    if (!lives && !launch::is_populated(dir)) launch::remove_cgroup(dir);
  }
}

}  // namespace

std::string InstanceCgroup::of_earlier_run(const std::string& state_dir, const StateClaim& claim) {
  std::ifstream in(note_in(state_dir));
  std::string dir;
  std::getline(in, dir);
  return dir.ends_with(name_end(claim)) ? dir : "";
}

Result<InstanceCgroup> InstanceCgroup::make(const std::string& state_dir, const StateClaim& claim) {
  const auto beside = launch::own_cgroup();
  if (!beside) return tl::unexpected(beside.error());
  remove_abandoned(*beside);
  const auto self = launch::stat_of(getpid());
  const std::string dir = fmt::format("{}/holon-{}-{}-{}{}", *beside, pid_namespace(), getpid(),
                                      self ? self->start : 0, name_end(claim));
  // The note comes before the directory: a cgroup without a note would never be found again.
  if (auto noted = note(note_in(state_dir), dir + "\n"); !noted)
    return tl::unexpected(noted.error());
  if (auto made = launch::make_cgroup(dir); !made) return tl::unexpected(made.error());
  return InstanceCgroup(dir);
}

void InstanceCgroup::remove_earlier(const std::string& state_dir, const StateClaim& claim) {
  const std::string dir = of_earlier_run(state_dir, claim);
  if (!dir.empty()) launch::remove_cgroup(dir);
}

std::string InstanceCgroup::dir_of_agent(std::uint32_t rank) const {
  std::string dir = fmt::format("{}/agent-{}", dir_, rank);
  std::error_code ignored;
  fs::create_directory(dir, ignored);
  return dir;
}

Status InstanceCgroup::keep_note(const std::string& state_dir) const {
  std::error_code ignored;
  if (fs::exists(note_in(state_dir), ignored)) return {};
  return note(note_in(state_dir), dir_ + "\n");
}

InstanceCgroup::~InstanceCgroup() {
  if (dir_.empty()) return;
  constexpr int kLooks = 200;
  for (int i = 0; i < kLooks && launch::is_populated(dir_); ++i) {
    launch::kill_cgroup(dir_);
    usleep(10'000);  // the process is ending: nothing else is to be done
  }
  launch::remove_cgroup(dir_);
}

}  // namespace holon::instance
