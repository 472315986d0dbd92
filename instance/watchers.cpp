#include "instance/watchers.hpp"

#include <algorithm>

#include "instance/messages.hpp"
#include "transport/codec.hpp"

namespace holon::instance {
namespace {

bool is_last(const EventBody& body) {
  return std::holds_alternative<event::Clean>(body) ||
         std::holds_alternative<event::Invalidate>(body);
}

}  // namespace

// ---- job.wait ----

void Watchers::wait(const transport::Request& request) {
  const auto ask = transport::unpack<msg::WaitRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  Wait wait{request, {}, {}};
  for (const auto id : ask->ids) wait.asked.push_back(JobId(id));
  if (ask->ids.empty())
    for (const auto& [id, job] : jobs_.active()) wait.asked.push_back(id);
  for (const JobId id : wait.asked) {
    if (jobs_.find(id) != nullptr)
      wait.left.insert(id);
    else if (auto record = jobs_.record(id); !record)
      return request.fail(record.error());
  }
  if (wait.left.empty()) return answer(wait);
  waits_.push_back(std::move(wait));
}

void Watchers::answer(const Wait& wait) {
  msg::WaitReply reply;
  for (const JobId id : wait.asked) {
    auto record = jobs_.record(id);
    if (!record) return wait.request.fail(record.error());
    reply.jobs.push_back(std::move(*record));
  }
  after_commit_.add([request = wait.request, reply] { request.reply(transport::pack(reply)); });
}

void Watchers::ended(JobId job) {
  for (auto& wait : waits_)
    if (wait.left.erase(job) != 0 && wait.left.empty()) answer(wait);
  std::erase_if(waits_, [](const Wait& w) { return w.left.empty() || w.request.done(); });
}

// ---- job.watch ----

void Watchers::watch(const transport::Request& request) {
  const auto ask = transport::unpack<msg::WatchRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  Watch watch{request, {}, ask->ids.empty() && ask->follow_all};
  for (const auto id : ask->ids) {
    if (auto record = jobs_.record(JobId(id)); !record) return request.fail(record.error());
    watch.left.insert(JobId(id));
  }
  for (const auto id : ask->ids)
    if (auto told = replay(watch, JobId(id)); !told) return request.fail(told.error());
  if (watch.left.empty() && !watch.all)
    after_commit_.add([request] { request.end(); });
  else
    watches_.push_back(std::move(watch));
}

Status Watchers::replay(Watch& watch, JobId job) {
  const auto events = journal_.events_of(job);
  if (!events) return tl::unexpected(events.error());
  for (const auto& e : *events) {
    send(watch, job, e);
    if (is_last(e.body)) watch.left.erase(job);
  }
  return {};
}

void Watchers::send(const Watch& watch, JobId job, const Event& e) {
  const Event shown = jobs_.as_shown(e);
  msg::JobEvent event{job.value(), shown.time, name_of(shown.body), context_of(shown.body)};
  after_commit_.add([request = watch.request, event] { request.send(transport::pack(event)); });
}

void Watchers::happened(JobId job, const Event& event) {
  if (watches_.empty()) return;
  for (auto& watch : watches_) {
    if (!watch.all && watch.left.count(job) == 0) continue;
    send(watch, job, event);
    if (watch.all || !is_last(event.body)) continue;
    watch.left.erase(job);
    if (watch.left.empty()) after_commit_.add([request = watch.request] { request.end(); });
  }
  std::erase_if(watches_,
                [](const Watch& w) { return (!w.all && w.left.empty()) || w.request.done(); });
}

void Watchers::close(const Error& why) {
  for (const auto& wait : waits_) wait.request.fail(why);
  for (const auto& watch : watches_) watch.request.fail(why);
  waits_.clear();
  watches_.clear();
}

}  // namespace holon::instance
