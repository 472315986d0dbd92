// A machine in a library: load it, match a job, ask for the earliest start of the next, give back.
#include <cstdio>
#include <string>

#include "resource/formats/readers.hpp"
#include "resource/formats/writers.hpp"
#include "resource/graph/graph.hpp"
#include "resource/store.hpp"

namespace {

using namespace holon;
using namespace holon::resource;

int fail_with(const Error& error) {
  std::fprintf(stderr, "%s\n", to_string(error).c_str());
  return 1;
}

const char* const kJobspec = R"(
version: 9999
resources:
  - type: node
    count: 2
    with:
      - type: slot
        label: task
        count: 1
        with: [{type: core, count: 4}]
tasks: [{command: [app], slot: task, count: {per_slot: 1}}]
attributes: {system: {duration: 3600}}
)";

}  // namespace

int main() {
  const auto machine = read_shape("rack=1/node=2/core=4");
  if (!machine) return fail_with(machine.error());
  auto store = ResourceStore::load(*machine, {.match_policy = "low"});
  if (!store) return fail_with(store.error());
  const auto jobspec = parse_jobspec(kJobspec);
  if (!jobspec) return fail_with(jobspec.error());

  const auto first = store->match(JobId{1}, *jobspec, MatchOp::allocate, 0, 3600);
  if (!first) return fail_with(first.error());
  const auto* allocation = std::get_if<Allocation>(&*first);
  if (allocation == nullptr) return 1;
  const auto text = write_allocation(WriteFormat::rlite, store->graph(), *allocation);
  if (!text) return fail_with(text.error());
  std::printf("job 1 holds %s", text->c_str());

  const auto next = store->match(JobId{2}, *jobspec, MatchOp::without_allocating_future, 0, 3600);
  if (!next) return fail_with(next.error());
  if (const auto* planned = std::get_if<Allocation>(&*next))
    std::printf("job 2 could start at %lld\n", static_cast<long long>(planned->when.begin));

  if (auto released = store->release(JobId{1}); !released) return fail_with(released.error());
  std::printf("%lld cores are free\n", static_cast<long long>(store->available("core", 0)));
}
