#include "qmanager/site/fairshare.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "qmanager/request.hpp"

namespace holon::qmanager {

namespace {

using Key = std::pair<Credential, std::string>;

template <class Each>
void each_credential(const JobRequest& job, Each each) {
  const std::array<std::pair<Credential, const std::string*>, 5> all = {
      {{Credential::user, &job.user},
       {Credential::group, &job.group},
       {Credential::account, &job.account},
       {Credential::qos, &job.qos},
       {Credential::queue, &job.queue}}};
  for (const auto& [kind, name] : all)
    if (!name->empty()) each(Key{kind, *name});
}

}  // namespace

// The window of an instant not later than the present one; nullptr: it counts no more.
Fairshare::Window* Fairshare::window_at(Time t) {
  const auto age = static_cast<std::size_t>(index_of(counted_to_) - index_of(t));
  if (age >= static_cast<std::size_t>(config_.depth)) return nullptr;
  if (age >= windows_.size()) windows_.resize(age + 1);
  return &windows_[age];
}

// Moves the clock on to `t` and drops windows that are too old.
void Fairshare::roll_to(Time t) {
  const std::int64_t passed = index_of(t) - index_of(counted_to_);
  for (std::int64_t i = 0; i < std::min(passed, config_.depth); ++i) windows_.emplace_front();
  if (windows_.size() > static_cast<std::size_t>(config_.depth))
    windows_.resize(static_cast<std::size_t>(config_.depth));
  counted_to_ = t;
}

void Fairshare::advance(Time now) {
  // Windows that would be thrown away at once are not filled.
  const Time oldest = (index_of(std::max(now, counted_to_)) - config_.depth) * config_.interval;
  if (oldest > counted_to_) roll_to(oldest);
  while (counted_to_ < now) {
    const Time until = std::min(now, window_end(counted_to_));
    const auto ticks = static_cast<double>(until - counted_to_);
    Window& window = windows_.front();
    window.total += ticks * static_cast<double>(all_running_);
    for (const auto& [key, procs] : running_) window.by[key] += ticks * static_cast<double>(procs);
    roll_to(until);
  }
}

void Fairshare::started(const JobRequest& job, std::int64_t procs, Time since) {
  if (since < counted_to_) charge(job, procs, {since, counted_to_});
  advance(since);
  all_running_ += procs;
  each_credential(job, [&](const Key& key) { running_[key] += procs; });
}

void Fairshare::ended(const JobRequest& job, std::int64_t procs) {
  all_running_ -= procs;
  each_credential(job, [&](const Key& key) {
    const auto found = running_.find(key);
    if ((found->second -= procs) == 0) running_.erase(found);
  });
}

void Fairshare::charge(const JobRequest& job, std::int64_t procs, Interval ran) {
  advance(ran.end);
  const Time oldest = (index_of(counted_to_) - config_.depth + 1) * config_.interval;
  for (Time at = std::max(ran.begin, oldest); at < ran.end;) {
    const Time until = std::min(ran.end, window_end(at));
    const double used = static_cast<double>(until - at) * static_cast<double>(procs);
    if (Window* window = window_at(at)) {
      window->total += used;
      each_credential(job, [&](const Key& key) { window->by[key] += used; });
    }
    at = until;
  }
}

double Fairshare::used(Credential kind, const std::string& name) const {
  double own = 0;
  double weight = 1;
  for (const Window& window : windows_) {
    const auto found = window.by.find({kind, name});
    own += found == window.by.end() ? 0 : weight * found->second;
    weight *= config_.decay;
  }
  return own;
}

double Fairshare::usage(Credential kind, const std::string& name) const {
  double own = 0;
  double all = 0;
  double weight = 1;
  for (const Window& window : windows_) {
    const auto found = window.by.find({kind, name});
    own += found == window.by.end() ? 0 : weight * found->second;
    all += weight * window.total;
    weight *= config_.decay;
  }
  return all > 0 ? 100 * own / all : 0;
}

double Fairshare::below_target(Credential kind, const std::string& name) const {
  auto target = config_.targets.find({kind, name});
  if (target == config_.targets.end()) target = config_.targets.find({kind, "default"});
  if (target == config_.targets.end() || name.empty()) return 0;
  const double below = target->second.percent - usage(kind, name);
  if (target->second.kind == FairshareTarget::Kind::floor) return std::max(0.0, below);
  return target->second.kind == FairshareTarget::Kind::ceiling ? std::min(0.0, below) : below;
}

}  // namespace holon::qmanager
