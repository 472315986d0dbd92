// A difference is the byte kDifference and, for each member that differs, its place among the
// members and its value. Numbers are written seven bits a byte, the low ones first; those that may
// be negative have their sign in the lowest bit; a time is the time since the one before it; a path
// that ends with the job's number is written without it.
#include "instance/journal/records/ended_record.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <utility>
#include <vector>

#include "msg/instance.hpp"
#include "transport/codec/codec.hpp"
#include "transport/codec/varint.hpp"

namespace holon::instance {
namespace {

using msg::JobRecord;

constexpr char kDifference = 1;  // no msgpack map begins with this byte

// The first letter of a path as it is compared: whether the path's last component began with the
// job's number.
constexpr char kNumbered = 'n', kAsItIs = '-';

// ---- members as they are compared ----

std::initializer_list<std::int64_t JobRecord::*> record_times() {
  static constexpr std::initializer_list<std::int64_t JobRecord::*> kAll = {
      &JobRecord::t_submit, &JobRecord::t_alloc, &JobRecord::t_start, &JobRecord::t_finish,
      &JobRecord::t_inactive};
  return kAll;
}

// 0 stays 0: the event has not happened.
void make_times_relative(JobRecord& record) {
  std::uint64_t before = 0;
  for (const auto member : record_times()) {
    std::int64_t& t = record.*member;
    if (t == 0) continue;
    const std::uint64_t passed = static_cast<std::uint64_t>(t) - before;
    before = static_cast<std::uint64_t>(t);
    const auto signed_passed = static_cast<std::int64_t>(passed);
    t = signed_passed >= 0 ? static_cast<std::int64_t>(passed + 1) : signed_passed;
  }
}

void make_times_absolute(JobRecord& record) {
  std::uint64_t before = 0;
  for (const auto member : record_times()) {
    std::int64_t& t = record.*member;
    if (t == 0) continue;
    before += static_cast<std::uint64_t>(t) - (t > 0 ? 1 : 0);
    t = static_cast<std::int64_t>(before);
  }
}

std::initializer_list<std::string JobRecord::*> record_paths() {
  static constexpr std::initializer_list<std::string JobRecord::*> kAll = {
      &JobRecord::path, &JobRecord::output, &JobRecord::error};
  return kAll;
}

void take_number_out(std::string& path, const std::string& number) {
  const std::size_t name = path.rfind('/') + 1;  // 0 where it has no slash
  const bool is_numbered = path.compare(name, number.size(), number) == 0;
  if (is_numbered) path.erase(name, number.size());
  path.insert(path.begin(), is_numbered ? kNumbered : kAsItIs);
}

// Errors: protocol.
Status put_number_in(std::string& path, const std::string& number) {
  if (path.empty()) return fail(Errc::protocol, "a path has no first letter");
  const bool is_numbered = path.front() == kNumbered;
  path.erase(path.begin());
  if (is_numbered) path.insert(path.rfind('/') + 1, number);
  return {};
}

JobRecord as_compared(JobRecord record) {
  make_times_relative(record);
  const std::string number = std::to_string(record.id);
  for (const auto member : record_paths()) take_number_out(record.*member, number);
  return record;
}

Result<JobRecord> as_recorded(JobRecord record) {
  make_times_absolute(record);
  const std::string number = std::to_string(record.id);
  for (const auto member : record_paths())
    if (auto good = put_number_in(record.*member, number); !good)
      return tl::unexpected(good.error());
  return record;
}

// ---- values ----

class DifferenceWriter {
 public:
  void number(std::uint64_t n) { append_varint(bytes_, n); }
  template <std::integral T>
  void value(T n, T) {
    if constexpr (std::unsigned_integral<T>) {
      number(n);
    } else {
      const std::int64_t wide = n;
      number((static_cast<std::uint64_t>(wide) << 1) ^ static_cast<std::uint64_t>(wide >> 63));
    }
  }
  void value(const std::string& text, const std::string& base) {
    const std::size_t shorter = std::min(text.size(), base.size());
    std::size_t begin = 0, end = 0;
    while (begin < shorter && text[begin] == base[begin]) ++begin;
    while (end < shorter - begin && text[text.size() - 1 - end] == base[base.size() - 1 - end])
      ++end;
    number(begin);
    number(end);
    number(text.size() - begin - end);
    bytes_.append(text, begin, text.size() - begin - end);
  }
  void value(const std::vector<std::int64_t>& all, const std::vector<std::int64_t>&) {
    number(all.size());
    for (const std::int64_t one : all) value(one, std::int64_t{0});
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_{kDifference};
};

class DifferenceReader {
 public:
  explicit DifferenceReader(std::string_view bytes) : left_(bytes) {}
  bool more() const { return good_ && !left_.empty(); }
  bool good() const { return good_; }
  std::uint64_t number() {
    const auto n = take_varint(left_);
    good_ = good_ && n;
    return n.value_or(0);
  }
  template <std::integral T>
  void value(T& to) {
    const std::uint64_t n = number();
    if constexpr (std::unsigned_integral<T>) {
      good_ = good_ && n <= std::numeric_limits<T>::max();
      to = static_cast<T>(n);
    } else {
      const auto wide = static_cast<std::int64_t>((n >> 1) ^ (~(n & 1) + 1));
      good_ = good_ && std::in_range<T>(wide);
      to = static_cast<T>(wide);
    }
  }
  // `to` has the value it was compared with before.
  void value(std::string& to) {
    const std::uint64_t begin = number(), end = number(), size = number();
    good_ = good_ && begin <= to.size() && end <= to.size() - begin && size <= left_.size();
    if (!good_) return;
    to.replace(begin, to.size() - begin - end, left_.substr(0, size));
    left_.remove_prefix(size);
  }
  void value(std::vector<std::int64_t>& to) {
    const std::uint64_t count = number();
    good_ = good_ && count <= left_.size();  // each takes a byte
    to.assign(good_ ? count : 0, 0);
    for (std::int64_t& one : to) value(one);
  }

 private:
  std::string_view left_;
  bool good_ = true;
};

std::string_view bytes_in(const SQLite::Column& column) {
  return {static_cast<const char*>(column.getBlob()), std::size_t(column.getBytes())};
}

}  // namespace

std::string pack_difference(const JobRecord& record, const JobRecord& base) {
  const JobRecord ours = as_compared(record), other = as_compared(base);
  DifferenceWriter out;
  ours.with_fields([&](const auto&... own) {
    other.with_fields([&](const auto&... its) {
      std::uint64_t place = 0;
      const auto compare = [&](const auto& mine, const auto& theirs) {
        if (!(mine == theirs)) {
          out.number(place);
          out.value(mine, theirs);
        }
        ++place;
      };
      (compare(own, its), ...);
    });
  });
  return out.take();
}

bool is_difference(std::string_view bytes) {
  return !bytes.empty() && bytes.front() == kDifference;
}

Result<JobRecord> unpack_difference(std::string_view bytes, const JobRecord& base) {
  bool good = is_difference(bytes);
  if (good) bytes.remove_prefix(1);
  JobRecord record = as_compared(base);
  DifferenceReader in(bytes);
  std::uint64_t next = 0;  // places ascend
  while (good && in.more()) {
    const std::uint64_t wanted = in.number();
    bool is_found = false;
    record.with_fields([&](auto&... members) {
      std::uint64_t place = 0;
      const auto look = [&](auto& member) {
        if (place++ != wanted) return;
        in.value(member);
        is_found = true;
      };
      (look(members), ...);
    });
    good = is_found && wanted >= next && in.good();
    next = wanted + 1;
  }
  if (!good) return fail(Errc::protocol, "how it differs from another record makes no sense");
  return as_recorded(std::move(record));
}

RecordReader::RecordReader(const SQLite::Database& db) : db_(db) {}
RecordReader::~RecordReader() = default;

Result<JobRecord> RecordReader::read(const SQLite::Column& column, JobId id) {
  const std::string_view bytes = bytes_in(column);
  if (!is_difference(bytes)) return transport::unpack<JobRecord>(bytes);
  if (id < first_ || last_ < id) {
    if (auto found = find_base(id); !found) return tl::unexpected(found.error());
  }
  return unpack_difference(bytes, *base_);
}

Status RecordReader::find_base(JobId id) {
  SQLite::Statement q(db_,
                      "SELECT first, id, record FROM record_bases WHERE id >= ? ORDER BY id LIMIT "
                      "1");
  q.bind(1, static_cast<std::int64_t>(id.value()));
  const auto number_at = [&q](int column) {
    return JobId(static_cast<std::uint64_t>(q.getColumn(column).getInt64()));
  };
  if (!q.executeStep() || id < number_at(0))
    return fail(Errc::protocol, "the record that it was compared with is gone");
  auto base = transport::unpack<JobRecord>(bytes_in(q.getColumn(2)));
  if (!base) return tl::unexpected(base.error());
  base_ = std::make_unique<JobRecord>(std::move(*base));
  first_ = number_at(0);
  last_ = number_at(1);
  return {};
}

}  // namespace holon::instance
