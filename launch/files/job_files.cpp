#include "launch/files/job_files.hpp"

#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

#include "launch/files/place_files.hpp"
#include "launch/tasks/in_memory.hpp"
#include "launch/tracking/lineage.hpp"
#include "transport/codec/codec.hpp"

namespace holon::launch {
namespace {

namespace fs = std::filesystem;

constexpr Duration kFilesPatience = 60'000;
constexpr const char* kFilesPatienceText = "a minute";
// Also removes folders whose permissions tasks have taken away.
constexpr const char* kRemove =
    "rm -rf -- \"$FOLDER\" 2>/dev/null || { chmod -R u+rwX -- \"$FOLDER\"; rm -rf -- \"$FOLDER\"; "
    "} && rm -f -- \"$LOCK\"";

Status not_placed(const Error& why) {
  return fail(why.code, "cannot write the files that were added to it: " + to_string(why));
}

std::vector<std::string> clean_environment(const std::string& lineage) {
  return {"PATH=/usr/bin:/bin", std::string(kLineage) + "=" + lineage};
}

std::string own_program() {
  std::error_code unknown;
  return std::filesystem::read_symlink("/proc/self/exe", unknown).string();
}

Result<transport::UniqueFd> in_memory_for(const std::vector<msg::File>& files) {
  msg::Program program;
  program.files = files;
  return in_memory("holon files", transport::pack(program));
}

// Owners of such folders that processes can run as; "": this process's user. Shared memory is
// always an agent's own.
std::set<std::string> owners_of_folders(const std::string& base, bool serves_users) {
  std::set<uid_t> users;
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(base, error), last; !error && entry != last;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool is_in_memory = !JobFolder::folder_of_lock(kMemoryFolder, name).empty();
    struct stat info {};
    if ((!is_in_memory && JobFolder::folder_of_lock(kFilesFolder, name).empty()) ||
        lstat(entry->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode))
      continue;
    if (serves_users && !is_in_memory)
      users.insert(info.st_uid);
    else if (info.st_uid == geteuid())
      names.insert("");
  }
  for (const uid_t user : users)
    if (const passwd* const owner = getpwuid(user)) names.insert(owner->pw_name);
  return names;
}

}  // namespace

JobFiles::JobFiles(transport::Reactor& reactor, Processes& processes, JobProcesses& job,
                   std::string user, std::string lineage)
    : reactor_(reactor),
      processes_(processes),
      job_(job),
      user_(std::move(user)),
      lineage_(std::move(lineage)) {}

void JobFiles::place(const std::vector<msg::File>& files, std::function<void(const Status&)> done) {
  for (const msg::File& file : files) names_.push_back(file.name);
  if (!user_.empty()) return place_as_user(files, std::move(done));
  auto placed = place_files(files_base(), files);
  const Status how = placed ? Status() : not_placed(placed.error());
  is_placed_ = placed.has_value();
  if (placed) folder_.emplace(std::move(*placed));
  telling_ = reactor_.after(0, [done = std::move(done), how] { done(how); });
}

void JobFiles::place_as_user(const std::vector<msg::File>& files,
                             std::function<void(const Status&)> done) {
  const auto refuse = [&](const Error& why) {
    telling_ = reactor_.after(0, [done, how = not_placed(why)] { done(how); });
  };
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return refuse({Errc::system, std::strerror(errno), {}});
  line_.reset(ends[0]);
  const transport::UniqueFd theirs(ends[1]);
  auto request = in_memory_for(files);
  if (!request) return refuse(request.error());
  const std::string base = files_base();
  Hook::What what;
  what.name = "process that writes its files";
  what.argv = {own_program(), "files", base};
  what.timeout = kFilesPatience;
  what.bound = kFilesPatienceText;
  what.env = clean_environment(lineage_);
  what.cwd = "/";
  what.user = user_;
  what.in = request->get();
  what.line_to_us = theirs.get();
  hook_ = std::make_unique<Hook>(
      reactor_, processes_, job_, std::move(what), [this, base, done](const Hook::Outcome& how) {
        auto taken = take_placed_files(line_.get(), base);
        is_placed_ = taken.has_value();
        may_be_left_ &= !taken && taken.error().code == Errc::not_found;
        if (taken) {
          folder_.emplace(std::move(*taken));
          return done({});
        }
        if (how.has_exited) return done(not_placed(taken.error()));
        done(not_placed({how.denied ? Errc::denied : Errc::system, how.trouble, {}}));
      });
  may_be_left_ = hook_->process().pid != 0;
}

void JobFiles::stop() {
  telling_.cancel();
  hook_.reset();
}

// Removes what tasks have left unchanged, the usual case.
bool JobFiles::remove_quickly() {
  if (!user_.empty()) return false;
  if (const auto inside = folder_->open())
    for (const std::string& name : names_) unlinkat(inside->get(), name.c_str(), 0);
  if (rmdir(folder_->path().c_str()) != 0 && errno != ENOENT) return false;
  folder_->remove_lock();
  return true;
}

// Removes by a process beside the agent: it may be much, on a file system that hangs.
Hook::What JobFiles::removal() const {
  Hook::What what;
  what.name = "removal of its files";
  what.timeout = kFilesPatience;
  what.bound = kFilesPatienceText;
  what.env = clean_environment(lineage_);
  what.cwd = "/";
  what.user = user_;
  if (!folder_) {
    what.argv = {own_program(), "files", "--left", files_base()};
    return what;
  }
  what.argv = {"/bin/sh", "-c", kRemove};
  what.env.push_back("FOLDER=" + folder_->path());
  what.env.push_back("LOCK=" + folder_->lock_path());
  return what;
}

bool JobFiles::remove(std::function<void(const std::string&)> done) {
  stop();
  // The process that was ended may have made the folder already.
  if (!folder_ && may_be_left_) {
    auto taken = take_placed_files(line_.get(), files_base());
    may_be_left_ = !taken && taken.error().code == Errc::not_found;
    if (taken) folder_.emplace(std::move(*taken));
  }
  if (folder_ ? remove_quickly() : !may_be_left_) return false;
  if (folder_) folder_->disown();
  hook_ = std::make_unique<Hook>(
      reactor_, processes_, job_, removal(),
      [done = std::move(done)](const Hook::Outcome& how) { done(how.trouble); });
  return true;
}

LeftFiles::LeftFiles(Processes& processes, ProcessTracking& tracking,
                     const std::set<std::string>& bases) {
  for (const std::string& base : bases)
    for (const std::string& owner : owners_of_folders(base, processes.serves_users()))
      remove(processes, tracking, base, owner);
}

void LeftFiles::remove(Processes& processes, ProcessTracking& tracking, const std::string& base,
                       const std::string& owner) {
  const std::vector<std::string> argv = {own_program(), "files", "--left", base};
  const std::vector<std::string> env = {"PATH=/usr/bin:/bin"};
  const std::string root = "/";
  SpawnRequest request{argv, env, root};
  request.user = owner;
  const auto pid = processes.spawn(request);
  if (!pid) return;  // not one of the instance's users: the folder is not the instance's
  if (owner.empty()) tracking.spare(*pid);
  auto end = processes.on_end(
      *pid,
      [&tracking, helper = *pid](const transport::ChildExit&) { tracking.spare_no_more(helper); },
      {});
  if (end) ends_.push_back(std::move(*end));
}

}  // namespace holon::launch
