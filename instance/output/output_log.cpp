#include "instance/output/output_log.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "base/descriptors/writing.hpp"

namespace holon::instance {
namespace {

namespace fs = std::filesystem;

constexpr Duration kCleanAgain = 60'000;
constexpr std::string_view kSegmentName = "log-", kPacked = ".gz";
constexpr const char* kWithAgents = "output.with-agents";  // in the journal

Status write_output_file(const std::string& path, const std::string& text) {
  if (text.empty()) return {};
  const transport::UniqueFd fd(
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fail(Errc::system, std::strerror(errno), path);
  return write_all(fd.get(), text);
}

struct SegmentFile {
  std::int64_t number = 0;
  bool is_packed = false, is_unfinished = false;
};

// nullopt: not the file of a segment.
std::optional<SegmentFile> segment_named(std::string_view name) {
  if (!name.starts_with(kSegmentName)) return std::nullopt;
  name.remove_prefix(kSegmentName.size());
  SegmentFile file;
  const auto [stop, bad] = std::from_chars(name.data(), name.data() + name.size(), file.number);
  if (bad != std::errc{}) return std::nullopt;
  const std::string_view end = name.substr(static_cast<std::size_t>(stop - name.data()));
  file.is_unfinished = end == unfinished_name(std::string(kPacked));
  file.is_packed = end == kPacked || file.is_unfinished;
  return end.empty() || file.is_packed ? std::optional(file) : std::nullopt;
}

std::vector<SegmentFile> segments_in(const std::string& folder) {
  std::vector<SegmentFile> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (const auto file = segment_named(entry->path().filename().string())) found.push_back(*file);
  return found;
}

Result<LoggedOutput> in_two(std::string bytes, const OutputPlace& place) {
  const auto end = static_cast<std::size_t>(place.output);
  return LoggedOutput{bytes.substr(0, end), bytes.substr(end)};
}

}  // namespace

std::string output_segment(const std::string& folder, std::int64_t segment) {
  return fmt::format("{}/{}{}", folder, kSegmentName, segment);
}

std::string packed_segment(const std::string& folder, std::int64_t segment) {
  return output_segment(folder, segment) + std::string(kPacked);
}

Result<LoggedOutput> read_logged(const std::string& folder, const OutputPlace& place) {
  const std::string file = output_segment(folder, place.segment);
  const transport::UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd && errno != ENOENT) return fail(Errc::system, std::strerror(errno), file);
  if (!fd) {
    auto bytes =
        read_packed(packed_segment(folder, place.segment), place.begin, place.output + place.error);
    if (!bytes) return tl::unexpected(bytes.error());
    return in_two(std::move(*bytes), place);
  }
  std::string bytes(static_cast<std::size_t>(place.output + place.error), '\0');
  const ssize_t n = pread(fd.get(), bytes.data(), bytes.size(), place.begin);
  if (n != static_cast<ssize_t>(bytes.size()))
    return fail(Errc::system, "the log of outputs is shorter than it was", file);
  return in_two(std::move(bytes), place);
}

OutputLog::OutputLog(Journal& journal, std::string folder, std::int64_t segment)
    : journal_(journal), folder_(std::move(folder)), full_(segment) {
  segment_ = last_segment();
  look_for_full();
  const auto kept = journal_.meta(kWithAgents);
  if (!kept || !*kept) return;
  std::istringstream text(**kept);
  for (std::uint64_t job = 0; text >> job;) with_agents_.insert(JobId(job));
}

void OutputLog::forget(JobId first, JobId stop) {
  const auto end = with_agents_.lower_bound(stop);
  for (auto at = with_agents_.lower_bound(first); at != end; is_kept_ = false)
    at = with_agents_.erase(at);
}

void OutputLog::keep() {
  constexpr std::size_t kMost = 10'000;
  if (std::exchange(is_kept_, true)) return;
  while (with_agents_.size() > kMost) with_agents_.erase(with_agents_.begin());
  std::string text;
  for (const JobId one : with_agents_) text += std::to_string(one.value()) + ' ';
  journal_.set_meta(kWithAgents, text);
}

// The segment to continue with; never a compressed one.
std::int64_t OutputLog::last_segment() const {
  std::int64_t last = 1;
  for (const SegmentFile& file : segments_in(folder_))
    last = std::max(last, file.number + (file.is_packed && !file.is_unfinished ? 1 : 0));
  return last;
}

// Continues behind what is there, even bytes of nobody. Makes a removed folder anew.
Status OutputLog::begin_segment() {
  struct stat info {};
  const bool is_there = fd_ && fstat(fd_.get(), &info) == 0 && info.st_nlink > 0;
  if (is_there && size_ < full_) return {};
  std::error_code ignored;
  fs::create_directories(folder_, ignored);
  segment_ = is_there ? segment_ + 1 : last_segment();
  auto opened = open_segment();
  for (; opened && size_ >= full_; opened = open_segment()) ++segment_;
  look_for_full();
  return opened;
}

Status OutputLog::open_segment() {
  const std::string file = output_segment(folder_, segment_);
  fd_.reset(open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  struct stat info {};
  if (!fd_ || fstat(fd_.get(), &info) != 0) return fail(Errc::system, std::strerror(errno), file);
  size_ = info.st_size;
  return {};
}

// Finds full segments: all but the one being written. Both files of a segment exist if a broker
// ended between the last two steps of compressing it: the compressed file is on disk as a whole,
// and the plain one may have lost its end in a power cut.
void OutputLog::look_for_full() {
  for (const SegmentFile& file : segments_in(folder_)) {
    if (packer_ && file.number == packing_) continue;
    const std::string packed = packed_segment(folder_, file.number);
    if (file.is_unfinished)
      unlink(unfinished_name(packed).c_str());
    else if (!file.is_packed && read_packed(packed, 0, 1))
      unlink(output_segment(folder_, file.number).c_str());
    else if (!file.is_packed && file.number < segment_)
      to_compress_.insert(file.number);
  }
}

bool OutputLog::turn() {
  if (!packer_) {
    if (to_compress_.empty()) return false;
    packing_ = *to_compress_.begin();
    to_compress_.erase(to_compress_.begin());
    auto begun =
        SegmentPacker::begin(output_segment(folder_, packing_), packed_segment(folder_, packing_));
    if (begun)
      packer_.emplace(std::move(*begun));
    else if (begun.error().code != Errc::not_found)
      spdlog::warn("a log of outputs stays uncompressed: {}", to_string(begun.error()));
    return packer_ || !to_compress_.empty();
  }
  const auto more = packer_->step();
  if (!more) spdlog::warn("a log of outputs stays uncompressed: {}", to_string(more.error()));
  if (!more || !*more) packer_.reset();
  return packer_ || !to_compress_.empty();
}

Status OutputLog::add(JobId job, const LoggedOutput& written) {
  const auto known = journal_.output_of(job);
  if (!known) return tl::unexpected(known.error());
  if (*known) return {};
  if (auto begun = begin_segment(); !begun) return begun;
  if (auto done = write_all(fd_.get(), written.output + written.error); !done) {
    fd_.reset();  // nobody knows how much of it was written
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
  for (const SegmentFile& file : segments_in(folder_)) {
    if (used->contains(file.number) || file.number == segment_) continue;
    to_compress_.erase(file.number);
    if (packer_ && file.number == packing_) packer_.reset();
    const std::string packed = packed_segment(folder_, file.number);
    unlink((file.is_unfinished ? unfinished_name(packed)
            : file.is_packed   ? packed
                               : output_segment(folder_, file.number))
               .c_str());
  }
}

}  // namespace holon::instance
