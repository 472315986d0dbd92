// codec.cpp - a walk over msgpack bytes that allocates nothing, before msgpack-c may believe them.
//
// msgpack-c reserves room for as many elements as a container claims to have, before it has seen
// one: five bytes can ask for gigabytes. Here every claim is compared with the bytes that are left
// (an element has at least one).
#include "transport/codec.hpp"

#include <array>
#include <cstdint>

namespace holon::transport {
namespace {

class Walk : public msgpack::null_visitor {
 public:
  explicit Walk(std::size_t budget) : budget_(budget) {}

  bool start_array(std::uint32_t size) { return enter(size); }
  bool end_array() { return leave(); }
  bool start_map(std::uint32_t size) { return enter(std::uint64_t{size} * 2); }
  bool end_map() { return leave(); }
  void parse_error(std::size_t, std::size_t) {}
  void insufficient_bytes(std::size_t, std::size_t) { truncated_ = true; }
  bool referenced() const { return true; }

  const char* complaint() const {
    if (depth_ > kMaxDepth) return "nested too deeply";
    if (claimed_ > budget_) return "a container claims more elements than the message has bytes";
    return truncated_ ? "truncated" : "malformed msgpack";
  }

 private:
  // All containers together cannot have more elements than there are bytes.
  bool enter(std::uint64_t elements) {
    claimed_ += elements;
    return ++depth_ <= kMaxDepth && claimed_ <= budget_;
  }
  bool leave() {
    --depth_;
    return true;
  }

  std::size_t budget_;
  std::uint64_t claimed_ = 0;
  std::size_t depth_ = 0;
  bool truncated_ = false;
};

}  // namespace

Status check_msgpack(std::string_view bytes) {
  Walk walk(bytes.size());
  std::size_t offset = 0;
  try {
    if (!msgpack::parse(bytes.data(), bytes.size(), offset, walk))
      return fail(Errc::protocol, std::string("payload: ") + walk.complaint());
  } catch (const std::exception& e) {
    return fail(Errc::protocol, std::string("payload: ") + e.what());
  }
  if (offset != bytes.size())
    return fail(Errc::protocol, "payload: bytes after the end of the value");
  return {};
}

}  // namespace holon::transport
