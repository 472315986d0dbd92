#include "instance/manager/schedule_log.hpp"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "instance/basics/clock.hpp"
#include "instance/request/placement.hpp"

namespace holon::instance {
namespace {

constexpr std::int64_t kTicksPerSecond = 1000;
constexpr std::int64_t kMicrosecondsPerTick = 1000;
constexpr std::int64_t kShare = 10;  // the log takes one part in this many of the broker's time

class File {
 public:
  // Never waits: a pipe or a terminal counts as a file that cannot be written.
  explicit File(const std::string& path)
      : fd_(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // Appends all of it or nothing: half a section would make the next one unreadable. "": done, else
  // why not.
  std::string append(std::string_view text) const {
    struct stat before {};
    if (fd_ < 0 || fstat(fd_, &before) != 0) return std::strerror(errno);
    while (!text.empty()) {
      const ssize_t wrote = write(fd_, text.data(), text.size());
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) {
        const std::string problem = std::strerror(wrote < 0 ? errno : EIO);
        // If even the cut fails there is nothing left to try.
        static_cast<void>(ftruncate(fd_, before.st_size) + 0);
        return problem;
      }
      text.remove_prefix(static_cast<std::size_t>(wrote));
    }
    return {};
  }

 private:
  int fd_;
};

}  // namespace

ScheduleLog::ScheduleLog(std::string path, JobManager& jobs, const resource::ResourceGraph& graph,
                         AfterCommit& after_commit)
    : path_(std::move(path)), jobs_(jobs), after_commit_(after_commit) {
  qmanager::ScheduleFormat format;
  format.ticks_per_second = kTicksPerSecond;
  format.hosts = [&graph](const qmanager::PlannedSpan& span) {
    return host_uses(graph, span.allocation);
  };
  sections_ = qmanager::ScheduleText(std::move(format));
}

void ScheduleLog::turn(Time now) {
  if (jobs_.pass_times().passes == recorded_ || now < not_before_ || !jobs_.settled()) return;
  const std::int64_t begun = monotonic_us();
  auto plan = jobs_.plan(now);
  const InstanceClock& clock = jobs_.clock();
  for (auto& span : plan) span.when = {clock.wall(span.when.begin), clock.wall(span.when.end)};
  std::string section = sections_.section(plan, std::exchange(starting_, {}));
  recorded_ = jobs_.pass_times().passes;
  rest(now, monotonic_us() - begun);
  after_commit_.add([this, now, section = std::move(section)] {
    const std::int64_t before = monotonic_us();
    tell(File(path_).append(section));
    rest(std::max(now, not_before_), monotonic_us() - before);
  });
}

std::optional<Time> ScheduleLog::next_turn() const {
  if (jobs_.pass_times().passes == recorded_ || !jobs_.settled()) return std::nullopt;
  return not_before_;
}

void ScheduleLog::rest(Time from, std::int64_t worked) {
  not_before_ = from + (worked * kShare + kMicrosecondsPerTick - 1) / kMicrosecondsPerTick;
}

void ScheduleLog::tell(const std::string& problem) {
  if (std::exchange(failing_, !problem.empty()) == failing_) return;
  spdlog::warn(failing_ ? "the schedule is not written to " + path_ + " any more: " + problem
                        : "the schedule is written to " + path_ + " again");
}

}  // namespace holon::instance
