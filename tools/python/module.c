/* SPDX-License-Identifier: MIT */
/* module.c: defines the extension, with the types and functions of its parts. */
#include "module.h"
#include "chains.h"
#include "device.h"

static const struct {
    PyType_Spec *spec;
    size_t place; /* of the type in State */
} types[] = {
    {&array_spec, offsetof(State, array_type)},
    {&histogram_spec, offsetof(State, histogram_type)},
    {&stats_spec, offsetof(State, stats_type)},
    {&stats_batch_spec, offsetof(State, stats_batch_type)},
    {&record_spec, offsetof(State, record_type)},
    {&transfer_spec, offsetof(State, transfer_type)},
    {&file_spec, offsetof(State, file_type)},
    {&dataset_spec, offsetof(State, dataset_type)},
    {&chain_spec, offsetof(State, chain_type)},
};

static PyMethodDef *const functions[] = {measure_functions, transform_functions, save_functions,
                                         transform_files_functions, run_functions};

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
    State *const state = state_of(module);
    if (error_add(module) < 0)
        return -1;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        PyObject *const type = PyType_FromModuleAndSpec(module, types[i].spec, NULL);
        *(PyObject **)((char *)state + types[i].place) = type;
        if (!type || PyModule_AddType(module, (PyTypeObject *)type) < 0)
            return -1;
    }
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (PyModule_AddFunctions(module, functions[i]) < 0)
            return -1;
    if (stats_batch_register(state) < 0)
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
