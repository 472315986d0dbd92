#include "web/feed.hpp"

#include <algorithm>
#include <chrono>

namespace holon::web {
namespace {

constexpr Duration kTurn = 250;
constexpr Duration kInterest = 15'000;  // for so long after a look it is asked on
constexpr Duration kPlanAgain = 1'000, kResourcesAgain = 3'000, kTasksAgain = 1'000,
                   kGrantsAgain = 1'000, kReasonsAgain = 2'000;
constexpr Duration kAtLeast = 15'000;          // a plan moves on though nothing happens
constexpr Duration kShare = 20;                // of the time, one part is spent on asking
constexpr std::uint64_t kMostTasks = 100'000;  // of an instance whose arrays are drawn task by task
constexpr std::size_t kMostReasons = 100;      // jobs that wait, the first of the list
constexpr Duration kOverlap = 5'000;
constexpr Duration kRefusedAgain = 3'600'000;  // who may not ask may be given the right

struct ArraysOf {
  std::uint64_t tasks = 0;
  std::size_t over = 0;  // arrays
};
ArraysOf arrays_of(const InstanceView& at) {
  ArraysOf sum;
  for (const std::uint64_t id : at.arrays) {
    const auto job = at.jobs.find(id);
    sum.tasks += job == at.jobs.end() ? 0 : job->second.tasks;
    sum.over += job == at.jobs.end() || is_over(job->second);
  }
  return sum;
}

}  // namespace

Time wall_clock() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Feed::Feed(client::Observer& observer, Model& model, std::function<void(const Status&)> on_end)
    : observer_(observer), model_(model) {
  msg::EventsRequest request;
  request.all = true;
  request.records = true;
  request.node = true;
  observer_.follow_tree(
      request,
      [this](const std::string& path, const msg::EventsPart& part, const client::TreeCursors&) {
        if (part.anew) tasks_.erase(path);
        model_.take(path, part, wall_clock());
        return true;
      },
      std::move(on_end));
  turns_ = observer_.reactor().every(kTurn, [this] { turn(); });
}

void Feed::look_at(const std::string& path) {
  Looked& looked = looked_[path];
  const bool first = looked.last == 0;
  looked.last = observer_.reactor().now();
  if (first) turn();
}

void Feed::hurry() {
  for (auto& [path, looked] : looked_) {
    looked.plan.next = looked.resources.next = 0;
    looked.plan.seen = looked.resources.seen = 0;
  }
}

bool Feed::is_due(const Poll& poll) const {
  const Time now = observer_.reactor().now();
  return !poll.under_way && now >= poll.next &&
         (poll.seen != model_.version() || now - poll.next > kAtLeast);
}
void Feed::begin(Poll& poll) const {
  poll.under_way = true;
}
// The next time comes after at least `least`, and later where the answer took long.
void Feed::end(Poll& poll, Time began, Duration least) const {
  const Time now = observer_.reactor().now();
  poll.under_way = false;
  poll.seen = model_.version();
  poll.next = now + std::max(least, (now - began) * kShare);
}

void Feed::turn() {
  const Time now = observer_.reactor().now();
  for (auto looked = looked_.begin(); looked != looked_.end();) {
    const auto& [last, plan, resources, grants, reasons, moved] = looked->second;
    const bool idle =
        !plan.under_way && !resources.under_way && !grants.under_way && !reasons.under_way;
    if (idle && now - last > kInterest) {
      looked = looked_.erase(looked);
      continue;
    }
    const auto* at = model_.find(looked->first);
    if (at != nullptr && at->node.health != "ended") {
      if (is_due(looked->second.plan)) ask_plan(looked->first, looked->second.plan);
      if (is_due(looked->second.reasons)) ask_reasons(looked->first, looked->second.reasons);
      // That a node was drained, or is lost while nothing runs there, is no event.
      if (!resources.under_way && now >= resources.next)
        ask_resources(looked->first, looked->second.resources);
      // A promise that is made later than its grant is no event.
      const bool may_differ = at->moved != moved || now - grants.next > kAtLeast;
      if (may_differ && !grants.under_way && now >= grants.next) {
        looked->second.moved = at->moved;
        ask_grants(looked->first, looked->second.grants);
      }
    }
    ++looked;
  }
  for (const auto& [path, at] : model_.instances()) {
    const auto covers = [&path = path](const auto& looked) { return is_below(path, looked.first); };
    if (at.arrays.empty() || std::none_of(looked_.begin(), looked_.end(), covers)) continue;
    const ArraysOf arrays = arrays_of(at);
    Tasks& tasks = tasks_[path];
    if (arrays.tasks > kMostTasks || tasks.settled == at.arrays.size() || !is_due(tasks.poll))
      continue;
    tasks.settling = arrays.over;
    ask_tasks(path, tasks);
  }
}

void Feed::ask_plan(const std::string& path, Poll& poll) {
  begin(poll);
  const Time began = observer_.reactor().now();
  auto spans = std::make_shared<std::vector<msg::Span>>();
  observer_.collect<msg::PlanPart>(
      "plan", msg::PlanRequest{}, path,
      [spans](const msg::PlanPart& part) {
        for (const auto& span : part.spans)
          if (span.kind != "allocation") spans->push_back(span);
        return true;
      },
      [this, path, spans, began, alive = std::weak_ptr(alive_)](const Status& status) {
        if (alive.expired()) return;
        if (status) model_.take_plan(path, std::move(*spans));
        const bool may_not = !status && status.error().code == Errc::denied;
        end(looked_[path].plan, began, may_not ? kRefusedAgain : kPlanAgain);
      });
}

// Why a job waits changes without an event of the job: it is asked for those that have waited
// longest, in the instance that is looked at and in those below it.
void Feed::ask_reasons(const std::string& path, Poll& poll) {
  auto ids = model_.waiting_longest(path, kMostReasons);
  begin(poll);
  const Time began = observer_.reactor().now();
  if (ids.empty()) return end(poll, began, kReasonsAgain);
  const auto open = std::make_shared<std::size_t>(ids.size());
  for (auto& [instance, some] : ids) {
    msg::JobsRequest request;
    request.ids = std::move(some);
    observer_.ask<msg::JobsReply>(
        "jobs", request, instance,
        [this, path, instance = instance, began, open,
         alive = std::weak_ptr(alive_)](const Result<msg::JobsReply>& reply) {
          if (alive.expired()) return;
          if (reply) model_.take_reasons(instance, reply->jobs);
          if (--*open == 0) end(looked_[path].reasons, began, kReasonsAgain);
        });
  }
}

void Feed::ask_resources(const std::string& path, Poll& poll) {
  begin(poll);
  const Time began = observer_.reactor().now();
  observer_.ask<msg::ResourceReply>(
      "resource.list", msg::Empty{}, path,
      [this, path, began, alive = std::weak_ptr(alive_)](const Result<msg::ResourceReply>& reply) {
        if (alive.expired()) return;
        if (reply) model_.take_resources(path, *reply);
        end(looked_[path].resources, began, kResourcesAgain);
      });
}

// What has happened meanwhile is asked for with the next turn: it has another number. What could
// not be asked for stays as it was, and who may not ask for it does not try again.
void Feed::ask_grants(const std::string& path, Poll& poll) {
  begin(poll);
  const Time began = observer_.reactor().now();
  const auto fail_with = [this, path, began](const Error& error) {
    end(looked_[path].grants, began, error.code == Errc::denied ? kRefusedAgain : kGrantsAgain);
  };
  const auto ask_history = [this, path, began, fail_with,
                            alive = std::weak_ptr(alive_)](const Result<msg::GrantReply>& now) {
    if (alive.expired()) return;
    if (!now) return fail_with(now.error());
    observer_.ask<msg::GrantHistory>("grant.history", msg::GrantHistoryRequest{}, path,
                                     [this, path, began, fail_with, now = *now,
                                      alive](const Result<msg::GrantHistory>& history) {
                                       if (alive.expired()) return;
                                       if (!history) return fail_with(history.error());
                                       model_.take_grants(path, {now, history->events});
                                       end(looked_[path].grants, began, kGrantsAgain);
                                     });
  };
  observer_.ask<msg::GrantReply>("grant.show", msg::Empty{}, path, ask_history);
}

// First all tasks, then those that run, or have ended since.
void Feed::ask_tasks(const std::string& path, Tasks& tasks) {
  begin(tasks.poll);
  msg::JobsRequest request;
  request.all = true;
  request.tasks = true;
  if (tasks.since > 0) {
    request.filter.since = tasks.since;
    request.filter.states = {"RUNNING", "INACTIVE"};
  }
  tasks.since = std::max<Time>(wall_clock() - kOverlap, 1);
  ask_page(path, std::move(request), observer_.reactor().now());
}

void Feed::ask_page(const std::string& path, msg::JobsRequest request, Time began) {
  observer_.ask<msg::JobsReply>("jobs", request, path,
                                [this, path, request, began, alive = std::weak_ptr(alive_)](
                                    const Result<msg::JobsReply>& reply) {
                                  if (alive.expired()) return;
                                  if (reply) model_.take_jobs(path, reply->jobs, wall_clock());
                                  if (reply && !reply->next.empty()) {
                                    auto next = request;
                                    next.after = reply->next;
                                    return ask_page(path, std::move(next), began);
                                  }
                                  Tasks& tasks = tasks_[path];
                                  if (reply || reply.error().code == Errc::not_found)
                                    tasks.settled = tasks.settling;
                                  end(tasks.poll, began, kTasksAgain);
                                  tasks.poll.seen = 0;  // what happens to tasks changes no version
                                });
}

}  // namespace holon::web
