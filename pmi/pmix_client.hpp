// pmix_client.hpp - one of N tasks that Open MPI's mpirun, `srun --mpi=pmix` or another server of
// PMIx started: it exchanges a few keys with the others by libpmix, which is loaded when it is
// wanted.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"

namespace holon::pmi {

class PmixClient {
 public:
  // The client of this process, which PMIX_NAMESPACE and PMIX_RANK describe; there is one at a
  // time. `patience`: ms for each fence. Errors: unsupported (no libpmix here, one that is too old,
  // or a build without its headers), system (with the library's words).
  static Result<PmixClient> hello(Duration patience);
  ~PmixClient();
  PmixClient(PmixClient&&) noexcept;
  PmixClient& operator=(PmixClient&&) = delete;
  PmixClient(const PmixClient&) = delete;
  PmixClient& operator=(const PmixClient&) = delete;

  std::uint64_t rank() const;
  std::uint64_t size() const;
  Status put(const std::string& key, const std::string& value);
  // Waits until all tasks have come here. Errors: timed_out, system.
  Status fence();
  // The value that task `rank` has put before the last fence. Errors: not_found, system.
  Result<std::string> get(std::uint64_t rank, const std::string& key);
  // Says the last word. Errors: system.
  Status finalize();

 private:
  struct Impl;
  explicit PmixClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace holon::pmi
