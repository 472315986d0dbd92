// loader.cpp - dlopen(3) and its relatives in a static program: it has no loader, and a library of
// the machine would bring the machine's C library beside ours. What is linked in is found as if it
// had been loaded; of all else is said that a static holon loads nothing: hwloc's plugins, Lua's
// modules, SQLite's extensions, libpmix.
#include <dlfcn.h>
#include <munge.h>

#include <cstring>
#include <string>
#include <string_view>

namespace {

struct Symbol {
  const char* name;
  void* address;
};

// libmunge talks to a socket: it is as good linked in.
const Symbol kMunge[] = {
    {"munge_encode", reinterpret_cast<void*>(&munge_encode)},
    {"munge_decode", reinterpret_cast<void*>(&munge_decode)},
    {"munge_ctx_create", reinterpret_cast<void*>(&munge_ctx_create)},
    {"munge_ctx_destroy", reinterpret_cast<void*>(&munge_ctx_destroy)},
    {"munge_ctx_set", reinterpret_cast<void*>(&munge_ctx_set)},
    {"munge_ctx_get", reinterpret_cast<void*>(&munge_ctx_get)},
    {"munge_ctx_strerror", reinterpret_cast<void*>(&munge_ctx_strerror)},
    {"munge_strerror", reinterpret_cast<void*>(&munge_strerror)},
};

std::string& problem() {
  thread_local std::string text;
  return text;
}

}  // namespace

extern "C" {

void* dlopen(const char* name, int) {
  if (name != nullptr && std::string_view(name) == "libmunge.so.2")
    return const_cast<Symbol*>(kMunge);
  problem() = std::string(name == nullptr ? "the program itself" : name) +
              ": this holon is a static program, which loads no libraries";
  if (name != nullptr && std::string_view(name).starts_with("libpmix"))
    problem() +=
        "; its helper libexec/holon/holon-pmix serves jobs of Open MPI where it is installed";
  return nullptr;
}

// The C library's own reference to its dlopen(), which would bring that along, unused.
void* __dlopen(const char* name, int mode) __attribute__((alias("dlopen")));

void* dlsym(void* handle, const char* name) {
  if (handle == kMunge)
    for (const Symbol& one : kMunge)
      if (std::strcmp(one.name, name) == 0) return one.address;
  problem() = std::string(name) + ": there is no such function in a static holon";
  return nullptr;
}

int dlclose(void*) {
  return 0;
}

char* dlerror() {
  thread_local std::string told;
  told.swap(problem());
  problem().clear();
  return told.empty() ? nullptr : told.data();
}

}  // extern "C"
