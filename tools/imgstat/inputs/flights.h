/* SPDX-License-Identifier: MIT */
/* flights.h: the inputs that are being measured, and what there is to print about each of them
 * until its turn. */
#ifndef IMGSTAT_TOOLS_INPUTS_FLIGHTS_H
#define IMGSTAT_TOOLS_INPUTS_FLIGHTS_H

#include "inputs/input_jobs.h"
#include "text/sentences.h"

#include <pthread.h>
#include <stdio.h>

/* An input at work, or done. Its texts are those of one thread at a time. */
typedef struct Flight {
    Input input;
    char *out, *err; /* NULL: nothing yet */
    size_t out_bytes, err_bytes;
    Sentences warnings; /* for --json: since the last page */
} Flight;

typedef struct Flights {
    InputJobs *jobs;
    pthread_mutex_t lock; /* guards what follows */
    Flight **flight;      /* number i is at i % capacity */
    size_t capacity;
    size_t begun, landed; /* of this read; they are the next numbers */
    size_t expected;      /* inputs that this read will have; 0: not known */
} Flights;

void flights_init(Flights *flights, InputJobs *jobs);
/* Releases those that have not landed as well. */
void flights_release(Flights *flights);

/* The inputs as jobs, which take off when they are taken. */
ImgstatJobStream flights_stream(Flights *flights);
/* Returns the input of a job. Any thread. */
Flight *flights_at(Flights *flights, size_t job);
/* Takes the first one, which flight_destroy releases. expected: NULL, or receives the number of
 * inputs. */
Flight *flights_land(Flights *flights, size_t *expected);
void flights_drop_all(Flights *flights);

/* Streams that continue the texts, for a moment. */
typedef struct FlightStreams {
    FILE *out, *err;
} FlightStreams;

FlightStreams flight_open(Flight *flight);
void flight_close(FlightStreams streams);
/* Prints a failure that was reported about its file. */
void flight_fail(const Flight *flight, const Options *options, const ImgstatMeasured *measured,
                 FlightStreams to);

/* Writes its texts to standard output and standard error. */
void flight_print(const Flight *flight);
/* Forgets its texts: another device starts the job again. */
void flight_restart(Flight *flight);
void flight_destroy(Flight *flight);

#endif
