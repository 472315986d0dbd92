#include "starter/request.hpp"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>

namespace holon::starter {
namespace {

constexpr std::uint32_t kOpenFlags =
    O_WRONLY | O_CREAT | O_APPEND | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

class Writer {
 public:
  void number(std::uint64_t value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(std::string_view value) {
    number(value.size());
    bytes_.append(value);
  }
  void texts(const std::vector<std::string>& values) {
    number(values.size());
    for (const auto& value : values) text(value);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads fields; after the first mistake all of them are empty.
class RequestReader {
 public:
  explicit RequestReader(std::string_view bytes) : left_(bytes) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    if (left_.size() < sizeof value) return wrong();
    std::memcpy(&value, left_.data(), sizeof value);
    left_.remove_prefix(sizeof value);
    return value;
  }
  std::string text() {
    const std::uint64_t size = number();
    if (size > left_.size()) return wrong(), std::string();
    std::string value(left_.substr(0, size));
    left_.remove_prefix(size);
    return value;
  }
  std::vector<std::string> texts() {
    const std::uint64_t count = number();
    std::vector<std::string> values;
    if (count > kMostWords) return wrong(), values;
    while (is_good_ && values.size() < count) values.push_back(text());
    return values;
  }
  std::vector<std::uint64_t> numbers(std::uint64_t most) {
    const std::uint64_t count = number();
    std::vector<std::uint64_t> values;
    if (count > most) return wrong(), values;
    while (is_good_ && values.size() < count) values.push_back(number());
    return values;
  }
  std::vector<Limit> limits() {
    const std::uint64_t count = number();
    std::vector<Limit> values;
    if (count > kMostLimits) return wrong(), values;
    while (is_good_ && values.size() < count) {
      const std::uint64_t resource = number();
      if (resource >= RLIM_NLIMITS) return wrong(), values;
      values.push_back({static_cast<std::uint32_t>(resource), number()});
    }
    return values;
  }
  bool is_good() const { return is_good_; }
  bool is_at_end() const { return is_good_ && left_.empty(); }

 private:
  std::uint64_t wrong() {
    is_good_ = false;
    left_ = {};
    return 0;
  }

  std::string_view left_;
  bool is_good_ = true;
};

bool has_zero(const std::string& text) {
  return text.find('\0') != std::string::npos;
}

bool any_has_zero(const std::vector<std::string>& texts) {
  return std::any_of(texts.begin(), texts.end(), has_zero);
}

}  // namespace

std::string encode(const Request& request) {
  Writer out;
  out.text(request.user);
  out.texts(request.argv);
  out.texts(request.env);
  out.text(request.cwd);
  out.number(request.cpus.size());
  for (const auto word : request.cpus) out.number(word);
  out.number(request.descriptors);
  out.number(request.limits.size());
  for (const Limit& limit : request.limits) {
    out.number(limit.resource);
    out.number(limit.value);
  }
  out.text(request.path);
  out.number(request.flags);
  out.number(request.file_mask);
  out.text(request.lineage);
  return out.take();
}

Result<Request> decode(std::string_view bytes) {
  if (bytes.size() > kMostBytes)
    return fail(Errc::invalid_argument, "the request has more than 8 MiB");
  RequestReader in(bytes);
  Request request;
  request.user = in.text();
  request.argv = in.texts();
  request.env = in.texts();
  request.cwd = in.text();
  request.cpus = in.numbers(kMostCpus / 64);
  request.descriptors = in.number();
  request.limits = in.limits();
  request.path = in.text();
  const std::uint64_t flags = in.number();
  const std::uint64_t mask = in.number();
  request.lineage = in.text();
  constexpr std::uint64_t kMostMask = 0777;
  if (!in.is_at_end() || flags > UINT32_MAX || (mask > kMostMask && mask != kUsualMask))
    return fail(Errc::invalid_argument, "the request cannot be read");
  request.flags = static_cast<std::uint32_t>(flags);
  request.file_mask = static_cast<std::uint32_t>(mask);
  return request;
}

Status check_run(const Request& request) {
  if (request.argv.empty() || request.argv.front().empty())
    return fail(Errc::invalid_argument, "there is no command to run");
  if (any_has_zero(request.argv) || any_has_zero(request.env) || has_zero(request.cwd))
    return fail(Errc::invalid_argument, "a word of the command or its environment has a zero byte");
  if (!request.cwd.empty() && request.cwd.front() != '/')
    return fail(Errc::invalid_argument, "the working directory is no absolute path");
  if (!request.path.empty()) return fail(Errc::invalid_argument, "a command and a file at once");
  return {};
}

Status check_open(const Request& request) {
  if (request.path.empty() || request.path.front() != '/' || has_zero(request.path))
    return fail(Errc::invalid_argument, "the file's name is no absolute path");
  if ((request.flags & ~kOpenFlags) != 0)
    return fail(Errc::invalid_argument,
                "the file is to be opened with flags that are not accepted");
  if (!request.argv.empty()) return fail(Errc::invalid_argument, "a command and a file at once");
  return {};
}

Status check_sweep(const Request& request) {
  constexpr std::size_t kShortestMark = 32;
  if (request.lineage.find('/') < kShortestMark || !request.lineage.ends_with('/') ||
      request.lineage.find_first_of(std::string_view(" \0", 2)) != std::string::npos)
    return fail(Errc::invalid_argument, "the lineage is none of an instance's jobs");
  if ((!request.path.empty() && request.path.front() != '/') || has_zero(request.path))
    return fail(Errc::invalid_argument, "the folder of the outputs is no absolute path");
  if ((request.flags & ~kSpareStarted) != 0 || !request.argv.empty())
    return fail(Errc::invalid_argument, "more is asked for than a look");
  return {};
}

}  // namespace holon::starter
