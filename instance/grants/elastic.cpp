#include "instance/grants/elastic.hpp"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "instance/grants/units.hpp"
#include "resource/graph/graph.hpp"

namespace holon::instance {
namespace {

namespace h = holdings;

constexpr std::int64_t kJobsLookedAt = 4'096;  // of waiting jobs
constexpr Duration kBetweenLooks = 250;        // ms: a look costs some passes of the scheduler
constexpr Duration kPatience = 1'000;  // ms, before an ask that nobody waits for is withdrawn
constexpr Duration kFirstPause = 1'000, kLongestPause = 60'000;  // ms, after a refusal
// Short jobs follow each other: what they share is asked for once, and goes back when it is idle.
constexpr Duration kShortestLimit = 600'000;  // ms
// A job begins later than the grant does that it is to end within, or waits for another one first.
constexpr Duration kSlack = 60'000;          // ms
constexpr std::int64_t kFirstNew = 1 << 30;  // the logical number of a core that does not exist

// A core of each node that takes work.
std::vector<resource::VertexId> core_of_each_node(const resource::ResourceGraph& graph) {
  std::vector<resource::VertexId> cores;
  for (const auto node : graph.by_type("node")) {
    if (!graph[node].schedulable()) continue;
    const auto below = graph.subtree(node);
    const auto core = std::find_if(below.begin(), below.end(),
                                   [&](auto v) { return graph.type_name(v) == "core"; });
    if (core != below.end()) cores.push_back(*core);
  }
  return cores;
}

// Adds a vertex that is in the graph, below those above it. Returns its row.
std::uint32_t add_with_those_above(resource::GraphSpec& spec, const resource::ResourceGraph& graph,
                                   resource::VertexId v,
                                   std::map<resource::VertexId, std::uint32_t>& rows) {
  if (const auto known = rows.find(v); known != rows.end()) return known->second;
  const std::uint32_t parent = v == graph.root()
                                   ? resource::GraphSpec::kNone
                                   : add_with_those_above(spec, graph, graph.parent(v), rows);
  const std::uint32_t row =
      spec.add(graph.type_name(v), graph[v].id, parent, graph[v].rank, graph[v].size);
  spec.rows[row].name = spec.words.names.intern(graph.name(v));
  return rows[v] = row;
}

// So many cores that do not exist, dealt to the nodes of the graph in turn.
resource::GraphSpec more_cores(const resource::ResourceGraph& graph, std::int64_t count) {
  resource::GraphSpec spec;
  std::map<resource::VertexId, std::uint32_t> rows;
  const auto beside = core_of_each_node(graph);
  for (std::int64_t i = 0; i < count && !beside.empty(); ++i) {
    const auto core = beside[static_cast<std::size_t>(i) % beside.size()];
    const auto parent = add_with_those_above(spec, graph, graph.parent(core), rows);
    spec.add("core", kFirstNew + i, parent, graph[core].rank);
  }
  return spec;
}

std::string jobspec_for(std::int64_t least, std::int64_t most, Duration limit) {
  nlohmann::json system = {{"duration", static_cast<double>(limit) / 1'000}};
  if (most > least) system["holon"] = {{"slots", fmt::format("{}-{}", least, most)}};
  const nlohmann::json core = {{"type", "core"}, {"count", 1}};
  const nlohmann::json slot = {
      {"type", "slot"}, {"count", least}, {"label", "task"}, {"with", {core}}};
  const nlohmann::json task = {
      {"command", {"grant"}}, {"slot", "task"}, {"count", {{"per_slot", 1}}}};
  return nlohmann::json{{"version", 1},
                        {"resources", {slot}},
                        {"tasks", {task}},
                        {"attributes", {{"system", system}}}}
      .dump();
}

}  // namespace

std::string Elastic::awaited() const {
  const std::int64_t max = uses_.config.grant_max;
  if (max == 0 || !uses_.borrower.has_parent()) return "";
  return fmt::format("the instance above is asked for more, for up to {} cores (grant.max)", max);
}

// Ceiling and floor are about what is here, also where it is on its way back.
std::int64_t Elastic::room() const {
  const auto& graph = uses_.store.graph();
  return uses_.config.grant_max - static_cast<std::int64_t>(graph.by_type("core").size());
}

std::vector<JobId> Elastic::starts_with(std::int64_t cores, Time now) const {
  const auto part = more_cores(uses_.store.graph(), cores);
  if (part.rows.empty()) return {};
  const auto starts = uses_.scheduler.starts_on(part, kTimeMax, now, {.jobs = kJobsLookedAt});
  std::vector<JobId> jobs;
  if (!starts) return jobs;
  for (const auto& [host, on_it] : *starts) jobs.insert(jobs.end(), on_it.begin(), on_it.end());
  std::sort(jobs.begin(), jobs.end());
  jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
  return jobs;
}

std::int64_t Elastic::fewest_for(std::size_t jobs, std::int64_t most, Time now) const {
  std::int64_t fewest = 1;
  while (fewest < most) {
    const std::int64_t middle = fewest + (most - fewest) / 2;
    if (starts_with(middle, now).size() >= jobs)
      most = middle;
    else
      fewest = middle + 1;
  }
  return fewest;
}

Elastic::Need Elastic::need(Time now) const {
  if (room() <= 0 || uses_.scheduler.pending() == 0) return {};
  const std::vector<JobId> jobs = starts_with(room(), now);
  if (jobs.empty()) return {};
  Need need;
  need.most = fewest_for(jobs.size(), room(), now);
  need.least = fewest_for(1, need.most, now);
  for (const JobId id : jobs) {
    const ActiveJob* const job = uses_.jobs.find(id);
    if (job == nullptr) continue;
    if (job->submission->limit == 0) {
      need.limit = 0;
      break;
    }
    need.limit = std::max({need.limit, job->submission->limit + kSlack, kShortestLimit});
  }
  return need;
}

// ---- asking

void Elastic::ask(const Need& need, Time now) {
  const auto answered = [this](const Result<msg::GrantAnswer>& answer, Time when) {
    hear(answer, when);
  };
  const auto asked =
      uses_.borrower.ask_for(jobspec_for(need.least, need.most, need.limit), answered, now);
  if (!asked) return spdlog::info(fmt::format("does not ask for more: {}", asked.error().what));
  open_ = *asked;
  unneeded_since_.reset();
  spdlog::info(fmt::format("asks for {} to {} cores more", need.least, need.most));
}

// A promise leaves the ask open.
void Elastic::hear(const Result<msg::GrantAnswer>& answer, Time now) {
  if (answer && !answer->is_here) return;
  open_.reset();
  pause_ = answer ? 0 : std::clamp(2 * pause_, kFirstPause, kLongestPause);
  not_before_ = now + std::max(pause_, kBetweenLooks);
  if (!answer) spdlog::info(fmt::format("gets no more: {}", answer.error().what));
}

void Elastic::withdraw_if_unneeded(bool is_needed, Time now) {
  if (is_needed) return unneeded_since_.reset();
  if (!unneeded_since_) unneeded_since_ = now;
  if (now - *unneeded_since_ >= kPatience)
    uses_.borrower.withdraw(*open_);
  else
    at(*unneeded_since_ + kPatience);
}

void Elastic::look(Time now) {
  if (open_ && !uses_.borrower.is_open(*open_)) open_.reset();  // it came after a promise
  if (!uses_.borrower.is_up_to_date()) return;
  if (!open_ && !uses_.borrower.promised().empty()) return;  // of an earlier broker, or by hand
  if (uses_.scheduler.pending() == 0 && !open_) return;
  if (!uses_.jobs.settled()) return;  // the turn after the next pass comes by itself
  if (now < not_before_) return at(not_before_);
  not_before_ = now + kBetweenLooks;
  const Need lacking = need(now);
  if (open_)
    withdraw_if_unneeded(lacking.most > 0, now);
  else if (lacking.most > 0)
    ask(lacking, now);
}

// ---- giving back

bool Elastic::is_idle(const h::Units& units) const {
  const auto ids = units.ids();
  return std::all_of(ids.begin(), ids.end(), [&](std::uint64_t unit) {
    const auto v = uses_.store.graph().find_uniq(static_cast<std::int64_t>(unit));
    return !v || uses_.store.jobs_at(*v).empty();
  });
}

void Elastic::give_back_idle(Time now) {
  h::Units idle;
  std::map<h::Epoch, Time> since;
  for (const h::Holding& holding : uses_.book.up().holdings) {
    if (holding.source == h::Source::owned || holding.state != h::State::held ||
        !is_idle(holding.units))
      continue;
    const auto known = idle_since_.find(holding.epoch);
    const Time begun = known == idle_since_.end() ? now : known->second;
    since[holding.epoch] = begun;
    if (now - begun >= uses_.config.grant_idle)
      idle = h::all_of(idle, holding.units);
    else
      at(begun + uses_.config.grant_idle);
  }
  idle_since_ = std::move(since);
  if (idle.empty()) return;
  if (auto done = uses_.borrower.release({idle.str()}, now); !done)
    spdlog::error(fmt::format("grant: {}", to_string(done.error())));
}

std::optional<Time> Elastic::turn(Time now) {
  next_.reset();
  if (uses_.config.grant_max == 0 || !uses_.borrower.has_parent()) return std::nullopt;
  give_back_idle(now);
  look(now);
  return next_;
}

}  // namespace holon::instance
