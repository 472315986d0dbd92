// holon doctor: where am I, and would an instance work here? And do the journals of a tree agree?
#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/text/printable.hpp"
#include "cli/connect.hpp"
#include "cli/doctor/finding.hpp"
#include "cli/doctor/other_nodes.hpp"
#include "cli/doctor/tree.hpp"
#include "cli/options/start_options.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/job_json.hpp"
#include "cli/verbs.hpp"
#include "config/config.hpp"
#include "instance/basics/surroundings.hpp"

namespace holon::cli {
namespace {

using State = Finding::State;

Finding version() {
  utsname system{};
  uname(&system);
  return {"version", State::ok,
          fmt::format("holon {}, {} {} on {}", HOLON_VERSION, system.sysname, system.release,
                      system.nodename),
          ""};
}

bool works(const Findings& all) {
  return std::none_of(all.begin(), all.end(),
                      [](const Finding& one) { return one.state == State::failed; });
}

std::string json_of(const Findings& all) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Finding& one : all)
    list.push_back({{"check", one.check},
                    {"state", name_of(one.state)},
                    {"found", one.found},
                    {"remedy", one.remedy}});
  return pretty({{"works", works(all)}, {"checks", list}});
}

std::string text_of(const Io& io, const Findings& all) {
  std::size_t width = 0;
  for (const Finding& one : all) width = std::max(width, one.check.size());
  std::string text;
  for (const Finding& one : all) {
    const Colour colour = one.state == State::failed    ? Colour::red
                          : one.state == State::warning ? Colour::yellow
                                                        : Colour::green;
    text +=
        fmt::format("{}  {:{}}  {}\n", paint(io, colour, fmt::format("{:7}", name_of(one.state))),
                    one.check, width, printable(one.found));
    if (!one.remedy.empty())
      text += fmt::format("{:9}{:{}}  {}\n", "", "", width, printable(one.remedy));
  }
  return text;
}

}  // namespace

int verb_doctor(Invocation& call) {
  instance::StartOptions options;
  bool json = false, here = false, tree = false;
  std::string mark = "-", where;
  Parser parser("doctor", "where am I, and would `holon start` work here?");
  add_configuration_option(parser, options);
  parser.flag("--here", here, "only this node, not the others of a batch job");
  parser.flag("--tree", tree, "whether the journals of a tree of instances agree about grants")
      .positional("WHERE", where,
                  "with --tree: a state directory, or the path of an instance that runs; the tree "
                  "that runs unless given");
  parser.option("--on-node", mark, "FILE", "as one of several: a line of JSON for the first node");
  parser.json(json)
      .note(
          "Looks at the batch system and what it has granted, the walltime, limits of processes "
          "and of "
          "cgroups; binds itself to each core, listens on the loopback, writes into the folders "
          "that an "
          "instance would use. In a batch job of several nodes it does so on each of them, in one "
          "step of the batch system's launcher. It leaves nothing behind. Exits with 1 where "
          "something has failed: "
          "an "
          "instance would not work.")
      .note(
          "With --tree it reads the journals of a tree, alive or dead: of the instance that keeps "
          "its state in WHERE, and of all below it. It proves over all that they still have of "
          "grants that each unit had one holder, that both sides agreed at each step, that "
          "what came back was free of processes first, and that nobody was given more than "
          "its giver had; or it names the first entry where that is not so. What the journals keep "
          "no more it says. Nothing is asked of an instance, and nothing written. Exits with 1 "
          "where something does not hold, or a journal is missing or damaged.")
      .example("holon doctor", "before the first holon start on a machine, or in a batch job")
      .example("holon doctor --json", "the same for a program")
      .example("holon doctor --tree", "has everything that was lent its one holder?");
  if (const auto code = parser.parse(call)) return *code;
  if (tree) return look_at_tree(call, where, json);
  if (!where.empty())
    return report(call, "doctor",
                  {Errc::invalid_argument, "is taken with --tree alone", "WHERE " + where});
  if (auto added = add_configuration_of_environment(options.conf); !added)
    return report(call, "doctor", added.error());
  const auto config = config::load_config(options.conf);
  if (!config) return report(call, "doctor", config.error());
  const auto around = instance::look_around(*config);
  Findings all = {version()};
  const bool is_asked = mark != "-";
  if (is_asked) all.clear();
  const Findings of_batch = is_asked ? Findings() : look_at_batch_system(around, *config);
  for (const auto& some : {of_batch, look_at_machine(around), look_at_limits(), look_at_folders()})
    all.insert(all.end(), some.begin(), some.end());
  if (is_asked) {
    call.io.out << line_of_node(around.allocation.node, all, mark);
    return kOk;
  }
  if (!here)
    for (auto& one : look_at_other_nodes(around)) all.push_back(std::move(one));
  call.io.out << (json ? json_of(all) : text_of(call.io, all));
  return works(all) ? kOk : kFailed;
}

}  // namespace holon::cli
