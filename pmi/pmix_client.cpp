#include "pmi/pmix_client.hpp"

#if __has_include(<pmix.h>)
#include <dlfcn.h>
#include <pmix.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>

#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#endif

namespace holon::pmi {

#if __has_include(<pmix.h>)
namespace {

// The functions of the library that are used.
struct PmixLibrary {
  decltype(&PMIx_Init) init = nullptr;
  decltype(&PMIx_Finalize) finalize = nullptr;
  decltype(&PMIx_Put) put = nullptr;
  decltype(&PMIx_Commit) commit = nullptr;
  decltype(&PMIx_Fence_nb) fence = nullptr;
  decltype(&PMIx_Get) get = nullptr;
  decltype(&PMIx_Value_load) value_load = nullptr;
  decltype(&PMIx_Value_destruct) value_destruct = nullptr;
  decltype(&PMIx_Info_load) info_load = nullptr;
  decltype(&PMIx_Error_string) error_string = nullptr;

  Status load() {
    // The library's plugins look for its names among the global ones.
    void* const handle = dlopen("libpmix.so.2", RTLD_NOW | RTLD_GLOBAL);
    if (handle == nullptr) return fail(Errc::unsupported, dlerror(), "PMIX_RANK");
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
      return function != nullptr;
    };
    const bool all =
        find(init, "PMIx_Init") && find(finalize, "PMIx_Finalize") && find(put, "PMIx_Put") &&
        find(commit, "PMIx_Commit") && find(fence, "PMIx_Fence_nb") && find(get, "PMIx_Get") &&
        find(value_load, "PMIx_Value_load") && find(value_destruct, "PMIx_Value_destruct") &&
        find(info_load, "PMIx_Info_load") && find(error_string, "PMIx_Error_string");
    if (!all) return fail(Errc::unsupported, "libpmix.so.2 is older than 4.2", "PMIX_RANK");
    return {};
  }
};

// A fence that the library ends from a thread of its own.
struct PendingFence {
  std::mutex mutex;
  std::condition_variable ended;
  std::optional<pmix_status_t> status;
};

void on_fence_over(pmix_status_t status, void* argument) {
  auto* const pending = static_cast<PendingFence*>(argument);
  const std::lock_guard lock(pending->mutex);
  pending->status = status;
  pending->ended.notify_all();
}

}  // namespace

struct PmixClient::Impl {
  PmixLibrary library;
  pmix_proc_t self{};
  std::uint64_t size = 0;
  Duration patience = 0;
  bool is_there = false;  // between hello and finalize

  Status failed(const char* what, pmix_status_t status) const {
    return fail(Errc::system, std::string(what) + ": " + library.error_string(status), "PMIX_RANK");
  }
  Status failed_unless(const char* what, pmix_status_t status) const {
    return status == PMIX_SUCCESS ? Status() : failed(what, status);
  }

  pmix_proc_t task(pmix_rank_t rank) const {
    pmix_proc_t one = self;
    one.rank = rank;
    return one;
  }

  Status ask_size() {
    const pmix_proc_t all = task(PMIX_RANK_WILDCARD);
    pmix_value_t* value = nullptr;
    const auto status = library.get(&all, PMIX_JOB_SIZE, nullptr, 0, &value);
    if (status != PMIX_SUCCESS) return failed("PMIx_Get of the job's size", status);
    if (value->type == PMIX_UINT32) size = value->data.uint32;
    library.value_destruct(value);
    std::free(value);
    if (size == 0) return fail(Errc::system, "PMIx does not say how many tasks there are");
    return {};
  }
};

Result<PmixClient> PmixClient::hello(Duration patience) {
  auto impl = std::make_unique<Impl>();
  impl->patience = patience;
  if (auto loaded = impl->library.load(); !loaded) return tl::unexpected(loaded.error());
  if (const auto status = impl->library.init(&impl->self, nullptr, 0); status != PMIX_SUCCESS)
    return tl::unexpected(impl->failed("PMIx_Init", status).error());
  impl->is_there = true;
  if (auto known = impl->ask_size(); !known) return tl::unexpected(known.error());
  return PmixClient(std::move(impl));
}

PmixClient::~PmixClient() {
  if (impl_) (void)finalize();
}

std::uint64_t PmixClient::rank() const {
  return impl_->self.rank;
}

std::uint64_t PmixClient::size() const {
  return impl_->size;
}

Status PmixClient::put(const std::string& key, const std::string& value) {
  pmix_value_t as_value{};
  const auto loaded = impl_->library.value_load(&as_value, value.c_str(), PMIX_STRING);
  if (loaded != PMIX_SUCCESS) return impl_->failed("PMIx_Value_load", loaded);
  const auto status = impl_->library.put(PMIX_GLOBAL, key.c_str(), &as_value);
  impl_->library.value_destruct(&as_value);
  return impl_->failed_unless("PMIx_Put", status);
}

Status PmixClient::fence() {
  if (const auto status = impl_->library.commit(); status != PMIX_SUCCESS)
    return impl_->failed("PMIx_Commit", status);
  pmix_info_t collect{};
  const bool yes = true;
  impl_->library.info_load(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
  // A fence that is given up may still be ended by the library's thread.
  auto* const pending = new PendingFence;
  const auto begun = impl_->library.fence(nullptr, 0, &collect, 1, on_fence_over, pending);
  if (begun != PMIX_SUCCESS && begun != PMIX_OPERATION_SUCCEEDED) {
    delete pending;
    return impl_->failed("PMIx_Fence_nb", begun);
  }
  std::unique_lock lock(pending->mutex);
  if (begun == PMIX_OPERATION_SUCCEEDED) pending->status = PMIX_SUCCESS;
  if (!pending->ended.wait_for(lock, std::chrono::milliseconds(impl_->patience),
                               [&] { return pending->status.has_value(); })) {
    impl_->is_there = false;  // the last word would wait for the others, too
    return fail(Errc::timed_out, "the other tasks have not come", "PMIX_RANK");
  }
  const auto status = *pending->status;
  lock.unlock();
  delete pending;
  return impl_->failed_unless("PMIx_Fence_nb", status);
}

Result<std::string> PmixClient::get(std::uint64_t rank, const std::string& key) {
  const pmix_proc_t from = impl_->task(static_cast<pmix_rank_t>(rank));
  pmix_value_t* value = nullptr;
  const auto status = impl_->library.get(&from, key.c_str(), nullptr, 0, &value);
  if (status == PMIX_ERR_NOT_FOUND) return fail(Errc::not_found, "no task has put this", key);
  if (status != PMIX_SUCCESS) return tl::unexpected(impl_->failed("PMIx_Get", status).error());
  const bool is_text = value->type == PMIX_STRING && value->data.string != nullptr;
  std::string text = is_text ? value->data.string : "";
  impl_->library.value_destruct(value);
  std::free(value);
  if (!is_text) return fail(Errc::protocol, "is no text", key);
  return text;
}

Status PmixClient::finalize() {
  if (!std::exchange(impl_->is_there, false)) return {};
  return impl_->failed_unless("PMIx_Finalize", impl_->library.finalize(nullptr, 0));
}

#else

struct PmixClient::Impl {};
Result<PmixClient> PmixClient::hello(Duration) {
  return fail(Errc::unsupported, "this holon was built without the headers of PMIx (libpmix-dev)",
              "PMIX_RANK");
}
PmixClient::~PmixClient() = default;
std::uint64_t PmixClient::rank() const {
  return 0;
}
std::uint64_t PmixClient::size() const {
  return 0;
}
Status PmixClient::put(const std::string&, const std::string&) {
  return {};
}
Status PmixClient::fence() {
  return {};
}
Result<std::string> PmixClient::get(std::uint64_t, const std::string& key) {
  return fail(Errc::not_found, "no task has put this", key);
}
Status PmixClient::finalize() {
  return {};
}

#endif

PmixClient::PmixClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PmixClient::PmixClient(PmixClient&&) noexcept = default;

}  // namespace holon::pmi
