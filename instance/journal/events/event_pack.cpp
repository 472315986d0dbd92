// A pack is a byte for the layout, the number of bytes uncompressed, and zlib's stream of them,
// which ends with a checksum. Uncompressed, an event is four numbers (its own, its first job and
// its time as differences from those of the event before) and two texts with their lengths. Numbers
// are varints; the sign of a difference is its lowest bit.
//
// Packs are intervals of jobs, from `low` to `high`. An index by `low` alone would look at all
// packs that begin before a job. `span` is the least power of two not below their length: among
// packs of one span, those with a job begin less than a span before it, and there are few spans.
#include "instance/journal/events/event_pack.hpp"

#include <fmt/core.h>
#include <zlib.h>

#include <bit>
#include <utility>

#include "transport/codec/varint.hpp"

namespace holon::instance {
namespace {

constexpr char kPackLayout = 1;
constexpr int kPackLevel = 6;
constexpr std::uint64_t kMostUnpacked = 256 << 20;  // bytes; an event comes in a message of 64 MiB

// Writes the difference of two numbers of any size: it wraps around, and back.
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

std::int64_t low_of(const PackLabel& label) {
  return static_cast<std::int64_t>(label.jobs.first());
}

std::int64_t high_of(const PackLabel& label) {
  return static_cast<std::int64_t>(label.jobs.last());
}

std::int64_t span_of(const PackLabel& label) {
  return static_cast<std::int64_t>(std::bit_ceil(label.jobs.last() - label.jobs.first() + 1));
}

// Covers all columns but the bytes, which have zlib's checksum.
std::int64_t checksum_of(std::int64_t last, std::int64_t count, std::int64_t low, std::int64_t high,
                         std::int64_t span, std::string_view jobs) {
  const std::string text = fmt::format("{} {} {} {} {} {}", last, count, low, high, span, jobs);
  return static_cast<std::int64_t>(
      crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())));
}

std::int64_t checksum_of(const PackLabel& label, std::string_view jobs) {
  return checksum_of(label.last, label.count, low_of(label), high_of(label), span_of(label), jobs);
}

tl::unexpected<Error> wrong_pack(SQLite::Statement& row, std::string_view why) {
  return fail(Errc::invalid_argument,
              fmt::format("events up to {}: {}", row.getColumn(0).getInt64(), why));
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

Result<PackLabel> label_in(SQLite::Statement& row) {
  const auto number = [&row](int column) { return row.getColumn(column).getInt64(); };
  const std::string jobs = row.getColumn(5).getString();
  if (checksum_of(number(0), number(1), number(2), number(3), number(4), jobs) != number(6))
    return wrong_pack(row, "what is kept beside them has another checksum");
  auto set = Idset::parse(jobs);
  if (!set || set->empty()) return wrong_pack(row, "their jobs make no sense");
  return PackLabel{number(0), number(1), std::move(*set)};
}

Result<PackRow> pack_in(SQLite::Statement& row) {
  auto label = label_in(row);
  if (!label) return tl::unexpected(label.error());
  const SQLite::Column bytes = row.getColumn(7);
  auto events = UnpackedEvents::of(
      {static_cast<const char*>(bytes.getBlob()), static_cast<std::size_t>(bytes.getBytes())});
  if (!events) return wrong_pack(row, events.error().what);
  const auto& rows = events->rows();
  if (static_cast<std::int64_t>(rows.size()) != label->count || rows.back().number != label->last)
    return wrong_pack(row, "the bytes are those of another pack");
  return PackRow{std::move(*label), std::move(*events)};
}

void put_pack(SQLite::Database& journal, const PackLabel& label, const std::string& events) {
  const std::string jobs = label.jobs.str();
  SQLite::Statement put(
      journal, fmt::format("INSERT INTO event_packs({}) VALUES(?,?,?,?,?,?,?,?)", kPackColumns));
  put.bind(1, label.last);
  put.bind(2, label.count);
  put.bind(3, low_of(label));
  put.bind(4, high_of(label));
  put.bind(5, span_of(label));
  put.bind(6, jobs);
  put.bind(7, checksum_of(label, jobs));
  put.bindNoCopy(8, events.data(), static_cast<int>(events.size()));
  put.exec();
}

void change_jobs(SQLite::Database& journal, const PackLabel& label) {
  const std::string jobs = label.jobs.str();
  SQLite::Statement change(journal,
                           "UPDATE event_packs SET low = ?, high = ?, span = ?, jobs = ?, checksum "
                           "= ? WHERE last = ?");
  change.bind(1, low_of(label));
  change.bind(2, high_of(label));
  change.bind(3, span_of(label));
  change.bind(4, jobs);
  change.bind(5, checksum_of(label, jobs));
  change.bind(6, label.last);
  change.exec();
}

std::vector<std::int64_t> packs_between(const SQLite::Database& journal, std::int64_t first,
                                        std::int64_t last) {
  std::vector<std::int64_t> found;
  SQLite::Statement q(journal, kPacksBetween);
  q.bind(1, first);
  q.bind(2, last);
  while (q.executeStep()) found.push_back(q.getColumn(0).getInt64());
  return found;
}

}  // namespace holon::instance
