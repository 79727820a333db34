/* SPDX-License-Identifier: MIT */
/* flights.c: a ring of inputs, which grows with those that wait for their turn. */
#include "inputs/flights.h"
#include "print/json.h"
#include "text/memory_stream.h"
#include "text/status.h"
#include "text/text.h"

#include <stdlib.h>

void flights_init(Flights *flights, InputJobs *jobs)
{
    *flights = (Flights){.jobs = jobs};
    pthread_mutex_init(&flights->lock, NULL);
}

void flights_release(Flights *flights)
{
    flights_drop_all(flights);
    free(flights->flight);
    pthread_mutex_destroy(&flights->lock);
}

/* The lock is held. */
static void make_room(Flights *flights)
{
    enum { FIRST = 64 };
    if (flights->begun - flights->landed < flights->capacity)
        return;
    const size_t capacity = flights->capacity > 0 ? 2 * flights->capacity : FIRST;
    Flight **const larger = text_alloc(capacity * sizeof(Flight *));
    for (size_t i = flights->landed; i < flights->begun; i++)
        larger[i % capacity] = flights->flight[i % flights->capacity];
    free(flights->flight);
    flights->flight = larger;
    flights->capacity = capacity;
}

static bool next_job(void *context, ImgstatJob *job)
{
    Flights *const flights = context;
    Input input;
    size_t n;
    const bool more = input_jobs_next(flights->jobs, job, &input);
    const bool known = input_jobs_count(flights->jobs, &n);
    pthread_mutex_lock(&flights->lock);
    flights->expected = known ? n : 0;
    if (more) {
        Flight *const flight = text_alloc(sizeof *flight);
        *flight = (Flight){.input = input};
        make_room(flights);
        flights->flight[flights->begun++ % flights->capacity] = flight;
    }
    pthread_mutex_unlock(&flights->lock);
    return more;
}

static bool restart_jobs(void *context)
{
    Flights *const flights = context;
    flights_drop_all(flights);
    flights->begun = flights->landed = 0;
    return input_jobs_restart(flights->jobs);
}

ImgstatJobStream flights_stream(Flights *flights)
{
    return (ImgstatJobStream){.next = next_job, .restart = restart_jobs, .context = flights};
}

Flight *flights_at(Flights *flights, size_t job)
{
    pthread_mutex_lock(&flights->lock);
    Flight *const flight = flights->flight[job % flights->capacity];
    pthread_mutex_unlock(&flights->lock);
    return flight;
}

Flight *flights_land(Flights *flights, size_t *expected)
{
    pthread_mutex_lock(&flights->lock);
    Flight *const flight = flights->flight[flights->landed++ % flights->capacity];
    if (expected != NULL)
        *expected = flights->expected;
    pthread_mutex_unlock(&flights->lock);
    return flight;
}

void flights_drop_all(Flights *flights)
{
    while (flights->landed < flights->begun)
        flight_destroy(flights_land(flights, NULL));
}

FlightStreams flight_open(Flight *flight)
{
    return (FlightStreams){.out = memory_stream_append(&flight->out, &flight->out_bytes),
                           .err = memory_stream_append(&flight->err, &flight->err_bytes)};
}

void flight_close(FlightStreams streams)
{
    memory_stream_close(streams.out);
    memory_stream_close(streams.err);
}

void flight_fail(const Flight *flight, const Options *options, const ImgstatMeasured *measured,
                 FlightStreams to)
{
    fprintf(to.err, "%s\n", measured->message);
    if (options->style == OUTPUT_JSON)
        print_json_error(to.out, flight->input.path,
                         measured->has_number ? &measured->number : NULL,
                         imgstat_result_name(measured->result), measured->message);
}

void flight_print(const Flight *flight)
{
    if (flight->out_bytes > 0)
        fwrite(flight->out, 1, flight->out_bytes, stdout);
    status_flush_stdout();
    if (flight->err_bytes > 0)
        fwrite(flight->err, 1, flight->err_bytes, stderr);
}

void flight_restart(Flight *flight)
{
    free(flight->out);
    free(flight->err);
    sentences_clear(&flight->warnings);
    *flight = (Flight){.input = flight->input};
}

void flight_destroy(Flight *flight)
{
    flight_restart(flight);
    input_release(&flight->input);
    free(flight);
}
