#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs what is missing, builds imgstat twice (release; with AddressSanitizer and UndefinedBehaviorSanitizer),
# and runs every test in one of them or in both (docs/testing.md); then a part of it with ThreadSanitizer. Exit status 0 if
# all passed.
# environment: IMGSTAT_CUDA=AUTO|ON|OFF  IMGSTAT_WERROR=ON|OFF  IMGSTAT_DECODE=plain|threads (decoders: docs/testing.md;
# then without the tests that look at which decoder does what)  IMGSTAT_TEST_FULL=ON|OFF (ON: the optimized build runs every
# test and all cases; before a release)  CUDAARCHS (GPU architectures to compile for; default: those of the GPUs here;
# without one PTX of 8.0 and machine code of 9.0, since kernels tell apart only what is older than 9.0 and what is not)
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=tools/setup.sh
. tools/setup.sh
set_up "$build_needs$test_needs"

# OME's schema comes with a Python package. Without pip or network its test is skipped.
if [ -z "${IMGSTAT_OME_SCHEMA-}" ] && python3 -m pip --version >/dev/null 2>&1; then
    IMGSTAT_OME_SCHEMA=$PWD/build/schema/ome_types-0.7.0-py3-none-any.whl
    export IMGSTAT_OME_SCHEMA
    [ -e "$IMGSTAT_OME_SCHEMA" ] ||
        python3 -m pip download --quiet --no-deps --dest build/schema ome-types==0.7.0 >/dev/null 2>&1 || true
fi

# One test more than there are processors: some wait for what they started.
jobs=$(nproc)
if [ -z "${CUDAARCHS-}" ]; then
    CUDAARCHS='80-virtual;90-real'
    ! nvidia-smi -L >/dev/null 2>&1 || CUDAARCHS=native
fi
export CUDAARCHS
status=0
closing=$(mktemp)
trap 'rm -f "$closing" "$closing".*' EXIT
: >"$closing.counts"

# count_tests LOG: how many tests of a ctest run ran, of how many, and what the others lack.
count_tests() {
    awk '/tests failed out of/ { all = $NF }
        /\(Skipped\)/ { skipped++; names = names " " $3; if ($3 ~ /^gpu_/) gpu++; else corpus += $3 ~ /corpus/ }
        END {
            printf "%d of %d tests ran, %d skipped", all - skipped, all, skipped
            if (gpu) printf "; %d need a GPU", gpu
            if (corpus) printf "; %d need the corpus (IMGSTAT_CORPUS)", corpus
            if (skipped > gpu + corpus) printf "; all:%s", names
            print ""
        }' "$1"
}

# The Python package is built for the system's Python, whose packages the tests compare with.
python='-DIMGSTAT_PYTHON=OFF'
if python_headers /usr/bin/python3; then
    python='-DIMGSTAT_PYTHON=ON -DPython3_EXECUTABLE=/usr/bin/python3'
else
    echo "Left out: the Python package (it needs Python 3.11 and python3-dev)"
fi

# The wheel is compiled from what the optimized build was: ccache, if there is one, gives it that.
ccache=$(command -v ccache || true)
export CCACHE_DIR="$PWD/build/ccache" CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1

full=${IMGSTAT_TEST_FULL:-OFF}
# run_preset NAME CUDA OPTIMIZED: configures, builds and tests; keeps the closing lines of ctest for the end.
run_preset() {
    echo "== $1: build"
    # shellcheck disable=SC2086 # two words
    cmake --preset "$1" -DIMGSTAT_TESTS=ON -DIMGSTAT_TEST_FULL="$full" -DIMGSTAT_TEST_OPTIMIZED="$3" \
        -DIMGSTAT_WERROR="${IMGSTAT_WERROR:-OFF}" -DIMGSTAT_CUDA="$2" -DCMAKE_C_COMPILER_LAUNCHER="$launcher" $python &&
        cmake --build --preset "$1" --parallel "$jobs" || return 1
    echo "== $1: test"
    tested=0
    { ctest --preset "$1" -LE "^${IMGSTAT_DECODE:+decoder}\$" --parallel $((jobs + 1)) || echo failed >"$closing.failed"; } 2>&1 |
        tee "$closing.log"
    [ ! -e "$closing.failed" ] || tested=1
    rm -f "$closing.failed"
    { echo "== $1" && sed -n '/tests passed/,$p' "$closing.log"; } >>"$closing"
    { printf '== %s: ' "$1" && count_tests "$closing.log"; } >>"$closing.counts"
    sed -n 's/^skipped: /   skipped: /p' "build/$1/Testing/Temporary/LastTest.log" | sort -u >>"$closing.counts"
    return $tested
}

for preset in release asan; do
    set -- OFF OFF
    launcher=''
    if [ "$preset" = release ]; then
        set -- "${IMGSTAT_CUDA:-AUTO}" ON
        launcher=$ccache
    fi
    [ "$full" = OFF ] || set -- "$1" OFF
    if ! run_preset "$preset" "$@"; then
        status=1
        echo "== $preset: FAILED" >>"$closing"
    fi
done

# Beside each other: most of both is one process.
echo "== threads and wheel: build and test"
tests/threads.sh >"$closing.threads" 2>&1 &
threads=$!

# A wheel without CUDA, as others install it.
if [ "$python" = '-DIMGSTAT_PYTHON=OFF' ] || ! /usr/bin/python3 -m venv build/venv 2>/dev/null ||
    ! build/venv/bin/pip download --quiet --no-deps --dest build/venv abi3audit >/dev/null 2>&1; then
    echo '== wheel: skipped (it needs Python 3.11, python3-venv and PyPI)' >>"$closing"
elif CC=${CC:-cc} CMAKE_C_COMPILER_LAUNCHER=$ccache IMGSTAT_CUDA=OFF PYTHON=/usr/bin/python3 tools/python/build-wheels.sh; then
    echo "== wheel: built, installed and tested: $(cd build/wheels && echo *.whl)" >>"$closing"
else
    status=1
    echo '== wheel: FAILED' >>"$closing"
fi

if wait $threads; then
    printf '== threads: %s\n' "$(tail -n 1 "$closing.threads")" >>"$closing"
else
    status=1
    cat "$closing.threads"
    echo '== threads: FAILED' >>"$closing"
fi
echo
cat "$closing" "$closing.counts"
exit $status
