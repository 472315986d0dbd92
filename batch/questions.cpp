#include "batch/questions.hpp"

#include "base/hostlist.hpp"

namespace holon::batch {

std::vector<std::string> nodes_command(const Allocation& allocation) {
  if (allocation.system != System::flux || !allocation.nodes.empty()) return {};
  return {"flux", "getattr", "hostlist"};
}

Status read_nodes_answer(Allocation& allocation, std::string_view answer) {
  const auto lines = lines_of(answer);
  const auto hosts = Hostlist::parse(lines.empty() ? std::string_view() : lines[0]);
  if (!hosts) return tl::unexpected(hosts.error());
  if (hosts->empty() || hosts->count() > kMaxNodes)
    return fail(Errc::invalid_argument,
                "'" + std::string(answer.substr(0, 80)) + "' is no list of nodes",
                "flux getattr hostlist");
  for (auto& name : hosts->hosts()) allocation.nodes.push_back({std::move(name), 0});
  return {};
}

}  // namespace holon::batch
