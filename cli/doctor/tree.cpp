#include "cli/doctor/tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/instance_path.hpp"
#include "base/text/printable.hpp"
#include "cli/connect.hpp"
#include "cli/show/job_json.hpp"
#include "cli/show/units.hpp"
#include "instance/basics/clock.hpp"
#include "instance/grants/proof/prove_tree.hpp"
#include "instance/registry/registry.hpp"
#include "instance/tree/dead_child.hpp"

namespace holon::cli {
namespace {

namespace in = instance;
using nlohmann::ordered_json;

constexpr int kLastProven = 8;
constexpr const char* kOfJobs =
    "invariant 1 is shown between instances, not for the jobs of one; invariant 7 is shown for jobs "
    "that are not forgotten and had one limit all the time";

// ---- where it is

Result<std::string> state_dir_of_root() {
  const auto uri = client::find_instance(describe);
  if (!uri) return tl::unexpected(uri.error());
  // A broker that stands still need not be asked.
  for (const auto& root : client::running_roots())
    if (root.uri == *uri) return root.state_dir;
  auto client = Client::connect({*uri, "/"});
  if (!client) return tl::unexpected(client.error());
  const auto node = client->status();
  if (!node) return tl::unexpected(node.error());
  return node->state_dir;
}

Result<std::string> state_dir_at(const std::string& where) {
  const std::filesystem::path path(where);
  if (path.filename() == "journal.db")
    return path.has_parent_path() ? path.parent_path().string() : std::string(".");
  if (in::is_state_dir(where)) return where;
  const auto instance = where.empty() ? std::string("/") : join_path("/", where);
  if (!instance)
    return fail(Errc::not_found,
                "is neither the state directory of an instance nor its path, such as /3", where);
  auto root = state_dir_of_root();
  if (!root) return tl::unexpected(root.error());
  return in::state_dir_below(*root, "/", *instance);
}

// ---- what is said

std::string span_in_words(const in::TreeProof::Of& one, Time now) {
  if (one.entries == 0) return "no entries about grants";
  std::string words =
      fmt::format("{} entr{} about grants, {} to {}", one.entries, one.entries == 1 ? "y" : "ies",
                  show_time(one.first, now), show_time(one.last, now));
  if (one.looked_at < one.entries) words += fmt::format(", {} of them looked at", one.looked_at);
  return words;
}

void tell_instance(const Io& io, const in::TreeProof::Of& one, std::size_t width, Time now) {
  const bool failed = !one.trouble.empty();
  const Colour colour = failed                 ? Colour::red
                        : one.not_kept.empty() ? Colour::green
                                               : Colour::yellow;
  const char* const state = failed ? "failed" : one.not_kept.empty() ? "ok" : "warning";
  io.out << fmt::format("{}  {:{}}  {}\n", paint(io, colour, fmt::format("{:7}", state)), one.path,
                        width, span_in_words(one, now));
  for (const auto* const lines : {&one.trouble, &one.not_kept})
    for (const std::string& line : *lines)
      io.out << fmt::format("{:9}{:{}}  {}\n", "", "", width, printable(line));
}

void tell_breach(const Io& io, const in::TreeProof::Breach& breach, Time now) {
  io.out << fmt::format(
      "{}  {}  {}: invariant {} ({}) does not hold: {}\n"
      "         with entry {} of {}: {}\n"
      "         All before it holds; what was written after it was not looked at. Let the instance "
      "above end the child with `holon cancel` once its work is saved: with the end of the child "
      "all that it has is back. Keep the journals: this is a fault of holon, or of a disk.\n",
      paint(io, Colour::red, "broken "), show_time(breach.time, now), breach.path, breach.invariant,
      holdings::title_of(breach.invariant), breach.what, breach.number, printable(breach.journal),
      printable(breach.entry));
}

void tell(const Io& io, const in::TreeProof& proof) {
  const Time now = in::wall_clock_ms();
  std::size_t width = 0, entries = 0;
  for (const auto& one : proof.instances) {
    width = std::max(width, one.path.size());
    entries += one.looked_at;
  }
  for (const auto& one : proof.instances) tell_instance(io, one, width, now);
  if (proof.breach) return tell_breach(io, *proof.breach, now);
  if (entries == 0) {
    io.out << "there is nothing about grants to look at\n";
    return;
  }
  std::string words;
  for (int i = 1; i <= kLastProven; ++i)
    words += fmt::format("{}{} ({})", words.empty() ? "" : ", ", i, holdings::title_of(i));
  io.out << fmt::format("invariants {} hold over {} entr{}{}\n{}\n", words, entries,
                        entries == 1 ? "y" : "ies",
                        proof.holds() ? "" : " of the journals that can be read", kOfJobs);
}

std::string json_of(const in::TreeProof& proof) {
  ordered_json json = {{"holds", proof.holds()},
                       {"note", kOfJobs},
                       {"breach", nullptr},
                       {"instances", ordered_json::array()}};
  if (const auto& breach = proof.breach)
    json["breach"] = {{"invariant", breach->invariant},
                      {"title", holdings::title_of(breach->invariant)},
                      {"path", breach->path},
                      {"what", breach->what},
                      {"time", breach->time},
                      {"journal", breach->journal},
                      {"number", breach->number},
                      {"entry", ordered_json::parse(breach->entry, nullptr, false)}};
  for (const auto& one : proof.instances)
    json["instances"].push_back({{"path", one.path},
                                 {"state_dir", one.state_dir},
                                 {"runs", one.runs},
                                 {"entries", one.entries},
                                 {"looked_at", one.looked_at},
                                 {"first", one.first},
                                 {"last", one.last},
                                 {"trouble", one.trouble},
                                 {"not_kept", one.not_kept}});
  return pretty(json);
}

}  // namespace

int look_at_tree(Invocation& call, const std::string& where, bool json) {
  const auto state_dir = state_dir_at(where);
  if (!state_dir) return report(call, "doctor", state_dir.error());
  const auto proof = in::prove_tree(*state_dir);
  if (json)
    call.io.out << json_of(proof);
  else
    tell(call.io, proof);
  return proof.holds() ? kOk : kFailed;
}

}  // namespace holon::cli
