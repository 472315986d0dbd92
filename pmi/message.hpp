// message.hpp - the two wire formats of PMI: lines (PMI-1, and the first exchange of PMI-2), frames
// (PMI-2).
//
//   cmd=get kvsname=job key=a\n
//       35cmd=kvs-get;jobid=job;srcid=-1;key=a;      six characters of length, then as many bytes
//
// Sources: the PMI-2 wire protocol page of the MPICH project, and what Slurm 22.05 and MPICH 4.0
// say.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace holon::pmi {

struct Message {
  std::string command;
  std::vector<std::pair<std::string, std::string>> fields;  // in the order sent

  // The value of the key; "" if there is none.
  std::string_view at(std::string_view key) const;
  bool has(std::string_view key) const;
  bool operator==(const Message&) const = default;
};

// The longest message; a longer one is none. MPICH's longest line has some 2,000 bytes.
inline constexpr std::size_t kMaxMessage = 65'536;
// The bounds that PMI-1 tells with get_maxes, as Slurm does.
inline constexpr std::size_t kMaxName = 256, kMaxKey = 64, kMaxValue = 1024;

// The message as a line. REQUIRES: no blank and no end of line in a value, see is_word().
std::string write_line(const Message& message);
std::string write_frame(const Message& message);

// Takes one message from the front of `buffer`. nullopt: it is not all there yet. Errors: protocol
// (it is too long, or no message; the connection is of no more use).
Result<std::optional<Message>> take_line(std::string& buffer);
Result<std::optional<Message>> take_frame(std::string& buffer);

// Can the text be a key or a value in a line? Not empty; no blank, control character or ';'.
bool is_word(std::string_view text);

}  // namespace holon::pmi
