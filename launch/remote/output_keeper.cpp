#include "launch/remote/output_keeper.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "base/whole_file.hpp"
#include "launch/remote/output_note.hpp"
#include "transport/codec/codec.hpp"

namespace holon::launch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFilesAtOnce = 4;
constexpr Duration kPutOffFor = 30'000;
constexpr const char* kLate = ".late";  // behind the names of files that an earlier agent left

std::pair<std::uint64_t, bool> stream_of(const msg::KeepRequest& piece) {
  return {piece.job, piece.error};
}

// The next job of that number writes into a file of its own.
std::string set_aside(const std::string& path) {
  if (path.ends_with(kLate)) return path;
  std::string aside = path + kLate;
  while (fs::exists(aside)) aside += kLate;
  return std::rename(path.c_str(), aside.c_str()) == 0 ? aside : path;
}

}  // namespace

bool OutputKeeper::sees(const msg::FilesReply& files) {
  constexpr std::size_t kLongestMark = 4096;
  const auto found = read_regular_file(files.mark_file, kLongestMark);
  return found && *found == files.mark;
}

Result<std::unique_ptr<OutputKeeper>> OutputKeeper::create(transport::Reactor& reactor,
                                                           transport::Client& broker,
                                                           std::string folder,
                                                           const std::string& former) {
  if (!former.empty()) {
    std::unique_ptr<OutputKeeper> keeper(
        new OutputKeeper(reactor, broker, std::move(folder), former));
    keeper->take_left();
    return keeper;
  }
  const char* const place = std::getenv("TMPDIR");
  std::string own = std::string(place != nullptr && *place != '\0' ? place : "/tmp") + "/" +
                    kOutputFolder + "XXXXXX";
  if (mkdtemp(own.data()) == nullptr) return fail(Errc::system, std::strerror(errno), own);
  return std::unique_ptr<OutputKeeper>(
      new OutputKeeper(reactor, broker, std::move(folder), std::move(own)));
}

OutputKeeper::~OutputKeeper() {
  std::error_code ignored;
  fs::remove_all(own_, ignored);
}

void OutputKeeper::take_over(msg::Start& start) const {
  for (std::string* const file : {&start.output, &start.error})
    if (fs::path(*file).parent_path() == folder_) {
      *file = own_ + "/" + fs::path(*file).filename().string();
      start.truncate = true;
    }
}

// Files are called as those of the broker are: "7.out", or "7.err.1" of the second part of job 7.
void OutputKeeper::take_left() {
  std::vector<fs::path> left;
  std::error_code error;
  for (fs::directory_iterator entry(own_, error), last; !error && entry != last;
       entry.increment(error))
    left.push_back(entry->path());
  std::sort(left.begin(), left.end());
  // Of one job the earlier first: those that were late before.
  std::stable_partition(left.begin(), left.end(),
                        [](const fs::path& path) { return path.string().ends_with(kLate); });
  const auto all = std::make_shared<Delivery>();
  all->done = [] {};
  for (const auto& path : left) {
    const std::string name = path.filename().string();
    const auto job = std::strtoull(name.c_str(), nullptr, 10);
    transport::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    struct stat info {};
    const bool has_some =
        fd && fstat(fd.get(), &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0;
    if (job == 0 || !has_some) {
      unlink(path.c_str());
      continue;
    }
    File& file = files_.emplace_back();
    file.of = all;
    file.next.job = job;
    file.next.late = true;
    file.next.error = name.find(".err") != std::string::npos;
    file.path = set_aside(path.string());
    file.fd = std::move(fd);
    ++all->files;
  }
}

bool OutputKeeper::deliver(const msg::Start& start, std::function<void()> done) {
  auto delivery = std::make_shared<Delivery>();
  delivery->done = std::move(done);
  add(start, false, delivery);
  if (start.error != start.output) add(start, true, delivery);
  if (delivery->files == 0) return false;
  send_some();
  return true;
}

void OutputKeeper::add(const msg::Start& start, bool error,
                       const std::shared_ptr<Delivery>& delivery) {
  const std::string& path = error ? start.error : start.output;
  if (fs::path(path).parent_path() != own_) return;
  transport::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat info {};
  if (!fd || fstat(fd.get(), &info) != 0 || info.st_size == 0) {
    unlink(path.c_str());
    return;
  }
  File& file = files_.emplace_back();
  file.of = delivery;
  file.next.job = start.job;
  file.next.attempt = start.attempt;
  file.next.error = error;
  file.path = path;
  file.fd = std::move(fd);
  // What earlier attempts have written stands before it.
  file.knows_begin = start.attempt == 0;
  ++delivery->files;
}

void OutputKeeper::send_some() {
  if (!is_open_) return;
  std::size_t sent = 0;
  // What came late goes in the order in which it was written.
  std::set<std::pair<std::uint64_t, bool>> held_up;
  for (auto file = files_.begin(); file != files_.end() && sent < kFilesAtOnce;) {
    const auto next = std::next(file);
    const auto stream = stream_of(file->next);
    const bool waits = !file->on_its_way && (file->is_put_off || busy_.contains(stream) ||
                                             (file->next.late && held_up.contains(stream)));
    if (file->is_put_off) held_up.insert(stream);
    if (!waits) ++sent;
    if (!waits && !file->on_its_way) send(file);
    file = next;
  }
}

void OutputKeeper::send(std::list<File>::iterator file) {
  file->next.data.clear();
  if (file->knows_begin) {
    file->next.data.resize(msg::kMostKept);
    const ssize_t n = pread(file->fd.get(), file->next.data.data(), msg::kMostKept,
                            static_cast<off_t>(file->taken + file->next.offset - file->begin));
    if (n <= 0) return end(file);
    file->next.data.resize(static_cast<std::size_t>(n));
  }
  file->on_its_way = std::make_shared<const bool>(true);
  busy_.insert(stream_of(file->next));
  broker_.call({"agent.keep", transport::pack(file->next), "", 0},
               [this, file, asked = std::weak_ptr(file->on_its_way)](const auto& answer) {
                 if (!asked.expired()) answered(file, answer);
               });
}

void OutputKeeper::answered(std::list<File>::iterator file, const Result<std::string>& answer) {
  file->on_its_way.reset();
  busy_.erase(stream_of(file->next));
  if (!answer && answer.error().code == Errc::disconnected) return;  // resume() says it again
  if (!is_open_) return;
  const auto reply =
      answer ? transport::unpack<msg::KeepReply>(*answer) : tl::unexpected<Error>(answer.error());
  // A full disk, say: the task itself would not have known more. Nobody waits for what is late.
  if (!reply && file->next.late && reply.error().code == Errc::system) return put_off(file);
  if (!reply) return end(file);
  if (file->knows_begin) {
    file->next.offset += file->next.data.size();
  } else {
    file->next.offset = file->begin = reply->size;
    if (reply->size == 0) file->taken = 0;  // it begins the broker's file
  }
  file->knows_begin = true;
  send(file);
}

// Meanwhile another file of its stream may get to the broker: where it goes on is asked again.
void OutputKeeper::put_off(std::list<File>::iterator file) {
  file->is_put_off = true;
  if (std::exchange(file->knows_begin, false)) file->taken += file->next.offset - file->begin;
  file->next.offset = 0;
  if (!again_) again_ = reactor_.after(kPutOffFor, [this] { try_again(); });
  send_some();
}

void OutputKeeper::try_again() {
  again_.cancel();
  for (File& file : files_) file.is_put_off = false;
  send_some();
}

void OutputKeeper::end(std::list<File>::iterator file) {
  unlink(file->path.c_str());
  if (file->on_its_way) busy_.erase(stream_of(file->next));
  const auto delivery = file->of;
  files_.erase(file);
  if (--delivery->files == 0)
    reactor_.defer([delivery, alive = std::weak_ptr(alive_)] {
      if (!alive.expired()) delivery->done();
    });
  reactor_.defer([this, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) send_some();
  });
}

void OutputKeeper::resume() {
  is_open_ = true;
  try_again();
}

void OutputKeeper::give_up() {
  for (auto file = files_.begin(); file != files_.end();) {
    const auto next = std::next(file);
    end(file);
    file = next;
  }
}

}  // namespace holon::launch
