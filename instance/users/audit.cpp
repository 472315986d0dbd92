#include "instance/users/audit.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <vector>

#include "base/idset.hpp"
#include "base/text/printable.hpp"
#include "instance/job/jobspec_update.hpp"
#include "launch/signal_name.hpp"
#include "msg/array.hpp"
#include "msg/audit.hpp"
#include "msg/instance.hpp"
#include "msg/policy.hpp"
#include "msg/queue.hpp"
#include "msg/reservation.hpp"
#include "msg/resource.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

using transport::Request;
using transport::unpack;

constexpr std::size_t kLongestEntry = 300;  // bytes of what an entry says, beside the reason
constexpr std::size_t kLargestRead = 128 << 10;
constexpr std::size_t kMostOfAnAnswer = 1'000;
constexpr std::int64_t kDropAtOnce = 100;  // entries beyond those that are kept

std::string shortened(std::string_view text) {
  return printable(text.substr(0, kLongestEntry));
}

std::string jobs_in_words(std::uint64_t first, std::uint64_t count) {
  return count == 1 ? fmt::format("job {}", first)
                    : fmt::format("jobs {}-{}", first, first + count - 1);
}

// A client's numbers in words, without those that are no ids.
std::string ids_in_words(const char* what, const std::vector<std::uint64_t>& ids) {
  std::vector<std::uint64_t> sorted = ids;
  std::sort(sorted.begin(), sorted.end());
  Idset set;
  for (const auto id : sorted)
    if (id <= Idset::kMax) set.insert(id);
  return fmt::format("{}{} {}", what, set.count() == 1 ? "" : "s", set.str());
}

// A request of a topic in words. A payload that cannot be read is refused by the topic's handler.
using InWords = std::string (*)(const std::string& payload);

template <class Message, std::string (*words)(const Message&)>
std::string read_as(const std::string& payload) {
  const auto message = unpack<Message>(payload);
  return message ? words(*message) : std::string();
}

std::string queue_in_words(const std::string& name) {
  return name.empty() ? "the default queue" : "queue " + name;
}

std::string of_cancel(const msg::CancelRequest& ask) {
  if (ask.all) return "all jobs";
  return ask.numbers.empty() ? ids_in_words("job", ask.ids) : "jobs " + ask.numbers;
}
std::string of_extend(const msg::ExtendRequest& ask) {
  return fmt::format("{} tasks more for job {}{}", ask.tasks, ask.id,
                     ask.close ? ", and no more" : "");
}
std::string of_signal(const msg::SignalRequest& ask) {
  return fmt::format("{} to {}", launch::signal_name(ask.signal), ids_in_words("job", ask.ids));
}
std::string of_update(const msg::UpdateRequest& ask) {
  return fmt::format("{}: {}", ids_in_words("job", ask.ids), in_words(ask));
}
std::string of_suspend(const msg::SuspendRequest& ask) {
  return fmt::format("{} {}", ask.suspend ? "stops" : "lets go on", ids_in_words("job", ask.ids));
}
std::string of_shutdown(const msg::ShutdownRequest& ask) {
  return ask.reason;
}
std::string of_urgency(const msg::UrgencyRequest& ask) {
  return fmt::format("{} to {}", ids_in_words("job", ask.ids), ask.urgency);
}
std::string of_gate(const msg::GateRequest& ask) {
  return fmt::format("{} {} of {}{}", ask.open ? "opens" : "closes", ask.gate,
                     ask.queue.empty() ? "all queues" : "queue " + ask.queue,
                     ask.reason.empty() ? "" : ": " + ask.reason);
}
std::string of_policy_load(const msg::PolicyLoadRequest& ask) {
  return fmt::format("{} for {}", ask.policy, queue_in_words(ask.queue));
}
std::string of_policy_disable(const msg::PolicyDisableRequest& ask) {
  return "of " + queue_in_words(ask.queue);
}
std::string of_reserve(const msg::ReserveRequest& ask) {
  return fmt::format("'{}' of {}", ask.name, ask.user);
}
std::string of_unreserve(const msg::UnreserveRequest& ask) {
  return ids_in_words("reservation", ask.ids);
}
std::string of_drain(const msg::DrainRequest& ask) {
  return fmt::format("{} {}{}", ask.drain ? "drains" : "resumes", ask.hosts,
                     ask.reason.empty() ? "" : ": " + ask.reason);
}

std::string in_words(const Request& request) {
  static const std::map<std::string_view, InWords> kWords = {
      {"cancel", read_as<msg::CancelRequest, of_cancel>},
      {"job.extend", read_as<msg::ExtendRequest, of_extend>},
      {"job.signal", read_as<msg::SignalRequest, of_signal>},
      {"job.update", read_as<msg::UpdateRequest, of_update>},
      {"job.suspend", read_as<msg::SuspendRequest, of_suspend>},
      {"shutdown", read_as<msg::ShutdownRequest, of_shutdown>},
      {"urgency", read_as<msg::UrgencyRequest, of_urgency>},
      {"queue.gate", read_as<msg::GateRequest, of_gate>},
      {"policy.load", read_as<msg::PolicyLoadRequest, of_policy_load>},
      {"policy.disable", read_as<msg::PolicyDisableRequest, of_policy_disable>},
      {"reserve", read_as<msg::ReserveRequest, of_reserve>},
      {"unreserve", read_as<msg::UnreserveRequest, of_unreserve>},
      {"resource.drain", read_as<msg::DrainRequest, of_drain>},
  };
  const auto known = kWords.find(request.topic());
  if (known == kWords.end()) return {};
  // The payload is read again by its handler, which is no matter for what people send.
  if (request.payload().size() > kLargestRead)
    return fmt::format("a request of {} bytes", request.payload().size());
  return shortened(known->second(request.payload()));
}

msg::AuditEntry entry_of(AuditRow row) {
  msg::AuditEntry entry;
  entry.number = row.number;
  entry.time = row.time;
  entry.uid = row.uid;
  entry.pid = row.pid;
  if (row.uid >= 0)
    entry.user = transport::user_of(
        {transport::Principal::Kind::ipc, static_cast<std::uint32_t>(row.uid), 0, row.pid});
  entry.passed_on = row.passed_on;
  entry.topic = std::move(row.topic);
  entry.path = std::move(row.path);
  entry.what = std::move(row.what);
  entry.refused = std::move(row.refused);
  return entry;
}

}  // namespace

void Audit::add_to(transport::Dispatcher& dispatcher) {
  dispatcher.add("audit", [this](const Request& r) { list(r); });
}

AuditRow Audit::row_of(const Request& request, bool passed_on) const {
  AuditRow row;
  row.time = clock_.wall(clock_.now());
  const auto who = request.principal();
  if (who.kind == transport::Principal::Kind::ipc ||
      who.kind == transport::Principal::Kind::munge) {
    row.uid = who.uid;
    row.pid = who.pid;
  }
  if (who.kind == transport::Principal::Kind::munge)
    row.what = fmt::format("from {}", shortened(who.name));
  row.passed_on = passed_on;
  row.topic = shortened(request.topic());
  row.path = shortened(request.path());
  return row;
}

std::int64_t Audit::add(const AuditRow& row) {
  const auto number = journal_.add_audit(row);
  if (number % kDropAtOnce == 0 && number > keep_) journal_.drop_audit(number - keep_);
  newest_ = number;
  return number;
}

bool Audit::has_room_for(const std::string& agent) {
  constexpr std::int64_t kShare = 10;
  auto& entries = by_word_of_[agent];
  while (!entries.empty() && entries.front() <= newest_ - keep_) entries.pop_front();
  return static_cast<std::int64_t>(entries.size()) < std::max<std::int64_t>(1, keep_ / kShare);
}

void Audit::asked(const Request& request, bool passed_on) {
  last_ = 0;
  if (keep_ == 0) return;
  auto row = row_of(request, passed_on);
  const auto asked = in_words(request);
  row.what += (row.what.empty() || asked.empty() ? "" : ": ") + asked;
  last_ = add(row);
  request.on_failure([this, number = last_](const Error& why) {
    if (number != 0) journal_.set_audit_refused(number, shortened(why.what));
  });
}

void Audit::name_jobs(std::int64_t entry, std::uint64_t first, std::uint64_t count) {
  if (entry != 0) journal_.set_audit_what(entry, jobs_in_words(first, count));
}

void Audit::refused(const Request& request, const Error& why) {
  if (keep_ == 0) return;
  auto row = row_of(request, false);
  if (const auto who = request.principal(); who.kind == transport::Principal::Kind::key)
    row.what = fmt::format("by the holder of the key of '{}'", shortened(who.name));
  row.refused = shortened(why.what);
  add(row);
}

void Audit::task_denied(const std::string& job, std::int64_t uid, const std::string& why) {
  if (keep_ == 0) return;
  AuditRow row;
  row.time = clock_.wall(clock_.now());
  row.uid = uid;
  row.topic = "agent.start";
  row.what = job;
  row.refused = shortened(why);
  add(row);
}

void Audit::list(const Request& request) const {
  const auto ask = unpack<msg::AuditRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  const std::size_t limit =
      ask->limit == 0 ? kMostOfAnAnswer : std::min<std::size_t>(ask->limit, kMostOfAnAnswer);
  const auto before = ask->before > 0 ? ask->before : std::numeric_limits<std::int64_t>::max();
  auto rows = journal_.audit(before, limit + 1, ask->refused_only);
  if (!rows) return request.fail(rows.error());
  msg::AuditReply reply;
  reply.more = rows->size() > limit;
  if (reply.more) rows->pop_back();
  for (auto& row : *rows) reply.entries.push_back(entry_of(std::move(row)));
  request.reply(transport::pack(reply));
}

}  // namespace holon::instance
