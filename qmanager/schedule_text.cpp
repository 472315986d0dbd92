#include "qmanager/schedule_text.hpp"

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

// The lines of one span.
class Lines {
 public:
  Lines(const PlannedSpan& span, const char* state, const ScheduleFormat& format, std::string& text)
      : span_(span), hosts_(format.hosts(span)), text_(text) {
    const std::int64_t second = format.ticks_per_second;
    const Time begin = span.when.begin / second + format.epoch;
    const Duration length =
        span.when.end == kTimeMax
            ? std::max<Duration>(0, kLastSecond - begin)
            : span.when.length() / second + (span.when.length() % second > 0 ? 1 : 0);
    head_ = fmt::format("{}:1:{}:{}:{}", span.job.value(), state, begin, length);
  }

  void write() {
    for (const Consumes& use : span_.consumes) consumable(use);
    for (const HostUse& use : hosts_)
      for (const auto& [type, amount] : use.other) line('H', use.host, type, amount);
    if (hosts_.empty() && span_.procs > 0) line('Q', span_.queue, "slots", span_.procs);
    for (const HostUse& use : hosts_)
      if (use.slots > 0) line('Q', span_.queue + "@" + use.host, "slots", use.slots);
  }

 private:
  // By the names that admit.cpp gives them: "license", "license@batch", "mpi/slots". The slots of a
  // queue are those that each host's line tells.
  void consumable(const Consumes& use) {
    const std::size_t at = use.pool.find('@');
    const std::size_t slash = use.pool.find('/');
    if (slash != std::string::npos)
      line('P', use.pool.substr(0, slash), "slots", use.amount);
    else if (at == std::string::npos)
      line('G', "global", use.pool, use.amount);
    else if (!use.pool.starts_with("slots@"))
      line('Q', hosts_.size() == 1 ? span_.queue + "@" + hosts_[0].host : span_.queue,
           use.pool.substr(0, at), use.amount);
  }

  void line(char level, const std::string& object, const std::string& resource,
            std::int64_t amount) {
    text_ += fmt::format("{}:{}:{}:{}:{}.000000\n", head_, level, column(object), column(resource),
                         amount);
  }

  const PlannedSpan& span_;
  std::vector<HostUse> hosts_;
  std::string& text_;
  std::string head_;
};

}  // namespace

std::string schedule_section(const std::vector<PlannedSpan>& plan,
                             const std::unordered_set<JobId>& starting,
                             const ScheduleFormat& format) {
  constexpr const char* kStates[] = {"RUNNING", "STARTING", "RESERVING"};
  const auto state_of = [&](const PlannedSpan& span) {
    return span.reserved || span.advance ? 2 : starting.contains(span.job) ? 1 : 0;
  };
  std::string text = "::::::::\n";
  for (int state = 0; state < 3; ++state)
    for (const PlannedSpan& span : plan)
      if (state_of(span) == state) Lines(span, kStates[state], format, text).write();
  return text;
}

std::unordered_set<JobId> jobs_started(const StepResult& step) {
  std::unordered_set<JobId> started;
  for (const Decision& decision : step.decisions)
    if (const auto* start = std::get_if<Start>(&decision)) started.insert(start->job);
  return started;
}

}  // namespace holon::qmanager
