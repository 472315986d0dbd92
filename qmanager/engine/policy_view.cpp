#include "qmanager/engine/policy_view.hpp"

namespace holon::qmanager {

std::int64_t PolicyView::second_of_day() const {
  constexpr std::int64_t kDay = 86'400;
  if (s_.config().second_of_day) return s_.config().second_of_day(now_);
  return now_ / s_.config().priority.ticks_per_second % kDay;
}

std::int64_t PolicyView::reserved() const {
  if (queue_.policy.keep) return queue_.reserved;
  std::int64_t all = 0;
  for (const auto& [bucket, held] : queue_.walk.reservations) all += held;
  return all;
}

UserUse PolicyView::user(const std::string& name) const {
  Accounts& accounts = s_.accounts();
  accounts.fairshare.edit().advance(now_);
  if (accounts.users_at != s_.plan().version) {
    accounts.users.clear();
    for (const auto& [end, id] : *s_.plan().running) {
      const Job& job = *s_.jobs().find(id);
      UserUse& use = accounts.users[job.request.user];
      ++use.running;
      use.procs += job.procs;
    }
    accounts.users_at = s_.plan().version;
  }
  const auto found = accounts.users.find(name);
  UserUse use = found == accounts.users.end() ? UserUse{} : found->second;
  use.used = accounts.fairshare->used(Credential::user, name) /
             static_cast<double>(s_.config().priority.ticks_per_second);
  return use;
}

Window PolicyView::window() const {
  const std::vector<Window> windows = s_.plan().machine->windows(now_);
  return windows.empty() ? Window{} : windows.front();
}

JobView view_of(Parts<const SchedulerConfig, const Queues> state, const Job& job, Time now) {
  return {job, state.queues().length_of(job), now, state.config().priority.ticks_per_second};
}

bool is_ranked(const Queues& queues, const Job& job) {
  const Queue& queue = queues.of(job);
  return queue.hooks != nullptr && queue.hooks->has(Hook::priority);
}

void rank(Parts<const SchedulerConfig, const Jobs, const Plan, Queues, Accounts> s, Job& job,
          Time now) {
  Queue& queue = s.queues().of(job);
  Rank rank = queue.hooks->rank(view_of(s, job, now), PolicyView(s, queue, now));
  queue.ranks_change = queue.ranks_change || !rank.lasts;
  PolicyWord& word = job.policy_word.make();
  word.rank = std::move(rank);
  word.ranked_at = now;
}

void tell_policy(PolicyParts s, std::string_view event, const Job& job, Time now) {
  const Queue& queue = s.queues().of(job);
  if (queue.hooks != nullptr && queue.hooks->has(Hook::on_event))
    queue.hooks->on_event(event, view_of(s, job, now), PolicyView(s, queue, now));
}

}  // namespace holon::qmanager
