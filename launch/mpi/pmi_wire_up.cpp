#include "launch/mpi/pmi_wire_up.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "launch/mpi/part_ranks.hpp"
#include "launch/tasks/spawn.hpp"
#include "transport/codec/codec.hpp"

namespace holon::launch {
namespace {

constexpr std::size_t kReadAtOnce = 4096;
// Reads after a task's end: more than a socket holds. Processes it has left may go on sending.
constexpr int kLastReads = 128;
// In the last fence: until the tasks that are there continue without the others.
constexpr Duration kLeavePatience = 1'000;

// The name of the job's key-value space: the same on all nodes, and one word.
std::string space_of(const std::string& path) {
  std::string name = "holon" + path;
  std::replace(name.begin(), name.end(), '/', '-');
  return name.substr(0, pmi::kMaxName - 1);
}

// What tasks have put, as sent: keys and values in turn.
struct PutPairs {
  std::vector<std::string> words;
  HOLON_FIELDS(words)
};

// "": tasks find out by themselves where the others are.
std::string mapping_of(const msg::Start& start) {
  if (start.part_tasks.empty()) return pmi::process_mapping({start.tasks.size()});
  const auto ranks = ranks_by_part(start);
  return ranks ? pmi::process_mapping_of(parts_by_rank(*ranks)) : "";
}

std::vector<std::uint64_t> ranks_of(const msg::Start& start) {
  std::vector<std::uint64_t> ranks;
  for (const msg::Task& task : start.tasks) ranks.push_back(task.rank);
  return ranks;
}

}  // namespace

Result<std::unique_ptr<PmiWireUp>> PmiWireUp::create(transport::Reactor& reactor,
                                                     std::shared_ptr<KeptBytes> kept,
                                                     const msg::Start& start,
                                                     pmi::Versions versions, WireUpEvents events) {
  std::unique_ptr<PmiWireUp> made(
      new PmiWireUp(reactor, std::move(kept), start, versions, std::move(events)));
  for (const msg::Task& task : start.tasks)
    if (const Status added = made->add_seat(task.rank); !added)
      return tl::unexpected(added.error());
  return made;
}

PmiWireUp::PmiWireUp(transport::Reactor& reactor, std::shared_ptr<KeptBytes> kept,
                     const msg::Start& start, pmi::Versions versions, WireUpEvents events)
    : reactor_(reactor),
      events_(std::move(events)),
      job_(space_of(start.path)),
      size_(start.ntasks),
      kept_(std::move(kept), start.user),
      server_({job_, size_, mapping_of(start), versions}, ranks_of(start)) {
  server_.may_keep = [this](std::size_t bytes) { return kept_.resize(bytes); };
  server_.on_fence = [this](pmi::Pairs put) {
    PutPairs all;
    for (auto& [key, value] : put) {
      all.words.push_back(std::move(key));
      all.words.push_back(std::move(value));
    }
    events_.fence(transport::pack(all));
  };
  server_.on_abort = [this](std::uint64_t rank, int code, const std::string& why) {
    events_.abort(code, "task " + std::to_string(rank) + " has ended the job (MPI_Abort)" +
                            (why.empty() ? "" : ": " + why));
  };
}

Status PmiWireUp::add_seat(std::uint64_t rank) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail(Errc::system, std::strerror(errno), "socketpair");
  Seat& seat = seats_.emplace_back();
  seat.rank = rank;
  seat.ours.reset(ends[0]);
  seat.theirs.reset(ends[1]);
  return {};
}

std::map<std::string, std::string> PmiWireUp::variables(std::size_t place) const {
  return {{"PMI_FD", std::to_string(kWireUpDescriptor)},
          {"PMI_RANK", std::to_string(seats_[place].rank)},
          {"PMI_SIZE", std::to_string(size_)},
          {"PMI_JOBID", job_}};
}

Status PmiWireUp::release(const std::vector<std::string>& parts) {
  pmi::Pairs all;
  for (const std::string& part : parts) {
    auto put = transport::unpack<PutPairs>(part);
    if (!put) return tl::unexpected(put.error());
    if (put->words.size() % 2 != 0) return fail(Errc::protocol, "a key without a value");
    for (std::size_t i = 0; i < put->words.size(); i += 2)
      all.emplace_back(std::move(put->words[i]), std::move(put->words[i + 1]));
  }
  std::size_t more = 0;
  for (const auto& [key, value] : all) more += pmi::Server::size_of(key, value);
  if (!kept_.resize(server_.kept() + more))
    return fail(Errc::out_of_range, "tasks of other nodes have put more than may be kept here");
  server_.release(all);
  leave_.cancel();
  for (std::size_t place = 0; place < seats_.size(); ++place) flush(place);
  return {};
}

void PmiWireUp::done_opening() {
  for (std::size_t place = 0; place < seats_.size(); ++place) {
    seats_[place].theirs.reset();
    wait_for(place, transport::kReadable);
  }
}

void PmiWireUp::wait_for(std::size_t place, unsigned what) {
  Seat& seat = seats_[place];
  seat.ready.cancel();
  if (!seat.ours) return;
  auto ready = reactor_.on_fd(seat.ours.get(), what, [this, place](unsigned) {
    if (!seats_[place].unsent.empty())
      flush(place);
    else
      hear(place);
  });
  if (ready)
    seat.ready = std::move(*ready);
  else
    close(place);
}

// Handles one buffer. False: there is nothing more to read just now.
bool PmiWireUp::hear(std::size_t place) {
  std::array<char, kReadAtOnce> buffer;
  const ssize_t n = recv(seats_[place].ours.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (n < 0) {
    if (errno != EAGAIN && errno != EINTR) close(place);
    return false;
  }
  const bool understood =
      n > 0 && server_.receive(place, {buffer.data(), static_cast<std::size_t>(n)});
  flush(place);
  if (!understood) close(place);
  if (!leave_ && server_.waits_to_leave())
    leave_ = reactor_.after(kLeavePatience, [this] { let_leave(); });
  return understood;
}

void PmiWireUp::let_leave() {
  leave_.cancel();
  if (!server_.waits_to_leave()) return;
  server_.let_leave();
  for (std::size_t place = 0; place < seats_.size(); ++place) flush(place);
}

void PmiWireUp::flush(std::size_t place) {
  Seat& seat = seats_[place];
  const bool waited = !seat.unsent.empty();
  seat.unsent += server_.take_output(place);
  if (!seat.ours) seat.unsent.clear();
  while (!seat.unsent.empty()) {
    const ssize_t n =
        send(seat.ours.get(), seat.unsent.data(), seat.unsent.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EAGAIN) return close(place);
    if (n < 0) break;
    seat.unsent.erase(0, static_cast<std::size_t>(n));
  }
  if (waited != !seat.unsent.empty())
    wait_for(place, seat.unsent.empty() ? transport::kReadable : transport::kWritable);
}

void PmiWireUp::close(std::size_t place) {
  seats_[place].ready.cancel();
  seats_[place].ours.reset();
  seats_[place].unsent.clear();
}

bool PmiWireUp::ended(std::size_t place) {
  for (int i = 0; i < kLastReads && seats_[place].ours && hear(place); ++i) continue;
  close(place);
  return server_.is_waited_for(place);
}

}  // namespace holon::launch
