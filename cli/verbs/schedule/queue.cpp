// holon queue: status, enable, disable, start, stop.
#include <fmt/format.h>

#include <array>
#include <ostream>

#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/schedule_json.hpp"
#include "cli/show/table.hpp"
#include "cli/verbs.hpp"

namespace holon::cli {
namespace {

// "open", "closed: maintenance"
std::string gate_text(bool open, const std::string& reason) {
  return open ? "yes" : reason.empty() ? "no" : "no: " + reason;
}

Table table_of_queues(const std::vector<msg::QueueInfo>& queues) {
  using enum Table::Align;
  Table table({{"QUEUE", left},
               {"POLICY", left},
               {"WAIT", right},
               {"HELD", right},
               {"BLOCKED", right},
               {"PLANNED", right},
               {"RUN", right},
               {"TAKES JOBS", left},
               {"STARTS THEM", left}});
  for (const auto& q : queues)
    table.add(
        {{q.name},
         {q.given_up ? fmt::format("{} ({} failed)", q.base, q.policy) : q.policy,
          q.given_up ? Colour::yellow : Colour::plain},
         {std::to_string(q.pending)},
         {std::to_string(q.held)},
         {std::to_string(q.blocked)},
         {std::to_string(q.reserved)},
         {std::to_string(q.running)},
         {gate_text(q.enabled, q.disabled_because), q.enabled ? Colour::plain : Colour::yellow},
         {gate_text(q.started, q.stopped_because), q.started ? Colour::plain : Colour::yellow}});
  return table;
}

// Failures in user-written policies, a line each.
std::string troubles_of(const std::vector<msg::QueueInfo>& queues) {
  std::string lines;
  for (const auto& q : queues) {
    if (q.trouble.empty()) continue;
    const std::string decided = q.given_up ? fmt::format("{} decides now", q.base)
                                           : fmt::format("{} decided {} times", q.base, q.troubles);
    lines += fmt::format("{}: {}; {}\n", q.name, q.trouble, decided);
  }
  return lines;
}

int verb_queue_status(Invocation& call) {
  std::string name;
  bool json = false;
  Parser parser("queue status", "what is in the queues, and which are open");
  parser.positional("NAME", name, "this queue; all otherwise")
      .group("Options")
      .instance(call)
      .json(json)
      .example("holon queue status", "every queue of the instance");
  if (const auto code = parser.parse(call)) return *code;
  auto client = connect_to_instance(call);
  if (!client) return report(call, "queue status", client.error());
  auto stats = client->stats();
  if (!stats) return report(call, "queue status", stats.error());
  auto& queues = stats->queues;
  std::string known;
  for (const auto& q : queues) known += (known.empty() ? "" : ", ") + q.name;
  const bool is_one = queues.size() == 1;
  if (!name.empty()) std::erase_if(queues, [&](const auto& q) { return q.name != name; });
  if (queues.empty())
    return report(
        call, "queue status",
        {Errc::not_found,
         fmt::format("there is no queue \"{}\"; there {} {}", name, is_one ? "is" : "are", known),
         ""});
  if (!json) {
    call.io.out << table_of_queues(queues).render(call.io) << troubles_of(queues);
    return kOk;
  }
  call.io.out << json_text(queues);
  return kOk;
}

struct GateVerb {
  const char *name, *summary, *gate, *note, *example;
  bool open;
};

int change_gate(Invocation& call, const GateVerb& verb) {
  const std::string name = fmt::format("queue {}", verb.name);
  std::string queue, reason;
  bool all = false;
  Parser parser(name, verb.summary);
  parser.positional("NAME", queue, "the queue")
      .group("Options")
      .flag("-a,--all", all, "every queue of the instance");
  if (!verb.open) parser.option("-m,--message", reason, "TEXT", "why; who is turned away is told");
  parser.instance(call).note(verb.note).example(fmt::format("holon queue {}", verb.example),
                                                verb.summary);
  if (const auto code = parser.parse(call)) return *code;
  if (all == !queue.empty())
    return report(call, name,
                  {Errc::invalid_argument, "name a queue, or give --all, one of the two", "NAME"});
  auto client = connect_to_instance(call);
  if (!client) return report(call, name, client.error());
  const auto set = client->set_gate({queue, verb.gate, verb.open, reason});
  return set ? static_cast<int>(kOk) : report(call, name, set.error());
}

constexpr const char* kKept =
    "It stays so, also when the broker is restarted, until the opposite is said.";

int verb_queue_enable(Invocation& call) {
  return change_gate(
      call, {"enable", "let a queue take jobs again", "submit", kKept, "enable batch", true});
}
int verb_queue_disable(Invocation& call) {
  return change_gate(call, {"disable", "let a queue take no more jobs; those in it are run",
                            "submit", kKept, "disable batch -m 'maintenance at six'", false});
}
int verb_queue_start(Invocation& call) {
  return change_gate(
      call, {"start", "let a queue start jobs again", "start", kKept, "start --all", true});
}
int verb_queue_stop(Invocation& call) {
  return change_gate(call, {"stop", "let a queue start no more jobs; those that run go on", "start",
                            kKept, "stop --all", false});
}

constexpr auto kQueueVerbs = std::to_array<Verb>({
    {"status", "what is in the queues, and which are open", Group::look, verb_queue_status},
    {"enable", "let a queue take jobs again", Group::work, verb_queue_enable},
    {"disable", "let a queue take no more jobs", Group::work, verb_queue_disable},
    {"start", "let a queue start jobs again", Group::work, verb_queue_start},
    {"stop", "let a queue start no more jobs", Group::work, verb_queue_stop},
});

}  // namespace

int verb_queue(Invocation& call) {
  return run_group({"queue",
                    "look at queues, open and close them",
                    kQueueVerbs,
                    {{"holon queue status", "what is in every queue"},
                     {"holon queue stop batch", "nothing more of queue batch is started"}}},
                   call);
}

}  // namespace holon::cli
