// parted.hpp - a message one of whose members is an array that is too long to be read at once.
//
// The elements stay bytes, and are unpacked one by one (codec.hpp).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace holon::transport {

struct Parted {
  std::string rest;           // the message without this member
  std::string_view elements;  // their bytes, one behind the other; a part of the message
  std::uint32_t count = 0;    // of them
};

// Takes the member `field` out of a message, which is a map and outlives what is returned; a
// message without it has no elements. Errors: protocol (as of unpack(); no map; no array).
// O(length), some milliseconds for 10 MiB.
Result<Parted> take_out(std::string_view message, std::string_view field);

// The message with its member again. O(length).
std::string put_back(const Parted& parted, std::string_view field);

// The bytes of the first of these elements. REQUIRES: there is one. O(its length).
std::string_view first_element(std::string_view elements);

}  // namespace holon::transport
