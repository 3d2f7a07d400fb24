/* Which inner loops are worth a compiler? A RowCache table, the expert cache's one pass, hashes.
 *
 * Optional: replay/kernel.py says whether it was built, and each function has a twin in Python that
 * a property holds equal to it. The rules stand in reference/; the headers state only what they do
 * differently, and why. One translation unit, the stable ABI of Python 3.11, no numpy.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include "_kernel_arrays.h"
#include "_kernel_hashing.h"
#include "_kernel_recency.h"
#include "_kernel_rows.h"
#include "_kernel_table.h"

#include <time.h>

static PyMethodDef methods[] = {
    {"distinct", kernel_distinct, METH_VARARGS, "Each id once per gather; see _kernel.pyi."},
    {"thresholds", kernel_thresholds, METH_VARARGS, "Least budgets of hits; see _kernel.pyi."},
    {"xxh3_64", kernel_xxh3_64, METH_VARARGS, "XXH3-64 of 8-byte keys; see _kernel.pyi."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "replay._kernel",
    .m_doc = "Inner loops in C; see _kernel.pyi.",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__kernel(void)
{
    PyObject *module = PyModule_Create(&definition);
    PyObject *table = module ? PyType_FromSpec(&table_spec) : NULL;
    salt = mix((u64)time(NULL) ^ (u64)(uintptr_t)module);
    if (table && PyModule_AddObjectRef(module, "RowTable", table) == 0) {
        Py_DecRef(table);
        return module;
    }
    Py_XDECREF(table);
    Py_XDECREF(module);
    return NULL;
}
