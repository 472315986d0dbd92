// record_order.hpp - which of two records of one job is the newer one.
//
// Records travel up the tree, are sent again after a loss, and are read again from the journal of
// an instance that has ended: one may come twice, or after a newer one.
#pragma once
#include "base/time.hpp"
#include "msg/instance.hpp"

namespace holon::instance {

// May `next` take the place of `known`? What is INACTIVE stays as it is; before that, a record
// further on in the life of the job (attempts, RFC 21's states, then what has happened in them) is
// the newer one, and of two that are equally far the one that came last. Times say nothing: they
// are shown by the wall clock, which may have been set.
bool supersedes(const msg::JobRecord& next, const msg::JobRecord& known);

// Has the job come further by `next`? Of one that is INACTIVE nothing is.
bool is_further(const msg::JobRecord& next, const msg::JobRecord& known);

// A record as it is to be shown, and whether what it says had not been known.
struct ShownRecord {
  msg::JobRecord record;
  bool is_news = false;
};

// Closes a record of which nothing more will be heard: INACTIVE, with the result it says it will
// have, else CANCELED if it never had resources and FAILED if it had. What had resources has had
// them until `ended`, the end of the job that its instance was, or of what is known of that; never
// before its own beginning. One that is INACTIVE is left as it is.
void close_record(msg::JobRecord& record, const std::string& reason, std::int64_t now,
                  std::int64_t ended);

}  // namespace holon::instance
