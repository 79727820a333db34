# SPDX-License-Identifier: MIT
# For Spack: a folder packages/imgstat of a repository of packages, `spack dev-build imgstat@0.1.0` in this project.
from spack.package import *


class Imgstat(CMakePackage, CudaPackage):
    """Exact image statistics and contrast for PNG and TIFF, on the CPU and on NVIDIA GPUs."""

    license("MIT")
    version("0.1.0")

    variant("shared", default=True, description="The shared library, or else the static one")
    variant("mpi", default=False, description="imgstat-mpi, the command line in many processes")
    variant("libdeflate", default=True, description="Faster decompression, and matches where they pay")
    variant("isal", default=True, description="Faster decompression")
    variant("libarchive", default=True, description="Tar archives as inputs of the program")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("xxhash@0.8:", type="build")
    depends_on("libpng@1.6.37:")
    depends_on("libtiff@4.3:")
    depends_on("zlib-api")
    depends_on("json-c@0.15:")
    depends_on("expat@2.4.7:")
    depends_on("libjpeg-turbo@2.1:")
    depends_on("libdeflate@1.10:", when="+libdeflate")
    depends_on("isa-l@2.30:", when="+isal")
    depends_on("libarchive@3.6:", when="+libarchive")
    depends_on("mpi", when="+mpi")
    depends_on("cuda@12:", when="+cuda")
    conflicts("platform=windows")
    conflicts("platform=darwin")

    generator("ninja")

    def cmake_args(self):
        args = [
            self.define("IMGSTAT_TESTS", "OFF"),
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("IMGSTAT_MPI", "mpi"),
            self.define_from_variant("IMGSTAT_CUDA", "cuda"),
            self.define_from_variant("IMGSTAT_WITH_LIBDEFLATE", "libdeflate"),
            self.define_from_variant("IMGSTAT_WITH_ISAL", "isal"),
            self.define_from_variant("IMGSTAT_WITH_LIBARCHIVE", "libarchive"),
        ]
        architectures = self.spec.variants["cuda_arch"].value if "+cuda" in self.spec else ("none",)
        if architectures[0] != "none":
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", architectures))
        return args
