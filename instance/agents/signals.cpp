#include "instance/agents/signals.hpp"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "msg/instance.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

constexpr std::size_t kMostSignalled = 10'000;  // jobs of one request

Status check_signal(const msg::SignalRequest& ask) {
  if (ask.signal < 1 || ask.signal > SIGRTMAX)
    return fail(Errc::invalid_argument,
                fmt::format("signal is {}; accepted are 1 to {}", ask.signal, SIGRTMAX), "signal");
  if (ask.ids.size() > kMostSignalled)
    return fail(Errc::out_of_range,
                fmt::format("{} ids; one request may have {}", ask.ids.size(), kMostSignalled),
                "ids");
  return {};
}

// Lives until the last agent has answered.
struct AwaitedAnswers {
  transport::Request request;
  std::size_t awaited = 0;
  std::optional<Error> failure = std::nullopt;

  void take(const Status& answer) {
    if (!answer && !failure) failure = answer.error();
    if (--awaited > 0) return;
    if (failure) return request.fail(*failure);
    request.reply(transport::pack(msg::Empty{}));
  }
};

}  // namespace

// Adds the running tasks of an array.
Status Signals::add_agents_of_array(const ActiveJob& array, ByRank& to) const {
  const JobId last(array.id.value() + array.submission->count);
  for (auto task = jobs_.active().upper_bound(array.id);
       task != jobs_.active().end() && task->first <= last; ++task) {
    const Lifecycle& life = task->second.life;
    const bool runs =
        life.state == JobState::run && std::all_of(life.parts.begin(), life.parts.end(),
                                                   [](const Part& part) { return part.started; });
    if (!runs) continue;
    if (auto added = add_agents_of(task->first, to); !added) return added;
  }
  return {};
}

Status Signals::add_agents_of(JobId id, ByRank& to) const {
  const ActiveJob* const job = jobs_.find(id);
  if (job != nullptr && is_array(*job)) return add_agents_of_array(*job, to);
  if (job == nullptr && jobs_.is_active(id))
    return fail(Errc::denied, fmt::format("job {} has not started", jobs_.shown_path(id)));
  if (job == nullptr) {
    const auto known = jobs_.record(id);
    if (!known) return tl::unexpected(known.error());
    return fail(Errc::denied,
                fmt::format("job {} is over: {}", jobs_.shown_path(id), known->result));
  }
  const std::string path = jobs_.shown_path(id);
  if (is_pending(job->life.state))
    return fail(Errc::denied, fmt::format("job {} has not started", path));
  if (job->life.state != JobState::run)
    return fail(Errc::denied, fmt::format("job {} is being ended", path));
  if (job->submission->is_instance)
    return fail(
        Errc::denied,
        fmt::format("job {0} is an instance: signals go to jobs in it (holon signal -i {0})",
                    path));
  for (const Part& part : job->life.parts) {
    if (part.finished) continue;
    if (!part.started)
      return fail(Errc::denied, fmt::format("tasks of job {} are still being started", path));
    if (!agents_.is_connected(part.rank))
      return fail(Errc::disconnected,
                  fmt::format("an agent that runs tasks of job {} is away", path));
    to[part.rank].push_back(id.value());
  }
  return {};
}

void Signals::take(const transport::Request& request) {
  const auto ask = transport::unpack<msg::SignalRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  if (const auto good = check_signal(*ask); !good) return request.fail(good.error());
  ByRank to;
  // A job that is named twice gets one signal.
  for (const auto id : std::set<std::uint64_t>(ask->ids.begin(), ask->ids.end()))
    if (const auto added = add_agents_of(JobId(id), to); !added) return request.fail(added.error());
  after_commit_.add([this, request, to = std::move(to), signal = ask->signal] {
    const auto answers = std::make_shared<AwaitedAnswers>(AwaitedAnswers{request, to.size() + 1});
    for (const auto& [rank, jobs] : to)
      agents_.of(rank).signal(jobs, signal,
                              [answers](const Status& answer) { answers->take(answer); });
    answers->take({});
  });
}

}  // namespace holon::instance
