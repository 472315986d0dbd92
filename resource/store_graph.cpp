// store_graph.cpp - the graph changes under the jobs: growing, shrinking, status and properties.
#include "base/check.hpp"
#include "resource/graph/spec.hpp"
#include "resource/store_state.hpp"

namespace holon::resource {
namespace {

Result<VertexId> at_path(const ResourceGraph& graph, std::string_view path) {
  if (const auto v = graph.find_path(path)) return *v;
  return fail(Errc::not_found, "no vertex has this path", std::string(path.substr(0, 256)));
}

}  // namespace

void ResourceStore::State::rebuild() {
  auto filters = match::Filters::parse(options.prune_filters, graph);
  HOLON_CHECK(filters.has_value());  // they were read at load, from the same text
  occupancy = match::Occupancy(graph, std::move(*filters));
  if (policy.stop_at_first) order.rebuild(graph);
  untouched.reset();
  forget();
  const Oddities odd = oddities;  // holding the same again is no news to them
  auto before = std::move(held);
  held.clear();
  ends.clear();
  reservations = 0;
  for (auto& [job, shared] : before) {
    Held& mine = shared.edit();
    Allocation& allocation = mine.allocation;
    std::erase_if(allocation.shares, [&](const Share& share) {
      return share.amount == 0 || !graph.find_uniq(share.uniq_id);
    });
    if (allocation.shares.empty()) continue;
    if (mine.reserved) ++reservations;
    Held& again = held[job].edit() = std::move(mine);
    again.hold.items.clear();  // they were of the old shape
    again.hold.sums.clear();
    std::vector<Share> shares = again.allocation.shares;
    std::vector<Mark> marks = std::move(again.marks);
    exchange(job, std::move(shares), again.hold.when.begin);
    std::erase_if(marks, [&](const Mark& mark) { return !graph[mark.vertex].alive; });
    held.at(job).edit().marks = std::move(marks);
  }
  oddities = odd;
}

Status ResourceStore::grow(const GraphSpec& part) {
  const Amount before = state_->first_total();
  auto added = own_graph().grow(part);
  if (!added) return tl::unexpected(added.error());
  state_->rebuild();
  state_->note_growth(state_->first_total() - before);
  for (const VertexId v : *added) state_->changes.add(v, false);
  return {};
}

Status ResourceStore::shrink(std::string_view path) {
  const auto v = at_path(state_->graph, path);
  if (!v) return tl::unexpected(v.error());
  const VertexId above = state_->graph.parent(*v);
  if (auto ok = own_graph().shrink(*v); !ok) return ok;
  state_->rebuild();
  if (above != kNoVertex) state_->changes.add(above, false);
  return {};
}

Status ResourceStore::shrink_ranks(std::span<const std::int32_t> ranks) {
  if (auto ok = own_graph().shrink_ranks(ranks); !ok) return ok;
  state_->rebuild();
  state_->changes.add(state_->graph.root(), false);
  return {};
}

Status ResourceStore::set_status(std::string_view path, bool up) {
  const auto v = at_path(state_->graph, path);
  if (!v) return tl::unexpected(v.error());
  set_status(*v, up);
  return {};
}

void ResourceStore::set_status(VertexId v, bool up) {
  state_->oddities.status_changes(state_->graph, v, up);
  own_graph().set_up(v, up);
  if (up) state_->made_room();
  state_->changes.add(v, true);
}

Status ResourceStore::set_drained(std::string_view path, bool drained) {
  const auto v = at_path(state_->graph, path);
  if (!v) return tl::unexpected(v.error());
  set_drained(*v, drained);
  return {};
}

void ResourceStore::set_drained(VertexId v, bool drained) {
  own_graph().set_drained(v, drained);
  if (!drained) state_->made_room();
  state_->changes.add(v, true);
}

void ResourceStore::set_end_of(VertexId v, Time end) {
  own_graph().set_end(v, end);
  state_->made_room();
  state_->changes.add(v, true);
}

Status ResourceStore::set_property(std::string_view path, std::string_view key,
                                   std::string_view value) {
  const auto v = at_path(state_->graph, path);
  if (!v) return tl::unexpected(v.error());
  set_property(*v, key, value);
  return {};
}

void ResourceStore::set_property(VertexId v, std::string_view key, std::string_view value) {
  own_graph().set_property(v, key, value);
  state_->forget();
  state_->changes.add(v, false);
}

Status ResourceStore::remove_property(std::string_view path, std::string_view key) {
  const auto v = at_path(state_->graph, path);
  if (!v) return tl::unexpected(v.error());
  if (!own_graph().remove_property(*v, key))
    return fail(Errc::not_found, "it has no property \"" + std::string(key.substr(0, 64)) + "\"",
                std::string(path.substr(0, 256)));
  state_->forget();
  state_->changes.add(*v, false);
  return {};
}

}  // namespace holon::resource
