#include "transport/munge/munge.hpp"

#if __has_include(<munge.h>)
#include <arpa/inet.h>
#include <dlfcn.h>
#include <munge.h>
#include <netinet/in.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <type_traits>
#endif

namespace holon::transport {

#if __has_include(<munge.h>)

// The functions of the library that are used.
struct Munge::Library {
  decltype(&munge_encode) encode = nullptr;
  decltype(&munge_decode) decode = nullptr;
  decltype(&munge_ctx_create) create = nullptr;
  decltype(&munge_ctx_destroy) destroy = nullptr;
  decltype(&munge_ctx_set) set = nullptr;
  decltype(&munge_ctx_get) get = nullptr;
  decltype(&munge_ctx_strerror) context_error = nullptr;
  decltype(&munge_strerror) error = nullptr;

  bool find_all(void* handle) {
    const auto find = [handle](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
      return function != nullptr;
    };
    return find(encode, "munge_encode") && find(decode, "munge_decode") &&
           find(create, "munge_ctx_create") && find(destroy, "munge_ctx_destroy") &&
           find(set, "munge_ctx_set") && find(get, "munge_ctx_get") &&
           find(context_error, "munge_ctx_strerror") && find(error, "munge_strerror");
  }
};

namespace {

// Frees what libmunge allocates with malloc(3).
struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

class MungeContext {
 public:
  MungeContext(decltype(&munge_ctx_create) create, decltype(&munge_ctx_destroy) destroy)
      : context_(create()), destroy_(destroy) {}
  ~MungeContext() {
    if (context_ != nullptr) destroy_(context_);
  }
  MungeContext(const MungeContext&) = delete;
  MungeContext& operator=(const MungeContext&) = delete;
  munge_ctx_t get() const { return context_; }

 private:
  munge_ctx_t context_;
  decltype(&munge_ctx_destroy) destroy_;
};

// A credential that is not good is its sender's fault, everything else this machine's.
Errc code_of(munge_err_t error) {
  switch (error) {
    case EMUNGE_BAD_CRED:
    case EMUNGE_BAD_VERSION:
    case EMUNGE_BAD_CIPHER:
    case EMUNGE_BAD_MAC:
    case EMUNGE_BAD_ZIP:
    case EMUNGE_BAD_REALM:
    case EMUNGE_CRED_INVALID:
    case EMUNGE_CRED_EXPIRED:
    case EMUNGE_CRED_REWOUND:
    case EMUNGE_CRED_REPLAYED:
    case EMUNGE_CRED_UNAUTHORIZED:
      return Errc::denied;
    default:
      return Errc::unsupported;
  }
}

}  // namespace

Result<Munge> Munge::load(const std::string& socket) {
  void* const handle = dlopen("libmunge.so.2", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return fail(Errc::unsupported, dlerror(), "MUNGE");
  auto library = std::make_shared<Library>();
  if (!library->find_all(handle))
    return fail(Errc::unsupported, "libmunge.so.2 is older than 0.5", "MUNGE");
  Munge munge;
  munge.library_ = std::move(library);
  munge.socket_ = socket;
  return munge;
}

Result<std::string> Munge::encode(const std::string& text) const {
  return encode(text, false);
}

Result<std::string> Munge::seal(const std::string& text) const {
  return encode(text, true);
}

// The daemon's default cipher may be no encryption at all.
Result<std::string> Munge::encode(const std::string& text, bool sealed) const {
  const MungeContext context(library_->create, library_->destroy);
  if (!socket_.empty()) library_->set(context.get(), MUNGE_OPT_SOCKET, socket_.c_str());
  if (sealed &&
      (library_->set(context.get(), MUNGE_OPT_CIPHER_TYPE, MUNGE_CIPHER_AES128) != EMUNGE_SUCCESS ||
       library_->set(context.get(), MUNGE_OPT_UID_RESTRICTION, geteuid()) != EMUNGE_SUCCESS))
    return fail(Errc::unsupported, library_->context_error(context.get()), "MUNGE");
  char* made = nullptr;
  const munge_err_t error =
      library_->encode(&made, context.get(), text.data(), static_cast<int>(text.size()));
  const std::unique_ptr<char, Free> credential(made);
  if (error != EMUNGE_SUCCESS) {
    const char* const words = library_->context_error(context.get());
    return fail(code_of(error), words != nullptr ? words : library_->error(error), "MUNGE");
  }
  return std::string(credential.get());
}

// A replayed credential is decoded, too: only with success is anything of it believed.
Result<Munge::Proof> Munge::decode(const std::string& credential) const {
  const MungeContext context(library_->create, library_->destroy);
  if (!socket_.empty()) library_->set(context.get(), MUNGE_OPT_SOCKET, socket_.c_str());
  void* data = nullptr;
  int size = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  const munge_err_t error =
      library_->decode(credential.c_str(), context.get(), &data, &size, &uid, &gid);
  const std::unique_ptr<void, Free> text(data);
  if (error != EMUNGE_SUCCESS) return fail(code_of(error), library_->error(error), "MUNGE");
  Proof proof{uid, gid, {}, {}};
  in_addr address{};
  std::array<char, INET_ADDRSTRLEN> words{};
  if (library_->get(context.get(), MUNGE_OPT_ADDR4, &address) == EMUNGE_SUCCESS &&
      inet_ntop(AF_INET, &address, words.data(), words.size()) != nullptr)
    proof.address = words.data();
  if (size > 0) proof.text.assign(static_cast<const char*>(data), static_cast<std::size_t>(size));
  return proof;
}

#else

struct Munge::Library {};

Result<Munge> Munge::load(const std::string&) {
  return fail(Errc::unsupported, "holon was built without the header of libmunge", "MUNGE");
}
Result<std::string> Munge::encode(const std::string&) const {
  return fail(Errc::unsupported, "holon was built without the header of libmunge", "MUNGE");
}
Result<std::string> Munge::seal(const std::string&) const {
  return fail(Errc::unsupported, "holon was built without the header of libmunge", "MUNGE");
}
Result<Munge::Proof> Munge::decode(const std::string&) const {
  return fail(Errc::unsupported, "holon was built without the header of libmunge", "MUNGE");
}

#endif

}  // namespace holon::transport
