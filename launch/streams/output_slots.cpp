// The table has a row of fixed length for each slot: the job that has it, or 0. A row is written
// before the job's tasks begin, into the page cache: it survives whatever process is killed.
#include "launch/streams/output_slots.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

namespace holon::launch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRow = 24;  // bytes: a number in decimal, blanks, a line's end
constexpr const char* kTable = ".table";

std::uint64_t size_of_slot(const transport::UniqueFd& fd) {
  struct stat info {};
  return fd && fstat(fd.get(), &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

bool has_name(const transport::UniqueFd& fd) {
  struct stat info {};
  return fd && fstat(fd.get(), &info) == 0 && info.st_nlink > 0;
}

std::string read_slot(const transport::UniqueFd& fd, std::uint64_t size) {
  std::string text(size, '\0');
  const ssize_t n = size == 0 ? 0 : pread(fd.get(), text.data(), text.size(), 0);
  text.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  return text;
}

transport::UniqueFd make_file(const std::string& path) {
  return transport::UniqueFd(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
}

// All tasks share one open file: a lock that one of them takes survives its end.
void unlock(const transport::UniqueFd& fd) {
  struct flock whole {};
  whole.l_type = F_UNLCK;
  whole.l_whence = SEEK_SET;
  fcntl(fd.get(), F_OFD_SETLK, &whole);
  flock(fd.get(), LOCK_UN);
}

// Makes the file as new. Tasks' writes through the shared descriptor have moved its offset.
bool renew(const SlotFile& file, bool is_empty) {
  unlock(file.appending);
  if (lseek(file.appending.get(), 0, SEEK_SET) != 0) return false;
  return is_empty || ftruncate(file.reading.get(), 0) == 0;
}

std::string file_of_slot(const std::string& folder, const std::string& name, std::size_t number,
                         const char* end) {
  return fmt::format("{}/{}-{}{}", folder, name, number, end);
}

bool is_empty_file(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && info.st_size == 0;
}

// Appends `from` to `to`, which may have output of the job's first attempt. False: `from` stays.
bool move_behind(const std::string& from, const std::string& to) {
  struct stat info {};
  if (stat(to.c_str(), &info) != 0 || info.st_size == 0) {
    return std::rename(from.c_str(), to.c_str()) == 0;
  }
  const transport::UniqueFd in(open(from.c_str(), O_RDONLY | O_CLOEXEC));
  const transport::UniqueFd out(open(to.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  std::array<char, 65536> piece;
  for (ssize_t n = 0; in && out && (n = read(in.get(), piece.data(), piece.size())) > 0;)
    if (write(out.get(), piece.data(), static_cast<std::size_t>(n)) != n) {
      // Not half of it: the next try starts from the beginning.
      static_cast<void>(ftruncate(out.get(), info.st_size) == 0);
      return false;
    }
  return in && out && unlink(from.c_str()) == 0;
}

void rescue_table(const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + name + kTable;
  const transport::UniqueFd table(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  const std::string rows = read_slot(table, size_of_slot(table));
  bool has_moved_all = true;
  for (std::size_t number = 0; number * kRow < rows.size(); ++number) {
    const auto job = std::strtoull(rows.substr(number * kRow, kRow).c_str(), nullptr, 10);
    for (const char* const end : {".out", ".err"}) {
      const std::string file = file_of_slot(folder, name, number, end);
      if (job == 0 || is_empty_file(file))
        unlink(file.c_str());
      else if (fs::exists(file))
        has_moved_all =
            move_behind(file, fmt::format("{}/{}{}", folder, job, end)) && has_moved_all;
    }
  }
  if (has_moved_all) unlink(path.c_str());  // otherwise the next agent tries again
}

}  // namespace

bool SlotFile::make() {
  reading = make_file(path);
  appending.reset(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  return reading && appending;
}

// Removes the files first: opened by name they would be the files that others still write to.
bool SlotFiles::renew_for(const std::string& whose) {
  for (SlotFile* const file : {&output, &error}) {
    if (unlink(file->path.c_str()) != 0 && errno != ENOENT) return false;
    if (!file->make()) return false;
  }
  user = whose;
  return true;
}

std::string slots_of(std::uint32_t rank, std::uint64_t incarnation) {
  return fmt::format("slots-{}-{:x}", rank, incarnation);
}

void rescue_slots(const std::string& folder, std::uint32_t rank, const std::string& spare) {
  const std::string begin = fmt::format("slots-{}-", rank), end = kTable;
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), last; !error && entry != last;
       entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (!name.starts_with(begin) || !name.ends_with(end)) continue;
    name.erase(name.size() - end.size());
    if (name != spare) names.push_back(std::move(name));
  }
  for (const auto& name : names) rescue_table(folder, name);
}

OutputSlots::~OutputSlots() {
  for (const SlotFiles& files : free_)
    for (const SlotFile* const file : {&files.output, &files.error}) unlink(file->path.c_str());
  // The table is needed while a job has a slot.
  if (table_ && free_.size() == made_) unlink((folder_ + "/" + name_ + kTable).c_str());
}

// Begins a table; the folder may have been removed, with the table in it.
bool OutputSlots::use(const std::string& folder) {
  if (folder_ == folder && has_name(table_)) return true;
  if (!folder_.empty() && folder_ != folder) return false;
  folder_ = folder;
  free_.clear();
  table_ = make_file(folder_ + "/" + name_ + kTable);
  return static_cast<bool>(table_);
}

std::unique_ptr<OutputSlot> OutputSlots::take(const msg::Start& start) {
  if (!use(start.output.substr(0, start.output.rfind('/')))) return nullptr;  // it is absolute
  auto files = take_free(start.user);
  if (!files) {
    auto made = make(start.user);
    if (!made) return nullptr;
    files = std::move(*made);
  }
  if (!note(*files, &start)) return nullptr;
  return std::make_unique<OutputSlot>(shared_from_this(), std::move(*files), start);
}

// The last slot used by this user's jobs, or the last one of all, with new files. Slots whose files
// were removed are dropped.
std::optional<SlotFiles> OutputSlots::take_free(const std::string& user) {
  while (!free_.empty()) {
    const auto own = std::find_if(free_.rbegin(), free_.rend(),
                                  [&](const SlotFiles& files) { return files.user == user; });
    const auto at = own == free_.rend() ? free_.end() - 1 : own.base() - 1;
    SlotFiles files = std::move(*at);
    free_.erase(at);
    if (!has_name(files.output.reading) || !has_name(files.error.reading)) continue;
    if (files.user == user || files.renew_for(user)) return files;
  }
  return std::nullopt;
}

Result<SlotFiles> OutputSlots::make(const std::string& user) {
  SlotFiles files;
  files.number = made_;
  files.user = user;
  files.output.path = file_of_slot(folder_, name_, files.number, ".out");
  files.error.path = file_of_slot(folder_, name_, files.number, ".err");
  if (!files.output.make() || !files.error.make()) return fail(Errc::system, std::strerror(errno));
  ++made_;
  return files;
}

bool OutputSlots::note(const SlotFiles& files, const msg::Start* start) const {
  std::array<char, kRow> row;
  row.fill(' ');
  std::to_chars(row.data(), row.data() + kRow, start == nullptr ? 0 : start->job);
  row.back() = '\n';
  return pwrite(table_.get(), row.data(), row.size(), static_cast<off_t>(files.number * kRow)) ==
         static_cast<ssize_t>(row.size());
}

void OutputSlots::give_back(SlotFiles files) {
  free_.push_back(std::move(files));
}

void OutputSlot::release() {
  if (!renew(files_.output, is_empty_) || !renew(files_.error, is_empty_)) return;
  all_->give_back(std::move(files_));
}

void OutputSlot::become_files() {
  const auto become = [](SlotFile& from, const std::string& to) {
    if (size_of_slot(from.reading) == 0) return true;
    return move_behind(from.path, to) && from.make();
  };
  const bool out = become(files_.output, output_of_job_);
  const bool err = become(files_.error, error_of_job_);
  if (out && err) release();
}

OutputSlot::Written OutputSlot::end(const msg::Start& start, bool asked) {
  const std::uint64_t out = size_of_slot(files_.output.reading),
                      err = size_of_slot(files_.error.reading);
  is_empty_ = out + err == 0;
  if (is_empty_) return {};
  if (!asked && out + err <= kLittle)
    return {read_slot(files_.output.reading, out), read_slot(files_.error.reading, err)};
  const auto become = [](SlotFile& from, const std::string& to, std::uint64_t size) {
    if (size > 0 && std::rename(from.path.c_str(), to.c_str()) == 0) from.make();
  };
  become(files_.output, start.output, out);
  become(files_.error, start.error, err);
  return {};
}

}  // namespace holon::launch
