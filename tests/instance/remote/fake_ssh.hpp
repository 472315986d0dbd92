// fake_ssh.hpp - a program that takes ssh's words and runs them on this machine, so that an
// instance has several nodes without there being any.
#pragma once
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace holon::instance::testing {

class FakeSsh {
 public:
  FakeSsh() {
    std::string name = ::testing::TempDir() + "holon-ssh-XXXXXX";
    dir_ = mkdtemp(name.data());
    std::ofstream(program()) << "#!/bin/sh\ngate=" << dir_
                             << "/$4\nshift 5\n[ ! -p $gate ] || read line < $gate\n"
                                "exec sh -c \"exec $*\"\n";
    chmod(program().c_str(), 0700);
  }
  ~FakeSsh() { std::filesystem::remove_all(dir_); }
  FakeSsh(const FakeSsh&) = delete;
  FakeSsh& operator=(const FakeSsh&) = delete;

  // Nothing runs on this host before let_in().
  void keep_out(const std::string& host) const { mkfifo((dir_ + "/" + host).c_str(), 0600); }
  void let_in(const std::string& host) const { std::ofstream(dir_ + "/" + host) << "go\n"; }

  std::string program() const { return dir_ + "/ssh"; }
  // Of `holon start`: this machine and two nodes more.
  std::vector<std::string> options() const {
    return {"--hosts", "far[1-2]",
            "--conf",  "launch.ssh=" + program(),
            "--conf",  "instance.address=127.0.0.1"};
  }

 private:
  std::string dir_;
};

}  // namespace holon::instance::testing
