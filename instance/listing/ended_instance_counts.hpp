// ended_instance_counts.hpp - how many jobs an ended instance had, from the records it has left.
#pragma once
#include "instance/basics/sliced_work.hpp"
#include "instance/journal/after_commit.hpp"
#include "instance/journal/journal.hpp"
#include "msg/instance.hpp"
#include "transport/rpc.hpp"

namespace holon::instance {

// Answers with `node` and the counts. There may be a million records: they are counted in portions,
// between which others are served, unless one turn is enough. The other arguments must outlive the
// request.
void count_ended_instance_jobs(const transport::Request& request, msg::TreeNode node,
                               const Journal& journal, SlicedWork& portions,
                               AfterCommit& after_commit);

}  // namespace holon::instance
