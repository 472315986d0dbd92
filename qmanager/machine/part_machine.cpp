// part_machine.cpp - a machine over the part of a resource graph that an advance reservation
// holds.
//
// It is a grant: a store of its own, read from the JGF that a child instance would be given. Names
// are the parent's, so that an allocation of it is one of the parent's graph.
#include <set>

#include "qmanager/machine/store_machine.hpp"
#include "resource/formats/readers.hpp"
#include "resource/formats/writers.hpp"

namespace holon::qmanager {

namespace {

class PartMachine : public StoreMachine {
 public:
  PartMachine(resource::ResourceStore& part, const resource::ResourceStore& whole)
      : StoreMachine(part), whole_(whole) {}
  PartMachine(const PartMachine&) = default;

  std::unique_ptr<Machine> clone() const override { return std::make_unique<PartMachine>(*this); }

  // Units that an outsider uses count as down.
  Units occupy(Units units) override {
    occupied_.clear();
    std::erase_if(units.allocation.shares, [&](const resource::Share& share) {
      const bool here = store()->graph().find_uniq(share.uniq_id).has_value();
      if (here) occupied_.insert(share.uniq_id);
      return here;
    });
    resources_changed();
    return units;
  }

  // Vertices that are down in the whole graph, or gone from it, are down here; they end when they
  // end there.
  bool resources_changed() override {
    const auto all = store()->graph().in_preorder();
    const std::vector<resource::VertexId> vertices(all.begin(), all.end());
    for (const resource::VertexId v : vertices) {
      const std::int64_t id = store()->graph()[v].uniq_id;
      const auto same = whole_.graph().find_uniq(id);
      const bool up = same && whole_.graph()[*same].schedulable() && !occupied_.contains(id);
      if (up != store()->graph()[v].schedulable()) store().edit().set_status(v, up);
      const Time end = same ? whole_.graph().end_of(*same) : kTimeMax;
      if (end != store()->graph().end_of(v)) store().edit().set_end_of(v, end);
    }
    return StoreMachine::resources_changed();
  }

 private:
  const resource::ResourceStore& whole_;  // a copy asks the same one what is up
  std::set<std::int64_t> occupied_;       // by uniq_id
};

class OwningPartMachine final : private StoreOwner, public PartMachine {
 public:
  OwningPartMachine(resource::ResourceStore part, const resource::ResourceStore& whole)
      : StoreOwner{std::move(part)}, PartMachine(StoreOwner::own_store, whole) {}
};

}  // namespace

Result<std::unique_ptr<Machine>> StoreMachine::part(JobId holder) {
  const resource::Allocation* held = store_->find(holder);
  if (held == nullptr) return fail(Errc::not_found, "it holds nothing");
  const Result<std::string> grant = resource::grant_jgf(store_->graph(), *held);
  if (!grant) return tl::unexpected(grant.error());
  const Result<resource::GraphSpec> spec = resource::read_jgf(*grant);
  if (!spec) return tl::unexpected(spec.error());
  resource::StoreOptions options = store_->options();
  options.horizon = held->when;
  Result<resource::ResourceStore> store = resource::ResourceStore::load(*spec, options);
  if (!store) return tl::unexpected(store.error());
  return std::make_unique<OwningPartMachine>(std::move(*store), *store_);
}

}  // namespace holon::qmanager
