// hosts.hpp - lists of nodes as batch systems write them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace holon::batch {

struct Node {
  std::string name;
  std::uint64_t cpus = 0;  // granted on this node; 0: the batch system does not say

  bool operator==(const Node&) const = default;
};

// The most nodes, more than any machine has; a longer list is a mistake or an attack.
inline constexpr std::size_t kMaxNodes = 1'000'000;

// Expands Slurm's "login,n[001-003,7],rack[1-2]n[0-3]": any number of brackets a name, the
// rightmost one counts fastest, numbers keep their width, a bracket may stand in a bracket. In the
// order written, a name may stand in it twice. Errors: invalid_argument (where: "character N", from
// 1), out_of_range (more than kMaxNodes).
Result<std::vector<std::string>> expand_hosts(std::string_view text);

// Expands Slurm's "4(x2),2" to 4, 4, 2. Errors: those of expand_hosts().
Result<std::vector<std::uint64_t>> expand_counts(std::string_view text);

// Reads a node file with a line for each CPU or slot: the nodes in the order of their first lines,
// with the number of their lines. Words behind the first one of a line are left out. O(lines).
std::vector<Node> count_lines(std::string_view file);

// Reads pairs "node1 4 node2 2" on one line or many, as LSF and Grid Engine write them, with
// `columns` words for each node; a node that comes twice has the sum. Errors: invalid_argument.
Result<std::vector<Node>> read_pairs(std::string_view text, std::size_t columns);

// Are the names of one node: equal, or one without its domain ("n1" and "n1.site.org")?
bool is_same_host(std::string_view a, std::string_view b);

// The words of a text between blanks and ends of lines.
std::vector<std::string_view> words_of(std::string_view text);
// The lines of a text, without empty ones and without blanks at both ends.
std::vector<std::string_view> lines_of(std::string_view text);
// Reads all of `text` as a whole number. Errors: invalid_argument.
Result<std::uint64_t> whole_number(std::string_view text);

}  // namespace holon::batch
