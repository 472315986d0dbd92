// read_receipts.hpp - by which a client shows how much of what it was sent it has read, where its
// server must keep the rest and cannot see what the network has taken. Private to transport/.
//
// A number of bytes would have to be believed. A mark is random, stands in the stream of messages
// behind what it is about, and comes back: only who has read the stream up to there knows it.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace holon::transport {

// The marks of one session that have not come back, at most one for each kMarkEvery bytes, or a
// single one. Counts are bytes since the session began, the messages with the marks included.
class ReadReceipts {
 public:
  // The most bytes sent before the next mark, not counting the message that goes beyond.
  static constexpr std::uint64_t kMarkEvery = 256 << 10;

  bool is_due(std::uint64_t sent) const { return sent - marked_ >= kMarkEvery; }
  bool is_awaited() const { return !marks_.empty(); }
  // A mark that cannot be guessed.
  static std::string fresh();
  // Notes a mark that was sent as the last of `sent` bytes.
  void add(std::string mark, std::uint64_t sent);
  // Was the mark sent, and has it not come back?
  bool is_known(std::string_view mark) const;
  // Takes a mark that has come back; returns how many bytes were read. nullopt: unknown. O(marks).
  std::optional<std::uint64_t> take(std::string_view mark);

 private:
  struct Mark {
    std::string text;
    std::uint64_t sent = 0;
  };
  std::deque<Mark> marks_;  // the oldest first
  std::uint64_t marked_ = 0;
};

}  // namespace holon::transport
