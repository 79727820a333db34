/* SPDX-License-Identifier: MIT */
/* module.c: defines the extension; its parts add what they have. */
#include "module.h"
#include "chains.h"
#include "device.h"

static int (*const adders[])(PyObject *module) = {
    add_error,   add_array,     add_histogram,       add_stats,    add_stats_batch,
    add_measure, add_transform, add_record,          add_transfer, add_file,
    add_save,    add_dataset,   add_transform_files, add_chain,    add_run,
};

State *state_of(PyObject *module)
{
    return PyModule_GetState(module);
}

State *state_of_type(PyTypeObject *type)
{
    return PyType_GetModuleState(type);
}

static int exec_module(PyObject *module)
{
    for (size_t i = 0; i < sizeof adders / sizeof adders[0]; i++)
        if (adders[i](module) < 0)
            return -1;
    return PyModule_AddStringConstant(module, "__version__", imgstat_version());
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    PyObject **const objects = (PyObject **)state_of(module);
    for (size_t i = 0; i < STATE_OBJECTS; i++)
        Py_VISIT(objects[i]);
    return 0;
}

static int clear(PyObject *module)
{
    PyObject **const objects = (PyObject **)state_of(module);
    for (size_t i = 0; i < STATE_OBJECTS; i++)
        Py_CLEAR(objects[i]);
    return 0;
}

static void release(void *module)
{
    chains_free(state_of(module));
    devices_free(state_of(module));
    (void)clear(module);
}

/* Interpreters that share the lock of the process may each have the module: each has a State. Those
 * with a lock of their own are refused by Python, as no slot says that they are supported. */
static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, exec_module},
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "imgstat._imgstat",
    .m_doc = "The compiled part of imgstat.",
    .m_size = sizeof(State),
    .m_slots = slots,
    .m_traverse = traverse,
    .m_clear = clear,
    .m_free = release,
};

PyMODINIT_FUNC PyInit__imgstat(void);
PyMODINIT_FUNC PyInit__imgstat(void)
{
    return PyModuleDef_Init(&definition);
}
