#include "instance/policy/policies.hpp"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "policy/program.hpp"

namespace holon::instance {
namespace {

using nlohmann::json;

constexpr std::size_t kMostTold = 10;  // different failures of one policy that are logged

// The key of a policy's state in meta, by queue; in an advance reservation by its number, too.
std::string state_key(const std::string& queue, JobId advance = {}) {
  return advance.value() == 0 ? "policy.state." + queue
                              : fmt::format("policy.state-in.{}.{}", advance.value(), queue);
}
std::string live_key(const std::string& queue) {
  return "policy.live." + queue;
}

// A policy's name with a text. The state of a policy is of use to that policy alone.
std::string written_down(const char* what, const std::string& policy, const std::string& text) {
  return json{{"policy", policy}, {what, text}}.dump();
}

Result<NamedPolicy> read_down(const char* what, const std::string& bytes) {
  const json read = json::parse(bytes, nullptr, false);
  if (!read.is_object() || !read.contains("policy") || !read.contains(what) ||
      !read["policy"].is_string() || !read[what].is_string())
    return fail(Errc::invalid_argument, "it is damaged in the journal");
  return NamedPolicy{read["policy"].get<std::string>(), read[what].get<std::string>()};
}

}  // namespace

Result<std::shared_ptr<const qmanager::PolicyProgram>> program_of(const NamedPolicy& policy) {
  if (!qmanager::is_policy_file(policy.name)) {
    if (policy.text.empty()) return std::shared_ptr<const qmanager::PolicyProgram>();
    return fail(Errc::invalid_argument,
                fmt::format("\"{}\" is not called FILE.lua, as a policy in Lua is", policy.name),
                "policy");
  }
  if (policy.name.find('/') != std::string::npos)
    return fail(Errc::invalid_argument,
                fmt::format("\"{}\": a name without folders is accepted", policy.name), "policy");
  return policy::compile(policy.name, policy.text);
}

std::string in_words(const qmanager::HookStatus& status) {
  return fmt::format("{}; {}", status.trouble,
                     status.given_up
                         ? fmt::format("{} decides now", status.base)
                         : fmt::format("{} decided {} time{}", status.base, status.troubles,
                                       status.troubles == 1 ? "" : "s"));
}

// ---- after a restart

Status Policies::restore() {
  for (const auto& queue : scheduler_.queues())
    if (Status read = restore_live(queue.name); !read) return read;
  for (const auto& queue : scheduler_.queues())
    if (Status read = restore_state(queue); !read) return read;
  return {};
}

// A text that was accepted once is set again, unless this version of the program refuses it.
Status Policies::restore_live(const std::string& queue) {
  const auto kept = journal_.meta(live_key(queue));
  if (!kept) return tl::unexpected(kept.error());
  if (!*kept || (*kept)->empty()) return {};
  const auto policy = read_down("text", **kept);
  const Status set_again = policy ? set(queue, *policy, 0) : tl::unexpected(policy.error());
  if (set_again)
    live_[queue] = *policy;
  else
    spdlog::warn(fmt::format("the policy that was loaded for queue {} is not used: {}", queue,
                             to_string(set_again.error())));
  return {};
}

Status Policies::restore_within() {
  for (const auto& advance : scheduler_.advances())
    for (const auto& queue : scheduler_.queues())
      if (Status read = restore_state(queue, advance.request.resources.id); !read) return read;
  return {};
}

Status Policies::restore_state(const qmanager::QueueStatus& queue, JobId advance) {
  if (!queue.hooks) return {};
  const auto kept = journal_.meta(state_key(queue.name, advance));
  if (!kept) return tl::unexpected(kept.error());
  if (!*kept || (*kept)->empty()) return {};
  if (advance.value() != 0) within_[advance].insert(queue.name);
  const auto read = read_down("state", **kept);
  if (read && read->name != queue.policy) return {};
  const Status restored = read ? scheduler_.restore_policy_state(queue.name, read->text, advance)
                               : tl::unexpected(read.error());
  if (!restored)
    spdlog::warn(fmt::format("what the policy {} of queue {} kept is not used: {}", queue.policy,
                             queue.name, to_string(restored.error())));
  return {};
}

void Policies::keep() {
  for (const auto& [queue, policy, state, advance] : scheduler_.take_policy_states()) {
    journal_.set_meta(state_key(queue, advance), written_down("state", policy, state));
    if (advance.value() != 0) within_[advance].insert(queue);
  }
  forget_past_advances();
  tell_troubles();
}

// Forgets the state of policies in advance reservations that are gone.
void Policies::forget_past_advances() {
  if (within_.empty()) return;
  std::set<JobId> there;
  for (const auto& advance : scheduler_.advances()) there.insert(advance.request.resources.id);
  for (auto at = within_.begin(); at != within_.end();) {
    if (there.contains(at->first)) {
      ++at;
      continue;
    }
    for (const std::string& queue : at->second) journal_.set_meta(state_key(queue, at->first), "");
    at = within_.erase(at);
  }
}

// ---- another one

Status Policies::set(const std::string& queue, const NamedPolicy& policy, Time now) {
  auto program = program_of(policy);
  if (!program) return tl::unexpected(program.error());
  return scheduler_.set_policy(queue, policy.name, std::move(*program), now);
}

// Also overwrites the state of an earlier policy, which might have the same name.
Status Policies::load(const std::string& queue, const NamedPolicy& policy, Time now) {
  if (Status done = set(queue, policy, now); !done) return done;
  live_[queue] = policy;
  told_.erase(queue);
  journal_.set_meta(live_key(queue), written_down("text", policy.name, policy.text));
  journal_.set_meta(state_key(queue),
                    written_down("state", policy.name, scheduler_.policy_state(queue)));
  return {};
}

Result<std::string> Policies::disable(const std::string& queue, Time now) {
  const auto& queues = scheduler_.config().queues;
  if (!queues.contains(queue))
    return fail(Errc::not_found, fmt::format("there is no queue \"{}\"", queue), "queue");
  const std::string& own = configured(queue);
  if (qmanager::is_policy_file(own)) {
    const std::string& base = scheduler_.config().programs.at(own)->base();
    if (Status done = load(queue, {base, ""}, now); !done) return tl::unexpected(done.error());
    return base;
  }
  if (Status done = load(queue, {own, ""}, now); !done) return tl::unexpected(done.error());
  live_.erase(queue);
  journal_.set_meta(live_key(queue), "");
  return own;
}

const std::string& Policies::configured(const std::string& queue) const {
  return scheduler_.config().queues.at(queue).policy;
}

std::string Policies::of_default_queue() const {
  const auto& settings = scheduler_.config();
  const auto own = settings.queues.find(settings.default_queue);
  const std::string& queue =
      own == settings.queues.end() ? settings.queues.begin()->first : own->first;
  const auto live = live_.find(queue);
  return live == live_.end() ? configured(queue) : live->second.name;
}

std::string Policies::text_of(const std::string& queue) const {
  if (const auto live = live_.find(queue); live != live_.end()) return live->second.text;
  const auto text = config_.policies.find(configured(queue));
  return text == config_.policies.end() ? std::string() : text->second;
}

// ---- what goes wrong

std::string Policies::troubles() const {
  std::string lines;
  for (const auto& trouble : scheduler_.policy_troubles())
    lines += fmt::format("{}queue {}: {}", lines.empty() ? "" : "\n", trouble.queue,
                         in_words(trouble.status));
  return lines;
}

// Logs each failure once, however often it happens.
void Policies::tell_troubles() {
  for (const auto& [queue, policy, status] : scheduler_.policy_troubles()) {
    std::set<std::string>& told = told_[queue];
    if (told.size() < kMostTold && told.insert(status.trouble).second)
      spdlog::warn(fmt::format("the policy {} of queue {} failed: {}; {} decides in its place",
                               policy, queue, status.trouble, status.base));
    if (status.given_up && told.insert("").second)
      spdlog::error(
          fmt::format("the policy {} of queue {} is not asked any more: {}; {} decides now", policy,
                      queue, status.trouble, status.base));
  }
}

}  // namespace holon::instance
