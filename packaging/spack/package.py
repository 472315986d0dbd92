# Written and never built with Spack: try it, and correct it.
#
#   spack repo create holon-repo && mkdir -p holon-repo/packages/holon && cp package.py holon-repo/packages/holon/
#   spack repo add holon-repo && spack install holon
from spack.package import *


class Holon(CMakePackage):
    """A scheduler that is a job of another scheduler: queues, policies and backfill inside an allocation."""

    license("Apache-2.0")
    version("main", branch="main", git="file:///path/to/a/clone/of/holon")

    variant("pmix", default=False, description="Serve jobs of Open MPI")
    variant("munge", default=True, description="Users of other machines prove who they are by MUNGE, whose library is loaded then")

    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("node-js", type="build")
    depends_on("esbuild", type="build")
    depends_on("boost@1.74: +graph")
    depends_on("cli11@2.3:")
    depends_on("cppzmq@4.9:")
    depends_on("fmt@9")
    depends_on("hwloc@2.9:")
    depends_on("libedit")
    depends_on("libzmq@4.3.4: +libsodium")
    depends_on("msgpack-c@4.1:")
    depends_on("nlohmann-json@3.11:")
    depends_on("spdlog@1.10: +fmt_external")
    depends_on("sqlite@3.40:")
    depends_on("sqlitecpp@3.2:")
    depends_on("tl-expected@1:")
    depends_on("tomlplusplus@3.3:")
    depends_on("yaml-cpp@0.7:")
    depends_on("zlib-api")
    depends_on("munge", when="+munge", type="run")
    depends_on("pmix@4.2:", when="+pmix")

    generator("ninja")

    @run_before("cmake")
    def find_lua(self):
        # Errors of a Lua that was compiled as C jump over the destructors of what they pass. Debian has one that was compiled as C++; Spack has none.
        find = which("pkg-config", required=True)
        find("--exists", "lua5.4-c++", fail_on_error=False)
        if find.returncode != 0:
            raise InstallError("holon needs Lua 5.4 compiled as C++, and lua5.4-c++.pc in PKG_CONFIG_PATH")

    def cmake_args(self):
        return [
            self.define("HOLON_BUILD_TESTS", False),
            self.define("HOLON_BUILD_BENCH", False),
            self.define_from_variant("HOLON_PMIX", "pmix"),
        ]

    def setup_run_environment(self, env):
        if self.spec.satisfies("+munge"):
            env.prepend_path("LD_LIBRARY_PATH", self.spec["munge"].prefix.lib)
