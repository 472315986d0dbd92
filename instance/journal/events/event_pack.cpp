// A byte for the layout, the number of bytes uncompressed, and zlib's stream of them, which ends
// with a checksum. Uncompressed, an event is four numbers (its own, its first job and its time as
// the difference to those of the event before) and two texts with their lengths. Numbers are
// varints; the sign of a difference is its lowest bit.
#include "instance/journal/events/event_pack.hpp"

#include <zlib.h>

#include <utility>

#include "transport/codec/varint.hpp"

namespace holon::instance {
namespace {

constexpr char kPackLayout = 1;
constexpr int kPackLevel = 6;
constexpr std::uint64_t kMostUnpacked = 256 << 20;  // bytes; an event comes in a message of 64 MiB

// Of two numbers of any size: it wraps around, and back.
void put_difference(std::string& to, std::int64_t n, std::int64_t before) {
  const std::uint64_t difference =
      static_cast<std::uint64_t>(n) - static_cast<std::uint64_t>(before);
  const std::uint64_t sign = difference >> 63 == 0 ? 0 : ~std::uint64_t{0};
  append_varint(to, difference << 1 ^ sign);
}

void put_text(std::string& to, std::string_view text) {
  append_varint(to, text.size());
  to += text;
}

class PackBytes {
 public:
  explicit PackBytes(std::string_view bytes) : left_(bytes) {}

  std::uint64_t number() {
    const auto n = take_varint(left_);
    good_ = good_ && n;
    return n.value_or(0);
  }
  std::int64_t difference(std::int64_t before) {
    const std::uint64_t n = number();
    const std::uint64_t sign = (n & 1) == 0 ? 0 : ~std::uint64_t{0};
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(before) + (n >> 1 ^ sign));
  }
  std::string_view text() {
    const std::uint64_t size = number();
    good_ = good_ && size <= left_.size();
    if (!good_) return {};
    const std::string_view words = left_.substr(0, size);
    left_.remove_prefix(size);
    return words;
  }
  std::string_view rest() const { return left_; }
  bool more() const { return good_ && !left_.empty(); }
  bool good() const { return good_; }

 private:
  std::string_view left_;
  bool good_ = true;
};

tl::unexpected<Error> no_pack() {
  return fail(Errc::invalid_argument, "packed events make no sense");
}

}  // namespace

std::string pack_events(const std::vector<EventRow>& rows) {
  std::string plain;
  EventRow before;
  for (const EventRow& row : rows) {
    put_difference(plain, row.number, before.number);
    put_difference(plain, row.job, before.job);
    put_difference(plain, row.count, 1);
    put_difference(plain, row.time, before.time);
    put_text(plain, row.name);
    put_text(plain, row.context);
    before = row;
  }
  std::string pack(1, kPackLayout);
  append_varint(pack, plain.size());
  const std::size_t head = pack.size();
  uLongf size = compressBound(plain.size());
  pack.resize(head + size);
  if (compress2(reinterpret_cast<Bytef*>(pack.data() + head), &size,
                reinterpret_cast<const Bytef*>(plain.data()), plain.size(), kPackLevel) != Z_OK)
    return {};
  pack.resize(head + size);
  return pack;
}

Result<UnpackedEvents> UnpackedEvents::of(std::string_view pack) {
  if (pack.empty() || pack.front() != kPackLayout) return no_pack();
  PackBytes head(pack.substr(1));
  const std::uint64_t bytes = head.number();
  if (!head.good() || bytes > kMostUnpacked) return no_pack();
  UnpackedEvents events;
  events.text_.resize(bytes);
  uLongf size = bytes;
  const std::string_view stream = head.rest();
  if (uncompress(reinterpret_cast<Bytef*>(events.text_.data()), &size,
                 reinterpret_cast<const Bytef*>(stream.data()), stream.size()) != Z_OK ||
      size != bytes)
    return no_pack();
  PackBytes in({events.text_.data(), events.text_.size()});
  EventRow row;
  while (in.more()) {
    row.number = in.difference(row.number);
    row.job = in.difference(row.job);
    row.count = in.difference(1);
    row.time = in.difference(row.time);
    row.name = in.text();
    row.context = in.text();
    events.rows_.push_back(row);
  }
  if (!in.good()) return no_pack();
  return events;
}

}  // namespace holon::instance
