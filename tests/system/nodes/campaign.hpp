// campaign.hpp - what a user runs in an instance of four nodes, and what has to come of it, however
// the instance was started.
#pragma once
#include <string>

#include "tests/system/sandbox.hpp"

namespace holon::system_test {

// A script: 200 jobs of a core, one of four tasks on four nodes, a child with a policy of its own
// on two of them and a child of that on one. It exits with 7. Its absolute name.
std::string write_campaign(Sandbox& sandbox);

// What it has written, in an instance of the nodes n1 to n4.
void expect_campaign(const std::string& out);

// A script that ends one job, starts one of a task on each of four nodes, writes a line to `file`
// when these run, and waits with them.
std::string write_waiting_program(Sandbox& sandbox, const std::string& file);

}  // namespace holon::system_test
