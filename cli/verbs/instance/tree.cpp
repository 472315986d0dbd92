// holon tree: all instances below one, with what they have, what they do and what they wait for.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <ostream>
#include <sstream>

#include "cli/connect.hpp"
#include "cli/outcome.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/job_json.hpp"
#include "cli/show/table.hpp"
#include "cli/show/units.hpp"
#include "cli/verbs.hpp"
#include "instance/basics/clock.hpp"
#include "msg/job_filter.hpp"

namespace holon::cli {
namespace {

struct TreeArgs {
  bool json = false;
  bool ascii = false;
  bool hide_reasons = false;
};

// The strokes in front of a node's lines.
struct Strokes {
  const char* branch;
  const char* last;
  const char* pass;
  const char* blank = "   ";
};
constexpr Strokes kBox = {"├─ ", "└─ ", "│  "};
constexpr Strokes kAscii = {"|- ", "`- ", "|  "};

constexpr std::size_t kReasonsShown = 3;  // of each instance

// Jobs of each instance whose reasons are read: of a hundred thousand equal ones the first say all.
constexpr std::size_t kReasonsRead = 100;

using Reasons = std::map<std::string, std::vector<std::string>>;  // by instance path: lines

bool is_waiting(const msg::JobRecord& job) {
  return job.state != "INACTIVE" && job.t_alloc == 0 && !job.reason.empty();
}

// The oldest waiting jobs of `at`; not many more than are read.
std::vector<msg::JobRecord> first_that_wait(Client& client, const msg::TreeNode& at) {
  msg::JobsRequest request;
  request.page = kReasonsRead;
  client.set_path(at.path);
  std::vector<msg::JobRecord> found;
  // An instance that does not answer any more has no reasons to show.
  (void)client.each_page(request, [&](std::vector<msg::JobRecord> page, bool) {
    std::copy_if(std::make_move_iterator(page.begin()), std::make_move_iterator(page.end()),
                 std::back_inserter(found), is_waiting);
    return found.size() < kReasonsRead;
  });
  return found;
}

// The reasons why they wait, equal ones once, and how many more of all `pending` wait.
std::vector<std::string> lines_of(const std::vector<msg::JobRecord>& jobs, std::int64_t pending,
                                  Time now) {
  std::vector<std::string> reasons;
  std::map<std::string, std::pair<std::size_t, std::string>> seen;
  for (const auto& job : jobs) {
    const std::string reason = why_it_waits(job, now);
    auto& [count, first] = seen[reason];
    if (count++ > 0) continue;
    first = msg::shown_path(job);
    reasons.push_back(reason);
  }
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < std::min(reasons.size(), kReasonsShown); ++i) {
    const auto& [count, first] = seen.at(reasons[i]);
    lines.push_back(fmt::format("{} {}: {}", first,
                                count > 1 ? fmt::format("and {} more wait", count - 1) : "waits",
                                reasons[i]));
  }
  if (const std::size_t rest = reasons.size() - lines.size(); rest > 0)
    lines.push_back(fmt::format("and {} other reason{}", rest, rest == 1 ? "" : "s"));
  if (const auto more = pending - static_cast<std::int64_t>(jobs.size());
      more > 0 && jobs.size() >= kReasonsRead)
    lines.push_back(fmt::format("and {} more wait behind them", more));
  return lines;
}

// Reads the reasons of `at` and of all instances below it.
void read_reasons(Client& client, const msg::TreeNode& at, Time now, Reasons& reasons) {
  if (at.health == "up" && at.pending > 0)
    reasons[at.path] = lines_of(first_that_wait(client, at), at.pending, now);
  for (const auto& child : at.children) read_reasons(client, child, now, reasons);
}

std::string resources_of(const msg::TreeNode& node) {
  std::string text =
      fmt::format("{} of {} core{} free", node.cores_free, node.cores, node.cores == 1 ? "" : "s");
  if (node.nodes > 1) text = fmt::format("{} nodes, ", node.nodes) + text;
  if (node.lent_cores > 0) text += fmt::format(", {} lent", node.lent_cores);
  if (node.gpus > 0) text += fmt::format(", {} of {} gpus", node.gpus_free, node.gpus);
  if (node.lent_gpus > 0) text += fmt::format(", {} lent", node.lent_gpus);
  return text;
}

std::string jobs_of(const Io& io, const msg::TreeNode& node) {
  std::vector<std::string> parts;
  if (node.running > 0)
    parts.push_back(paint(io, Colour::green, fmt::format("{} running", node.running)));
  if (node.pending > 0)
    parts.push_back(paint(io, Colour::yellow, fmt::format("{} waiting", node.pending)));
  const std::int64_t good = node.inactive - node.failed;
  if (good > 0) parts.push_back(fmt::format("{} completed", good));
  if (node.cancelled > 0) parts.push_back(fmt::format("{} cancelled", node.cancelled));
  const std::int64_t bad = node.failed - node.cancelled;
  if (bad > 0) parts.push_back(paint(io, Colour::red, fmt::format("{} failed", bad)));
  return parts.empty() ? "no jobs" : fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<std::string> lines_in(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(printable(line));
  return lines;
}

class TreeDrawing {
 public:
  TreeDrawing(const Io& io, const Strokes& strokes, const Reasons& reasons, Time now)
      : io_(io), strokes_(strokes), reasons_(reasons), now_(now) {}

  std::string draw(const msg::TreeNode& root) {
    node(root, "", "", root.state_dir);
    return std::move(text_);
  }

 private:
  // `state_dir`: that of the instance asked; those below it have theirs in it.
  void node(const msg::TreeNode& at, const std::string& first, const std::string& rest,
            const std::string& state_dir = "") {
    text_ += first + title(at) + "\n";
    const std::string stem = rest + (at.children.empty() ? strokes_.blank : strokes_.pass);
    if (at.health == "up") {
      text_ += stem + resources_of(at) + "; " + jobs_of(io_, at) + "\n";
      if (!state_dir.empty()) text_ += stem + "state in " + printable(show_path(state_dir)) + "\n";
      for (const auto& line : lines_in(at.policy_trouble))
        text_ += stem + paint(io_, Colour::red, cut("policy of " + line, stem)) + "\n";
      if (const auto found = reasons_.find(at.path); found != reasons_.end())
        for (const auto& line : found->second) text_ += stem + cut(printable(line), stem) + "\n";
    }
    for (std::size_t i = 0; i < at.children.size(); ++i) {
      const bool last = i + 1 == at.children.size();
      node(at.children[i], rest + (last ? strokes_.last : strokes_.branch),
           rest + (last ? strokes_.blank : strokes_.pass));
    }
  }

  static std::string health_text(const std::string& health) {
    if (health == "read-only") return "read-only: its journal cannot be written; jobs run on";
    return health.empty() ? "no answer" : health;
  }

  std::string title(const msg::TreeNode& at) const {
    std::string text = paint(io_, Colour::bold, at.path);
    if (!at.name.empty()) text += "  " + printable(at.name);
    if (at.health != "up")
      return text + "  " + paint(io_, Colour::red, printable(health_text(at.health))) +
             (at.why.empty() ? "" : ": " + printable(at.why));
    text += "  " + paint(io_, Colour::cyan, printable(at.policy));
    if (at.t_started > 0) text += "  up " + show_duration(now_ - at.t_started);
    if (at.expiration > 0)
      text += fmt::format(", {} left", show_duration(std::max<Time>(at.expiration - now_, 0)));
    return text;
  }

  std::string cut(const std::string& line, const std::string& stem) const {
    if (io_.width <= 0) return line;
    const std::size_t used = display_width(stem);
    const auto width = static_cast<std::size_t>(io_.width);
    return shorten(io_, line, width > used + 20 ? width - used : 20);
  }

  const Io& io_;
  const Strokes& strokes_;
  const Reasons& reasons_;
  Time now_;
  std::string text_;
};

}  // namespace

int verb_tree(Invocation& call) {
  TreeArgs args;
  Parser parser("tree", "show the instances, what they have, do and wait for");
  parser.flag("--ascii", args.ascii, "draw with |- and `- only")
      .flag("--no-reasons", args.hide_reasons, "leave out why jobs wait")
      .instance(call)
      .json(args.json)
      .example("holon tree", "this instance and all below it")
      .example("holon tree -i /", "the whole tree, from anywhere in it");
  if (const auto code = parser.parse(call)) return *code;

  auto client = connect_to_instance(call);
  if (!client) return report(call, "tree", client.error());
  const auto tree = client->tree();
  if (!tree) return report(call, "tree", tree.error());
  if (args.json) {
    call.io.out << json_text(*tree);
    return kOk;
  }
  const Time now = instance::wall_clock_ms();
  Reasons reasons;
  if (!args.hide_reasons) read_reasons(*client, *tree, now, reasons);
  const bool box = call.io.unicode && !args.ascii;
  call.io.out << TreeDrawing(call.io, box ? kBox : kAscii, reasons, now).draw(*tree);
  return kOk;
}

}  // namespace holon::cli
