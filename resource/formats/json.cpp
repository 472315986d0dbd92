#include "resource/formats/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/text/text_place.hpp"

namespace holon::resource {
namespace {

// The place and reason for which a document is not worth parsing.
struct Flaw {
  std::size_t at = 0;
  std::string what;
};

// Finds too many open brackets, or a string longer than memory should be spent on. Brackets in
// strings do not count. O(bytes).
std::optional<Flaw> flaw_of(std::string_view bytes) {
  int depth = 0;
  bool quoted = false;
  std::size_t opened = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
      if (i - opened > kMaxJsonString)
        return Flaw{opened, fmt::format("a string of more than {} bytes", kMaxJsonString)};
    } else if (c == '"') {
      quoted = true;
      opened = i;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxJsonDepth)
        return Flaw{i, fmt::format("nested more than {} deep", kMaxJsonDepth)};
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return std::nullopt;
}

std::string_view kind_of(const Json& value) {
  return value.is_number_float() ? "a fraction" : value.type_name();
}

std::string escaped_key(std::string_view key) {
  std::string text;
  for (const char c : key) {
    if (c == '~')
      text += "~0";
    else if (c == '/')
      text += "~1";
    else
      text += c;
  }
  return text;
}

}  // namespace

Result<Json> parse_json(std::string_view bytes) {
  if (auto flaw = flaw_of(bytes))
    return fail(Errc::invalid_argument, std::move(flaw->what), text_of(place_in(bytes, flaw->at)));
  try {
    return Json::parse(bytes);
  } catch (const Json::parse_error& error) {
    return fail(Errc::invalid_argument, words_of_json_error(error.what()),
                text_of(place_in(bytes, place_of_json_error(error.byte))));
  } catch (const Json::exception& error) {  // a number beyond every type
    return fail(Errc::invalid_argument, words_of_json_error(error.what()), text_of(TextPlace()));
  }
}

bool JsonAt::has(std::string_view key) const {
  return value_->is_object() && value_->find(key) != value_->end();
}

Result<JsonAt> JsonAt::member(std::string_view key) const {
  if (auto ok = expect_object(); !ok) return tl::unexpected(ok.error());
  const auto it = value_->find(key);
  if (it == value_->end()) return error(fmt::format("the key '{}' is missing", key));
  return JsonAt(*it, pointer_ + "/" + escaped_key(key));
}

JsonAt JsonAt::element(std::size_t i) const {
  return JsonAt((*value_)[i], fmt::format("{}/{}", pointer_, i));
}

Status JsonAt::expect_object() const {
  if (!value_->is_object())
    return error(fmt::format("an object is expected, not {}", kind_of(*value_)));
  return {};
}

Status JsonAt::expect_array() const {
  if (!value_->is_array())
    return error(fmt::format("an array is expected, not {}", kind_of(*value_)));
  return {};
}

Result<std::string> JsonAt::string() const {
  if (!value_->is_string())
    return error(fmt::format("a string is expected, not {}", kind_of(*value_)));
  return value_->get<std::string>();
}

Result<std::int64_t> JsonAt::integer(std::int64_t min, std::int64_t max) const {
  const bool fits = value_->is_number_integer() &&
                    (!value_->is_number_unsigned() || value_->get<std::uint64_t>() <= INT64_MAX);
  if (!fits || value_->get<std::int64_t>() < min || value_->get<std::int64_t>() > max) {
    return error(fmt::format("a whole number from {} to {} is expected, not {}", min, max,
                             value_->is_number() ? value_->dump() : kind_of(*value_)));
  }
  return value_->get<std::int64_t>();
}

Result<double> JsonAt::number() const {
  if (!value_->is_number() || !std::isfinite(value_->get<double>())) {
    return error(fmt::format("a number is expected, not {}", kind_of(*value_)));
  }
  return value_->get<double>();
}

Result<bool> JsonAt::boolean() const {
  if (!value_->is_boolean()) {
    return error(fmt::format("true or false is expected, not {}", kind_of(*value_)));
  }
  return value_->get<bool>();
}

tl::unexpected<Error> JsonAt::error(std::string what) const {
  return fail(Errc::invalid_argument, std::move(what), pointer_.empty() ? "/" : pointer_);
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

}  // namespace holon::resource
