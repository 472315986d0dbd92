#include "cli/verb.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/text/printable.hpp"
#include "base/text/similar.hpp"
#include "cli/parser/help.hpp"
#include "cli/show/json_line.hpp"

namespace holon::cli {
namespace {

int exit_code_for(Errc code) {
  switch (code) {
    case Errc::invalid_argument:
      return kUsage;
    case Errc::disconnected:
      return kNoInstance;
    default:
      return kFailed;
  }
}

// Is it a field of a message, which names the place for programs and which nobody types?
bool is_of_the_protocol(std::string_view where) {
  static constexpr std::string_view kProtocolFields[] = {"ids",   "id",    "key",   "host",
                                                         "hosts", "queue", "child", "elastic"};
  return std::find(std::begin(kProtocolFields), std::end(kProtocolFields), where) !=
         std::end(kProtocolFields);
}

bool is_typed(const Invocation& call, const std::string& word) {
  return std::find(call.args.begin(), call.args.end(), word) != call.args.end();
}

// Words of other tools, and of other shells, for what has another name here.
struct Known {
  std::string_view theirs, ours;
};
constexpr Known kKnown[] = {{"logs", "holon output"},
                            {"log", "holon output"},
                            {"cat", "holon output"},
                            {"kill", "holon cancel"},
                            {"stop", "holon cancel, or holon shutdown for the instance"},
                            {"delete", "holon cancel"},
                            {"rm", "holon cancel"},
                            {"scancel", "holon cancel"},
                            {"qdel", "holon cancel"},
                            {"wait", "holon job wait"},
                            {"info", "holon job info"},
                            {"show", "holon job info"},
                            {"ps", "holon jobs"},
                            {"ls", "holon jobs"},
                            {"list", "holon jobs"},
                            {"squeue", "holon jobs"},
                            {"qstat", "holon jobs"},
                            {"status", "holon jobs, or holon uptime for the instance"},
                            {"nodes", "holon resource list"},
                            {"sinfo", "holon resource list"},
                            {"sbatch", "holon batch --translate, or holon submit --translate"},
                            {"qsub", "holon submit"},
                            {"srun", "holon run"},
                            {"salloc", "holon alloc"},
                            {"sacct", "holon history"},
                            {"scontrol", "holon job info, holon update, holon resource"},
                            {"hold", "holon urgency ID hold"},
                            {"release", "holon urgency ID 16"},
                            {"rerun", "holon retry"},
                            {"requeue", "holon retry"},
                            {"pause", "holon suspend"},
                            {"drain", "holon resource drain"},
                            {"undrain", "holon resource undrain"},
                            {"hosts", "holon resource list"},
                            {"resources", "holon resource list"},
                            {"ask", "holon grant ask"},
                            {"recall", "holon grant recall"},
                            {"server", "holon start"},
                            {"exit", "holon shutdown"},
                            {"quit", "holon shutdown"}};

int unknown_verb(std::span<const Verb> table, std::string_view prefix, Invocation& call) {
  if (prefix == "holon")
    for (const auto& [theirs, ours] : kKnown)
      if (theirs == call.args[0]) {
        call.io.err << fmt::format("{}: there is no '{}'; it is {}\n", prefix, theirs, ours);
        return kUsage;
      }
  std::vector<std::string> names;
  for (const auto& verb : table)
    if (verb.group != Group::hidden) names.emplace_back(verb.name);
  call.io.err << fmt::format("{}: there is no '{}'", prefix, printable(call.args[0]));
  const auto close = nearest(call.args[0], names);
  if (!close.empty()) call.io.err << fmt::format("; did you mean {}?", fmt::join(close, " or "));
  call.io.err << fmt::format("\nthere are: {}\n", fmt::join(names, ", "));
  return kUsage;
}

}  // namespace

std::vector<std::string> nearest(std::string_view word, std::span<const std::string> known) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const auto& candidate : known) {
    const bool begins = word.size() >= 2 && candidate.starts_with(word);
    const std::size_t far = begins ? 0 : edit_distance(word, candidate);
    if (far <= 1 + candidate.size() / 4) ranked.emplace_back(far, candidate);
  }
  std::sort(ranked.begin(), ranked.end());
  if (ranked.size() > 3) ranked.resize(3);
  std::vector<std::string> names;
  for (auto& [far, name] : ranked) names.push_back(std::move(name));
  return names;
}

int dispatch(std::span<const Verb> table, std::string_view prefix, Invocation& call) {
  const auto verb = std::find_if(table.begin(), table.end(),
                                 [&](const Verb& v) { return v.name == call.args[0]; });
  if (verb == table.end()) return unknown_verb(table, prefix, call);
  call.args.erase(call.args.begin());
  return verb->run(call);
}

int run_group(const VerbGroup& group, Invocation& call) {
  const std::string prefix = fmt::format("holon {}", group.name);
  if (call.as_man_page ||
      call.pages != nullptr) {  // one page: what there is, then each verb's own text
    for (const auto& verb : group.verbs) verb.run(call);
    return kOk;
  }
  if (call.args.empty()) {
    call.io.err << render_group(call.io, group);
    return kUsage;
  }
  if (call.args[0] == "--help" || call.args[0] == "-h") {
    call.io.out << render_group(call.io, group);
    return kOk;
  }
  return dispatch(group.verbs, prefix, call);
}

int report(Invocation& call, std::string_view verb, const Error& error) {
  if (call.json) {
    call.io.err << error_line(verb, error) << std::flush;
    return exit_code_for(error.code);
  }
  const bool has_place = !is_of_the_protocol(error.where) || is_typed(call, error.where);
  const std::string place = has_place ? printable(error.where) : "";  // others may have written it
  const std::string text = to_string({error.code, printable_lines(error.what), place});
  call.io.err << fmt::format("holon {}: {}\n", verb, text);
  return exit_code_for(error.code);
}

}  // namespace holon::cli
