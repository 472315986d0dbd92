#include "launch/remote/output_sender.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
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

// Renames the file: the next job of that number writes into a file of its own.
std::string set_aside(const std::string& path) {
  if (path.ends_with(kLate)) return path;
  std::string aside = path + kLate;
  while (fs::exists(aside)) aside += kLate;
  return std::rename(path.c_str(), aside.c_str()) == 0 ? aside : path;
}

}  // namespace

bool OutputSender::sees(const msg::FilesReply& files) {
  constexpr std::size_t kLongestMark = 4096;
  const auto found = read_regular_file(files.mark_file, kLongestMark);
  return found && *found == files.mark;
}

Result<std::unique_ptr<OutputSender>> OutputSender::create(transport::Reactor& reactor,
                                                           transport::Client& broker,
                                                           std::string folder,
                                                           const std::string& former) {
  if (!former.empty()) {
    std::unique_ptr<OutputSender> keeper(
        new OutputSender(reactor, broker, std::move(folder), former));
    keeper->take_left();
    return keeper;
  }
  const char* const place = std::getenv("TMPDIR");
  std::string own = std::string(place != nullptr && *place != '\0' ? place : "/tmp") + "/" +
                    kOutputFolder + "XXXXXX";
  if (mkdtemp(own.data()) == nullptr) return fail(Errc::system, std::strerror(errno), own);
  return std::unique_ptr<OutputSender>(
      new OutputSender(reactor, broker, std::move(folder), std::move(own)));
}

OutputSender::~OutputSender() {
  std::error_code ignored;
  fs::remove_all(own_, ignored);
}

void OutputSender::take_over(msg::Start& start) const {
  for (std::string* const file : {&start.output, &start.error})
    if (fs::path(*file).parent_path() == folder_) {
      *file = own_ + "/" + fs::path(*file).filename().string();
      start.truncate = true;
    }
}

// Files have the names of the broker's: "7.out", or "7.err.1" for the second part of job 7.
void OutputSender::take_left() {
  std::vector<fs::path> left;
  std::error_code error;
  for (fs::directory_iterator entry(own_, error), last; !error && entry != last;
       entry.increment(error))
    left.push_back(entry->path());
  std::sort(left.begin(), left.end());
  // Of one job the earlier files come first: those that were late before.
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

bool OutputSender::deliver(const msg::Start& start, std::function<void()> done) {
  auto delivery = std::make_shared<Delivery>();
  delivery->done = std::move(done);
  add(start, false, delivery);
  if (start.error != start.output) add(start, true, delivery);
  if (delivery->files == 0) return false;
  send_some();
  return true;
}

void OutputSender::add(const msg::Start& start, bool error,
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
  // Output of earlier attempts comes before this in the broker's file.
  file.knows_begin = start.attempt == 0;
  ++delivery->files;
}

void OutputSender::send_some() {
  if (!is_open_) return;
  std::size_t sent = 0;
  for (auto file = files_.begin(); file != files_.end() && sent < kFilesAtOnce;) {
    const auto here = file++;
    if (waits_for_one_put_off(*here)) {
      put_off_.splice(put_off_.end(), files_, here);
    } else if (here->on_its_way) {
      ++sent;
    } else if (!busy_.contains(stream_of(*here))) {
      ++sent;
      send(here);
    }
  }
}

// Does the file wait behind one that was put off? Only late files do: a job's end waits for others.
bool OutputSender::waits_for_one_put_off(const File& file) const {
  return file.next.late && put_off_streams_.contains(stream_of(file));
}

void OutputSender::send(std::list<File>::iterator file) {
  file->next.data.clear();
  if (file->knows_begin) {
    file->next.data.resize(msg::kMostKept);
    const ssize_t n = pread(file->fd.get(), file->next.data.data(), msg::kMostKept,
                            static_cast<off_t>(file->taken + file->next.offset - file->begin));
    if (n <= 0) return end(file);
    file->next.data.resize(static_cast<std::size_t>(n));
  }
  file->on_its_way = std::make_shared<const bool>(true);
  busy_.insert(stream_of(*file));
  broker_.call({"agent.keep", transport::pack(file->next), "", 0},
               [this, file, asked = std::weak_ptr(file->on_its_way)](const auto& answer) {
                 if (!asked.expired()) answered(file, answer);
               });
}

void OutputSender::answered(std::list<File>::iterator file, const Result<std::string>& answer) {
  file->on_its_way.reset();
  busy_.erase(stream_of(*file));
  if (!answer && answer.error().code == Errc::disconnected) return;  // resume() says it again
  if (!is_open_) return;
  const auto reply =
      answer ? transport::unpack<msg::KeepReply>(*answer) : tl::unexpected<Error>(answer.error());
  // As on a full disk: the task itself would have learned no more. Nobody waits for late files.
  if (!reply && file->next.late && reply.error().code == Errc::system) return put_off(file);
  if (!reply) return end(file);
  if (file->knows_begin) {
    file->next.offset += file->next.data.size();
  } else {
    if (reply->size == 0) file->taken = 0;  // the broker begins its file anew here
    file->next.offset = file->begin = reply->size;
    file->knows_begin = true;
  }
  send(file);
}

// Where the rest goes is asked again later: until then a running attempt may continue the broker's
// file.
void OutputSender::put_off(std::list<File>::iterator file) {
  if (file->knows_begin) file->taken += file->next.offset - file->begin;
  file->knows_begin = false;
  file->next.offset = 0;
  put_off_streams_.insert(stream_of(*file));
  put_off_.splice(put_off_.end(), files_, file);
  if (!again_) again_ = reactor_.after(kPutOffFor, [this] { try_again(); });
  send_some();
}

void OutputSender::try_again() {
  again_.cancel();
  // Late files of such a stream follow, so that they stay in order, and behind the file of that
  // stream that has been sent in part.
  if (!put_off_.empty())
    for (auto file = files_.begin(); file != files_.end();) {
      const auto here = file++;
      if (waits_for_one_put_off(*here)) put_off_.splice(put_off_.end(), files_, here);
    }
  put_off_streams_.clear();
  files_.splice(files_.end(), put_off_);
  send_some();
}

void OutputSender::end(std::list<File>::iterator file) {
  unlink(file->path.c_str());
  if (file->on_its_way) busy_.erase(stream_of(*file));
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

void OutputSender::resume() {
  is_open_ = true;
  try_again();
}

void OutputSender::give_up() {
  files_.splice(files_.end(), put_off_);
  for (auto file = files_.begin(); file != files_.end();) {
    const auto next = std::next(file);
    end(file);
    file = next;
  }
}

}  // namespace holon::launch
