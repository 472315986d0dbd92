// filters.hpp - which vertices keep count of which resources below them, so that a search need not
// go there to look.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "resource/graph/graph.hpp"

namespace holon::resource::match {

// The pruning specification "HL:LL[,HL:LL...]": every vertex of type HL (ALL: of any type) counts
// the units of type LL below it. Leaf types that it does not name are counted at clusters, as in
// Fluxion, so that the root knows them.
class Filters {
 public:
  // Parses a specification. Errors: invalid_argument naming the part that is no HL:LL. Types the
  // graph does not have are accepted.
  static Result<Filters> parse(std::string_view spec, const ResourceGraph& graph);

  // All counted types; a type's index here is its number everywhere in match/.
  const std::vector<TypeId>& types() const { return types_; }
  std::optional<std::uint32_t> index_of(TypeId type) const;
  // Numbers of the types that a vertex of this type counts, in Fluxion's order: the last is taken
  // as the scarcest.
  const std::vector<std::uint32_t>& counted_at(TypeId type) const;

 private:
  std::vector<TypeId> types_;
  std::vector<std::uint32_t> index_;                 // by TypeId; UINT32_MAX: not counted
  std::vector<std::vector<std::uint32_t>> counted_;  // by TypeId
};

}  // namespace holon::resource::match
