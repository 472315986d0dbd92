// address_file.hpp - where the address of a page is kept, so that it can be found again, and so
// that a page that is served again has the same one. It holds secrets: only its owner may read it.
//
// The file is locked for as long as the page is served, and stays behind it.
#pragma once
#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "transport/unique_fd.hpp"

namespace holon::web {

struct KeptAddress {
  std::string address;        // with its secret; of a socket, where a tunnel to it leads
  std::string write_address;  // ""; nobody may change anything
  std::string socket;         // "": it listens at a port
  std::string host;           // the machine on which it is served
  std::uint16_t port = 0;
  std::string look, write;  // the secrets alone
};

class AddressFile {
 public:
  // Takes the file, and makes it where there is none. Errors: busy (another page has it), denied
  // (it is somebody else's, or others may read it), invalid_argument (it holds something else,
  // which stays), system.
  static Result<AddressFile> take(const std::string& file);
  // What it says from an earlier time; empty where it says nothing.
  const KeptAddress& before() const { return before_; }
  // Errors: system; the file is empty then.
  Status write(const KeptAddress& address);

 private:
  std::string file_;
  transport::UniqueFd fd_;
  KeptAddress before_;
};

// The address of the page that is served now with this file. Errors: not_found (none is), denied,
// invalid_argument (it holds something else), system.
Result<KeptAddress> served_address(const std::string& file);

}  // namespace holon::web
