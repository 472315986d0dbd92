// search.hpp - the depth-first walk that finds a jobspec's resources in the graph.
//
// Downwards a vertex is compared with the requests of its level and left at once where it cannot
// help (status, constraint, units, exclusivity, counters); upwards what was found is scored, and
// the best of it chosen at the first vertex that was asked for by name. The semantics, and so the
// choice, are those of Fluxion's traverser; see the notes in search.cpp. The search changes nothing
// but its own scratch.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "resource/match/front.hpp"
#include "resource/match/occupancy.hpp"
#include "resource/match/policy.hpp"
#include "resource/match/request.hpp"
#include "resource/match/visit_order.hpp"

namespace holon::resource::match {

struct SearchCounts {
  std::int64_t visited = 0;   // vertices entered
  std::int64_t finished = 0;  // left with something found
};

// The resource that a search did not find, for people.
struct Shortage {
  std::string type;  // of the request that was short; empty: unknown
  std::int64_t wanted = 0;
  std::int64_t found = 0;
};

struct SearchQuestion {
  const CompiledRequest* request = nullptr;
  Interval when;
  bool idle_machine = false;  // as if nothing were held and nothing were down
  bool now = true;  // `when` begins now: what is not free then need not be looked at again soon
  // Among equal scores choose what the whole-graph search would, on small graphs, where that is
  // quick; else the first in pre-order.
  bool exact_ties = true;
  // Leaves out of the choice what stands inside of something asked for, but below a level that was
  // not, as Fluxion loses it on its way from finding to holding.
  bool lose_unnamed = false;
  bool only_up = false;  // on an idle machine: down or drained vertices stay so
  // Bonuses of nodes by slot, instead of the policy's, for the scores of what is in them; 0: the
  // node is not to be used. Null: the policy's. Not together with a front.
  const std::vector<std::int64_t>* node_scores = nullptr;
  // The order in which a first-match search tries children; null: the one that the search was made
  // with.
  const VisitOrder* order = nullptr;
};

class Search {
 public:
  struct Scratch;  // memory that is kept between searches

  Search(const ResourceGraph& graph, const Occupancy& occupancy, const Policy& policy,
         const VisitOrder& order, Scratch& scratch);

  // The vertices to take, in the order of emission; nullopt: they do not fit then. With a front
  // made for the request, candidates are looked at best first and no more of them than needed; the
  // choice is the same, but for equal scores on big graphs.
  std::optional<std::vector<Chosen>> run(const SearchQuestion& question, Front* front = nullptr);

  // A front for the request; nullopt if its candidates cannot be told beforehand: first-match and
  // variation, links, several resources at the top, pools in slots, a request that names the root.
  std::optional<Front> front_for(const CompiledRequest& request) const;

  const SearchCounts& counts() const { return counts_; }
  const Shortage& shortage() const { return shortage_; }  // after a run that found nothing

 private:
  // A vertex that could be taken, with what was chosen below it.
  struct Taken {
    VertexId vertex;
    Amount units = 0;
    bool exclusive = false;
    bool divisible = false;  // a pool, of which fewer units can be taken
    const Need* need = nullptr;
    std::uint32_t first = 0;  // its contents in taken_
    std::uint32_t length = 0;
    VertexId via = kNoVertex;     // the vertex whose link led to it
    std::uint32_t last_slot = 0;  // of nodes that may spare a slot: how much of its end that is
  };
  // Vertices that are taken together, or not at all: one vertex, or all of a slot.
  struct Group {
    std::int64_t score = 0;
    std::int64_t count = 0;   // units it contributes to its type; a slot is 1
    std::uint32_t first = 0;  // its Takens
    std::uint32_t length = 0;
  };
  // All groups of one type that were found at one level.
  struct Found {
    TypeId type;
    std::vector<Group> groups;
    std::int64_t count = 0;
    std::size_t chosen = 0;         // the first so many groups are taken
    std::int64_t short_of_one = 0;  // nodes that have one slot less than others
  };
  // The findings that one vertex hands to the one above.
  struct Harvest {
    std::vector<Found> types;
    bool decided = false;  // choices were made among `types`

    Found& of(TypeId type);
    const Found* find(TypeId type) const;
    void clear();
  };
  struct Visit {
    Taken taken;
    std::int64_t score = 0;
  };
  // The answer of a vertex to the requests of its level.
  struct Answer {
    enum class Kind { nothing, pass, resource, slot };
    Kind kind = Kind::nothing;
    const Need* need = nullptr;  // of kind resource, and of slot if the vertex was asked for too
    const std::vector<Need>* next = nullptr;
    std::int64_t slots = 1;
    const Need* amounts = nullptr;  // of kind slot: it may be filled from anywhere below the vertex
  };

  std::optional<Visit> visit(VertexId v, const std::vector<Need>& needs, bool pristine,
                             bool exclusive, Harvest& up);
  Answer compare(VertexId v, const std::vector<Need>& needs, bool pristine) const;
  std::optional<std::vector<Chosen>> walk(const std::vector<Need>& needs);
  // The units that v offers, and whether all below it are free.
  struct Admission {
    Amount units = 0;       // free in it; 0: it is out of the question
    bool all_free = false;  // and so is everything below it
  };
  Admission admit(VertexId v, const std::vector<Need>& needs, bool exclusive) const;
  // Is the need met with units of pools that other jobs may have units of too?
  bool divides(const Need& need) const {
    return request_->by_units && need.exclusive != true && occupancy_.is_pool(need.type) &&
           !is_whole(need.type);
  }
  // The most slots that one vertex fills when its pools have room for any number: more are not
  // worth their memory.
  static constexpr std::int64_t kMostSlots = 1 << 18;
  bool is_divisible(const Group& group) const {
    return group.length == 1 && taken_[group.first].divisible;
  }
  // Must a vertex of this type, if taken, be the job's alone?
  bool wants_alone(TypeId type, const std::vector<Need>& needs, bool exclusive) const;
  void explore(VertexId v, const std::vector<Need>& needs, bool pristine, bool exclusive,
               std::int64_t shares, Harvest& harvest);
  void explore_first(VertexId v, const std::vector<Need>& needs, bool pristine, bool exclusive,
                     std::int64_t shares, Harvest& harvest);
  // Finds what the request's only resource needs, best candidates first. False: ask the whole graph
  // instead.
  bool explore_front(Front& front, Harvest& top);
  bool try_candidate(VertexId v, Harvest& top);
  std::optional<std::int64_t> key_now(const Front::Popped& candidate, bool found);
  bool can_reach(VertexId v);
  bool is_shut_off(VertexId v) const;
  std::int64_t key_of(std::int64_t score) const {
    return policy_.order == Order::low ? -score : score;
  }
  std::int64_t bonus_above(VertexId v) const;
  std::int64_t node_bonus(VertexId node) const {
    return node_scores_ != nullptr ? (*node_scores_)[node.value()]
                                   : policy_.node_bonus(graph_[node]);
  }
  std::int64_t best_slot_score(VertexId v, const Need& slot, bool free_only) const;
  bool has_slot_contents(VertexId v, const Need& slot) const;
  bool ranked() const;  // are candidates ordered by their own ids?
  bool try_child(VertexId child, const std::vector<Need>& needs, bool pristine, bool exclusive,
                 Harvest& harvest, VertexId via = kNoVertex);
  void fill_slots(VertexId v, const Answer& answer, Harvest& harvest);
  // Makes slots of what was found, as many as there are, at most `most`.
  void make_slots(const std::vector<Need>& shape, Harvest& contents, std::int64_t most,
                  Harvest& harvest);
  // Slots of amounts: search_amounts.cpp.
  class Amounts;
  bool is_home(VertexId v, const Need& slot, const Need* named) const;
  bool has_amounts(VertexId v, const Need& slot) const;
  void fill_amounts(VertexId v, const Answer& answer, Harvest& harvest);
  bool fill_inside(VertexId v, const Need& slot, std::int64_t wanted, Harvest& harvest);
  bool offers_another(VertexId v, const Need& slot, std::int64_t made) const;
  template <class Inside>
  bool any_part(VertexId v, const std::vector<Need>& shape, Inside inside);
  std::int64_t slots_that_fit(const std::vector<Need>& shape, const Harvest& contents) const;
  // The next place where a slot finds what it needs of a type: a group, and how much of it is used.
  struct Next {
    std::size_t group = 0;
    std::int64_t used = 0;
  };
  // Puts `count` units into the slot at the end of taken_, fewer where so many are not there, more
  // where a group is not divisible. Returns how many.
  std::int64_t fill(Group& slot, const Found& found, std::int64_t count, Next& next);
  // Chooses nodes of which some may have one slot less than the others: those taken come first, and
  // have as many slots together as there are tasks. REQUIRES: enough of them are usable().
  void spare_slots(const Need& need, Found& found);
  static std::int64_t usable(const Need& need, const Found& found) {
    return found.count - std::max<std::int64_t>(0, found.short_of_one - need.spare);
  }
  // Cuts a divisible group down to `units`.
  void cut(Group& group, std::int64_t units);
  bool choose(const std::vector<Need>& needs, Harvest& harvest, bool at_root = false);
  void sort(std::vector<Group>& groups, bool descending) const;
  void sort_by_runs(std::vector<Group>& groups, std::vector<std::int64_t>& scores) const;
  // The chosen vertices of a harvest, side by side at the end of taken_.
  std::pair<std::uint32_t, std::uint32_t> contents_of(const Harvest& harvest);
  static void hand_on(const Harvest& from, Harvest& up);
  // Variants for the flexible traverser: search_flexible.cpp.
  Answer compare_flexible(VertexId v, const std::vector<Need>& needs, bool pristine) const;
  bool offers_flexible(VertexId v, const std::vector<Need>& needs, bool exclusive) const;
  void fill_alternatives(VertexId v, const Answer& answer, Harvest& harvest);
  bool fill_slot(const std::vector<Need>& shape, const Harvest& contents,
                 std::map<TypeId, Next>& next, Harvest& harvest);
  bool is_whole(TypeId type) const;
  void collect(std::uint32_t first, std::uint32_t length, std::vector<Taken>& into) const;

  std::vector<Chosen> emit(const Taken& root, std::vector<Taken> chosen) const;

  Amount free(VertexId v) const {
    return idle_ || all_free_ ? graph_[v].size : occupancy_.free(graph_, v, when_);
  }
  class Emitter;
  class LinkedEmitter;
  Harvest& begin();
  std::optional<std::vector<Chosen>> finish(const std::vector<Need>& needs, const Taken& root,
                                            Harvest& top);
  Harvest& next_harvest();

  const ResourceGraph& graph_;
  const Occupancy& occupancy_;
  const Policy policy_;
  const VisitOrder* const usual_order_;
  std::optional<TypeId> node_type_;
  std::optional<TypeId> storage_node_type_;

  // state of one run
  const CompiledRequest* request_ = nullptr;
  const VisitOrder* order_ = nullptr;
  Interval when_;
  bool idle_ = false;
  bool only_up_ = true;
  bool now_ = true;
  bool exact_ties_ = true;
  bool lose_unnamed_ = false;
  const std::vector<std::int64_t>* node_scores_ = nullptr;
  bool all_free_ = false;   // no job holds anything at the visited vertex or below
  std::int64_t bonus_ = 0;  // of the nodes around the vertex that is visited
  std::size_t depth_ = 0;
  SearchCounts counts_;
  Shortage shortage_;
  Scratch& scratch_;
  std::vector<Taken>& taken_;
  std::deque<Harvest>& harvests_;  // by depth
  // The sum of what alternative slots ask for; taken vertices point into it.
  std::map<const std::vector<Need>*, std::vector<Need>> together_;
};

struct Search::Scratch {
  // For vertices above candidates: has this run come by, and could it pass? (run * 2 + passed)
  std::vector<std::uint32_t> reached;
  std::uint32_t run = 0;
  std::vector<bool> met;  // in a graph with links: vertices entered, which are not entered again
  std::vector<Taken> taken;
  std::deque<Harvest> harvests;
};

}  // namespace holon::resource::match
