#include "qmanager/engine/schedule_text.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/core.h>

namespace holon::qmanager {

namespace {

constexpr Time kLastSecond = 4'294'967'295;

std::string column(std::string name) {
  for (char& c : name)
    if (c == ':' || c == '\n') c = '_';
  return name;
}

// "license@batch@node0" belongs to the queue on that host, "license@batch" to a queue on a machine
// without hosts, "mpi/slots" to an environment, which has a line anyhow, "license" to everybody.
struct PoolName {
  std::string resource, queue, host;
  bool of_environment = false;

  explicit PoolName(const std::string& name) : of_environment(name.find('/') != std::string::npos) {
    const std::size_t first = name.find('@');
    resource = name.substr(0, first);
    if (first == std::string::npos) return;
    const std::size_t second = name.find('@', first + 1);
    queue = name.substr(first + 1, second - first - 1);
    if (second != std::string::npos) host = name.substr(second + 1);
  }
};

// The lines of one span.
class Lines {
 public:
  Lines(const PlannedSpan& span, const std::string& who, const ScheduleFormat& format, int sign)
      : span_(span), hosts_(format.hosts(span)), sign_(sign) {
    const std::int64_t second = format.ticks_per_second;
    const Time begin = span.when.begin / second + format.epoch;
    const Duration length =
        span.when.end == kTimeMax
            ? std::max<Duration>(0, kLastSecond - begin)
            : span.when.length() / second + (span.when.length() % second > 0 ? 1 : 0);
    head_ = fmt::format("{}:{}:{}", who, begin, length);
  }

  std::string of_environment() const {
    if (span_.environment.empty()) return {};
    return line('P', span_.environment, "slots", span_.slots);
  }

  std::string of_everybody() const {
    std::string text;
    for (const Consumes& use : span_.consumes) {
      const PoolName pool(use.pool);
      if (!pool.of_environment && pool.queue.empty())
        text += line('G', "global", pool.resource, use.amount);
    }
    return text;
  }

  std::string of_hosts() const {
    std::string text;
    if (hosts_.empty()) {
      text += of_queue("");
      if (span_.procs > 0) text += line('Q', span_.queue, "slots", span_.procs);
    }
    for (const HostUse& use : hosts_) {
      for (const auto& [type, amount] : use.other) text += line('H', use.host, type, amount);
      text += of_queue(use.host);
      if (use.slots > 0) text += line('Q', at(use.host), "slots", use.slots);
    }
    return text;
  }

 private:
  // Consumables of the queue, without its slots, which the cores give.
  std::string of_queue(const std::string& host) const {
    std::string text;
    for (const Consumes& use : span_.consumes) {
      const PoolName pool(use.pool);
      const bool here = pool.host.empty() || pool.host == host;
      if (pool.queue.empty() || pool.resource == "slots" || !here) continue;
      text += line('Q', at(host), pool.resource, use.amount);
    }
    return text;
  }

  std::string at(const std::string& host) const {
    return host.empty() ? span_.queue : span_.queue + "@" + host;
  }

  std::string line(char level, const std::string& object, const std::string& resource,
                   std::int64_t amount) const {
    return fmt::format("{}:{}:{}:{}:{}.000000\n", head_, level, column(object), column(resource),
                       sign_ * amount);
  }

  const PlannedSpan& span_;
  std::vector<HostUse> hosts_;
  int sign_;
  std::string head_;
};

}  // namespace

std::string ScheduleText::advances(const std::vector<PlannedSpan>& plan) {
  std::string text;
  const auto write = [&](const PlannedSpan& span, int sign) {
    const Lines lines(span, "0:0:RESERVING", format_, sign);
    text += lines.of_everybody() + lines.of_hosts() + lines.of_environment();
  };
  std::map<JobId, PlannedSpan> there;
  for (const PlannedSpan& span : plan) {
    if (!span.advance) continue;
    const auto known = told_.find(span.job);
    if (known == told_.end()) write(span, 1);
    there.emplace(span.job, known == told_.end() ? span : known->second);
  }
  for (const auto& [id, span] : told_)
    if (!there.contains(id)) write(span, -1);
  told_ = std::move(there);
  return text;
}

std::string ScheduleText::section(const std::vector<PlannedSpan>& plan,
                                  const std::unordered_set<JobId>& starting) {
  constexpr const char* kStates[] = {"RUNNING", "STARTING", "RESERVING"};
  const auto state_of = [&](const PlannedSpan& span) {
    return span.reserved ? 2 : starting.contains(span.job) ? 1 : 0;
  };
  std::string text = advances(plan) + "::::::::\n";
  for (int state = 0; state < 3; ++state)
    for (const PlannedSpan& span : plan) {
      if (span.advance || state_of(span) != state) continue;
      const Lines lines(span, fmt::format("{}:1:{}", span.job.value(), kStates[state]), format_, 1);
      text += lines.of_environment() + lines.of_everybody() + lines.of_hosts();
    }
  return text;
}

std::unordered_set<JobId> jobs_started(const StepResult& step) {
  std::unordered_set<JobId> started;
  for (const Decision& decision : step.decisions)
    if (const auto* start = std::get_if<Start>(&decision)) started.insert(start->job);
  return started;
}

}  // namespace holon::qmanager
