// What of a node's topology travels: the same text of nodes that the resource graph could not tell
// apart.
#include "launch/topology.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "launch/hardware/gpus.hpp"
#include "launch/node.hpp"
#include "launch/tasks/in_memory.hpp"
#include "launch/tasks/known_machine.hpp"
#include "tests/support/topologies.hpp"

namespace holon::launch {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kOne = R"(<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x1">
    <info name="HostName" value="n1"/>
    <info name="DMIProductSerial" value="4711"/>
    <object type="NUMANode" os_index="0" local_memory="16652500992">
      <page_type size="4096" count="4065552"/>
      <page_type size="2097152" count="0"/>
    </object>
    <object type="PCIDev" pci_type="0302 [10de:20b0]" pci_link_speed="7.876923">
      <object type="OSDev" name="cuda0" osdev_type="5">
        <info name="GPUModel" value="A100"/>
      </object>
      <object type="OSDev" name="sda" osdev_type="0">
        <info name="Size" value="500107608"/>
        <info name="SerialNumber" value="S1"/>
      </object>
    </object>
  </object>
</topology>
)";

TEST(PortableTopology, LeavesOutWhatTellsEqualNodesApart) {
  const std::string portable = portable_topology(kOne);
  for (const char* gone : {"HostName", "4711", "page_type", "link_speed", "S1", "16652500992"})
    EXPECT_THAT(portable, Not(HasSubstr(gone)));
  for (const char* kept : {"<topology version=\"2.0\">\n", "local_memory=\"16106127360\"", "cuda0",
                           "500107608", "pci_type=\"0302 [10de:20b0]\">\n", "</topology>\n"})
    EXPECT_THAT(portable, HasSubstr(kept));
  EXPECT_EQ(portable_topology(portable), portable);
  EXPECT_EQ(portable_topology(""), "");
  EXPECT_EQ(portable_topology("no topology"), "no topology");
}

TEST(PortableTopology, IsStillOne) {
  const auto xml = topology_xml();
  ASSERT_TRUE(xml);
  const auto whole = Node::of(*xml), portable = Node::of(portable_topology(*xml));
  ASSERT_TRUE(whole);
  ASSERT_TRUE(portable) << to_string(portable.error());
  EXPECT_EQ(portable->cores(), whole->cores());
  EXPECT_EQ(portable->cpuset(), whole->cpuset());
  EXPECT_LT(portable->xml().size(), xml->size());
}

TEST(TopologyDigest, TellsTopologiesApart) {
  const std::string portable = portable_topology(kOne);
  EXPECT_EQ(topology_digest(portable), topology_digest(portable_topology(kOne)));
  EXPECT_NE(topology_digest(portable), topology_digest(kOne));
  EXPECT_EQ(topology_digest(portable).size(), 16U);
}

// A machine of four cores with so many GPUs in the words of one library, as hwloc exports it.
std::string machine_with(const std::string& view, int gpus) {
  std::string xml = R"(<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x3" nodeset="0x1">
    <object type="NUMANode" os_index="0" cpuset="0x3" nodeset="0x1" local_memory="1073741824"/>
    <object type="Core" os_index="0" cpuset="0x3" nodeset="0x1">
      <object type="PU" os_index="0" cpuset="0x1" nodeset="0x1"/>
      <object type="PU" os_index="1" cpuset="0x2" nodeset="0x1"/>
    </object>
)";
  for (int i = 0; i < gpus; ++i)
    xml +=
        "    <object type=\"OSDev\" name=\"" + view + std::to_string(i) + "\" osdev_type=\"5\"/>\n";
  return xml + "  </object>\n</topology>\n";
}

// The names of devices in it, in their order.
std::vector<std::string> devices_of(const std::string& xml) {
  std::vector<std::string> names;
  for (auto at = xml.find("type=\"OSDev\""); at != std::string::npos;
       at = xml.find("type=\"OSDev\"", at + 1)) {
    const auto begin = xml.find("name=\"", at) + 6;
    names.push_back(xml.substr(begin, xml.find('"', begin) - begin));
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(GpusOfANode, AreThoseThatWereGranted) {
  const std::string four = machine_with("cuda", 4);
  EXPECT_EQ(devices_of(with_gpus(four, {{Maker::nvidia, {"1", "3"}}})),
            (Names{"withheld", "cuda0", "withheld", "cuda1"}));
  EXPECT_EQ(devices_of(with_gpus(four, {{Maker::nvidia, {"GPU-1a2b"}}})),
            (Names{"cuda0", "withheld", "withheld", "withheld"}));
  EXPECT_EQ(devices_of(with_gpus(four, {{Maker::nvidia, {}}})), Names(4, "withheld"));
  EXPECT_EQ(devices_of(with_gpus(machine_with("rsmi", 2), {{Maker::amd, {"1"}}})),
            (Names{"withheld", "rsmi0"}));
}

TEST(GpusOfANode, AreAllWhereTheLibraryHidesTheOthers) {
  const std::string two = machine_with("cuda", 2);
  EXPECT_EQ(with_gpus(two, {{Maker::nvidia, {"2", "3"}}}), two);
  EXPECT_EQ(with_gpus(two, {{Maker::nvidia, {"2", "3", "4"}}}), two)
      << "what is not there cannot be used";
}

// A package with memory, one whose halves have it, and none at all but the machine.
TEST(GpusOfANode, AreSpreadWhereHwlocSeesNone) {
  const std::string two_packages = R"(<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x7" nodeset="0x7">
    <object type="Package" os_index="0" cpuset="0x1" nodeset="0x1">
      <object type="NUMANode" os_index="0" cpuset="0x1" nodeset="0x1" local_memory="1"/>
      <object type="Core" os_index="0" cpuset="0x1" nodeset="0x1">
        <object type="PU" os_index="0" cpuset="0x1" nodeset="0x1"/>
      </object>
    </object>
    <object type="Package" os_index="1" cpuset="0x6" nodeset="0x6">
      <object type="Group" cpuset="0x2" nodeset="0x2" kind="1" subkind="0">
        <object type="NUMANode" os_index="1" cpuset="0x2" nodeset="0x2" local_memory="1"/>
        <object type="Core" os_index="1" cpuset="0x2" nodeset="0x2">
          <object type="PU" os_index="1" cpuset="0x2" nodeset="0x2"/>
        </object>
      </object>
      <object type="Group" cpuset="0x4" nodeset="0x4" kind="1" subkind="0">
        <object type="NUMANode" os_index="2" cpuset="0x4" nodeset="0x4" local_memory="1"/>
        <object type="Core" os_index="2" cpuset="0x4" nodeset="0x4">
          <object type="PU" os_index="2" cpuset="0x4" nodeset="0x4"/>
        </object>
      </object>
    </object>
  </object>
</topology>
)";
  const std::string three = with_gpus(two_packages, {{Maker::nvidia, {"0", "1", "2"}}});
  EXPECT_EQ(devices_of(three), (Names{"cuda0", "cuda1", "cuda2"}));
  const auto at = [&](const char* word) { return three.find(word); };
  EXPECT_LT(at("cuda0"), at("<object type=\"Package\" os_index=\"1\""));
  EXPECT_LT(at("os_index=\"1\" cpuset=\"0x2\" nodeset=\"0x2\""), at("cuda1"));
  EXPECT_LT(at("cuda1"), at("<object type=\"Group\" cpuset=\"0x4\""));
  EXPECT_LT(at("<object type=\"Group\" cpuset=\"0x4\""), at("cuda2"));
}

TEST(GpusOfANode, StandAtTheMachineWhereThatIsAllThereIs) {
  const std::string none = machine_with("cuda", 0);
  const std::string two = with_gpus(none, {{Maker::nvidia, {"4", "7"}}});
  EXPECT_EQ(devices_of(two), (Names{"cuda0", "cuda1"}));
  EXPECT_EQ(with_gpus(none, {{Maker::nvidia, {}}}), none);
  EXPECT_EQ(with_gpus("no topology", {{Maker::nvidia, {"0"}}}), "no topology");
}

TEST(GpusOfANode, LeaveATopologyOne) {
  const auto xml = topology_xml();
  ASSERT_TRUE(xml);
  const auto before = Node::of(*xml),
             after = Node::of(with_gpus(*xml, {{Maker::nvidia, {"0", "1", "2"}}}));
  ASSERT_TRUE(before);
  ASSERT_TRUE(after) << to_string(after.error());
  EXPECT_EQ(after->cores(), before->cores());
}

// The numbers are those of the resource graph (base/gpu_devices.hpp): NVIDIA's, then the others'.
TEST(GpusOfTwoMakers, HaveTheNumbersThatTheirLibrariesGiveThem) {
  const auto xml = test::with_cards(test::xml_of_synthetic("pack:2 core:2 pu:1"),
                                    {test::kAmd, test::kNvidia, test::kAmd, test::kNvidia});
  const auto node = Node::of(xml);
  ASSERT_TRUE(node) << to_string(node.error());
  EXPECT_EQ(node->makers(), (std::set<Maker>{Maker::nvidia, Maker::amd}));
  const std::vector<GpuOfMaker> expected = {
      {Maker::nvidia, 0}, {Maker::nvidia, 1}, {Maker::amd, 0}, {Maker::amd, 1}};
  EXPECT_EQ(node->gpus_by_number(), expected);
  EXPECT_EQ(names_of_gpus(node->gpus_by_number(), {}),
            (Names{"nvidia:0", "nvidia:1", "amd:0", "amd:1"}));
  EXPECT_EQ(names_of_gpus(node->gpus_by_number(), {{Maker::amd, {"4", "GPU-b"}}}),
            (Names{"nvidia:0", "nvidia:1", "amd:4", "amd:GPU-b"}));
}

TEST(GpusOfTwoMakers, AreCutEachByTheVariableOfItsLibrary) {
  const auto xml = test::with_cards(test::xml_of_synthetic("pack:1 core:2 pu:1"),
                                    {test::kNvidia, test::kNvidia, test::kAmd, test::kAmd});
  EXPECT_EQ(devices_of(with_gpus(xml, {{Maker::nvidia, {"1"}}, {Maker::amd, {}}})),
            (Names{"withheld", "cuda0", "withheld", "withheld"}));
  EXPECT_EQ(devices_of(with_gpus(xml, {{Maker::amd, {"1"}}})),
            (Names{"cuda0", "cuda1", "withheld", "rsmi0"}));
}

TEST(GpusOfOneMaker, AreNamedByTheVariableAlone) {
  const std::vector<GpuOfMaker> amd = {{Maker::amd, 0}, {Maker::amd, 1}};
  EXPECT_EQ(names_of_gpus(amd, {}), Names());
  EXPECT_EQ(names_of_gpus(amd, {{Maker::nvidia, {"7"}}, {Maker::amd, {"2", "3"}}}),
            (Names{"2", "3"}));
  EXPECT_EQ(names_of_gpus({}, {{Maker::nvidia, {"2", "3"}}}), (Names{"2", "3"}));
  EXPECT_EQ(names_of_gpus({{Maker::intel, 0}}, {}), (Names{"intel:0"}));
  EXPECT_EQ(gpu_of_name("GPU-1a2b", Maker::nvidia).device, "GPU-1a2b");
  EXPECT_EQ(gpu_of_name("amd:GPU-1", Maker::nvidia).maker, Maker::amd);
}

// ---- what an agent has seen of its machine, for those of child instances

// The machine's own text with another name of its host, by which it is known again.
std::string machine_named(const std::string& name) {
  std::string text = Node::discover("")->machine();
  const std::string key = "name=\"HostName\" value=\"";
  const auto begin = text.find(key) + key.size();
  return text.replace(begin, text.find('"', begin) - begin, name);
}

TEST(KnownMachine, TakesThePlaceOfLooking) {
  if (Node::discover("")->machine().empty()) GTEST_SKIP() << "this machine has GPUs";
  const auto own = Node::discover(""), known = Node::discover("", machine_named("seen-before"));
  ASSERT_TRUE(own && known);
  EXPECT_THAT(known->xml(), HasSubstr("seen-before"));
  EXPECT_THAT(known->machine(), HasSubstr("seen-before")) << "for a child of the child";
  EXPECT_EQ(known->cpuset(), own->cpuset());
  EXPECT_EQ(known->cores(), own->cores());
  for (std::size_t core = 0; core < own->cores(); ++core)
    EXPECT_EQ(*known->cpus_of(*Idset::parse(std::to_string(core))),
              *own->cpus_of(*Idset::parse(std::to_string(core))));
}

// A process that is bound to a part shows all of the machine, and counts as a frame says.
TEST(KnownMachine, IsAllOfItWhateverMayBeUsed) {
  if (Node::discover("")->machine().empty()) GTEST_SKIP() << "this machine has GPUs";
  const auto whole = Node::discover("");
  ASSERT_TRUE(whole);
  const std::string first = whole->cpuset().substr(0, whole->cpuset().find_first_of("-,"));
  const auto part = Node::discover(first, machine_named("seen-before"));
  ASSERT_TRUE(part) << to_string(part.error());
  EXPECT_EQ(part->cpuset(), first);
  const auto shown = Node::discover("", part->machine());
  ASSERT_TRUE(shown);
  EXPECT_THAT(shown->xml(), HasSubstr("seen-before"));
  EXPECT_EQ(shown->cpuset(), whole->cpuset());
}

TEST(KnownMachine, IsLookedAtWhereTheTextIsNone) {
  const auto own = Node::discover(""), known = Node::discover("", "<?xml no topology");
  ASSERT_TRUE(own && known);
  EXPECT_EQ(known->xml(), own->xml());
}

// Each process is shown the GPUs in its environment, and counts those.
TEST(KnownMachine, IsNotShownWhereItHasGpus) {
  if (Node::discover("")->machine().empty()) GTEST_SKIP() << "this machine has GPUs";
  std::string text = Node::discover("")->machine();
  const auto end = text.rfind("</object>");
  ASSERT_NE(end, std::string::npos);
  text.insert(end, "<object type=\"OSDev\" name=\"cuda0\" osdev_type=\"5\"/>\n");
  const auto node = Node::discover("", text);
  ASSERT_TRUE(node);
  EXPECT_EQ(node->gpus_by_number().size(), 1U);
  EXPECT_EQ(node->machine(), "");
}

TEST(KnownMachine, IsReadByAnotherProcessAsLongAsItIsShown) {
  auto shown = show_machine("<?xml of a machine");
  ASSERT_TRUE(shown) << to_string(shown.error());
  EXPECT_EQ(shown_machine(shown->path), "<?xml of a machine");
  const pid_t reader = fork();
  if (reader == 0) _exit(shown_machine(shown->path) == "<?xml of a machine" ? 0 : 1);
  int status = 1;
  ASSERT_EQ(waitpid(reader, &status, 0), reader);
  EXPECT_EQ(status, 0);
  shown->memory = {};
  EXPECT_EQ(shown_machine(shown->path), "");
}

TEST(KnownMachine, IsNothingElse) {
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const transport::UniqueFd out(pipe_ends[0]), in(pipe_ends[1]);
  const auto other = in_memory("other", "<?xml of somebody else");
  ASSERT_TRUE(other);
  for (const std::string& path :
       {std::string(), std::string("/nonexistent"), std::string("/proc"), std::string("/dev/zero"),
        "/proc/self/fd/" + std::to_string(out.get()),
        "/proc/self/fd/" + std::to_string(other->get())})
    EXPECT_EQ(shown_machine(path), "") << path;
}

}  // namespace
}  // namespace holon::launch
