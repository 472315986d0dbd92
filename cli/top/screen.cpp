#include "cli/top/screen.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/text/printable.hpp"
#include "cli/show/table.hpp"
#include "cli/show/units.hpp"
#include "msg/job_filter.hpp"

namespace holon::cli {
namespace {

constexpr std::size_t kMostChildren = 6, kMostQueues = 4;  // lines, where others need room, too
constexpr int kFixedLines = 4;                             // two of the head, the plan, the keys
constexpr Duration kShortestPlan = 60'000, kLongestPlan = Duration{7} * 86'400'000;

using JobList = std::vector<const msg::JobRecord*>;

// A text in so many columns, cut or filled up.
std::string fitted(const Io& io, const std::string& text, std::size_t width, bool right = false) {
  std::string cut = shorten(io, printable(text), width);
  const std::string fill(width - std::min(width, display_width(cut)), ' ');
  return right ? fill + cut : cut + fill;
}

class TopScreen {
 public:
  TopScreen(const web::Model& model, const TopView& view)
      : model_(model), view_(view), io_{nowhere(), nowhere()} {
    io_.unicode = view.unicode;
  }

  std::vector<TopLine> run() {
    const auto* at = model_.find(view_.at);
    if (at == nullptr) {
      add(fmt::format("holon top: waiting for {}", view_.at));
    } else {
      head(*at);
      sections(*at);
    }
    const auto rest = static_cast<std::size_t>(std::max(view_.height - 1, 0));
    lines_.resize(rest);
    add(view_.connected ? "Enter: in  Backspace: back  j k: choose  q: end"
                        : "no connection: what is shown is what was  q: end",
        view_.connected ? Colour::dim : Colour::red);
    return std::move(lines_);
  }

 private:
  // Io has streams, of which cutting a text needs none.
  static std::ostream& nowhere() {
    static std::ostream none(nullptr);
    return none;
  }
  void add(const std::string& text, Colour colour = Colour::plain, bool chosen = false) {
    lines_.push_back(
        {shorten(io_, text, static_cast<std::size_t>(std::max(view_.width, 1))), colour, chosen});
  }

  void head(const web::InstanceView& at) {
    const auto& node = at.node;
    const std::string since = show_duration(view_.now - node.t_started);
    std::string first = fmt::format(
        "{} {}  {}  {}", node.path, printable(node.name), printable(node.policy),
        node.health == "up" ? "up " + since : printable(node.health) + ", begun " + since + " ago");
    if (node.expiration > 0)
      first +=
          fmt::format(", {} left", show_duration(std::max<Time>(node.expiration - view_.now, 0)));
    if (!at.last_event.empty())
      first += fmt::format("  {} {}", show_time(at.last_time, view_.now), printable(at.last_event));
    add(first, node.health == "up" ? Colour::bold : Colour::red);
    const std::int64_t failed = node.failed - node.cancelled;
    add(fmt::format("cores {} {} of {} in use{}   {} running  {} waiting  {} failed",
                    share_bar(node.cores - node.cores_free, node.cores, 20),
                    node.cores - node.cores_free, node.cores,
                    at.given > 0 ? fmt::format(", {} with children", at.given) : "", node.running,
                    node.pending, failed),
        failed > 0 ? Colour::yellow : Colour::plain);
    plan(at);
  }

  std::string share_bar(std::int64_t part, std::int64_t whole, std::size_t width) const {
    const auto filled = whole <= 0
                            ? 0
                            : static_cast<std::size_t>(std::clamp<std::int64_t>(part, 0, whole)) *
                                  width / static_cast<std::size_t>(whole);
    return "[" + std::string(filled, '#') + std::string(width - filled, '.') + "]";
  }

  // The cores that are planned to be in use, from now to the end of all that has one.
  void plan(const web::InstanceView& at) {
    Time until = view_.now + kShortestPlan;
    const auto reach = [&](Time time) {
      if (time < kTimeMax) until = std::max(until, std::min(time, view_.now + kLongestPlan));
    };
    for (const auto& [id, job] : at.jobs)
      if (web::is_running(job)) reach(job.expiration);
    for (const auto& span : at.plan) reach(span.end);
    const std::string right = " +" + show_duration(until - view_.now);
    const std::string left = "plan  now ";
    const int room = view_.width - static_cast<int>(left.size() + right.size());
    if (room < 8) return add(left);
    static constexpr std::array<const char*, 9> kBlocks = {" ", "▁", "▂", "▃", "▄",
                                                           "▅", "▆", "▇", "█"};
    static constexpr std::string_view kPlain = " .:-=+*#@";
    std::string bar;
    for (const double share :
         planned_shares(at, view_.now, until, static_cast<std::size_t>(room))) {
      const auto step = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * 8 + 0.999);
      const auto level = std::min<std::size_t>(share <= 0 ? 0 : step, 8);
      bar += view_.unicode ? std::string(kBlocks[level]) : std::string(1, kPlain[level]);
    }
    add(left + bar + right, Colour::cyan);
  }

  // Of an array what waits is a line, and its tasks that run are jobs; where they are not known, it
  // runs itself.
  struct Listed {
    JobList running, waiting;
    std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> queues;  // running, waiting
  };
  static Listed listed(const web::InstanceView& at) {
    Listed all;
    std::set<std::uint64_t> with_tasks;
    for (const auto& [id, job] : at.jobs)
      if (job.array != 0 && job.tasks == 0) with_tasks.insert(job.array);
    for (const auto& [id, job] : at.jobs) {
      const bool is_task = job.array != 0 && job.tasks == 0, is_array = job.tasks > 0;
      const bool runs =
          is_array ? job.tasks_running > 0 && !with_tasks.contains(id) : web::is_running(job);
      if (runs) {
        all.running.push_back(&job);
        all.queues[job.queue].first += is_array ? job.tasks_running : 1;
      }
      if (is_task || !web::has_waiting(job)) continue;  // its array waits
      all.waiting.push_back(&job);
      all.queues[job.queue].second += std::max<std::uint64_t>(1, job.tasks_pending);
    }
    return all;
  }

  void sections(const web::InstanceView& at) {
    auto [running, waiting, queues] = listed(at);
    const auto newest = [](const auto* a, const auto* b) {
      return std::pair(-web::start_of(*a), a->id) < std::pair(-web::start_of(*b), b->id);
    };
    std::sort(running.begin(), running.end(), newest);
    std::sort(waiting.begin(), waiting.end(), [](const auto* a, const auto* b) {
      return std::pair(a->t_submit, a->id) < std::pair(b->t_submit, b->id);
    });
    int room = view_.height - kFixedLines;
    room -= children(room);
    if (queues.size() > 1) room -= queue_lines(queues, room);
    // Half for each, and what one of them leaves for the other.
    const int half = room / 2;
    const int wants = static_cast<int>(waiting.size()) + 1;
    jobs_list("RUNNING", running, std::max(room - wants, half), true);
    jobs_list(
        "WAITING", waiting,
        room - std::min<int>(static_cast<int>(running.size()) + 1, std::max(room - wants, half)),
        false);
  }

  // Returns the lines that it took.
  int children(int room) {
    const auto paths = top_children(model_, view_.at);
    if (paths.empty() || room < 3) return 0;
    const std::size_t most =
        std::min({paths.size(), kMostChildren, static_cast<std::size_t>(room - 1)});
    const std::size_t chosen = std::min(view_.chosen, paths.size() - 1);
    const std::size_t first = chosen < most ? 0 : chosen + 1 - most;
    add(fmt::format("INSTANCES  {}", paths.size()), Colour::bold);
    for (std::size_t i = first; i < first + most; ++i) {
      const auto& child = model_.find(paths[i])->node;
      const auto& waits = model_.find(paths[i])->waiting;
      add(fmt::format(
              "{} {} {} {} {} {} running {} waiting{}", i == chosen ? ">" : " ",
              fitted(io_, child.path, 8), fitted(io_, child.name, 16),
              fitted(io_, child.policy, 12),
              share_bar(child.cores - child.cores_free, child.cores, 10), child.running,
              child.pending,
              waits.empty() ? "" : ", longest " + show_duration(view_.now - waits.begin()->first)),
          child.health == "up" ? Colour::plain : Colour::red, i == chosen);
    }
    return static_cast<int>(most) + 1;
  }

  int queue_lines(const std::map<std::string, std::pair<std::uint64_t, std::uint64_t>>& queues,
                  int room) {
    if (room < 4) return 0;
    add(fmt::format("QUEUES  {}", queues.size()), Colour::bold);
    int lines = 1;
    for (const auto& [name, counts] : queues) {
      if (lines > static_cast<int>(kMostQueues) || lines >= room - 2) break;
      add(fmt::format("  {} {} running {} waiting", fitted(io_, name, 24), counts.first,
                      counts.second));
      ++lines;
    }
    return lines;
  }

  void jobs_list(const char* title, const JobList& jobs, int room, bool run) {
    if (room < 1) return;
    add(fmt::format("{}  {}", title, jobs.size()), Colour::bold);
    const auto most = std::min<std::size_t>(jobs.size(), static_cast<std::size_t>(room - 1));
    for (std::size_t i = 0; i < most; ++i) {
      const auto& job = *jobs[i];
      const Time since = run ? web::start_of(job) : job.t_submit;
      const std::string rest =
          job.tasks > 0         ? msg::tasks_text(job)
          : run                 ? fmt::format("{}{}", job.nodelist,
                              job.expiration > 0
                                                  ? fmt::format(", {} left", show_duration(std::max<Time>(
                                                                 job.expiration - view_.now, 0)))
                                                  : "")
          : !job.reason.empty() ? job.reason
          : job.t_estimate > 0  ? "planned for " + show_time(job.t_estimate, view_.now)
                                : "";
      add(fmt::format("  {} {} {} {} {}  {}",
                      fitted(io_, msg::label_of(job) + (job.is_instance ? "/" : ""), 8),
                      fitted(io_, job.name, 14), fitted(io_, job.user, 8),
                      fitted(io_, std::to_string(job.ncores), 5, true),
                      fitted(io_, since > 0 ? show_duration(view_.now - since) : "", 7, true),
                      printable(rest)),
          run ? Colour::green : Colour::plain);
    }
  }

  const web::Model& model_;
  const TopView& view_;
  Io io_;
  std::vector<TopLine> lines_;
};

}  // namespace

std::vector<TopLine> top_screen(const web::Model& model, const TopView& view) {
  return TopScreen(model, view).run();
}

bool is_told(const web::Model& model, const std::string& at) {
  const auto* found = model.find(at);
  return found != nullptr && !found->node.health.empty() && found->has_resources;
}

Result<std::string> top_once(const web::Model& model, const TopView& view) {
  if (model.find(view.at) == nullptr)
    return fail(Errc::timed_out, "has told nothing of itself", view.at);
  auto lines = top_screen(model, view);
  lines.pop_back();
  while (!lines.empty() && lines.back().text.empty()) lines.pop_back();
  std::string text;
  for (const auto& line : lines) text += line.text + "\n";
  return text;
}

std::vector<std::string> top_children(const web::Model& model, const std::string& at) {
  std::vector<std::string> paths;
  const std::string below = at == "/" ? "/" : at + "/";
  for (const auto& [path, instance] : model.instances())
    if (path != at && path.starts_with(below) &&
        path.find('/', below.size()) == std::string::npos && instance.node.health != "ended")
      paths.push_back(path);
  std::sort(paths.begin(), paths.end(), natural_before);
  return paths;
}

std::vector<double> planned_shares(const web::InstanceView& at, Time now, Time until,
                                   std::size_t parts) {
  std::vector<double> shares(parts, 0.0);
  if (at.node.cores <= 0 || until <= now) return shares;
  const double length = static_cast<double>(until - now) / static_cast<double>(parts);
  const auto take = [&](Time begin, Time end, std::int64_t cores) {
    const double share = static_cast<double>(cores) / static_cast<double>(at.node.cores);
    const double from = static_cast<double>(std::max(begin, now) - now) / length;
    const double to = static_cast<double>(std::min(end, until) - now) / length;
    for (auto part = static_cast<std::size_t>(from); part < parts; ++part) {
      const auto left = static_cast<double>(part);
      if (left >= to) break;
      shares[part] += share * (std::min(to, left + 1) - std::max(from, left));
    }
  };
  for (const auto& [id, job] : at.jobs)
    if (web::is_running(job) && job.tasks == 0)
      take(now, job.expiration > 0 ? std::max(job.expiration, now) : kTimeMax,
           std::max<std::int64_t>(job.ncores, 1));
  for (const auto& span : at.plan)
    take(span.begin, span.end > 0 ? span.end : kTimeMax, std::max<std::int64_t>(span.cores, 1));
  return shares;
}

}  // namespace holon::cli
