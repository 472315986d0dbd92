// own_etc.hpp - a folder /etc of a test's own, and a getent whose answers it knows.
#pragma once
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "standalone/getent.hpp"

namespace holon::standalone {

class OwnEtc {
 public:
  OwnEtc() {
    std::string name = std::filesystem::temp_directory_path() / "holon-etc-XXXXXX";
    folder_ = mkdtemp(name.data());
    std::filesystem::create_directory(folder_ + "/answers");
    program("#!/bin/sh\n[ $# = 2 ] || exit 3\necho \"$*\" >>" + folder_ + "/questions\n" +
            "cat \"" + folder_ + "/answers/$1 $2\" 2>/dev/null || exit 2\n");
  }
  ~OwnEtc() { std::filesystem::remove_all(folder_); }
  OwnEtc(const OwnEtc&) = delete;
  OwnEtc& operator=(const OwnEtc&) = delete;

  void write(const std::string& file, const std::string& text) const {
    std::ofstream(folder_ + "/" + file) << text;
  }
  // What getent prints for a database and a key.
  void answer(const std::string& question, const std::string& text) const {
    write("answers/" + question, text + "\n");
  }
  // Makes getent another script.
  void program(const std::string& script) const {
    write("getent", script);
    std::filesystem::permissions(folder_ + "/getent", std::filesystem::perms::owner_all);
  }
  // The questions that getent was asked, a line each.
  std::string questions() const {
    std::ifstream file(folder_ + "/questions");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  Sources sources() const { return {folder_, {folder_ + "/getent"}, 60'000, nullptr}; }

 private:
  std::string folder_;
};

}  // namespace holon::standalone
