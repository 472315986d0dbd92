#include "launch/mpi/pmix_wire_up.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "launch/exit_code.hpp"
#include "launch/mpi/part_ranks.hpp"
#include "launch/tasks/spawn.hpp"
#include "launch/tracking/lineage.hpp"
#include "transport/codec/codec.hpp"

namespace holon::launch {
namespace {

// What the tasks of one part have put for a fence, with its frame; or the environments of the
// tasks.
constexpr std::size_t kMostFromServer = msg::kMostPut + (1 << 20);
constexpr std::size_t kReadOnce = 65536;
// More than a socket holds, for a server whose end is to be reported.
constexpr int kLastPieces = 32;

std::string pmix_space(const std::string& path) {
  std::string name = "holon" + path;
  std::replace(name.begin(), name.end(), '/', '-');
  return name.substr(0, 200);
}

}  // namespace

std::vector<std::string> pmix_server_command(const std::string& binary) {
  const auto helper = std::filesystem::path(binary).parent_path().parent_path() / kPmixHelper;
  if (access(helper.c_str(), X_OK) == 0) return {helper.string()};
  return {binary, "pmix"};
}

Result<std::unique_ptr<PmixWireUp>> PmixWireUp::create(Ground ground, const msg::Start& start,
                                                       WireUpEvents events) {
  auto ranks = ranks_by_part(start);
  if (!ranks) return tl::unexpected(ranks.error());
  auto own_ranks = (*ranks)[start.part];
  auto folder = JobFolder::create(kMemoryFolder, JobFolder::memory_base());
  if (!folder) return tl::unexpected(folder.error());
  pmix::Setup setup{pmix_space(start.path), std::move(*ranks), start.part, folder->path()};
  std::unique_ptr<PmixWireUp> made(
      new PmixWireUp(ground, std::move(*folder), std::move(own_ranks), std::move(events)));
  if (const Status started = made->start_server(start.job); !started)
    return tl::unexpected(started.error());
  made->say(transport::pack(setup));
  return made;
}

PmixWireUp::PmixWireUp(Ground ground, JobFolder folder, std::vector<std::uint32_t> ranks,
                       WireUpEvents events)
    : ground_(ground),
      folder_(std::move(folder)),
      events_(std::move(events)),
      ranks_(std::move(ranks)),
      standings_(ranks_.size(), Standing::unknown) {}

PmixWireUp::~PmixWireUp() {
  all_ended();
}

Status PmixWireUp::start_server(std::uint64_t job) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail(Errc::system, std::strerror(errno), "socketpair");
  server_.reset(ends[0]);
  const transport::UniqueFd theirs(ends[1]);
  std::error_code unknown;
  const auto argv =
      pmix_server_command(std::filesystem::read_symlink("/proc/self/exe", unknown).string());
  // The lineage shows that the server is one of the job's processes.
  Environment environment = current_environment();
  environment[kLineage] = lineage_of_job(ground_.frame.lineage, job);
  environment["PMIX_MCA_gds"] = "hash";
  std::vector<std::string> entries;
  for (const auto& [name, value] : environment) entries.push_back(name + "=" + value);
  const std::string here;
  SpawnRequest program{argv, entries, here};
  program.cgroup = ground_.cgroup;
  program.wire_up = theirs.get();
  const auto pid = ground_.processes.spawn(program);
  if (!pid) return fail(Errc::system, pid.error().what, argv.front());
  pid_ = *pid;
  auto exit =
      ground_.processes.on_end(pid_,
                               [this](const transport::ChildExit& how) {
                                 pid_ = 0;
                                 hear_the_rest();
                                 server_failed("its PMIx server has ended (" +
                                               std::to_string(exit_code_of(how.status)) + ")");
                               },
                               {});
  if (!exit) return tl::unexpected(exit.error());
  exit_ = std::move(*exit);
  wait_for(transport::kReadable);
  return {};
}

void PmixWireUp::wait_for(unsigned what) {
  talk_.cancel();
  if (!server_) return;
  auto ready = ground_.reactor.on_fd(server_.get(), what, [this](unsigned) {
    if (!unsent_.empty()) flush();
    hear();
  });
  if (ready) talk_ = std::move(*ready);
}

// Reads one buffer. False: there is nothing more just now, or never.
bool PmixWireUp::hear() {
  if (!server_) return false;
  std::array<char, kReadOnce> piece;
  const ssize_t n = recv(server_.get(), piece.data(), piece.size(), MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (n <= 0) {
    talk_.cancel();  // the end is noticed as that of a process
    server_.reset();
    return false;
  }
  heard_.append(piece.data(), static_cast<std::size_t>(n));
  for (;;) {
    auto message = pmix::take_framed(heard_, kMostFromServer);
    auto told = !message    ? Result<pmix::Told>(tl::unexpected(message.error()))
                : !*message ? Result<pmix::Told>(pmix::Told{})
                            : transport::unpack<pmix::Told>(**message);
    if (!told) {
      talk_.cancel();  // nothing more of it is read, nor kept
      server_.reset();
      heard_.clear();
      server_failed(told.error().what);
      return false;
    }
    if (!*message) return true;
    take(std::move(*told));
  }
}

void PmixWireUp::take(pmix::Told told) {
  if (told.kind == "ready") return take_ready(std::move(told));
  if (told.kind == "failed") return server_failed(told.text);
  if (told.kind == "fence") return events_.fence(std::move(told.data));
  const auto found = std::find(ranks_.begin(), ranks_.end(), told.rank);
  if (found == ranks_.end()) return;
  const auto place = static_cast<std::size_t>(found - ranks_.begin());
  if (told.kind == "connected") standings_[place] = Standing::connected;
  if (told.kind == "finalized") standings_[place] = Standing::finalized;
  if (told.kind == "abort")
    events_.abort(told.code, "task " + std::to_string(told.rank) +
                                 " has ended the job (MPI_Abort)" +
                                 (told.text.empty() ? "" : ": " + told.text));
}

void PmixWireUp::take_ready(pmix::Told told) {
  if (is_ready() || told.environments.size() != standings_.size())
    return server_failed("its PMIx server does not know its tasks");
  for (const auto& entries : told.environments) {
    Environment& environment = environments_.emplace_back();
    for (const std::string& entry : entries)
      if (const auto equals = entry.find('='); equals != entry.npos)
        environment[entry.substr(0, equals)] = entry.substr(equals + 1);
    // Open MPI 4 takes a task for one of a launcher with PMIx only if it knows that launcher: this
    // makes it think of IBM's.
    environment["OMPI_MCA_schizo"] = "jsm";
    environment["JSM_JSRUN_PORT"] = "0";
    environment["OMPI_MCA_btl_vader_backing_directory"] = folder_.path();
  }
  events_.ready();
}

void PmixWireUp::server_failed(const std::string& why) {
  if (std::exchange(is_over_, true)) return;
  is_ready() ? events_.abort(1, why) : events_.failed(why);
}

std::map<std::string, std::string> PmixWireUp::variables(std::size_t place) const {
  return environments_[place];
}

void PmixWireUp::say(const std::string& message) {
  unsent_ += pmix::framed(message);
  flush();
}

void PmixWireUp::flush() {
  while (server_ && !unsent_.empty()) {
    const ssize_t n =
        send(server_.get(), unsent_.data(), unsent_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return wait_for(transport::kReadable | transport::kWritable);
    if (n < 0) return unsent_.clear();
    unsent_.erase(0, static_cast<std::size_t>(n));
  }
  wait_for(transport::kReadable);
}

Status PmixWireUp::release(const std::vector<std::string>& parts) {
  say(transport::pack(pmix::FenceOver{parts}));
  return {};
}

void PmixWireUp::hear_the_rest() {
  for (int i = 0; i < kLastPieces && hear(); ++i) continue;
}

bool PmixWireUp::ended(std::size_t place) {
  hear_the_rest();
  return standings_[place] == Standing::connected;
}

void PmixWireUp::all_ended() {
  is_over_ = true;
  talk_.cancel();
  server_.reset();
  if (pid_ > 0) ground_.processes.signal_group(pid_, SIGKILL);
}

}  // namespace holon::launch
