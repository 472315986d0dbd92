#include "instance/request/admission.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/idset.hpp"
#include "base/text/printable.hpp"
#include "instance/basics/text.hpp"
#include "instance/request/file_words.hpp"

namespace holon::instance {
namespace {

constexpr std::size_t kLongestName = 4096;  // bytes; it travels in every record

// Without this a misspelt licence would make a job that can never run, and the refusal would not
// say which licences there are.
Status check_licenses(const std::vector<qmanager::Consumes>& consumes,
                      const qmanager::SchedulerConfig& config) {
  std::set<std::string> known;
  const auto add = [&known](const auto& pools) {
    for (const auto& [name, amount] : pools) known.insert(name);
  };
  add(config.pools);
  add(config.defaults.pools);
  for (const auto& [name, queue] : config.queues) add(queue.pools);
  for (const auto& use : consumes)
    if (!known.contains(use.pool))
      return fail(Errc::not_found,
                  fmt::format("there is no license '{}' here; {}", use.pool,
                              known.empty() ? "there are none (pools.NAME)"
                                            : fmt::format("there are {}", fmt::join(known, ", "))),
                  "license");
  return {};
}

// Every QOS that some setting names; with "default" among them any name is accepted.
std::set<std::string> known_qos(const qmanager::SchedulerConfig& config) {
  std::set<std::string> known;
  const auto add_credentials = [&known](const auto& settings) {
    for (const auto& [credential, setting] : settings)
      if (credential.first == qmanager::Credential::qos) known.insert(credential.second);
  };
  const auto add_names = [&known](const auto& settings) {
    for (const auto& [name, setting] : settings) known.insert(name);
  };
  const auto add_buckets = [&known](const qmanager::QueueConfig& queue) {
    for (const auto& [number, bucket] : queue.buckets)
      known.insert(bucket.qos.begin(), bucket.qos.end());
  };
  add_names(config.qos);
  add_credentials(config.limits.of);
  for (const auto& [scope, limits] : config.limits.within_queue)
    if (scope.kind == qmanager::Credential::qos) known.insert(scope.name);
  add_credentials(config.priority.of);
  add_credentials(config.priority.fairshare.targets);
  add_names(config.priority.qos_queue_time);
  add_names(config.priority.qos_xfactor);
  add_buckets(config.defaults);
  for (const auto& [name, queue] : config.queues) add_buckets(queue);
  return known;
}

Status check_qos(const std::string& qos, const qmanager::SchedulerConfig& config) {
  if (qos.empty()) return {};
  const auto known = known_qos(config);
  if (known.contains(qos) || known.contains("default")) return {};
  return fail(Errc::not_found,
              fmt::format("there is no QOS '{}' here; {}", qos,
                          known.empty() ? "there are none (qos.NAME.flags)"
                                        : fmt::format("there are {}", fmt::join(known, ", "))),
              "qos");
}

// The list for this name; that of "default" if there is none; nullptr: everybody is admitted.
template <class Kept, class List>
const qmanager::AccessList* list_of(const std::map<std::string, Kept>& all, const std::string& name,
                                    List&& list) {
  auto found = all.find(name);
  if (found == all.end()) found = all.find("default");
  return found == all.end() ? nullptr : &list(found->second);
}

// The names that this user may use, in words.
template <class Kept, class List>
std::string accepted_for(const std::map<std::string, Kept>& all, const Submitter& who,
                         List&& list) {
  std::vector<std::string> names;
  for (const auto& [name, kept] : all)
    if (name != "default" && list(kept).admits(who.user, who.group)) names.push_back(name);
  return names.empty() ? "none is" : fmt::format("accepted: {}", fmt::join(names, ", "));
}

// A QOS or account that a limit or a flag names is not thereby open to everybody.
Status check_access(const Submission& submission, const Submitter& who,
                    const qmanager::SchedulerConfig& config) {
  const auto of_qos = [](const qmanager::QosConfig& one) -> const qmanager::AccessList& {
    return one.access;
  };
  const auto of_account = [](const qmanager::AccessList& one) -> const qmanager::AccessList& {
    return one;
  };
  const auto check = [&](const auto& all, const std::string& name, auto list, const char* kind,
                         const char* where) -> Status {
    if (name.empty()) return {};
    const auto* const access = list_of(all, name, list);
    if (access == nullptr || access->admits(who.user, who.group)) return {};
    return fail(Errc::denied,
                fmt::format("{} '{}' is not for jobs of {}{}; {}", kind, printable(name), who.user,
                            who.group.empty() ? "" : " that count for group " + who.group,
                            accepted_for(all, who, list)),
                where);
  };
  const SchedulingOptions& wishes = submission.wishes;
  if (auto may = check(config.qos, wishes.qos, of_qos, "QOS", "/attributes/system/holon/qos"); !may)
    return may;
  return check(config.accounts, wishes.account, of_account, "account", "/attributes/system/bank");
}

Status check_file_name(const Submission& submission, const std::string& file, const char* where) {
  const auto& array = submission.wishes.array;
  return check_file_words(file,
                          !array                   ? InFileOf::job
                          : array->entries.empty() ? InFileOf::array
                                                   : InFileOf::array_with_entries,
                          where);
}

Status check_input(const Submission& submission) {
  const std::string& tasks = submission.input_tasks;
  if (!tasks.empty() && tasks != "all")
    if (const auto ranks = Idset::parse(tasks); !ranks)
      return fail(
          Errc::invalid_argument,
          fmt::format("\"{}\" names no tasks; accepted are \"all\" and ranks like \"0-3\"", tasks),
          "/attributes/system/shell/options/input/stdin/ranks");
  return check_file_name(submission, submission.input,
                         "/attributes/system/shell/options/input/stdin");
}

}  // namespace

Status check_new(const Submission& submission, const Submitter& who,
                 const qmanager::SchedulerConfig& config) {
  if (submission.spec->tasks.front().command.front().empty())
    return fail(Errc::invalid_argument, "the command is an empty string", "/tasks/0/command/0");
  if (submission.name.size() > kLongestName)
    return fail(
        Errc::invalid_argument,
        fmt::format("has {} bytes; at most {} are accepted", submission.name.size(), kLongestName),
        "/attributes/system/job/name");
  if (submission.limit > kLongestLimit)
    return fail(Errc::out_of_range,
                fmt::format("is a limit of {}; accepted are up to {}, and none, with which it may "
                            "run as long as its instance",
                            duration_text(submission.limit), duration_text(kLongestLimit)),
                "/attributes/system/duration");
  if (auto known = check_licenses(submission.wishes.consumes, config); !known) return known;
  if (auto known = check_qos(submission.wishes.qos, config); !known) return known;
  if (auto may = check_access(submission, who, config); !may) return may;
  if (auto known =
          check_file_name(submission, submission.output, "/attributes/system/shell/options/output");
      !known)
    return known;
  if (auto known =
          check_file_name(submission, submission.error, "/attributes/system/shell/options/error");
      !known)
    return known;
  return check_input(submission);
}

}  // namespace holon::instance
