# SPDX-License-Identifier: MIT
# nix-build -E '(import <nixpkgs> { }).callPackage tools/packaging/nix/package.nix { }'
{ lib, stdenv, cmake, ninja, pkg-config, expat, isa-l, json_c, libarchive, libdeflate, libjpeg, libpng, libtiff, xxHash
, zlib, cudaPackages ? null, cudaSupport ? false }:

let choice = value: if value then "ON" else "OFF";
in stdenv.mkDerivation {
  pname = "imgstat";
  version = "0.1.0";
  src = lib.cleanSource ../../..;
  outputs = [ "out" "doc" ];

  nativeBuildInputs = [ cmake ninja pkg-config ] ++ lib.optional cudaSupport cudaPackages.cuda_nvcc;
  buildInputs = [ expat isa-l json_c libarchive libdeflate libjpeg libpng libtiff xxHash zlib ]
    ++ lib.optional cudaSupport cudaPackages.cuda_cudart;
  cmakeFlags = [
    "-DBUILD_SHARED_LIBS=ON"
    "-DIMGSTAT_TESTS=OFF"
    "-DIMGSTAT_MPI=OFF"
    "-DIMGSTAT_WITH_LIBDEFLATE=ON"
    "-DIMGSTAT_WITH_ISAL=ON"
    "-DIMGSTAT_WITH_LIBARCHIVE=ON"
    "-DIMGSTAT_CUDA=${choice cudaSupport}"
  ];

  doInstallCheck = true;
  installCheckPhase = "$out/bin/imgstat stats ../testdata/photo.tif";

  meta = {
    description = "Exact image statistics and contrast for PNG and TIFF, on the CPU and on NVIDIA GPUs";
    license = lib.licenses.mit;
    platforms = [ "x86_64-linux" "aarch64-linux" ];
    mainProgram = "imgstat";
  };
}
