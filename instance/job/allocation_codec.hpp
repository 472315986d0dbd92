// allocation_codec.hpp - an allocation's shares as the journal keeps them.
#pragma once
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "resource/allocation.hpp"

namespace holon::instance {

// Shares as one flat array: uniq_id, amount, exclusive, uniq_id, ...; and the labels.
std::string pack_shares(const resource::Allocation& allocation);
// Errors: protocol.
Result<resource::Allocation> unpack_shares(JobId job, Interval when, std::string_view bytes);

}  // namespace holon::instance
