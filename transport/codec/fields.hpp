// fields.hpp - which members of a struct travel. Light: headers of messages include it, and only
// what packs or unpacks them includes codec.hpp.
//
//   struct SubmitReply {
//     std::uint64_t first_id = 0;
//     std::uint64_t count = 0;
//     HOLON_FIELDS(first_id, count)
//   };
//
// travels as the map {"first_id": ..., "count": ...}, in this order.
#pragma once
#include <string_view>

// `with_fields(visit)` returns visit(first_id, count). A template, so that a file pays for the
// structs it packs and not for all whose header it includes.
#define HOLON_FIELDS(...)                                   \
  static constexpr std::string_view kFields = #__VA_ARGS__; \
  template <class Visit>                                    \
  decltype(auto) with_fields(Visit&& visit) {               \
    return visit(__VA_ARGS__);                              \
  }                                                         \
  template <class Visit>                                    \
  decltype(auto) with_fields(Visit&& visit) const {         \
    return visit(__VA_ARGS__);                              \
  }

// HOLON_FIELDS for a struct whose members mostly have their defaults: those are left out.
#define HOLON_FIELDS_WITHOUT_DEFAULTS(...)     \
  static constexpr bool kOmitsDefaults = true; \
  HOLON_FIELDS(__VA_ARGS__)
