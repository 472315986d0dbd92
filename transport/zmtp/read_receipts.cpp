#include "transport/zmtp/read_receipts.hpp"

#include <algorithm>
#include <random>
#include <utility>

namespace holon::transport {

std::string ReadReceipts::fresh() {
  constexpr std::size_t kBytes = 8;
  std::random_device random;
  std::string mark;
  while (mark.size() < kBytes) mark += static_cast<char>(random());
  return mark;
}

void ReadReceipts::add(std::string mark, std::uint64_t sent) {
  marks_.push_back({std::move(mark), sent});
  marked_ = sent;
}

bool ReadReceipts::is_known(std::string_view mark) const {
  return std::any_of(marks_.begin(), marks_.end(),
                     [mark](const Mark& known) { return known.text == mark; });
}

// Messages are read in the order in which they were sent: earlier marks are read, too.
std::optional<std::uint64_t> ReadReceipts::take(std::string_view mark) {
  const auto found = std::find_if(marks_.begin(), marks_.end(),
                                  [mark](const Mark& known) { return known.text == mark; });
  if (found == marks_.end()) return std::nullopt;
  const std::uint64_t read = found->sent;
  marks_.erase(marks_.begin(), found + 1);
  return read;
}

}  // namespace holon::transport
