#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds what is published: an sdist, and from it a wheel for every Python from 3.11 on (cp311-abi3), and one for the
# free-threaded 3.14 (cp314t) where PYTHON_T names such a Python. Libraries that a machine may lack are copied into
# the wheels, with a bill of materials (SBOM). Each wheel is then installed into fresh environments, with and without
# numpy, and tested there. Needs the packages of tools/setup.sh, nvcc, and PyPI.
# usage: build-wheels.sh [FOLDER]      (default: build/wheels)
# environment: PYTHON (default: python3; 3.11 or newer)  PYTHON_T (default: python3.14t, if there is one)
#   IMGSTAT_CUDA=ON|OFF (default ON)  CUDAARCHS (GPU architectures to compile for)  IMGSTAT_WERROR=ON|OFF (default OFF)
set -eu
cd "$(dirname "$0")/../.."
mkdir -p "${1:-build/wheels}"
out=$(cd "${1:-build/wheels}" && pwd)
PYTHON=${PYTHON:-python3}
PYTHON_T=${PYTHON_T:-$(command -v python3.14t || true)}
most=20971520 # bytes of a wheel
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "build-wheels.sh: $*" >&2
    exit 1
}

"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || fail "$PYTHON is older than 3.11"
# tools_into ENVIRONMENT PYTHON: what builds and checks wheels, of known versions and hashes.
tools_into() {
    "$2" -m venv "$1"
    "$1/bin/pip" install --quiet --require-hashes --only-binary :all: -r tools/python/requirements.txt
}
tools_into "$work/tools" "$PYTHON"

rm -f "$out"/imgstat-*
"$work/tools/bin/python" -m build --no-isolation --sdist --outdir "$out" . >"$work/log" 2>&1 || { cat "$work/log"; fail "no sdist"; }
sdist=$(echo "$out"/imgstat-*.tar.gz)
echo "$(basename "$sdist"): $(wc -c <"$sdist") bytes"

# test WHEEL PYTHON: in a fresh environment without numpy; then with it what numpy concerns.
test_wheel() {
    "$2" -m venv "$work/test"
    for with in '' numpy; do
        # shellcheck disable=SC2086 # none or one
        "$work/test/bin/pip" install --quiet "$1" pytest hypothesis $with
        cp -r tests/python "$work/python"
        ln -sfn "$PWD/testdata" "$work/testdata"
        mkdir -p "$work/tests" && rm -rf "$work/tests/python" && mv "$work/python" "$work/tests/python"
        # shellcheck disable=SC2046 # names of files
        (cd "$work" && IMGSTAT_TEST_SMALL=1 test/bin/python -m pytest -q -p no:cacheprovider \
            $(grep -l "$with" tests/python/test_*.py)) ||
            fail "tests of $(basename "$1") fail ${with:-without numpy}"
    done
    rm -rf "$work/test"
}

# make PYTHON: a wheel from the sdist.
make_wheel() {
    rm -rf "$work/plain" "$work/whole"
    builder=$work/tools
    [ "$1" = "$PYTHON" ] || {
        builder=$work/build
        tools_into "$builder" "$1"
    }
    # Nothing depends on what else is installed. libarchive would bring libxml2 and ICU, which are larger than all else.
    # ccache, where it is used, finds what another folder compiled, too.
    TMPDIR=$work CCACHE_BASEDIR=$work "$builder/bin/pip" wheel --no-deps --no-build-isolation --wheel-dir "$work/plain" "$sdist" \
        --config-settings=cmake.define.IMGSTAT_CUDA="${IMGSTAT_CUDA:-ON}" \
        --config-settings=cmake.define.IMGSTAT_WITH_LIBARCHIVE=OFF \
        --config-settings=cmake.define.IMGSTAT_WITH_LIBDEFLATE=ON \
        --config-settings=cmake.define.IMGSTAT_WITH_ISAL=ON \
        --config-settings=cmake.define.IMGSTAT_WERROR="${IMGSTAT_WERROR:-OFF}" \
        --config-settings=install.strip=true >"$work/log" 2>&1 || { tail -n 40 "$work/log"; fail "the sdist does not build"; }
    rm -rf "$work/build"
    PATH=$work/tools/bin:$PATH "$work/tools/bin/auditwheel" repair --wheel-dir "$work/whole" "$work"/plain/*.whl \
        >"$work/log" 2>&1 || { cat "$work/log"; fail "auditwheel"; }
    wheel=$(echo "$work"/whole/*.whl)
    [ "$(wc -c <"$wheel")" -le $most ] || fail "$(basename "$wheel") is larger than $most bytes"
    "$PYTHON" -m zipfile -l "$wheel" >"$work/log"
    grep -q 'dist-info/sboms/' "$work/log" || fail "no bill of materials in $(basename "$wheel")"
    case $wheel in
    *-abi3-*) "$work/tools/bin/abi3audit" --strict "$wheel" || fail "abi3audit" ;;
    esac
    test_wheel "$wheel" "$1"
    mv "$wheel" "$out"
    echo "$(basename "$wheel"): $(wc -c <"$out/$(basename "$wheel")") bytes"
}

make_wheel "$PYTHON"
if [ -n "$PYTHON_T" ]; then
    make_wheel "$PYTHON_T"
else
    echo "left out: the free-threaded wheel (PYTHON_T names no Python, and there is no python3.14t)"
fi
