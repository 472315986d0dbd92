// request.hpp - a jobspec's resources compiled against one graph: types as numbers, needs of
// subtrees added up.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "resource/match/constraint.hpp"
#include "resource/match/filters.hpp"
#include "resource/match/policy.hpp"

namespace holon::resource::match {

class Occupancy;

// Types that stand for no vertex.
inline constexpr TypeId kSlot{UINT32_MAX - 1};         // a grouping, not a resource
inline constexpr TypeId kXorSlot{UINT32_MAX - 3};      // alternatives, one of which is taken
inline constexpr TypeId kUnknownType{UINT32_MAX - 2};  // the graph has no vertex of the type

// Units of each counted type (Filters::types) that are needed.
using Demand = std::vector<Amount>;

// One vertex of the request tree.
struct Need {
  TypeId type;
  std::string type_name;
  Count count;
  std::int64_t most = 1;  // the largest count it could take
  std::optional<bool> exclusive;
  std::string label;  // for a resource that is no slot: reported with what is found
  Demand below;       // the least that the resources in one of these need
  Demand each;        // the same, with the one itself
  // For a slot: made of amounts anywhere below one vertex (search_amounts.cpp); else of one's
  // children.
  bool of_amounts = false;
  // For nodes: the number of them that have one slot less than the others.
  std::int64_t spare = 0;
  std::vector<Need> with;

  bool is_slot() const { return type == kSlot; }
};

struct CompiledRequest {
  std::vector<Need> needs;
  Demand total;  // the least that all of it needs
  // The flexible traverser: slots side by side are alternatives, and for each choice among
  // xor_slots the needs come to one of the variants, tried in this order.
  bool flexible = false;
  std::vector<std::vector<Need>> variants;
  std::vector<TypeId>
      exclusive;  // whole vertices of these types are taken, whatever is asked of them
  NodeTest nodes;
  bool by_units = false;     // what is not asked for exclusively is taken of pools unit by unit
  bool names_levels = true;  // a level between two that are asked for is asked for, too
};

// Compiles a jobspec. Errors: invalid_argument for constraints that cannot be read. O(requests *
// counted types). Flexible: also for more than kMaxVariants variants.
Result<CompiledRequest> compile(const Jobspec& jobspec, const ResourceGraph& graph,
                                const Filters& filters, const Policy& policy, bool flexible);
inline constexpr std::size_t kMaxVariants = 1000;

// Marks slots of amounts: a slot at the top or right below something, made of cores, GPUs, memory
// and the like with nothing below these, asks how many of them there are, not in which socket.
// `spare`: slots that the nodes at the top have together beyond the tasks (spare_slots).
void ask_for_amounts(CompiledRequest& request, const ResourceGraph& graph,
                     const Occupancy& occupancy, std::int64_t spare);

// ---- variants.cpp
// One list of needs for each choice among the xor_slots of a level and of all below it; the
// xor_slots have become slots. Errors: invalid_argument if there are more than kMaxVariants.
Result<std::vector<std::vector<Need>>> expand_xor_slots(const std::vector<Need>& needs);

}  // namespace holon::resource::match
