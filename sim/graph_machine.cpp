#include "sim/graph_machine.hpp"

#include "qmanager/machine/store_machine.hpp"
#include "resource/formats/readers.hpp"
#include "resource/store.hpp"

namespace holon::sim {

Result<GraphMachine> graph_machine(const std::string& shape) {
  const Result<resource::GraphSpec> spec = resource::read_shape(shape);
  return spec ? graph_machine(*spec) : tl::unexpected(spec.error());
}

Result<GraphMachine> graph_machine(const resource::GraphSpec& spec) {
  Result<resource::ResourceStore> store = resource::ResourceStore::load(spec, {});
  if (!store) return tl::unexpected(store.error());
  GraphMachine machine;
  machine.cores = store->total("core");
  if (machine.cores == 0)
    return fail(Errc::invalid_argument, "there is no core in it", "resources");
  // A function may be copied, a store may not; the copies share the idle one and clone it.
  const auto idle = std::make_shared<const resource::ResourceStore>(std::move(*store));
  machine.machine = [idle]() -> Result<std::unique_ptr<qmanager::Machine>> {
    return std::make_unique<qmanager::OwningStoreMachine>(idle->clone());
  };
  return machine;
}

qmanager::JobRequest graph_request(const TraceJob& job) {
  qmanager::JobRequest request = flat_request(job);
  resource::Request core;
  core.type = "core";
  resource::Request slot;
  slot.type = "slot";
  slot.label = "task";
  slot.count = {.min = job.procs, .max = job.procs, .values = {}};
  slot.with.push_back(std::move(core));
  resource::Jobspec spec;
  spec.resources.push_back(std::move(slot));
  request.spec = std::make_shared<const resource::Jobspec>(std::move(spec));
  return request;
}

}  // namespace holon::sim
