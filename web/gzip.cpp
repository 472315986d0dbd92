#include "web/gzip.hpp"

#include <zlib.h>

#include <array>

namespace holon::web {
namespace {

constexpr int kGzipHead = 16;  // added to zlib's window bits: gzip in place of zlib's own format
constexpr int kMemoryLevel = 8;

Bytef* zlib_bytes(std::string_view bytes) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
}

}  // namespace

std::string to_gzip(std::string_view bytes, int level) {
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, MAX_WBITS + kGzipHead, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    return {};
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = zlib_bytes(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = zlib_bytes(packed);
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string from_gzip(std::string_view bytes) {
  std::string text;
  z_stream stream{};
  if (inflateInit2(&stream, MAX_WBITS + kGzipHead) != Z_OK) return text;
  stream.next_in = zlib_bytes(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::array<char, 65'536> piece{};
  int state = Z_OK;
  while (state == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = piece.size();
    state = inflate(&stream, Z_NO_FLUSH);
    text.append(piece.data(), piece.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  return text;
}

}  // namespace holon::web
