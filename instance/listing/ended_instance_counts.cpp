#include "instance/listing/ended_instance_counts.hpp"

#include <memory>
#include <string>
#include <utility>

#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

constexpr std::size_t kCountedAtOnce = 200;  // records, in one portion

struct Count {
  transport::Request request;
  msg::TreeNode node;
  std::string after;  // the last path that is counted
};

void add_to(msg::TreeNode& node, const msg::JobRecord& record) {
  if (record.path.find('/', node.path.size() + 1) != std::string::npos) return;  // of a child
  if (record.tasks > 0) {  // an array: its tasks count
    const auto failed = record.tasks_failed + record.tasks_cancelled;
    node.inactive += static_cast<std::int64_t>(record.tasks_completed + failed);
    node.failed += static_cast<std::int64_t>(failed);
    node.cancelled += static_cast<std::int64_t>(record.tasks_cancelled);
    return;
  }
  ++node.inactive;
  node.failed += record.result != "COMPLETED";
  node.cancelled += record.result == "CANCELED";
}

}  // namespace

void count_ended_instance_jobs(const transport::Request& request, msg::TreeNode node,
                               const Journal& journal, SlicedWork& portions,
                               AfterCommit& after_commit) {
  const auto count = std::make_shared<Count>(Count{request, std::move(node), {}});
  const auto step = [count, &journal, &after_commit] {
    if (count->request.done()) return false;
    const auto some =
        journal.descendants_after(count->node.path + "/", count->after, kCountedAtOnce);
    if (!some) return count->request.fail(some.error()), false;
    for (const auto& record : *some) add_to(count->node, record);
    if (some->size() == kCountedAtOnce) {
      count->after = some->back().path;
      return true;
    }
    after_commit.add([count] { count->request.reply(transport::pack(count->node)); });
    return false;
  };
  if (step()) portions.add(request, step);
}

}  // namespace holon::instance
