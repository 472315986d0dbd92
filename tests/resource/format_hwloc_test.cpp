// hwloc XML: our tree with memory and GPUs, Fluxion's tree, and what is refused.
#include <gtest/gtest.h>
#include <hwloc.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "places.hpp"  // written by CMake
#include "resource/formats/readers.hpp"
#include "resource/formats/rv1.hpp"
#include "resource/graph/graph.hpp"

namespace holon::resource {
namespace {

// The XML of a made-up machine, in hwloc's own words ("package:2 core:4 pu:2").
std::string synthetic(const char* description) {
  hwloc_topology_t topology = nullptr;
  hwloc_topology_init(&topology);
  hwloc_topology_set_synthetic(topology, description);
  hwloc_topology_load(topology);
  hwloc_obj_add_info(hwloc_get_root_obj(topology), "HostName", "fluke007");
  char* buffer = nullptr;
  int length = 0;
  hwloc_topology_export_xmlbuffer(topology, &buffer, &length, 0);
  std::string xml(buffer, static_cast<std::size_t>(length) - 1);
  hwloc_free_xmlbuffer(topology, buffer);
  hwloc_topology_destroy(topology);
  return xml;
}

std::string drawing_of_machine(const Result<GraphSpec>& spec) {
  if (!spec) return to_string(spec.error());
  const auto graph = ResourceGraph::build(*spec);
  if (!graph) return to_string(graph.error());
  std::string text;
  for (const auto v : graph->in_preorder()) {
    text += std::string(graph->depth(v), ' ') + graph->name(v);
    if ((*graph)[v].size != 1) text += " x" + std::to_string((*graph)[v].size);
    text += std::string(graph->unit(v)) + "\n";
  }
  return text;
}

TEST(Hwloc, ANumaNodeHoldsItsMemoryAndTheCoresNearIt) {
  const auto xml = synthetic("package:2 [numa(memory=8589934592)] core:2 pu:2");
  const HostTopology host{xml, -1, ""};
  EXPECT_EQ(drawing_of_machine(read_hwloc(std::span(&host, 1))),
            "cluster0\n"
            " fluke007\n"
            "  socket0\n   numanode0\n    memory0 x8GiB\n    core0\n    core1\n"
            "  socket1\n   numanode1\n    memory1 x8GiB\n    core2\n    core3\n");
}

TEST(Hwloc, OneNumaNodeOverTheWholeMachineStandsAboveTheSockets) {
  const auto xml = synthetic("[numa(memory=4294967296)] package:2 core:1 pu:1");
  const HostTopology host{xml, -1, ""};
  EXPECT_EQ(drawing_of_machine(read_hwloc(std::span(&host, 1))),
            "cluster0\n fluke007\n  numanode0\n   memory0 x4GiB\n   socket0\n    core0\n"
            "   socket1\n    core1\n");
}

// Where a NUMA node has one core, hwloc hangs its memory onto the core: who asks for the core and
// the memory asks for both.
TEST(Hwloc, MemoryAndDevicesNearOneCoreStandAroundIt) {
  auto xml = synthetic("package:1 group:2 [numa(memory=2147483648)] core:1 pu:1");
  const std::string core = "<object type=\"Core\"";
  const auto end = xml.find("</object>", xml.find("<object type=\"PU\"") + 1);
  ASSERT_NE(xml.find(core), std::string::npos);
  xml.insert(end, "<object type=\"OSDev\" name=\"cuda0\" osdev_type=\"5\"/>\n");
  const HostTopology host{xml, -1, ""};
  EXPECT_EQ(drawing_of_machine(read_hwloc(std::span(&host, 1))),
            "cluster0\n fluke007\n  socket0\n"
            "   numanode0\n    memory0 x2GiB\n    core0\n    gpu0\n"
            "   numanode1\n    memory1 x2GiB\n    core1\n");
}

TEST(Hwloc, TheAllowListSaysWhatBecomesAVertex) {
  const auto xml = synthetic("package:1 [numa(memory=8589934592)] l2:1(size=1048576) core:2 pu:2");
  const HostTopology host{xml, -1, ""};
  EXPECT_EQ(drawing_of_machine(read_hwloc(std::span(&host, 1), {.allow = {"node", "core"}})),
            "cluster0\n fluke007\n  core0\n  core1\n");
  EXPECT_EQ(
      drawing_of_machine(read_hwloc(std::span(&host, 1), {.allow = {"node", "L2cache", "pu"}})),
      "cluster0\n fluke007\n  L2cache0 x1024\n   pu0\n   pu1\n   pu2\n   pu3\n");
  EXPECT_EQ(read_hwloc(std::span(&host, 1), {.allow = {"node", "cores"}}).error().where,
            "allow-list");
}

TEST(Hwloc, FluxionsTreeHasItsOrderItsRanksAndNoMemory) {
  const auto xml = synthetic("package:1 [numa(memory=8589934592)] core:2 pu:1");
  const HostTopology host{xml, -1, ""};
  const auto spec =
      read_hwloc(std::span(&host, 1), {.allow = {"node", "numanode", "core"}, .as_fluxion = true});
  EXPECT_EQ(drawing_of_machine(spec), "cluster0\n fluke007\n  core0\n  core1\n  numanode0\n");
  EXPECT_EQ(spec->rows[1].rank, 0);
  EXPECT_EQ(spec->rows[2].rank, -1);
}

// A GPU behind a PCI bus of high number, seen by two libraries.
std::string with_gpu(std::string xml) {
  const std::string gpu =
      R"(<object type="Bridge" gp_index="900" bridge_type="0-1" depth="0" bridge_pci="0000:[00-ff]">)"
      R"(<object type="PCIDev" os_index="1044608" gp_index="901" pci_busid="0000:ff:08.0" )"
      R"(pci_type="0302 [10de:1b38] [0000:0000] a1" pci_link_speed="0.000000">)"
      R"(<object type="OSDev" gp_index="902" name="cuda0" subtype="CUDA" osdev_type="5"/>)"
      R"(<object type="OSDev" gp_index="903" name="opencl0d0" subtype="OpenCL" osdev_type="5"/>)"
      R"(</object></object>)";
  return xml.insert(xml.rfind("</object>"), gpu);
}

TEST(Hwloc, PciDevicesHaveLargeNumbers) {
  const auto xml = with_gpu(synthetic("core:1 pu:1"));
  const HostTopology host{xml, -1, ""};
  EXPECT_EQ(drawing_of_machine(read_hwloc(std::span(&host, 1), {.allow = {"node", "gpu"}})),
            "cluster0\n fluke007\n  gpu0\n");
}

TEST(Hwloc, GpusOfTwoMakersAreCountedCardByCard) {
  const std::string card =
      R"(<object type="PCIDev" os_index="1044624" gp_index="911" pci_busid="0000:ff:09.0" )"
      R"(pci_type="0302 [1002:738c] [0000:0000] 01" pci_link_speed="0.000000">)"
      R"(<object type="OSDev" gp_index="912" name="rsmi0" subtype="RSMI" osdev_type="1"/>)"
      R"(<object type="OSDev" gp_index="913" name="opencl1d0" subtype="OpenCL" osdev_type="5"/>)"
      R"(</object>)";
  auto xml = with_gpu(synthetic("core:1 pu:1"));
  xml.insert(xml.rfind("</object></object>"), card);  // behind the same bridge
  const HostTopology host{xml, -1, ""};
  EXPECT_EQ(drawing_of_machine(read_hwloc(std::span(&host, 1), {.allow = {"node", "gpu"}})),
            "cluster0\n fluke007\n  gpu0\n  gpu1\n");
}

TEST(Hwloc, AMachineThatDoesNotKnowItsCoresHasOneForEachThread) {
  auto xml = synthetic("numa:1 pu:3");
  const HostTopology host{xml, -1, ""};
  EXPECT_EQ(drawing_of_machine(read_hwloc(std::span(&host, 1), {.allow = {"node", "core", "pu"}})),
            "cluster0\n fluke007\n  core0\n  core1\n  core2\n");
}

TEST(Hwloc, ATopologyWithoutANameIsOfANodeWithItsNumber) {
  auto xml = synthetic("core:1 pu:1");
  const auto begin = xml.find("<info name=\"HostName\"");
  xml.erase(begin, xml.find("/>", begin) + 2 - begin);
  const HostTopology hosts[] = {{xml, -1, ""}, {xml, -1, ""}};
  EXPECT_EQ(drawing_of_machine(read_hwloc(hosts, {.allow = {"node", "core"}})),
            "cluster0\n node0\n  core0\n node1\n  core0\n");
}

TEST(Hwloc, FluxionSeesAGpuOnceForEachLibrary) {
  const auto xml = with_gpu(synthetic("core:1 pu:1"));
  const HostTopology host{xml, -1, ""};
  EXPECT_EQ(drawing_of_machine(read_hwloc(
                std::span(&host, 1), {.allow = {"node", "gpu", "unheard-of"}, .as_fluxion = true})),
            "cluster0\n fluke007\n  gpu0\n  gpu0\n");
}

TEST(Hwloc, AHostsNumberHasItsLimit) {
  auto xml = synthetic("core:1 pu:1");
  xml.replace(xml.find("fluke007"), 8, "fluke9223372036854775808");
  const HostTopology host{xml, -1, ""};
  EXPECT_EQ(drawing_of_machine(read_hwloc(std::span(&host, 1), {.allow = {"node"}})),
            "cluster0\n fluke9223372036854775808\n");
  EXPECT_FALSE(read_hwloc(std::span(&host, 1), {.allow = {"node"}, .as_fluxion = true}));
}

TEST(Hwloc, SeveralHostsMakeOneCluster) {
  const auto xml = synthetic("core:2 pu:1");
  const HostTopology hosts[] = {{xml, 0, "a1"}, {xml, 1, "b"}};
  const auto graph = ResourceGraph::build(*read_hwloc(hosts));
  ASSERT_TRUE(graph) << to_string(graph.error());
  const auto r = to_rv1(*graph);
  ASSERT_EQ(r.hosts.size(), 2u);
  EXPECT_EQ(r.hosts[0].name, "a1");
  EXPECT_EQ(r.hosts[1].name, "b");
  EXPECT_EQ(r.hosts[1].cores.str(), "0-1");
}

TEST(Hwloc, RefusesWhatIsNoTopology) {
  auto deep = std::string("<topology version=\"2.0\">");
  for (int i = 0; i < 100000; ++i) deep += "<object type=\"Group\">";
  for (const std::string& xml :
       {std::string{}, std::string("<"), std::string("hello"), std::string("<topology>"), deep,
        synthetic("core:2 pu:1").substr(0, 700)}) {
    const HostTopology host{xml, -1, "n1"};
    const auto spec = read_hwloc(std::span(&host, 1));
    ASSERT_FALSE(spec);
    EXPECT_EQ(spec.error().where, "n1");
  }
}

// libhwloc itself crashes on these (found by fuzz/hwloc.cpp).
TEST(Hwloc, RefusesObjectsWithoutTheirSets) {
  const auto whole = synthetic("[numa(memory=4294967296)] core:1 pu:1");
  for (const char* set : {" cpuset=", " complete_cpuset=", " nodeset=", " complete_nodeset="}) {
    auto xml = whole;
    xml.replace(xml.find(set), 3, " x");
    const HostTopology host{xml, -1, "n1"};
    const auto spec = read_hwloc(std::span(&host, 1));
    ASSERT_FALSE(spec) << set;
    EXPECT_NE(spec.error().what.find("of type 'Machine'"), std::string::npos) << spec.error().what;
  }
}

// Real machines, exported by their owners; data of the flux-sched project, read where they lie.
TEST(Hwloc, ReadsRealMachines) {
  const std::filesystem::path data =
      HOLON_SOURCE_DIR "/../shared/fluxion-cases/data/hwloc-data/001N";
  if (!std::filesystem::exists(data)) GTEST_SKIP() << "no " << data;
  struct Machine {
    const char* file;
    std::size_t cores, gpus, storage;
  };
  for (const auto& [file, cores, gpus, storage] :
       {Machine{"amd_gpu/corona11.xml", 48, 4, 0},
        Machine{"node_local_storage/catalyst/0.xml", 24, 0, 4},
        Machine{"node_local_storage/lassen/0.xml", 40, 4, 1}}) {
    std::ostringstream xml;
    xml << std::ifstream(data / file).rdbuf();
    const auto text = xml.str();
    const HostTopology host{text, -1, ""};
    for (const bool as_fluxion : {false, true}) {
      const auto spec = read_hwloc(
          std::span(&host, 1),
          {.allow = {"node", "socket", "memory", "core", "gpu", storage > 0 ? "storage" : "pu"},
           .as_fluxion = as_fluxion});
      ASSERT_TRUE(spec) << to_string(spec.error());
      const auto graph = ResourceGraph::build(*spec);
      ASSERT_TRUE(graph) << file << ": " << to_string(graph.error());
      graph->check_invariants();
      EXPECT_EQ(graph->by_type("core").size(), cores) << file;
      EXPECT_EQ(graph->by_type("gpu").size(), gpus) << file;
      EXPECT_EQ(graph->by_type("storage").size(), storage) << file;
      EXPECT_EQ(graph->by_type("memory").empty(), as_fluxion) << file;
    }
  }
}

}  // namespace
}  // namespace holon::resource
