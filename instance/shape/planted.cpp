#include "instance/shape/planted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "instance/journal/schema.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "transport/principal.hpp"

namespace holon::instance {
namespace {

constexpr std::uint32_t kFirst = 31;  // the urgency of jobs that come before all others

// The words that start a child, which plants what is below it.
std::vector<std::string> command_of(const std::string& binary, const TreeShape& shape,
                                    const std::vector<std::string>& conf) {
  std::vector<std::string> command = {binary, "start", "--grant", "--bg"};
  const TreeShape rest = below(shape);
  if (!rest.empty()) command.insert(command.end(), {"--tree", to_text(rest)});
  for (const std::string& word : conf) {
    const auto its = parse_level_conf(word, shape);
    if (!its || its->level == 0) continue;  // checked where it was typed
    if (its->level == 1)
      command.insert(command.end(), {"--conf", its->item});
    else
      command.insert(command.end(),
                     {"--conf-level", fmt::format("{}:{}", its->level - 1, its->item)});
  }
  return command;
}

// The request for a part, wherever there is room for it.
Result<resource::Jobspec> request_for(const Slice& part, std::size_t number,
                                      const std::vector<std::string>& command) {
  resource::JobShape shape;
  shape.command = command;
  shape.name = fmt::format("part-{}", number);
  shape.cwd = "/";
  const Share& first = part.shares.front();
  if (part.whole) {
    shape.nodes = shape.tasks = static_cast<std::int64_t>(part.shares.size());
    shape.exclusive = true;
    return resource::jobspec_for(std::move(shape));
  }
  if (part.shares.size() == 1) {
    shape.nodes = 1;
    shape.cores_per_task = first.cores;
    shape.gpus_per_task = first.gpus;
    shape.memory_per_task = first.memory;
    return resource::jobspec_for(std::move(shape));
  }
  const Slots slots = slots_of(part);
  shape.tasks = slots.count;
  shape.cores_per_task = slots.cores;
  shape.gpus_per_task = slots.gpus;
  return resource::jobspec_for(std::move(shape));
}

resource::Constraint on_nodes_of(const Slice& part, const std::vector<NodeAmounts>& nodes) {
  resource::Constraint constraint;
  constraint.op = "hostlist";
  for (const Share& share : part.shares) constraint.values.push_back(nodes[share.node].host);
  return constraint;
}

// A child lasts as long as its instance, and runs again with it.
std::string text_of(const resource::Jobspec& spec) {
  auto text = nlohmann::ordered_json::parse(resource::write_jobspec(spec));
  text["attributes"]["system"]["holon"] = {{"goes_on", true}, {"requeue", kMostRetries}};
  return text.dump();
}

}  // namespace

Status Planted::begin(const Asked& asked, bool fresh, Time now) {
  if (auto known = recall(); !known) return known;
  if (!fresh) return {};
  if (is_any_left()) {
    return check_known(asked);
  }
  const bool is_asked = !asked.shape.empty();
  if (!is_asked && shape_.empty()) return {};
  const auto shape = parse_tree_shape(is_asked ? asked.shape : shape_);
  if (!shape) return tl::unexpected(shape.error());
  return plant(*shape, is_asked ? asked.conf : conf_, now);
}

// A tree that goes on keeps the shape and the settings that it was planted with.
Status Planted::check_known(const Asked& asked) const {
  if (!asked.shape.empty() && asked.shape != shape_)
    return fail(Errc::exists,
                fmt::format("the instance has a tree already, {}, which goes on; leave it out, or "
                            "name that",
                            shape_),
                "--tree " + asked.shape);
  if (asked.conf.empty() || asked.conf == conf_) return {};
  const std::string kept = conf_.empty() ? "none" : fmt::format("{}", fmt::join(conf_, ", "));
  return fail(
      Errc::exists,
      fmt::format("the instance has a tree already, which goes on with the settings that it "
                  "was planted with ({}); leave this out, or name those",
                  kept),
      fmt::format("--conf-level {}", fmt::join(asked.conf, " --conf-level ")));
}

Status Planted::recall() {
  const auto shape = uses_.journal.meta(kTreeShape);
  const auto conf = uses_.journal.meta(kTreeConf);
  const auto first = uses_.journal.number(kTreeFirst);
  if (!shape) return tl::unexpected(shape.error());
  if (!conf) return tl::unexpected(conf.error());
  if (!first) return tl::unexpected(first.error());
  if (!*shape || !*first) return {};
  const auto parsed = parse_tree_shape(**shape);
  if (!parsed) return tl::unexpected(parsed.error());
  shape_ = **shape;
  const auto words = nlohmann::json::parse(conf->value_or("[]"), nullptr, false);
  if (words.is_array()) conf_ = words.get<std::vector<std::string>>();
  for (std::uint32_t i = 0; i < parsed->front(); ++i)
    children_.emplace_back(static_cast<std::uint64_t>(**first) + i);
  return {};
}

// A child that was cancelled, or whose time was over, ends, also where its instance was killed
// before it had ended.
bool Planted::is_any_left() const {
  return std::any_of(children_.begin(), children_.end(), [this](JobId id) {
    const ActiveJob* const job = uses_.jobs.find(id);
    return job != nullptr && !job->life.cancelled && job->life.exception != "timeout";
  });
}

Status Planted::plant(const TreeShape& shape, const std::vector<std::string>& conf, Time now) {
  const auto nodes = nodes_in(uses_.store.graph());
  if (auto fits = check_division(nodes, shape); !fits) return fits;
  const auto parts = divide(nodes, shape.front());
  if (!parts) return tl::unexpected(parts.error());
  const auto specs = specs_of(nodes, *parts, command_of(uses_.binary, shape, conf), now);
  if (!specs) return tl::unexpected(specs.error());
  children_.clear();
  for (const resource::Jobspec& spec : *specs) {
    msg::SubmitRequest ask;
    ask.jobspec = text_of(spec);
    ask.user = transport::user_of({});
    ask.urgency = kFirst;
    ask.is_instance = true;
    const auto taken = uses_.jobs.submit(ask, now);
    if (!taken) {
      for (const JobId id : children_)
        uses_.jobs.raise(id, "cancel", "the tree could not be planted", now);
      return tl::unexpected(taken.error());
    }
    children_.emplace_back(taken->first_id);
  }
  shape_ = to_text(shape);
  keep(conf);
  return {};
}

// Nodes are named only where the parts do not find their places without that: an instance that goes
// on may have other nodes.
Result<std::vector<resource::Jobspec>> Planted::specs_of(const std::vector<NodeAmounts>& nodes,
                                                         const std::vector<Slice>& parts,
                                                         std::vector<std::string> command,
                                                         Time now) const {
  std::vector<resource::Jobspec> specs;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto spec = request_for(parts[i], i + 1, command);
    if (!spec) return tl::unexpected(spec.error());
    specs.push_back(std::move(*spec));
  }
  if (has_room_for(specs, now)) return specs;
  for (std::size_t i = 0; i < parts.size(); ++i)
    specs[i].constraints = on_nodes_of(parts[i], nodes);
  if (has_room_for(specs, now)) return specs;
  return fail(Errc::unsatisfiable,
              "its resources cannot be given to the children part by part, as they are drained, "
              "down, or laid out otherwise than nodes with cores");
}

// Would they all find their places, one after the other, were nothing else here?
bool Planted::has_room_for(const std::vector<resource::Jobspec>& specs, Time now) const {
  auto options = uses_.store.options();
  auto store = uses_.store.clone();
  const Duration length = distance(now, options.horizon.end);
  return std::all_of(specs.begin(), specs.end(), [&, next = JobId(1)](const auto& spec) mutable {
    const auto found = store.match(next, spec, resource::MatchOp::allocate, now, length);
    next = JobId(next.value() + 1);
    return found && std::holds_alternative<resource::Allocation>(*found);
  });
}

void Planted::keep(const std::vector<std::string>& conf) {
  uses_.journal.set_meta(kTreeShape, shape_);
  uses_.journal.set_meta(kTreeConf, nlohmann::json(conf).dump());
  uses_.journal.set_number(kTreeFirst, static_cast<std::int64_t>(children_.front().value()));
}

}  // namespace holon::instance
