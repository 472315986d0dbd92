// pmix_server.cpp - libpmix calls back from its own thread; each call is passed to the agent at
// once, and the main thread waits for messages of the agent. Only a fence goes both ways.
#include "launch/mpi/pmix_server.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>

#if __has_include(<pmix_server.h>)
#include <dlfcn.h>
#include <pmix.h>
#include <pmix_server.h>

#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/descriptors/writing.hpp"
#include "launch/messages.hpp"
#include "launch/mpi/pmix_messages.hpp"
#include "transport/codec/codec.hpp"

namespace holon::launch {
namespace {

using pmix::Setup;
using pmix::Told;

// The answer to a fence has what all parts have put.
constexpr std::size_t kMostFromAgent = 64 << 20;

// The functions of the library that are used.
struct Library {
  decltype(&PMIx_server_init) init = nullptr;
  decltype(&PMIx_server_register_nspace) register_nspace = nullptr;
  decltype(&PMIx_server_register_client) register_client = nullptr;
  decltype(&PMIx_server_setup_fork) setup_fork = nullptr;
  decltype(&PMIx_generate_regex) regex = nullptr;
  decltype(&PMIx_generate_ppn) ppn = nullptr;
  decltype(&PMIx_Info_load) info_load = nullptr;
  decltype(&PMIx_Error_string) error_string = nullptr;

  // nullptr: the library was loaded; else what is wrong.
  const char* load() {
    void* const handle = dlopen("libpmix.so.2", RTLD_NOW | RTLD_GLOBAL);
    if (handle == nullptr) return dlerror();
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
      return function != nullptr;
    };
    const bool all = find(init, "PMIx_server_init") &&
                     find(register_nspace, "PMIx_server_register_nspace") &&
                     find(register_client, "PMIx_server_register_client") &&
                     find(setup_fork, "PMIx_server_setup_fork") &&
                     find(regex, "PMIx_generate_regex") && find(ppn, "PMIx_generate_ppn") &&
                     find(info_load, "PMIx_Info_load") && find(error_string, "PMIx_Error_string");
    return all ? nullptr : "libpmix.so.2 is older than 4.2";
  }
};

// Data of both threads. The library's callbacks have no argument to pass it.
struct Shared {
  struct Fence {
    pmix_modex_cbfunc_t over = nullptr;
    void* argument = nullptr;
  };

  int fd = -1;
  std::uint32_t tasks = 0;  // of the job
  std::mutex mutex;
  std::condition_variable answered;
  std::optional<pmix_status_t> status;  // of a call that is waited for
  std::optional<Fence> fence;

  void tell(const Told& told) {
    const std::string text = pmix::framed(transport::pack(told));
    const std::lock_guard lock(mutex);
    if (!write_all(fd, text)) _exit(1);
  }
};

// NOLINTNEXTLINE: one process serves one job
Shared& shared() {
  static Shared one;
  return one;
}

Told told_of(const char* kind, const pmix_proc_t* task) {
  Told told;
  told.kind = kind;
  told.rank = task->rank;
  return told;
}

// ---- called by the library ----

void on_done(pmix_status_t status, void*) {
  const std::lock_guard lock(shared().mutex);
  shared().status = status;
  shared().answered.notify_all();
}

pmix_status_t on_connected(const pmix_proc_t* task, void*, pmix_info_t*, std::size_t,
                           pmix_op_cbfunc_t, void*) {
  shared().tell(told_of("connected", task));
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_finalized(const pmix_proc_t* task, void*, pmix_op_cbfunc_t, void*) {
  shared().tell(told_of("finalized", task));
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_abort(const pmix_proc_t* task, void*, int status, const char* why, pmix_proc_t*,
                       std::size_t, pmix_op_cbfunc_t, void*) {
  Told told = told_of("abort", task);
  told.code = status;
  if (why != nullptr) told.text = std::string(why).substr(0, 1000);
  shared().tell(told);
  return PMIX_OPERATION_SUCCEEDED;
}

// Only fences of all tasks, one after the other: MPI's own.
pmix_status_t on_fence(const pmix_proc_t procs[], std::size_t n, const pmix_info_t*, std::size_t,
                       char* data, std::size_t size, pmix_modex_cbfunc_t over, void* argument) {
  const bool of_all = (n == 1 && procs[0].rank == PMIX_RANK_WILDCARD) || n == shared().tasks;
  if (!of_all) return PMIX_ERR_NOT_SUPPORTED;
  Told told;
  told.kind = "fence";
  if (data != nullptr) told.data.assign(data, size);
  {
    const std::lock_guard lock(shared().mutex);
    if (shared().fence) return PMIX_ERR_NOT_SUPPORTED;
    shared().fence = Shared::Fence{over, argument};
  }
  shared().tell(told);
  return PMIX_SUCCESS;
}

// All data has come with the fence.
pmix_status_t on_direct_modex(const pmix_proc_t*, const pmix_info_t*, std::size_t,
                              pmix_modex_cbfunc_t, void*) {
  return PMIX_ERR_NOT_FOUND;
}

// ---- messages from the agent ----

class Server {
 public:
  Server(Library library, Setup setup) : library_(library), setup_(std::move(setup)) {}

  // "", or what went wrong.
  std::string begin() {
    for (const auto& ranks : setup_.ranks)
      shared().tasks += static_cast<std::uint32_t>(ranks.size());
    pmix_server_module_t calls{};
    calls.client_connected2 = on_connected;
    calls.client_finalized = on_finalized;
    calls.abort = on_abort;
    calls.fence_nb = on_fence;
    calls.direct_modex = on_direct_modex;
    std::vector<pmix_info_t> how;
    add(how, PMIX_SERVER_TMPDIR, setup_.folder);
    add(how, PMIX_SYSTEM_TMPDIR, setup_.folder);
    add(how, PMIX_HOSTNAME, node_name(setup_.part));
    if (const auto status = library_.init(&calls, how.data(), how.size()); status != PMIX_SUCCESS)
      return failed("PMIx_server_init", status);
    return register_job();
  }

  // The environment of each task of this part.
  std::string register_tasks(Told& ready) {
    for (const std::uint32_t rank : own_ranks()) {
      pmix_proc_t task{};
      setup_.space.copy(task.nspace, PMIX_MAX_NSLEN);
      task.rank = rank;
      const auto status = wait_for(
          library_.register_client(&task, geteuid(), getegid(), nullptr, on_done, nullptr));
      if (status != PMIX_SUCCESS) return failed("PMIx_server_register_client", status);
      char** variables = nullptr;
      if (const auto made = library_.setup_fork(&task, &variables); made != PMIX_SUCCESS)
        return failed("PMIx_server_setup_fork", made);
      auto& environment = ready.environments.emplace_back();
      for (char** one = variables; one != nullptr && *one != nullptr; ++one)
        environment.emplace_back(*one);
    }
    return {};
  }

 private:
  std::string failed(const char* what, pmix_status_t status) const {
    return std::string(what) + ": " + library_.error_string(status);
  }

  static pmix_status_t wait_for(pmix_status_t begun) {
    if (begun == PMIX_OPERATION_SUCCEEDED) return PMIX_SUCCESS;
    if (begun != PMIX_SUCCESS) return begun;
    std::unique_lock lock(shared().mutex);
    shared().answered.wait(lock, [] { return shared().status.has_value(); });
    return *std::exchange(shared().status, std::nullopt);
  }

  static std::string node_name(std::size_t part) { return "part" + std::to_string(part); }

  void add(std::vector<pmix_info_t>& to, const char* key, const void* value,
           pmix_data_type_t type) const {
    library_.info_load(&to.emplace_back(), key, value, type);
  }
  void add(std::vector<pmix_info_t>& to, const char* key, const std::string& value) const {
    add(to, key, value.c_str(), PMIX_STRING);
  }
  void add(std::vector<pmix_info_t>& to, const char* key, std::uint32_t value) const {
    add(to, key, &value, PMIX_UINT32);
  }

  const std::vector<std::uint32_t>& own_ranks() const { return setup_.ranks[setup_.part]; }

  // "0,1,2".
  static std::string list_of(const std::vector<std::uint32_t>& ranks) {
    std::string text;
    for (const std::uint32_t rank : ranks) text += (text.empty() ? "" : ",") + std::to_string(rank);
    return text;
  }

  std::string add_maps(std::vector<pmix_info_t>& job) const {
    std::string names, places;
    for (std::size_t part = 0; part < setup_.ranks.size(); ++part) {
      names += (part == 0 ? "" : ",") + node_name(part);
      places += (part == 0 ? "" : ";") + list_of(setup_.ranks[part]);
    }
    char *nodes = nullptr, *tasks = nullptr;
    if (const auto status = library_.regex(names.c_str(), &nodes); status != PMIX_SUCCESS)
      return failed("PMIx_generate_regex", status);
    if (const auto status = library_.ppn(places.c_str(), &tasks); status != PMIX_SUCCESS)
      return failed("PMIx_generate_ppn", status);
    add(job, PMIX_NODE_MAP, nodes, PMIX_REGEX);
    add(job, PMIX_PROC_MAP, tasks, PMIX_REGEX);
    return {};
  }

  void add_task(std::vector<pmix_info_t>& job, std::uint32_t rank, std::uint16_t local,
                std::uint32_t part) {
    auto& of_task = of_tasks_.emplace_back();
    add(of_task, PMIX_RANK, &rank, PMIX_PROC_RANK);
    add(of_task, PMIX_LOCAL_RANK, &local, PMIX_UINT16);
    add(of_task, PMIX_NODE_RANK, &local, PMIX_UINT16);
    add(of_task, PMIX_NODEID, part);
    add(of_task, PMIX_APPNUM, 0U);
    pmix_data_array_t array{};
    array.type = PMIX_INFO;
    array.size = of_task.size();
    array.array = of_task.data();
    add(job, PMIX_PROC_DATA, &array, PMIX_DATA_ARRAY);
  }

  std::string register_job() {
    const std::uint32_t size = shared().tasks;
    const auto here = static_cast<std::uint32_t>(own_ranks().size());
    const std::uint32_t leader = own_ranks().front();
    std::vector<pmix_info_t> job;
    add(job, PMIX_JOBID, setup_.space);
    add(job, PMIX_UNIV_SIZE, size);
    add(job, PMIX_JOB_SIZE, size);
    add(job, PMIX_MAX_PROCS, size);
    add(job, PMIX_LOCAL_SIZE, here);
    add(job, PMIX_NODE_SIZE, here);
    add(job, PMIX_NUM_NODES, static_cast<std::uint32_t>(setup_.ranks.size()));
    add(job, PMIX_LOCAL_PEERS, list_of(own_ranks()));
    add(job, PMIX_LOCALLDR, &leader, PMIX_PROC_RANK);
    add(job, PMIX_NSDIR, setup_.folder);
    if (auto wrong = add_maps(job); !wrong.empty()) return wrong;
    for (std::uint32_t part = 0; part < setup_.ranks.size(); ++part)
      for (std::size_t i = 0; i < setup_.ranks[part].size(); ++i)
        add_task(job, setup_.ranks[part][i], static_cast<std::uint16_t>(i), part);
    const auto status = wait_for(library_.register_nspace(
        setup_.space.c_str(), static_cast<int>(here), job.data(), job.size(), on_done, nullptr));
    return status == PMIX_SUCCESS ? "" : failed("PMIx_server_register_nspace", status);
  }

  Library library_;
  Setup setup_;
  std::vector<std::vector<pmix_info_t>> of_tasks_;  // until the library has read them
};

// nullopt: the agent has closed its end, or its message cannot be read.
std::optional<std::string> next_message(std::string& buffer) {
  for (;;) {
    auto message = pmix::take_framed(buffer, kMostFromAgent);
    if (!message) return std::nullopt;
    if (*message) return std::move(**message);
    char piece[65536];
    const ssize_t n = read(shared().fd, piece, sizeof piece);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    buffer.append(piece, static_cast<std::size_t>(n));
  }
}

void end_fence(const std::string& message) {
  const auto over = transport::unpack<pmix::FenceOver>(message);
  std::optional<Shared::Fence> fence;
  {
    const std::lock_guard lock(shared().mutex);
    fence = std::exchange(shared().fence, std::nullopt);
  }
  if (!over || !fence) return;
  // The library reads it later, and calls back when it has.
  auto* const all = new std::string;
  for (const std::string& part : over->parts) *all += part;
  fence->over(
      PMIX_SUCCESS, all->data(), all->size(), fence->argument,
      [](void* text) { delete static_cast<std::string*>(text); }, all);
}

int give_up(std::string why) {
  Told told;
  told.kind = "failed";
  told.text = std::move(why);
  shared().tell(told);
  return 1;
}

}  // namespace

int pmix_server_main(int fd) {
  shared().fd = fd;
  Library library;
  if (const char* const wrong = library.load())
    return give_up(std::string("PMIx's library cannot be loaded: ") + wrong);
  std::string buffer;
  const auto first = next_message(buffer);
  const auto setup = first ? transport::unpack<Setup>(*first)
                           : Result<Setup>(fail(Errc::protocol, "no message came"));
  if (!setup) return give_up(setup.error().what);
  if (setup->part >= setup->ranks.size() || setup->ranks[setup->part].empty())
    return give_up("its part is none of the job's");
  Server server(library, *setup);
  Told ready;
  ready.kind = "ready";
  if (auto wrong = server.begin(); !wrong.empty()) return give_up(wrong);
  if (auto wrong = server.register_tasks(ready); !wrong.empty()) return give_up(wrong);
  shared().tell(ready);
  while (const auto message = next_message(buffer)) end_fence(*message);
  // The tasks are gone, or soon will be; the agent removes the files.
  _exit(0);
}

}  // namespace holon::launch

#else

#include "launch/mpi/pmix_messages.hpp"
#include "transport/codec/codec.hpp"

namespace holon::launch {

int pmix_server_main(int fd) {
  pmix::Told told;
  told.kind = "failed";
  told.text = "holon was built without PMIx (libpmix-dev)";
  const std::string text = pmix::framed(transport::pack(told));
  return write(fd, text.data(), text.size()) < 0 ? 2 : 1;
}

}  // namespace holon::launch

#endif
