#include "launch/mpi/kept_bytes.hpp"

#include <malloc.h>

#include <algorithm>

namespace holon::launch {
namespace {

// Otherwise free memory in between stays this process's for as long as it lives.
constexpr std::size_t kGivenBackFrom = std::size_t{4} << 20;

}  // namespace

bool KeptBytes::change(const std::string& user, std::size_t from, std::size_t to) {
  const auto found = of_user_.find(user);
  const std::size_t before = found == of_user_.end() ? 0 : found->second;
  if (to > from && (before - from + to > most_of_user_ || of_all_ - from + to > most_of_all_))
    return false;
  of_all_ = of_all_ - from + to;
  const std::size_t now = before - from + to;
  if (now == 0)
    of_user_.erase(user);
  else
    of_user_[user] = now;
  return true;
}

bool KeptBytes::Part::resize(std::size_t bytes) {
  if (all_ && !all_->change(user_, bytes_, bytes)) return false;
  bytes_ = bytes;
  most_ = std::max(most_, bytes);
  return true;
}

KeptBytes::Part::~Part() {
  resize(0);
  if (most_ >= kGivenBackFrom) malloc_trim(0);
}

}  // namespace holon::launch
