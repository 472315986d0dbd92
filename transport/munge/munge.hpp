// munge.hpp - who a process on another machine is, by MUNGE: its daemon there signs a user id and
// a text, the daemon here, which has the same key, tells both, once.
//
// libmunge is loaded when it is first needed. Calls wait for the daemon of this machine.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"

namespace holon::transport {

class Munge {
 public:
  // `socket`: the daemon's; "": libmunge's own. Errors: unsupported (no libmunge here, or holon was
  // built without its header).
  static Result<Munge> load(const std::string& socket);

  // A credential of this process's user. Errors: unsupported (no daemon answers).
  Result<std::string> encode(const std::string& text) const;

  // An encrypted credential, good for processes of this process's user only. Errors: unsupported
  // (no daemon answers, or it cannot encrypt).
  Result<std::string> seal(const std::string& text) const;

  struct Proof {
    std::uint32_t uid = 0, gid = 0;
    std::string text;
    std::string address;  // of the machine where it was made, as its daemon says; "": unknown
  };
  // Decodes a credential. Errors: denied (forged, expired, shown before, or for another user),
  // unsupported (no daemon answers).
  Result<Proof> decode(const std::string& credential) const;

 private:
  struct Library;
  Result<std::string> encode(const std::string& text, bool sealed) const;
  std::shared_ptr<const Library> library_;  // its owner is each copy: it is never unloaded
  std::string socket_;
};

}  // namespace holon::transport
