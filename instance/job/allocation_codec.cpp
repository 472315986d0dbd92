#include "instance/job/allocation_codec.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include "transport/codec/codec.hpp"

namespace holon::instance {

using Labels = std::vector<std::pair<std::int64_t, std::string>>;

std::string pack_shares(const resource::Allocation& allocation) {
  std::vector<std::int64_t> flat;
  flat.reserve(allocation.shares.size() * 3);
  for (const auto& s : allocation.shares)
    flat.insert(flat.end(), {s.uniq_id, s.amount, s.exclusive});
  return transport::pack(std::pair(flat, Labels(allocation.labels)));
}

Result<resource::Allocation> unpack_shares(JobId job, Interval when, std::string_view bytes) {
  auto parts = transport::unpack<std::pair<std::vector<std::int64_t>, Labels>>(bytes);
  if (!parts) return tl::unexpected(parts.error());
  const auto& flat = parts->first;
  resource::Allocation a{job, when, {}, {}};
  for (std::size_t i = 0; i + 2 < flat.size(); i += 3)
    a.shares.push_back({flat[i], flat[i + 1], flat[i + 2] != 0});
  a.labels = std::move(parts->second);
  return a;
}

}  // namespace holon::instance
