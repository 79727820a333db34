# SPDX-License-Identifier: MIT
# Sourced by quickstart.sh and test.sh from the root of the project: installs what a build needs and lacks.

# shellcheck shell=sh disable=SC2034 # the lists are used by who sources this

# What to look for, and the Debian or Ubuntu package that brings it. A bare word is a command,
# pc:NAME a pkg-config module, py:NAME a Python module, sys:NAME one of the system's Python. What is marked ? may be
# absent: libraries that make imgstat faster, programs that judge its outputs.
build_needs="
cc                gcc
c:stdio.h         libc6-dev
cmake             cmake
ninja             ninja-build
pkg-config        pkg-config
pc:libpng         libpng-dev
pc:libtiff-4      libtiff-dev
pc:zlib           zlib1g-dev
pc:json-c         libjson-c-dev
pc:libjpeg        libjpeg-dev
pc:expat          libexpat1-dev
c:xxhash.h        libxxhash-dev
?pc:libdeflate    libdeflate-dev
?pc:libisal       libisal-dev
?pc:libarchive    libarchive-dev
"
test_needs="
pc:criterion      libcriterion-dev
python3           python3
?c++              g++
?ccache           ccache
?gdalinfo         gdal-bin
?sys:osgeo_utils  python3-gdal
?sys:numpy        python3-numpy
?sys:tifffile     python3-tifffile
?sys:pytest       python3-pytest
?sys:hypothesis   python3-hypothesis
?c:Python.h       python3-dev
?sys:ensurepip    python3-venv
?exiftool         libimage-exiftool-perl
?xmllint          libxml2-utils
?convert-im6.q16  imagemagick
?vips             libvips-tools
?jq               jq
?clang-format     clang-format
?sphinx-build     python3-sphinx
?sys:myst_parser  python3-myst-parser
?doxygen          doxygen
?mandoc           mandoc
?codespell        codespell
?proselint        python3-proselint
?mpirun.openmpi   openmpi-bin
?pc:ompi-c        libopenmpi-dev
?mpirun.mpich     mpich
?pc:mpich         libmpich-dev
?parallel         parallel
?shellcheck       shellcheck
?make             make
"
pip_needs="
python3           python3
py:ensurepip      python3-venv
"

# python_headers PYTHON: whether an extension can be built for it, and of Python 3.11.
python_headers() {
    "$1" -c 'import os, sys, sysconfig as s
sys.exit(sys.version_info < (3, 11) or not os.path.exists(s.get_path("include") + "/Python.h"))' 2>/dev/null
}

present() {
    case $1 in
    pc:*) pkg-config --exists "${1#pc:}" 2>/dev/null ;;
    py:*) python3 -c "import ${1#py:}" 2>/dev/null ;;
    sys:*) /usr/bin/python3 -c "import ${1#sys:}" 2>/dev/null ;;
    c:Python.h) python_headers /usr/bin/python3 ;;
    c:*) echo "#include <${1#c:}>" | cc -E -x c - >/dev/null 2>&1 ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
    esac
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null 2>&1; then
        sudo "$@"
    else
        echo "Needs root, and there is no sudo: $*" >&2
        return 1
    fi
}

# Sets missing_required and missing_optional to the packages of $1 whose things are not there.
find_missing() {
    missing_required='' missing_optional=''
    while read -r need package; do
        [ -n "$need" ] || continue
        present "${need#\?}" && continue
        case $need in
        \?*) missing_optional="$missing_optional $package" ;;
        *) missing_required="$missing_required $package" ;;
        esac
    done <<NEEDS
$1
NEEDS
}

install_missing() {
    find_missing "$1"
    [ -n "$missing_required$missing_optional" ] || return 0
    if ! command -v apt-get >/dev/null 2>&1; then
        [ -z "$missing_required" ] && return 0
        echo "Missing, and this is no Debian or Ubuntu: please install what these packages bring:$missing_required" >&2
        return 1
    fi
    echo "Installing with apt-get:$missing_required$missing_optional"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq || echo "apt-get update failed; trying all the same" >&2
    # shellcheck disable=SC2086 # lists of words
    if [ -n "$missing_required" ]; then
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing_required \
            >/dev/null || return 1
    fi
    for package in $missing_optional; do
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" \
            >/dev/null || echo "Going on without $package" >&2
    done
    find_missing "$1"
    if [ -n "$missing_required" ]; then
        echo "Still missing after installing:$missing_required" >&2
        return 1
    fi
}

cmake_is_new() {
    cmake --version 2>/dev/null | awk 'NR == 1 { split($3, v, "."); exit !(v[1] > 3 || v[1] == 3 && v[2] >= 25) }'
}

# Ubuntu 22.04 has CMake 3.22, Debian 11 has 3.18. A newer one goes into build/, not into the system.
newer_cmake() {
    PATH=$PWD/build/cmake/bin:$PATH
    cmake_is_new && return 0
    echo "CMake 3.25 or newer is needed; installing it into build/cmake"
    # hash: the shell remembers where the old one is
    if ! { install_missing "$pip_needs" && python3 -m venv build/cmake &&
        build/cmake/bin/pip install --quiet --require-hashes --only-binary :all: -r tools/cmake/requirements.txt &&
        hash -r && cmake_is_new; }; then
        echo "That failed. Please install CMake 3.25 or newer (cmake.org/download) and try again." >&2
        return 1
    fi
}

# set_up NEEDS: everything that NEEDS names, and a CMake that knows our presets.
set_up() {
    install_missing "$1" && { cmake_is_new || newer_cmake; }
}
