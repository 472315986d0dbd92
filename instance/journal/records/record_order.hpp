// record_order.hpp - which of two records of one job is the newer.
//
// Records travel up the tree, are sent again after a loss, and are read again from the journal of
// an instance that has ended: a record may come twice, or after a newer one.
#pragma once
#include "base/time.hpp"
#include "msg/instance.hpp"

namespace holon::instance {

// May `next` replace `known`? An INACTIVE record stays; before that, the record further on in the
// life of the job (attempts, RFC 21's states, then what has happened in them) is the newer one, and
// of two that are equally far the one that came last. Times do not count: they are shown by the
// wall clock, which may have been set.
bool supersedes(const msg::JobRecord& next, const msg::JobRecord& known);

// Is the job further on in `next`? False where `known` is INACTIVE.
bool is_further(const msg::JobRecord& next, const msg::JobRecord& known);

// A record to be shown, and whether it was news.
struct ShownRecord {
  msg::JobRecord record;
  bool is_news = false;
};

// Closes a record of which nothing more will be heard: INACTIVE, with the result it says it will
// have, else CANCELED if it never had resources and FAILED if it had. Resources count as held until
// `ended`, the end of the job that its instance was, or of what is known of that; never before
// their own beginning. An INACTIVE record is left unchanged.
void close_record(msg::JobRecord& record, const std::string& reason, std::int64_t now,
                  std::int64_t ended);

}  // namespace holon::instance
