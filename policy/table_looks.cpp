// Reads a binary chunk (ldump.c of Lua 5.4): a header, then functions in functions, each with its
// instructions, and how much further each is in the text than the one before it.
#include "policy/table_looks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <lua.hpp>
#include <utility>

namespace holon::policy {
namespace {

static_assert(LUA_VERSION_NUM == 504, "the numbers of instructions are those of Lua 5.4");

// Instructions (lopcodes.h).
constexpr unsigned kGetTable = 12, kGetI = 13, kSetTable = 16, kSetI = 17, kLen = 52;
constexpr unsigned kOpcodeMask = 0x7f;

std::int64_t looks_of(unsigned opcode) {
  switch (opcode) {
    case kGetTable:
    case kGetI:
    case kSetTable:
    case kSetI:
      return 1;
    case kLen:
      return kLooksForLength;
    default:
      return 0;
  }
}

class ChunkReader {
 public:
  explicit ChunkReader(std::string_view bytes) : bytes_(bytes) {}

  std::vector<std::int64_t> looks() {
    // Bytes of the header: signature, version, format, data; three sizes; two numbers; upvalues.
    constexpr std::size_t kHeader = 4 + 1 + 1 + 6 + 3 + 8 + 8 + 1;
    skip(kHeader);
    function();
    return std::move(looks_);
  }

 private:
  std::uint8_t byte() {
    if (bytes_.empty()) return 0;
    const auto first = static_cast<std::uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return first;
  }
  std::string_view skip(std::size_t n) {
    const std::string_view skipped = bytes_.substr(0, n);
    bytes_.remove_prefix(skipped.size());
    return skipped;
  }
  // Reads a number: seven bits a byte, the highest first; the last byte is marked.
  std::size_t number() {
    std::size_t value = 0;
    while (!bytes_.empty()) {
      const std::uint8_t next = byte();
      value = value << 7U | (next & 0x7fU);
      if ((next & 0x80U) != 0) break;
    }
    return value;
  }
  // Reads a count, bounded by the number of bytes.
  std::size_t count() { return std::min(number(), bytes_.size()); }
  void text() {
    if (const std::size_t size = number(); size > 0) skip(size - 1);
  }

  void function() {
    text();  // the name of the source
    const auto begin = static_cast<std::int64_t>(number());
    number();
    skip(3);
    const std::string_view code = skip(count() * sizeof(std::uint32_t));
    constants();
    skip(count() * 3);  // upvalues
    for (std::size_t n = count(); n > 0; --n) function();
    lines(begin, code);
    for (std::size_t n = count(); n > 0; --n) {
      text();
      number();
      number();
    }
    for (std::size_t n = count(); n > 0; --n) text();
  }

  void constants() {
    constexpr std::uint8_t kWhole = 3, kReal = 19, kShort = 4, kLong = 20;
    for (std::size_t n = count(); n > 0; --n) {
      const std::uint8_t kind = byte();
      if (kind == kWhole || kind == kReal) skip(8);
      if (kind == kShort || kind == kLong) text();
    }
  }

  // Reads lines; one too far from the one before stands in a list of its own.
  void lines(std::int64_t line, std::string_view code) {
    constexpr auto kElsewhere = static_cast<signed char>(-0x80);
    const std::string_view steps = skip(count());
    std::vector<std::int64_t> elsewhere;
    for (std::size_t n = count(); n > 0; --n) {
      number();
      elsewhere.push_back(static_cast<std::int64_t>(number()));
    }
    auto next = elsewhere.begin();
    for (std::size_t i = 0; i < steps.size() && 4 * i + 3 < code.size(); ++i) {
      const auto step = static_cast<signed char>(steps[i]);
      if (step != kElsewhere)
        line += step;
      else if (next != elsewhere.end())
        line = *next++;
      std::uint32_t instruction = 0;
      std::memcpy(&instruction, &code[4 * i], sizeof instruction);
      note(line, looks_of(instruction & kOpcodeMask));
    }
  }

  void note(std::int64_t line, std::int64_t looks) {
    if (looks == 0 || line < 1) return;
    const auto at = static_cast<std::size_t>(line) - 1;
    if (looks_.size() <= at) looks_.resize(at + 1);
    looks_[at] += looks;
  }

  std::string_view bytes_;
  std::vector<std::int64_t> looks_;
};

}  // namespace

std::vector<std::int64_t> table_looks(std::string_view dumped) {
  return ChunkReader(dumped).looks();
}

}  // namespace holon::policy
