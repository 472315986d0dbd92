// hostlist.hpp - an ordered list of host names, written short: "login,node[0-3,8],gpu[01-16]-ib"
// (RFC 29).
//
// Order matters and a name may stand in it twice: the n-th name belongs to the n-th rank. Kept as
// ranges, so that "node[0-99999]" costs as much as one name. A value: copy, compare.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace holon {

class Hostlist {
 public:
  // Reads names separated by commas; one bracket a name, with numbers and ranges as wide as the
  // first number of the bracket ([08-10] is 08, 09, 10). Errors: invalid_argument; where =
  // "character N", from 1.
  static Result<Hostlist> parse(std::string_view text);

  // Appends one name; a bracket in it has no meaning. O(length).
  void append(std::string_view host);
  void append(const Hostlist& other);

  bool empty() const { return parts_.empty(); }
  // The number of names; UINT64_MAX if there are more than that.
  std::uint64_t count() const;
  // The n-th name, from 0. REQUIRES: n < count(). O(parts).
  std::string at(std::uint64_t n) const;
  // The number of names and ranges that the list is kept as.
  std::size_t parts() const { return parts_.size(); }
  // The first place of `host`. O(parts).
  std::optional<std::uint64_t> find(std::string_view host) const;
  bool contains(std::string_view host) const { return find(host).has_value(); }
  // All names. O(count()): bound it first where the text is not your own.
  std::vector<std::string> hosts() const;

  // Neighbours that differ in their number share a bracket. parse() makes the same names of it.
  std::string str() const;

  bool operator==(const Hostlist&) const = default;

 private:
  // Hosts prefix + number + suffix, or just `prefix` where there is no number.
  struct Part {
    std::string prefix;
    std::string suffix;
    bool numbered = false;
    unsigned width = 0;  // digits to fill up with zeros
    std::uint64_t first = 0;
    std::uint64_t last = 0;

    std::uint64_t count() const { return last - first + 1; }
    std::string number(std::uint64_t n) const;
    std::string host(std::uint64_t n) const;
    bool operator==(const Part&) const = default;
  };

  static Status parse_name(std::string_view text, std::size_t at, Hostlist& list);
  void add(Part part);

  std::vector<Part> parts_;
};

}  // namespace holon
