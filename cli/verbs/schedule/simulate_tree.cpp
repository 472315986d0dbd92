#include "cli/verbs/schedule/simulate_tree.hpp"

#include <fmt/format.h>

#include <fstream>
#include <ostream>

#include "base/whole_file.hpp"
#include "cli/report/study.hpp"
#include "cli/verbs/schedule/simulated_config.hpp"
#include "config/policies.hpp"
#include "sim/study.hpp"

namespace holon::cli {

namespace {

constexpr std::size_t kLargestTreeFile = std::size_t{16} << 20;

// Each instance has the configuration of --conf, then its own, then --policy.
Status configure(sim::TreePlan& plan, const SimulateOptions& options, std::int64_t ticks) {
  for (sim::TreeInstance& instance : plan.instances) {
    std::vector<std::string> words = options.conf;
    words.insert(words.end(), instance.conf.begin(), instance.conf.end());
    auto config = config::load_config(words, simulated_defaults());
    if (!config)
      return fail(config.error().code, config.error().what,
                  options.tree + ": instance." + instance.name + ": " + config.error().where);
    if (!options.policy.empty()) {
      config->scheduler.defaults.policy = options.policy;
      for (auto& [name, queue] : config->scheduler.queues) queue.policy = options.policy;
    }
    if (Status read = config::add_policies(*config, options.policies()); !read) return read;
    instance.config = in_ticks(config->scheduler, options.queue_depth, ticks);
  }
  return {};
}

Status put_into(const std::string& path, const std::string& bytes) {
  if (path.empty()) return {};
  std::ofstream out(path, std::ios::binary);
  out << bytes;
  out.close();
  if (!out) return fail(Errc::system, "it cannot be written", path);
  return {};
}

}  // namespace

Result<sim::TreePlan> tree_of(const SimulateOptions& options, std::int64_t ticks_per_second) {
  const auto text = read_whole_file(options.tree, kLargestTreeFile);
  if (!text) return fail(Errc::invalid_argument, text.error().what, "--tree " + options.tree);
  return sim::read_tree(*text, options.tree, ticks_per_second);
}

int simulate_on_tree(Invocation& call, const SimulateOptions& options, const sim::SwfTrace& trace,
                     const std::string& title) {
  const auto failed = [&](const Error& error) { return report(call, "simulate", error); };
  auto plan = tree_of(options, trace.workload.ticks_per_second);
  if (!plan) return failed(plan.error());
  if (Status good = configure(*plan, options, trace.workload.ticks_per_second); !good)
    return failed(good.error());
  const auto result = sim::simulate_tree(trace.workload, *plan, {});
  if (!result) return failed(result.error());
  call.io.out << (options.json ? sim::tree_json(trace.workload, *plan, *result)
                               : sim::tree_table(trace.workload, *plan, *result));
  if (!options.starts.empty())
    if (Status ok = put_into(options.starts, sim::starts_csv(trace.workload, result->whole)); !ok)
      return failed(ok.error());
  if (options.report.empty()) return kOk;
  const auto page =
      tree_page({title,
                 {{"trace", options.trace},
                  {"instances", std::to_string(plan->instances.size())},
                  {"jobs", std::to_string(trace.workload.jobs.size())},
                  {"machine", fmt::format("{} processors", sim::processors_of(*plan))},
                  {"moves", std::to_string(result->moves.size())},
                  {"holon", HOLON_VERSION}}},
                trace.workload, *plan, *result);
  if (!page) return failed(page.error());
  if (Status ok = put_into(options.report, *page); !ok) return failed(ok.error());
  return kOk;
}

}  // namespace holon::cli
