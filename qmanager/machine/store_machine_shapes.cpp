// store_machine_shapes.cpp - which jobs ask for the same, and whether numbers are enough to plan
// them: the part of a StoreMachine that reads jobspecs.
#include "qmanager/machine/host_placement.hpp"
#include "qmanager/machine/store_machine.hpp"

namespace holon::qmanager {

namespace {

// Jobs that ask for the same resources under the same constraints are of one shape, whatever they
// run.
std::size_t content_hash(const resource::Request& request) {
  std::size_t hash = std::hash<std::string>{}(request.type);
  const auto mix = [&](std::size_t value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL; };
  mix(static_cast<std::size_t>(request.count.min));
  mix(static_cast<std::size_t>(request.count.max));
  mix(request.exclusive.has_value() ? 1U + *request.exclusive : 0U);
  for (const resource::Request& child : request.with) mix(content_hash(child));
  return hash;
}

std::size_t content_hash(const resource::Jobspec& spec) {
  std::size_t hash = 0;
  for (const resource::Request& request : spec.resources) hash = hash * 31 + content_hash(request);
  return hash;
}

bool same_content(const resource::Jobspec& a, const resource::Jobspec& b) {
  return a.resources == b.resources && a.constraints == b.constraints &&
         resource::spare_slots(a) == resource::spare_slots(b);
}

}  // namespace

ShapeId StoreMachine::shape_of(const JobRequest& job) const {
  // Jobs of one size share a jobspec; those that were asked about lately are not read again.
  const std::size_t place = (reinterpret_cast<std::uintptr_t>(job.spec.get()) >> 6) % kRecent;
  const Recent& recent = (*recent_)[place];
  if (recent.spec == job.spec && recent.slots == job.slots.has_value() &&
      (*shapes_)[recent.shape].rule == job.rule &&
      (*shapes_)[recent.shape].on_hosts == job.on_hosts)
    return recent.shape;
  const ShapeId id = find_shape(job);
  recent_.edit()[place] = {job.spec, job.slots.has_value(), id};
  return id;
}

ShapeId StoreMachine::find_shape(const JobRequest& job) const {
  const std::size_t hash = content_hash(*job.spec);
  const auto [begin, end] = by_content_->equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    const Shape& known = (*shapes_)[at->second];
    if (known.rule == job.rule && known.on_hosts == job.on_hosts &&
        same_content(*known.spec, *job.spec))
      return at->second;
  }
  const auto id = static_cast<ShapeId>(shapes_->size());
  const Unit unit = unit_of(job);
  const std::int64_t cores = least_units(*job.spec, "core");
  const std::int64_t all =
      unit == Unit::node ? *cores_of_whole_nodes(*job.spec, *node_cores_) : cores;
  shapes_.edit().push_back({job.spec, job.rule, job.on_hosts, unit, cores, all});
  by_content_.edit().emplace(hash, id);
  return id;
}

StoreMachine::Unit StoreMachine::unit_of(const JobRequest& job) const {
  if (spread_over_hosts(job) || !job.on_hosts.empty()) return Unit::none;
  if (single_cores(*job.spec)) return Unit::core;
  const bool whole_nodes = node_cores_ && cores_of_whole_nodes(*job.spec, *node_cores_);
  return whole_nodes ? Unit::node : Unit::none;
}

// While only numbers are kept all nodes are alike, so that it is known how many cores a whole node
// has. Later ones may be smaller.
std::int64_t StoreMachine::least_cores(const Shape& shape) const {
  const bool whole_nodes = uniform_ && unit_ != Unit::core && shape.unit == Unit::node;
  return whole_nodes ? shape.all_cores : shape.cores;
}

// How many slots of a range a job gets is not decided by the number of nodes alone.
StoreMachine::Unit StoreMachine::unit_of(const Shape& shape, const JobRequest& job) const {
  return shape.unit == Unit::node && job.slots ? Unit::none : shape.unit;
}

bool StoreMachine::goes_by_number(const JobRequest& job) const {
  if (!uniform_) return false;
  const Unit unit = unit_of(shape(job), job);
  return unit != Unit::none && (unit_ == Unit::none || unit_ == unit);
}

// All jobs must be of one kind: single cores, or whole nodes.
void StoreMachine::expect(const JobRequest& job) {
  const Shape& known = shape(job);
  coreless_jobs_ = coreless_jobs_ || least_cores(known) == 0;
  if (!uniform_) return;
  if (!goes_by_number(job)) return leave_uniform();
  unit_ = unit_of(known, job);
}

// The job as FlatMachine is to see it: a job that is alone on its nodes has all of their cores.
const JobRequest& StoreMachine::counted(const JobRequest& job) const {
  const std::int64_t cores = least_cores(shape(job));
  if (job.slots || cores == job.procs) return job;
  counted_ = job;
  counted_.procs = cores;
  return counted_;
}

}  // namespace holon::qmanager
