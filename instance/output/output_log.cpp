#include "instance/output/output_log.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace holon::instance {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSegment = 64 << 20;  // bytes at which another one is begun
constexpr Duration kCleanAgain = 60'000;
constexpr std::string_view kSegmentName = "log-";

Status append_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail(Errc::system, std::strerror(n < 0 ? errno : ENOSPC));
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Status write_output_file(const std::string& path, const std::string& text) {
  if (text.empty()) return {};
  const transport::UniqueFd fd(
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fail(Errc::system, std::strerror(errno), path);
  return append_all(fd.get(), text);
}

std::vector<std::int64_t> segments_in(const std::string& folder) {
  std::vector<std::int64_t> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kSegmentName)) continue;
    std::int64_t number = 0;
    const char* const last = name.data() + name.size();
    const auto [stop, bad] = std::from_chars(name.data() + kSegmentName.size(), last, number);
    if (bad == std::errc{} && stop == last) found.push_back(number);
  }
  return found;
}

}  // namespace

std::string output_segment(const std::string& folder, std::int64_t segment) {
  return fmt::format("{}/{}{}", folder, kSegmentName, segment);
}

Result<LoggedOutput> read_logged(const std::string& folder, const OutputPlace& place) {
  const std::string file = output_segment(folder, place.segment);
  const transport::UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return fail(Errc::not_found, "the output is not there any more", file);
  std::string bytes(static_cast<std::size_t>(place.output + place.error), '\0');
  const ssize_t n = pread(fd.get(), bytes.data(), bytes.size(), place.begin);
  if (n != static_cast<ssize_t>(bytes.size()))
    return fail(Errc::system, "the log of outputs is shorter than it was", file);
  const auto end = static_cast<std::size_t>(place.output);
  return LoggedOutput{bytes.substr(0, end), bytes.substr(end)};
}

std::int64_t OutputLog::last_segment() const {
  const auto all = segments_in(folder_);
  return all.empty() ? 0 : *std::max_element(all.begin(), all.end());
}

// Behind what is there, of which some may be nobody's. A folder that was removed is made anew.
Status OutputLog::begin_segment() {
  struct stat info {};
  const bool is_there = fd_ && fstat(fd_.get(), &info) == 0 && info.st_nlink > 0;
  if (is_there && size_ < kSegment) return {};
  segment_ = is_there ? segment_ + 1 : std::max<std::int64_t>(last_segment(), 1);
  std::error_code ignored;
  fs::create_directories(folder_, ignored);
  const std::string file = output_segment(folder_, segment_);
  fd_.reset(open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd_ || fstat(fd_.get(), &info) != 0) return fail(Errc::system, std::strerror(errno), file);
  size_ = info.st_size;
  return size_ < kSegment ? Status() : begin_segment();
}

Status OutputLog::add(JobId job, const LoggedOutput& written) {
  const auto known = journal_.output_of(job);
  if (!known) return tl::unexpected(known.error());
  if (*known) return {};
  if (auto begun = begin_segment(); !begun) return begun;
  if (auto done = append_all(fd_.get(), written.output + written.error); !done) {
    fd_.reset();  // how much of it is there is not known
    return done;
  }
  const auto output = static_cast<std::int64_t>(written.output.size());
  const auto error = static_cast<std::int64_t>(written.error.size());
  journal_.add_output({job, segment_, size_, output, error});
  size_ += output + error;
  return {};
}

Status OutputLog::add_to_files(JobId job, const LoggedOutput& written) const {
  const std::string base = fmt::format("{}/{}", folder_, job.value());
  Status done = write_output_file(base + ".out", written.output);
  if (done) done = write_output_file(base + ".err", written.error);
  if (!done)
    for (const char* const end : {".out", ".err"}) unlink((base + end).c_str());
  return done;
}

bool OutputLog::has_files(JobId job) const {
  const std::string base = fmt::format("{}/{}", folder_, job.value());
  return fs::exists(base + ".out") || fs::exists(base + ".err");
}

Result<std::optional<LoggedOutput>> OutputLog::read(JobId job) const {
  using Found = std::optional<LoggedOutput>;
  const auto place = journal_.output_of(job);
  if (!place) return tl::unexpected(place.error());
  if (!*place) return Found();
  auto logged = read_logged(folder_, **place);
  if (!logged) return tl::unexpected(logged.error());
  return Found(std::move(*logged));
}

void OutputLog::clean(Time now) {
  if (cleaned_ != 0 && now - cleaned_ < kCleanAgain) return;
  cleaned_ = now;
  const auto used = journal_.output_segments();
  if (!used) return;
  for (const std::int64_t segment : segments_in(folder_))
    if (!used->contains(segment) && segment != segment_)
      unlink(output_segment(folder_, segment).c_str());
}

}  // namespace holon::instance
