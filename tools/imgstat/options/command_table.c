/* SPDX-License-Identifier: MIT */
/* command_table.c: the commands, and the options of all groups, one after the other. */
#include "options/rows.h"

#include <string.h>

const CommandInfo command_table[N_COMMANDS] = {
    [COMMAND_STATS] = {"stats",
                       "print the statistics of each channel: a table, JSON or CSV",
                       "FILE|DIR...",
                       "Print the statistics of each channel of PNG and TIFF images.",
                       INPUT_READ,
                       {"imgstat photo.tif",
                        "imgstat stats --json --percentiles 1,50,99 scans/*.tif",
                        "imgstat stats --csv --recursive scans > scans.csv"}},
    [COMMAND_HIST] = {"hist",
                      "draw histograms in the terminal or as a plot, or list them",
                      "FILE|DIR...",
                      "Draw the histogram and the percentiles of each channel.",
                      INPUT_READ,
                      {"imgstat hist photo.tif", "imgstat hist --log --plot photo.svg photo.tif",
                       "imgstat hist --csv --bins 64 --range 0,4095 scan.tif"}},
    [COMMAND_INFO] = {"info",
                      "list the pages of files and how they are stored",
                      "FILE|DIR...",
                      "List the pages of PNG and TIFF files: what each is, its type and layout.",
                      INPUT_READ,
                      {"imgstat info scan.tif", "imgstat info --json --recursive slides",
                       "imgstat info --page 0.1 pyramid.tif"}},
    [COMMAND_REPORT] = {"report",
                        "make a page about many images: statistics, thumbnails, flags",
                        "FILE|DIR|FILE.rec... [-o report.html]",
                        "Report on a set of images: what they have in common, and which are odd.",
                        INPUT_READ,
                        {"imgstat report scans -o report.html",
                         "imgstat report --fail-on 'clipped>1%,constant' scans",
                         "imgstat report --json --recursive scans > flags.jsonl"}},
    [COMMAND_COMPARE] = {"compare",
                         "compare two images or records",
                         "FILE FILE",
                         "Compare two images, or two records: statistics, distributions, samples.",
                         INPUT_READ,
                         {"imgstat compare a.tif b.png",
                          "imgstat compare stack.tif[0] stack.tif[1]",
                          "imgstat compare --json monday.rec tuesday.rec"}},
    [COMMAND_NORMALIZE] = {"normalize",
                           "rescale samples: stretch, percentile, meanstd, gamma, match",
                           "FILE|DIR... -o OUT",
                           "Rescale the samples of PNG and TIFF images to the output range.",
                           INPUT_MAP,
                           {"imgstat normalize scan.tif -o full.tif",
                            "imgstat normalize --clip 0.5,0.5 --together in/ -o out/",
                            "imgstat normalize --method gamma --gamma 0.5 - -o - < a.png > b.png"}},
    [COMMAND_EQUALIZE] = {"equalize",
                          "equalize histograms: whole images, adaptively, or to a reference",
                          "FILE|DIR... -o OUT",
                          "Equalize the histograms of PNG and TIFF images.",
                          INPUT_MAP,
                          {"imgstat equalize photo.png -o equalized.png",
                           "imgstat equalize --clahe --grid 16,16 --recursive in/ -o out/",
                           "imgstat equalize --like opencv - -o - < a.tif > b.tif"}},
    [COMMAND_APPLY] = {"apply",
                       "apply a saved transfer to other images",
                       "TRANSFER.json FILE|DIR... -o OUT",
                       "Apply a transfer that --save-transfer wrote to other images.",
                       INPUT_MAP,
                       {"imgstat apply t.json scan.tif -o out.tif",
                        "imgstat apply t.json --recursive in/ -o out/",
                        "imgstat apply t.json - -o - < a.png > b.png"}},
    [COMMAND_MERGE] = {"merge",
                       "merge saved records into one",
                       "FILE.rec|DIR...",
                       "Merge saved records: print their statistics, or save them as one.",
                       INPUT_READ,
                       {"imgstat merge monday.rec tuesday.rec -o week.rec",
                        "imgstat merge --json --percentiles 1,50,99 parts/",
                        "imgstat merge --partial parts/"}},
    [COMMAND_DEVICES] = {"devices",
                         "list the devices of this machine",
                         NULL,
                         "List the devices of this machine, as --device names them.",
                         INPUT_NONE,
                         {"imgstat devices", "imgstat stats --device cpu photo.tif",
                          "IMGSTAT_DEVICE=cpu imgstat photo.tif"}},
};

const char *const group_names[N_GROUPS] = {
    [GROUP_METHOD] = "Method",         [GROUP_MAPPING] = "Mapping", [GROUP_OUTPUT] = "Output",
    [GROUP_STATISTICS] = "Statistics", [GROUP_PLOT] = "Plot",       [GROUP_INPUT] = "Input",
    [GROUP_RUNNING] = "Running",       [GROUP_HELP] = "Help",
};

Command command_named(const char *name)
{
    for (int i = 0; i < N_COMMANDS; i++)
        if (strcmp(name, command_table[i].name) == 0)
            return (Command)i;
    return N_COMMANDS;
}

const Option *option_at(size_t i)
{
    const OptionRows *const parts[] = {&options_of_transforms, &options_of_results,
                                       &options_of_inputs};
    for (size_t k = 0; k < sizeof parts / sizeof parts[0]; i -= parts[k++]->n)
        if (i < parts[k]->n)
            return &parts[k]->rows[i];
    return NULL;
}
