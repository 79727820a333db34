/* SPDX-License-Identifier: MIT */
/* main.c: imgstat; imgstat-mpi has a main of its own. */
#include "program.h"

int main(int argc, char **argv)
{
    return program_run(argc, argv);
}
