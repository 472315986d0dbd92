// A few jobs on a small machine: whatever the jobspec, R lies within the machine, no unit is held
// twice, and what is given back is free again.
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <variant>

#include "resource/formats/readers.hpp"
#include "resource/graph/graph.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "resource/store.hpp"

namespace {

using namespace holon::resource;
using holon::JobId;

constexpr const char* kPolicies[] = {"first",   "high",     "lonode",
                                     "hinodex", "locality", "firstnodex"};
constexpr MatchOp kOps[] = {MatchOp::allocate,
                            MatchOp::allocate_with_satisfiability,
                            MatchOp::allocate_orelse_reserve,
                            MatchOp::satisfiability,
                            MatchOp::without_allocating,
                            MatchOp::without_allocating_future};
constexpr int kJobs = 4;
constexpr holon::Duration kLength = 100;

ResourceStore make_store(const StoreOptions& options) {
  const auto spec = read_shape("rack=2/node=2/socket=2/core=2,memory=4,gpu=1");
  return ResourceStore::load(spec.value(), options).value();
}

void check(const ResourceStore& store) {
  store.check_invariants();
  for (const JobId job : store.jobs())
    for (const Share& share : store.find(job)->shares)
      if (!store.graph().find_uniq(share.uniq_id)) std::abort();
}

}  // namespace

// The first two bytes choose policy, traverser and operation; the rest is the jobspec.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto jobspec = parse_jobspec(text);
  if (!jobspec) return 0;
  ResourceStore store = make_store({.match_policy = kPolicies[data[0] % std::size(kPolicies)],
                                    .traverser = data[0] < 128 ? "simple" : "flexible",
                                    .horizon = {0, 1000}});
  const Amount cores = store.available("core", 0);
  for (int i = 0; i < kJobs; ++i) {
    const MatchOp op = kOps[(data[1] + i) % std::size(kOps)];
    static_cast<void>(
        store.match(JobId{static_cast<std::uint64_t>(i + 1)}, *jobspec, op, 0, kLength));
    check(store);
  }
  for (const JobId job : store.jobs())
    if (!store.release(job)) std::abort();
  check(store);
  if (store.available("core", 0) != cores) std::abort();
  return 0;
}
