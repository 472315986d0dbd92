#include "instance/agents/job_changes.hpp"

#include <fmt/core.h>

#include <memory>
#include <set>

#include "msg/instance.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

using transport::pack;
using transport::Request;

constexpr std::size_t kMostOfAChange = 10'000;  // of one request

Status check_number_of(const std::vector<std::uint64_t>& ids) {
  if (ids.empty()) return fail(Errc::invalid_argument, "no jobs are named", "ids");
  if (ids.size() <= kMostOfAChange) return {};
  return fail(Errc::out_of_range,
              fmt::format("{} ids; one request may have {}", ids.size(), kMostOfAChange), "ids");
}

// Calls `then` once the last holder of the result has gone.
std::shared_ptr<void> when_all_are_gone(std::function<void()> then) {
  return {nullptr, [then = std::move(then)](void*) { then(); }};
}

}  // namespace

void JobChanges::add_to(transport::Dispatcher& dispatcher) {
  dispatcher.add("job.update", [this](const Request& r) { update(r); });
  dispatcher.add("job.suspend", [this](const Request& r) { suspend(r); });
}

void JobChanges::update(const Request& request) {
  const auto ask = transport::unpack<msg::UpdateRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  if (const auto good = check_number_of(ask->ids); !good) return request.fail(good.error());
  if (const auto done = jobs_.update(*ask, reactor_.now()); !done)
    return request.fail(done.error());
  after_commit_.add([request] { request.reply(pack(msg::Empty{})); });
}

JobChanges::ByRank JobChanges::agents_of(const std::vector<std::uint64_t>& ids) const {
  ByRank agents;
  for (const auto id : std::set<std::uint64_t>(ids.begin(), ids.end())) {
    const ActiveJob* const job = jobs_.find(JobId(id));
    if (job == nullptr) continue;
    for (const Part& part : job->life.parts)
      if (!part.finished && agents_.is_connected(part.rank)) agents[part.rank].push_back(id);
  }
  return agents;
}

// Answered when the connected agents have done it; the others do so when they come back.
void JobChanges::suspend(const Request& request) {
  const auto ask = transport::unpack<msg::SuspendRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  if (const auto good = check_number_of(ask->ids); !good) return request.fail(good.error());
  if (const auto done = jobs_.suspend(ask->ids, ask->suspend, reactor_.now()); !done)
    return request.fail(done.error());
  after_commit_.add([this, request, ids = ask->ids, suspend = ask->suspend] {
    const auto reply = when_all_are_gone([request] { request.reply(pack(msg::Empty{})); });
    for (const auto& [rank, jobs] : agents_of(ids))
      agents_.of(rank).suspend(jobs, suspend, [reply](const Status&) {});
  });
}

}  // namespace holon::instance
