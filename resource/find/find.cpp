#include "resource/find/find.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "resource/store.hpp"
#include "resource/store_state.hpp"

namespace holon::resource {
namespace {

using FindMark = FindSubject::Mark;

// One job at one vertex.
struct JobMark {
  JobId job;
  FindMark mark;
  std::vector<Amount> planned;  // of each type counted at the vertex
};
using Marks = std::unordered_map<std::uint32_t, std::vector<JobMark>>;  // by slot

Marks marks_of(const ResourceStore::State& state) {
  Marks marks;
  for (const auto& [job, held] : state.held)
    for (auto& at : state.marks_of(*held)) {
      FindMark mark;
      mark.tagged = at.tagged;
      mark.allocated = at.holds && !held->reserved;
      mark.reserved = at.holds && held->reserved;
      mark.counted = at.counted;
      marks[at.vertex.value()].push_back({job, mark, std::move(at.planned)});
    }
  return marks;
}

const JobMark* mark_of(const std::vector<JobMark>* marks, JobId job) {
  if (marks == nullptr) return nullptr;
  const auto at = std::ranges::find(*marks, job, &JobMark::job);
  return at == marks->end() ? nullptr : &*at;
}

// States that hold below a vertex that has them.
struct Inherited {
  bool down = false;
  bool drained = false;
  bool allocated = false;
  bool reserved = false;
  bool whole = false;  // one job holds everything now
};

class Subject : public FindSubject {
 public:
  Subject(const ResourceGraph& graph, VertexId v, Inherited state,
          const std::vector<JobMark>* marks)
      : graph_(graph), v_(v), state_(state), marks_(marks) {}

  bool down() const override { return state_.down; }
  bool drained() const override { return state_.drained; }
  bool allocated() const override { return state_.allocated; }
  bool reserved() const override { return state_.reserved; }
  FindMark mark(JobId job) const override {
    const JobMark* found = mark_of(marks_, job);
    return found == nullptr ? FindMark{} : found->mark;
  }
  std::string name() const override { return graph_.name(v_); }
  std::string_view type() const override { return graph_.type_name(v_); }
  std::int64_t id() const override { return graph_[v_].id; }
  std::int64_t uniq_id() const override { return graph_[v_].uniq_id; }
  std::int64_t rank() const override { return graph_[v_].rank; }
  std::int64_t size() const override { return graph_[v_].size; }
  std::optional<std::string_view> property(std::string_view key) const override {
    return graph_.property(v_, key);
  }

 private:
  const ResourceGraph& graph_;
  VertexId v_;
  Inherited state_;
  const std::vector<JobMark>* marks_;
};

class Finder {
 public:
  Finder(const ResourceStore::State& state, const FindExpression& expression, Time now)
      : state_(state),
        graph_(state.graph),
        expression_(expression),
        now_(now),
        marks_(marks_of(state)) {
    for (const auto& [job, held] : state.held) {
      if (!held->hold.when.contains(now)) continue;
      for (const auto& item : held->hold.items)
        if (item.whole) whole_.insert(item.vertex.value());
    }
  }

  // Visits v and what is below it; returns whether something there was found.
  bool walk(VertexId v, Inherited inherited) {
    const auto marks = marks_.find(v.value());
    const auto* mine = marks == marks_.end() ? nullptr : &marks->second;
    inherited.down = inherited.down || !graph_[v].up;
    inherited.drained = inherited.drained || graph_[v].drained;
    if (mine != nullptr)
      for (const auto& [job, mark, planned] : *mine) {
        inherited.allocated = inherited.allocated || mark.allocated;
        inherited.reserved = inherited.reserved || mark.reserved;
      }
    const bool covered = inherited.whole;  // and no counter here tells of it
    inherited.whole = covered || whole_.contains(v.value());
    bool below = false;
    for (const VertexId child : graph_.children(v)) below = walk(child, inherited) || below;
    const bool matches = expression_.matches(Subject(graph_, v, inherited, mine));
    if (!matches && !below) return false;
    FoundVertex vertex{v, matches, {}};
    if (expression_.wants_aggregates()) {
      vertex.aggregates = aggregates(v, mine, covered);
      if (vertex.aggregates.empty()) return false;  // a vertex that counts nothing is not shown
    }
    found.push_back(std::move(vertex));
    return true;
  }

  std::vector<FoundVertex> found;

 private:
  std::vector<FoundVertex::Use> aggregates(VertexId v, const std::vector<JobMark>* marks,
                                           bool covered) const {
    if (state_.occupancy.is_leaf(v)) return {};
    const bool of_one_job = expression_.job() && expression_.job()->value() != 0;
    const JobMark* mine = of_one_job ? mark_of(marks, *expression_.job()) : nullptr;
    if (of_one_job && (mine == nullptr || !mine->mark.counted)) return {};
    std::map<std::string, FoundVertex::Use> by_type;
    const auto& filters = state_.occupancy.filters();
    const auto& counted = filters.counted_at(graph_[v].type);
    for (std::size_t i = 0; i < counted.size(); ++i) {
      const std::string& type = graph_.words().types.text(filters.types()[counted[i]]);
      const Amount total = state_.occupancy.total_below(v, counted[i]);
      const Amount used = mine != nullptr ? mine->planned[i]
                          : covered       ? total
                                          : state_.occupancy.used_below(v, counted[i], now_);
      by_type[type] = {type, used, total};
    }
    std::vector<FoundVertex::Use> uses;
    for (auto& [type, use] : by_type) uses.push_back(std::move(use));
    return uses;
  }

  const ResourceStore::State& state_;
  const ResourceGraph& graph_;
  const FindExpression& expression_;
  Time now_;
  Marks marks_;
  std::unordered_set<std::uint32_t> whole_;  // slots that one job holds now with all below them
};

}  // namespace

std::vector<FoundVertex> find_vertices(const ResourceStore& store, const FindExpression& expression,
                                       Time now) {
  Finder finder(store.state(), expression, now);
  finder.walk(store.graph().root(), {});
  return std::move(finder.found);
}

}  // namespace holon::resource
