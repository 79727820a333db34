/* SPDX-License-Identifier: MIT */
/* criterion.h: as much of Criterion as the unit tests use. Criterion itself starts the program anew
 * for each test, passes it whatever leaks, and its processes share memory at addresses which
 * ThreadSanitizer reserves. Here each test is a forked child.
 * usage: PROGRAM [--jobs N] [SUITE/TEST...]: N at a time; the output of each is printed at its end.
 */
#ifndef IMGSTAT_TESTS_CRITERION_H
#define IMGSTAT_TESTS_CRITERION_H

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CRITERION_SKIPPED = 77 };

typedef struct CriterionOptions {
    void (*init)(void), (*fini)(void);
    unsigned timeout; /* left to ctest */
    bool given;
} CriterionOptions;

typedef struct CriterionTest {
    const char *suite, *name;
    void (*run)(void); /* NULL: options of a suite */
    CriterionOptions options;
    struct CriterionTest *next;
} CriterionTest;

/* Helpers include this file as well: they share the count, and the main of the test is linked. */
static CriterionTest *criterion_tests;
__attribute__((weak)) _Atomic unsigned criterion_failures;

static inline void criterion_add(CriterionTest *test)
{
    test->next = criterion_tests;
    criterion_tests = test;
}

/* ends: the test ends. Out of line, so that a check that holds costs a comparison. */
__attribute__((cold, noinline, unused)) static void
criterion_fail(bool ends, const char *file, int line, const char *what, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s:%d: %s: ", file, line, what);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    criterion_failures++;
    if (ends)
        _exit(1);
}

static inline void criterion_run(const CriterionTest *test)
{
    const CriterionTest *suite = criterion_tests;
    while (suite && (suite->run || strcmp(suite->suite, test->suite) != 0))
        suite = suite->next;
    if (suite && suite->options.init)
        suite->options.init();
    if (test->options.init)
        test->options.init();
    test->run();
    if (test->options.fini)
        test->options.fini();
    if (suite && suite->options.fini)
        suite->options.fini();
    fflush(NULL);
    exit(criterion_failures ? 1 : 0); /* with what a sanitizer says at the end */
}

typedef struct CriterionChild {
    pid_t process; /* 0: none */
    const CriterionTest *test;
    FILE *output;
} CriterionChild;

static inline void criterion_start(CriterionChild *child, const CriterionTest *test)
{
    fflush(NULL);
    *child = (CriterionChild){.test = test, .output = tmpfile()};
    child->process = child->output ? fork() : -1;
    if (child->process < 0) {
        perror("a test cannot be started");
        exit(1);
    }
    if (child->process == 0) {
        dup2(fileno(child->output), STDOUT_FILENO);
        dup2(fileno(child->output), STDERR_FILENO);
        criterion_run(test);
    }
}

/* Waits for one of them; its status. */
static inline int criterion_wait(CriterionChild *child)
{
    int status = 0;
    const pid_t process = waitpid(-1, &status, 0);
    while (child->process != process)
        child++;
    rewind(child->output);
    for (int c = getc(child->output); c != EOF; c = getc(child->output))
        putchar(c);
    fclose(child->output);
    child->process = 0;
    const bool skipped = WIFEXITED(status) && WEXITSTATUS(status) == CRITERION_SKIPPED;
    if (status != 0 && !skipped)
        printf("failed: %s/%s (status %d)\n", child->test->suite, child->test->name, status);
    return skipped ? CRITERION_SKIPPED : status;
}

static inline bool criterion_is_wanted(const CriterionTest *test, char **names)
{
    char name[256];
    snprintf(name, sizeof name, "%s/%s", test->suite, test->name);
    bool wanted = !*names;
    for (; *names; names++)
        wanted = wanted || strcmp(*names, name) == 0;
    return test->run && wanted;
}

enum { CRITERION_JOBS = 64 };

__attribute__((weak)) int main(int argc, char **argv)
{
    CriterionChild children[CRITERION_JOBS] = {{0}};
    int jobs = 1;
    if (argc > 2 && strcmp(argv[1], "--jobs") == 0) {
        jobs = atoi(argv[2]);
        argv += 2;
    }
    if (jobs < 1 || jobs > CRITERION_JOBS)
        jobs = 1;
    int n = 0, running = 0, failed = 0, skipped = 0;
    const CriterionTest *test = criterion_tests;
    while (test || running > 0) {
        if (test && !criterion_is_wanted(test, argv + 1)) {
            test = test->next;
        } else if (test && running < jobs) {
            CriterionChild *child = children;
            while (child->process)
                child++;
            criterion_start(child, test);
            test = test->next;
            running++;
            n++;
        } else {
            const int status = criterion_wait(children);
            running--;
            skipped += status == CRITERION_SKIPPED;
            failed += status != 0 && status != CRITERION_SKIPPED;
        }
    }
    printf("%d tests, %d skipped, %d failed\n", n, skipped, failed);
    return n == 0 || failed > 0;
}

#define CRITERION_ADD(id, ...)                                        \
    static CriterionTest criterion_##id = {__VA_ARGS__};              \
    __attribute__((constructor)) static void criterion_add_##id(void) \
    {                                                                 \
        criterion_add(&criterion_##id);                               \
    }
#define TestSuite(of, ...)                                                           \
    CRITERION_ADD(suite_##of, .suite = #of, .options = {.given = true, __VA_ARGS__}) \
    struct CriterionTest
#define Test(of, called, ...)                                                                     \
    static void criterion_body_##of##_##called(void);                                             \
    CRITERION_ADD(test_##of##_##called, .suite = #of, .name = #called,                            \
                  .run = criterion_body_##of##_##called, .options = {.given = true, __VA_ARGS__}) \
    static void criterion_body_##of##_##called(void)

/* A message is a literal, as a format. */
#define CRITERION_CHECK(holds, ends, what, ...) \
    ((holds) ? (void)0 : criterion_fail((ends), __FILE__, __LINE__, (what), "" __VA_ARGS__))

#define cr_assert(holds, ...)      CRITERION_CHECK(holds, true, #holds, __VA_ARGS__)
#define cr_expect(holds, ...)      CRITERION_CHECK(holds, false, #holds, __VA_ARGS__)
#define cr_assert_not(holds, ...)  CRITERION_CHECK(!(holds), true, #holds, __VA_ARGS__)
#define cr_expect_not(holds, ...)  CRITERION_CHECK(!(holds), false, #holds, __VA_ARGS__)
#define cr_assert_null(p, ...)     CRITERION_CHECK((p) == NULL, true, #p, __VA_ARGS__)
#define cr_expect_null(p, ...)     CRITERION_CHECK((p) == NULL, false, #p, __VA_ARGS__)
#define cr_assert_not_null(p, ...) CRITERION_CHECK((p) != NULL, true, #p, __VA_ARGS__)
#define cr_expect_not_null(p, ...) CRITERION_CHECK((p) != NULL, false, #p, __VA_ARGS__)
#define cr_assert_eq(a, b, ...)    CRITERION_CHECK((a) == (b), true, #a " is " #b, __VA_ARGS__)
#define cr_expect_eq(a, b, ...)    CRITERION_CHECK((a) == (b), false, #a " is " #b, __VA_ARGS__)
#define cr_assert_neq(a, b, ...)   CRITERION_CHECK((a) != (b), true, #a " is not " #b, __VA_ARGS__)
#define cr_expect_neq(a, b, ...)   CRITERION_CHECK((a) != (b), false, #a " is not " #b, __VA_ARGS__)
#define cr_assert_lt(a, b, ...)    CRITERION_CHECK((a) < (b), true, #a " < " #b, __VA_ARGS__)
#define cr_expect_lt(a, b, ...)    CRITERION_CHECK((a) < (b), false, #a " < " #b, __VA_ARGS__)
#define cr_assert_leq(a, b, ...)   CRITERION_CHECK((a) <= (b), true, #a " <= " #b, __VA_ARGS__)
#define cr_expect_leq(a, b, ...)   CRITERION_CHECK((a) <= (b), false, #a " <= " #b, __VA_ARGS__)
#define cr_assert_gt(a, b, ...)    CRITERION_CHECK((a) > (b), true, #a " > " #b, __VA_ARGS__)
#define cr_expect_gt(a, b, ...)    CRITERION_CHECK((a) > (b), false, #a " > " #b, __VA_ARGS__)
#define cr_assert_geq(a, b, ...)   CRITERION_CHECK((a) >= (b), true, #a " >= " #b, __VA_ARGS__)
#define cr_expect_geq(a, b, ...)   CRITERION_CHECK((a) >= (b), false, #a " >= " #b, __VA_ARGS__)
#define cr_assert_str_eq(a, b, ...) \
    CRITERION_CHECK(strcmp(a, b) == 0, true, #a " is " #b, __VA_ARGS__)
#define cr_expect_str_eq(a, b, ...) \
    CRITERION_CHECK(strcmp(a, b) == 0, false, #a " is " #b, __VA_ARGS__)
#define cr_assert_str_not_empty(a, ...) CRITERION_CHECK((a)[0] != '\0', true, #a, __VA_ARGS__)
#define cr_assert_arr_eq(a, b, bytes, ...) \
    CRITERION_CHECK(memcmp(a, b, bytes) == 0, true, #a " is " #b, __VA_ARGS__)
#define cr_expect_arr_eq(a, b, bytes, ...) \
    CRITERION_CHECK(memcmp(a, b, bytes) == 0, false, #a " is " #b, __VA_ARGS__)
#define cr_assert_float_eq(a, b, apart, ...) \
    CRITERION_CHECK(fabs((double)((a) - (b))) <= (double)(apart), true, #a " is " #b, __VA_ARGS__)
#define cr_expect_float_eq(a, b, apart, ...) \
    CRITERION_CHECK(fabs((double)((a) - (b))) <= (double)(apart), false, #a " is " #b, __VA_ARGS__)
#define cr_assert_fail(...) CRITERION_CHECK(false, true, "failed", __VA_ARGS__)
#define cr_log_info(...)    ((void)0)
#define cr_skip_test(...)   exit(CRITERION_SKIPPED)

#endif
