// holon policy: load, show, disable, what-if: the policy of a queue of a running instance.
#include <fmt/format.h>

#include <cstdlib>
#include <ostream>

#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/paths.hpp"
#include "cli/show/schedule_json.hpp"
#include "cli/show/table.hpp"
#include "cli/show/units.hpp"
#include "cli/verbs/schedule/policy_verbs.hpp"
#include "qmanager/policy/hooks.hpp"

namespace holon::cli {
namespace {

// A policy as it is typed: a file in Lua, or the name of a built-in one.
Result<msg::PolicyLoadRequest> policy_typed(Io& io, const std::string& word,
                                            const std::string& queue) {
  if (!qmanager::is_policy_file(word)) return msg::PolicyLoadRequest{queue, word, ""};
  auto file = read_policy(word);
  if (!file) return tl::unexpected(file.error());
  tell_near_misses(io, word, file->description);
  return msg::PolicyLoadRequest{queue, std::move(file->name), std::move(file->text)};
}

std::string queue_in_words(const std::string& queue) {
  return queue.empty() ? "the default queue" : "queue " + queue;
}

Parser& add_queue(Parser& parser, std::string& queue) {
  return parser.group("Options").option("-q,--queue", queue, "NAME",
                                        "of this queue (default: the default queue)");
}

// ---- show

std::string where_it_is_from(const msg::PolicyShown& shown) {
  if (!shown.set_live) return "as the configuration says";
  return fmt::format("set while the instance runs; the configuration says {}", shown.configured);
}

std::string sheet_of(const msg::PolicyShown& shown) {
  std::string sheet =
      fmt::format("queue {}: {}, {}\n", shown.queue, shown.policy, where_it_is_from(shown));
  if (shown.base.empty()) return sheet;
  sheet += fmt::format("base {}\n", shown.base);
  for (const auto& function : shown.functions)
    sheet += fmt::format("{}:{}: {}\n", shown.policy, function.line, function.name);
  sheet += fmt::format("{} call{}, {} without an answer that fits", shown.calls,
                       shown.calls == 1 ? "" : "s", shown.troubles);
  if (shown.kept > 0) sheet += fmt::format("; it keeps {} bytes in state", shown.kept);
  sheet += "\n";
  if (!shown.trouble.empty())
    sheet += fmt::format("{}{}\n", shown.trouble,
                         shown.given_up ? fmt::format("; {} decides now", shown.base) : "");
  return sheet;
}

// ---- what-if

// The jobs named; without words all jobs, of the instance that the command line means.
Result<SelectedJobs> jobs_asked(Invocation& call, const std::vector<std::string>& words) {
  if (!words.empty()) return connect_to_jobs(call, words);
  auto client = connect_to_instance(call);
  if (!client) return tl::unexpected(client.error());
  return SelectedJobs{std::move(*client), {}};
}

std::string shown_start(Time when, Time now) {
  return when == 0 ? "-" : show_time(when, now);
}

std::string change_of(const msg::WhatIfStart& job) {
  if (job.t_now == 0 || job.t_then == 0) return "";
  const Duration by = job.t_then - job.t_now;
  return fmt::format("{} {}", show_duration(std::abs(by)), by < 0 ? "sooner" : "later");
}

Table table_of_starts(const msg::WhatIfReply& reply, const std::string& policy) {
  using enum Table::Align;
  Table table({{"JOB", right},
               {"NAME", left},
               {"USER", left},
               {"QUEUE", left},
               {"AS IT IS", right},
               {"WITH " + policy, right},
               {"", left}});
  for (const auto& job : reply.jobs) {
    const bool is_sooner = job.t_then != 0 && (job.t_now == 0 || job.t_then < job.t_now);
    table.add({{label_in(job.path)},
               {printable(job.name)},
               {printable(job.user)},
               {job.queue},
               {shown_start(job.t_now, reply.now)},
               {shown_start(job.t_then, reply.now)},
               {change_of(job), is_sooner ? Colour::green : Colour::yellow}});
  }
  return table;
}

// The answer about one job, in words.
std::string job_in_words(const msg::WhatIfReply& reply, const std::string& policy) {
  const auto at = [&](Time when) {
    return when == 0 ? std::string("later than was looked at") : "at " + show_time(when, reply.now);
  };
  if (reply.jobs.empty())
    return fmt::format(
        "with {} it would start {}\n", policy,
        reply.same > 0 ? "when it does now" : "later than was looked at, as it is too");
  const auto& job = reply.jobs.front();
  return fmt::format("with {} job {} would start {} and not {}\n", policy, label_in(job.path),
                     at(job.t_then), at(job.t_now));
}

std::string jobs_in_words(const Io& io, const msg::WhatIfReply& reply, const std::string& policy) {
  const std::size_t other = reply.jobs.size();
  std::string sheet = other == 0 ? "" : table_of_starts(reply, policy).render(io);
  sheet += fmt::format("{} of {} waiting jobs would start at another time", other,
                       other + reply.same + reply.unknown);
  if (reply.unknown > 0) sheet += fmt::format("; {} start later than was looked at", reply.unknown);
  return sheet + "\n";
}

std::string sheet_of(const Io& io, const msg::WhatIfReply& reply, const std::string& policy,
                     bool is_one) {
  std::string sheet = is_one ? job_in_words(reply, policy) : jobs_in_words(io, reply, policy);
  if (!reply.trouble.empty()) sheet += fmt::format("{}: {}\n", policy, reply.trouble);
  return sheet;
}

}  // namespace

int verb_policy_load(Invocation& call) {
  std::string word, queue;
  Parser parser("policy load", "give a queue of a running instance another policy");
  parser.required("FILE", word, "a policy in Lua, FILE.lua, or the name of a built-in one");
  add_queue(parser, queue)
      .instance(call)
      .note(
          "Jobs that wait are put in its order at once. Reservations are made anew, or "
          "kept where the policy keeps reservations. The text is kept in the "
          "journal: what is written into the file later changes nothing.")
      .example("holon policy load mine.lua", "the default queue follows it from now on");
  if (const auto code = parser.parse(call)) return *code;
  const auto policy = policy_typed(call.io, word, queue);
  if (!policy) return report(call, "policy load", policy.error());
  auto client = connect_to_instance(call);
  if (!client) return report(call, "policy load", client.error());
  if (const auto loaded = client->load_policy(*policy); !loaded)
    return report(call, "policy load", loaded.error());
  call.io.out << fmt::format("{} decides for {}\n", policy->policy, queue_in_words(queue));
  return kOk;
}

int verb_policy_show(Invocation& call) {
  std::string queue;
  bool text = false, json = false;
  Parser parser("policy show", "say which policy a queue has, and how it does");
  add_queue(parser, queue)
      .flag("--text", text, "print the policy itself, as it is kept")
      .instance(call)
      .json(json)
      .example("holon policy show", "which policy decides, and what went wrong in it")
      .example("holon policy show --text >mine.lua", "have the text back");
  if (const auto code = parser.parse(call)) return *code;
  auto client = connect_to_instance(call);
  if (!client) return report(call, "policy show", client.error());
  const auto shown = client->show_policy({queue});
  if (!shown) return report(call, "policy show", shown.error());
  if (text && shown->base.empty())
    return report(
        call, "policy show",
        {Errc::invalid_argument,
         fmt::format("queue {} has {}, which is built in", shown->queue, shown->policy), "--text"});
  call.io.out << (json ? json_text(*shown) : text ? shown->text : sheet_of(*shown));
  return kOk;
}

int verb_policy_disable(Invocation& call) {
  std::string queue;
  Parser parser("policy disable", "go back to the policy of the configuration");
  add_queue(parser, queue)
      .instance(call)
      .note("Where the configuration names a policy in Lua, the base of that decides from now on.")
      .example("holon policy disable", "what was loaded decides no more");
  if (const auto code = parser.parse(call)) return *code;
  auto client = connect_to_instance(call);
  if (!client) return report(call, "policy disable", client.error());
  const auto disabled = client->disable_policy({queue});
  if (!disabled) return report(call, "policy disable", disabled.error());
  call.io.out << fmt::format("{} decides for queue {}\n", disabled->policy, disabled->queue);
  return kOk;
}

int verb_policy_what_if(Invocation& call) {
  std::string word, queue;
  std::vector<std::string> jobs;
  bool json = false;
  Parser parser("policy what-if", "say when waiting jobs would start under another policy");
  parser.required("FILE", word, "a policy in Lua, FILE.lua, or the name of a built-in one");
  parser.positional("JOB...", jobs, "only these jobs; all that wait otherwise");
  add_queue(parser, queue)
      .instance(call)
      .json(json)
      .note(
          "If nobody came and everybody took all of the time asked for. Nothing is changed. The "
          "instance looks ahead for some 60 ms, nearest starts first.")
      .example("holon policy what-if mine.lua", "who would start sooner, and who later?")
      .example("holon policy what-if easy 7", "when would job 7 start?");
  if (const auto code = parser.parse(call)) return *code;
  auto policy = policy_typed(call.io, word, queue);
  if (!policy) return report(call, "policy what-if", policy.error());
  auto asked = jobs_asked(call, jobs);
  if (!asked) return report(call, "policy what-if", asked.error());
  const msg::WhatIfRequest ask{queue, policy->policy, std::move(policy->text), asked->ids};
  const auto reply = asked->client.what_if(ask);
  if (!reply) return report(call, "policy what-if", reply.error());
  call.io.out << (json ? json_text(*reply)
                       : sheet_of(call.io, *reply, ask.policy, ask.ids.size() == 1));
  return kOk;
}

}  // namespace holon::cli
