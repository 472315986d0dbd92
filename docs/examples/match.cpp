// What the resource module does by itself: read a machine, ask it for resources, now and later.
//
// Prints where two jobs of a node and a half each would go on four nodes, and R of the first.
#include <cstdio>
#include <string>
#include <variant>

#include "resource/formats/readers.hpp"
#include "resource/formats/writers.hpp"
#include "resource/graph/graph.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "resource/store.hpp"

using namespace holon;

namespace {

int complain(const Error& error) {
  std::fprintf(stderr, "%s\n", to_string(error).c_str());
  return 1;
}

std::string told(const resource::MatchOutcome& outcome) {
  if (const auto* got = std::get_if<resource::Allocation>(&outcome))
    return "from tick " + std::to_string(got->when.begin) + " to " + std::to_string(got->when.end);
  if (const auto* wait = std::get_if<resource::NotNow>(&outcome)) return "not now: " + wait->reason;
  return "never: " + std::get<resource::Never>(outcome).reason;
}

}  // namespace

int main() {
  const auto machine = resource::read_shape("node=4/core=8,memory=16");
  if (!machine) return complain(machine.error());
  auto store = resource::ResourceStore::load(*machine, {});
  if (!store) return complain(store.error());

  resource::JobShape shape;
  shape.tasks = 3;
  shape.cores_per_task = 8;
  const auto spec = resource::jobspec_for(shape);
  if (!spec) return complain(spec.error());

  // Times are ticks of the caller's clock; here a tick is a second, and now is 0.
  for (std::uint64_t id = 1; id <= 2; ++id) {
    const auto outcome = store->match(JobId{id}, *spec, resource::MatchOp::allocate_orelse_reserve,
                                      /*now=*/0, /*duration=*/3600);
    if (!outcome) return complain(outcome.error());
    std::printf("job %d: %s\n", static_cast<int>(id), told(*outcome).c_str());
  }
  const auto r = resource::write_allocation(resource::WriteFormat::rlite, store->graph(),
                                            *store->find(JobId{1}));
  if (!r) return complain(r.error());
  std::printf("R of job 1: %s", r->c_str());
}
