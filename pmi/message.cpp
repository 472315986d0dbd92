#include "pmi/message.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

namespace holon::pmi {
namespace {

constexpr std::size_t kLengthWidth = 6;
// The end of a spawn, which is many lines.
constexpr std::string_view kEndOfMany = "\nendcmd\n";

tl::unexpected<Error> no_message(std::string_view bytes) {
  constexpr std::size_t kShown = 40;
  std::string shown(bytes.substr(0, kShown));
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) > '~') c = '?';
  return fail(Errc::protocol, fmt::format("'{}' is no PMI message", shown));
}

void add_field(Message& message, std::string_view key, std::string value) {
  if (key == "cmd" || key == "mcmd")
    message.command = std::move(value);
  else
    message.fields.emplace_back(key, std::move(value));
}

// Takes a value up to a ';' that stands alone; two of them are one within the value.
std::string take_value(std::string_view body, std::size_t& at) {
  std::string value;
  for (; at < body.size(); ++at) {
    if (body[at] == ';') {
      if (at + 1 >= body.size() || body[at + 1] != ';') break;
      ++at;
    }
    value += body[at];
  }
  ++at;
  return value;
}

}  // namespace

std::string_view Message::at(std::string_view key) const {
  for (const auto& [name, value] : fields)
    if (name == key) return value;
  return {};
}

bool Message::has(std::string_view key) const {
  return std::any_of(fields.begin(), fields.end(),
                     [&](const auto& field) { return field.first == key; });
}

std::string write_line(const Message& message) {
  std::string line = "cmd=" + message.command;
  for (const auto& [key, value] : message.fields) line += " " + key + "=" + value;
  return line + "\n";
}

std::string write_frame(const Message& message) {
  std::string body = "cmd=" + message.command + ";";
  for (const auto& [key, value] : message.fields) {
    body += key + "=";
    for (const char c : value) body += c == ';' ? std::string(";;") : std::string(1, c);
    body += ";";
  }
  return fmt::format("{:>{}}", body.size(), kLengthWidth) + body;
}

Result<std::optional<Message>> take_line(std::string& buffer) {
  const bool many = buffer.starts_with("mcmd=");
  const std::string_view last = many ? kEndOfMany : "\n";
  const auto end = buffer.find(last);
  if (end == buffer.npos) {
    if (buffer.size() > kMaxMessage) return no_message(buffer);
    return std::nullopt;
  }
  std::string line = buffer.substr(0, end);
  buffer.erase(0, end + last.size());
  std::replace(line.begin(), line.end(), '\n', ' ');
  Message message;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t next = std::min(line.find(' ', at), line.size());
    const std::string_view word(line.data() + at, next - at);
    const auto equals = word.find('=');
    if (equals != word.npos)
      add_field(message, word.substr(0, equals), std::string(word.substr(equals + 1)));
    at = next + 1;
  }
  if (message.command.empty() || line.size() > kMaxMessage) return no_message(line);
  return message;
}

Result<std::optional<Message>> take_frame(std::string& buffer) {
  if (buffer.size() < kLengthWidth) return std::nullopt;
  std::string_view head(buffer.data(), kLengthWidth);
  head.remove_prefix(std::min(head.find_first_not_of(' '), head.size()));
  std::size_t length = 0;
  const auto [end, code] = std::from_chars(head.data(), head.data() + head.size(), length);
  const auto rest = head.substr(static_cast<std::size_t>(end - head.data()));
  if (code != std::errc{} || length > kMaxMessage || rest.find_first_not_of(' ') != rest.npos)
    return no_message(buffer);
  if (buffer.size() < kLengthWidth + length) return std::nullopt;
  const std::string body = buffer.substr(kLengthWidth, length);
  buffer.erase(0, kLengthWidth + length);
  Message message;
  for (std::size_t at = 0; at < body.size();) {
    const auto equals = body.find('=', at);
    if (equals == body.npos) break;
    const std::string key = body.substr(at, equals - at);
    at = equals + 1;
    add_field(message, key, take_value(body, at));
  }
  if (message.command.empty()) return no_message(body);
  return message;
}

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) > ' ' && c != ';' && c != '\x7f';
  });
}

}  // namespace holon::pmi
