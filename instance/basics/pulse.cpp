#include "instance/basics/pulse.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace holon::instance {
namespace {

constexpr std::uint64_t kTooOften = 2;

}  // namespace

void Pulse::Unmap::operator()(Page* page) const {
  munmap(page, sizeof *page);
}

Result<Pulse> Pulse::map(transport::UniqueFd fd) {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "it is shared by processes");
  void* page = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (page == MAP_FAILED) return system_error({}, "memory shared with the supervisor");
  return Pulse(std::move(fd), static_cast<Page*>(page));
}

Result<Pulse> Pulse::create() {
  transport::UniqueFd fd(memfd_create("holon pulse", MFD_CLOEXEC));
  if (!fd || ftruncate(fd.get(), sizeof(Page)) != 0)
    return system_error({}, "memory shared with the supervisor");
  return map(std::move(fd));
}

Result<Pulse> Pulse::open(transport::UniqueFd fd) {
  struct stat about {};
  if (fstat(fd.get(), &about) != 0) return system_error({}, "memory shared with the supervisor");
  if (about.st_size < static_cast<off_t>(offsetof(Page, asks)))
    return fail(Errc::system, "is too small", "memory shared with the supervisor");
  return map(std::move(fd));
}

std::optional<Suspect> Pulse::take_suspect() {
  const std::uint64_t failures = page_->failures, beginnings = page_->beginnings;
  if (failures < kTooOften) return std::nullopt;
  page_->failures = page_->beginnings = 0;
  return Suspect{JobId(page_->suspect.exchange(0)), beginnings == failures};
}

void Pulse::begin() {
  page_->turns = 0;
  page_->beats = 0;
  page_->job = 0;
  page_->asks = 0;
}

void Pulse::failed() {
  const std::uint64_t job = page_->job;
  if (job == 0) return;
  if (page_->suspect.exchange(job) != job) page_->failures = page_->beginnings = 0;
  page_->failures.fetch_add(1);
  if (turns() == 0) page_->beginnings.fetch_add(1);
}

}  // namespace holon::instance
